// State folders hold rules, images and seeds: for their owner alone. What stands in them tells which
// addresses are listed and under which seed tables are built, which is all that an attacker lacks.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace weir {

namespace detail {

// store/ is weir-control's, as calibration.*; NAME.image and what is about to become one the dataplane's.
[[nodiscard]] inline bool is_state(const std::filesystem::path &path) {
  const std::string name = path.filename().string();
  return name == "store" || name.starts_with("calibration.") || name.find(".image") != std::string::npos;
}

inline void tighten(const std::filesystem::path &path) {
  struct stat now{};
  if (lstat(path.c_str(), &now) != 0 || now.st_uid != geteuid()) return;
  if (!S_ISDIR(now.st_mode) && !S_ISREG(now.st_mode)) return;
  if ((now.st_mode & S_ISVTX) != 0) return; // a folder for everybody, such as /tmp
  const mode_t mode = S_ISDIR(now.st_mode) ? 0700 : 0600;
  if ((now.st_mode & 07777 & ~mode) != 0) (void)!chmod(path.c_str(), mode);
}

} // namespace detail

// Makes the folder when it is not there. It becomes 0700 and what weir keeps in it 0700 and 0600, as far as
// they belong to this user. A folder that holds something else as well (a configuration, sockets) stays open
// to others: only what weir keeps there is closed.
inline std::error_code make_private(const std::filesystem::path &folder) {
  namespace fs = std::filesystem;
  std::error_code failed, ignored;
  fs::create_directories(folder, failed);
  if (failed) return failed;
  bool all_ours = true;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored)) {
    if (!detail::is_state(at->path())) {
      all_ours = false;
      continue;
    }
    detail::tighten(at->path());
    if (at->path().filename() != "store" || at->is_symlink(failed)) continue;
    for (fs::recursive_directory_iterator in(at->path(), failed); !failed && in != fs::end(in);
         in.increment(failed))
      detail::tighten(in->path());
  }
  if (all_ours && !ignored) detail::tighten(folder);
  return {};
}

} // namespace weir
