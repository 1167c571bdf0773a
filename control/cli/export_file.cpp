#include "control/cli/export_file.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

namespace weir::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t copied_bytes = 1u << 20; // at once

std::unexpected<Error> failed(const fs::path &file, const char *what) {
  return fail(Errc::io, fmt::format("{}: {}: {}.", file.string(), what, std::strerror(errno)));
}

bool write_all(int to, const char *bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(to, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

Status copy(const OwnedFd &answer, int to, const fs::path &file) {
  std::vector<char> buffer(copied_bytes);
  off_t place = 0;
  for (;;) {
    const ssize_t got = ::pread(answer.get(), buffer.data(), buffer.size(), place);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(file, "the answer cannot be read");
    if (got == 0) return {};
    if (!write_all(to, buffer.data(), static_cast<std::size_t>(got)))
      return failed(file, "cannot be written to the end");
    place += got;
  }
}

Status write_through(const OwnedFd &answer, const fs::path &file) {
  const OwnedFd to(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (to.get() < 0) return failed(file, "cannot be written");
  return copy(answer, to.get(), file);
}

Status sync_folder(const fs::path &folder, const fs::path &file) {
  const OwnedFd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() >= 0 && ::fsync(opened.get()) != 0 && errno != EINVAL)
    return failed(file, "its folder cannot be written to the disk");
  return {};
}

} // namespace

Result<OwnedFd> answer_file() {
  OwnedFd fd(memfd_create("weir-answer", MFD_CLOEXEC));
  if (fd.get() < 0) return fail(Errc::io, fmt::format("memfd_create: {}.", std::strerror(errno)));
  return fd;
}

Status put_in_place(const OwnedFd &answer, const fs::path &file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return write_through(answer, file);
  std::error_code ignored;
  const fs::path target = fs::weakly_canonical(file, ignored); // a link stays a link
  const fs::path place = ignored ? file : target;
  const fs::path unfinished = place.string() + ".part";
  ::unlink(unfinished.c_str()); // of an export that was killed
  const OwnedFd to(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (to.get() < 0) return failed(file, "cannot be written");
  Status done = copy(answer, to.get(), file);
  if (done && ::fsync(to.get()) != 0) done = failed(file, "cannot be written to the disk");
  if (done && std::rename(unfinished.c_str(), place.c_str()) != 0)
    done = failed(file, "cannot be put in place");
  if (!done) {
    ::unlink(unfinished.c_str());
    return done;
  }
  return sync_folder(place.parent_path(), file);
}

} // namespace weir::cli
