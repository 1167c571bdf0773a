// The files of a request, read by who asks and passed to weir-control in one memory file, so that nobody
// sees or overwrites anything with the daemon's rights.
//
//   0       magic, number of files, place and bytes of the table
//   32      what the files say, one after the other
//   table   for each file: place, bytes, bytes of its name; the name as the configuration resolves it
//
// A bundle is taken only from a memory file that is sealed against writing and changes of its size, and whose
// pages are all there: what was checked stays so, and reading costs the daemon no memory of its own.
#pragma once

#include "weir/base/owned_fd.hpp"
#include "weir/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::rules {

inline constexpr std::uint64_t bundle_bytes_max = std::uint64_t{8} << 30; // 256 million hosts are 3.4 GiB

struct BundledFile {
  std::uint64_t place = 0, bytes = 0;
  std::string name;
};

class BundleWriter {
public:
  [[nodiscard]] static Result<BundleWriter> make();

  // A name that is there already is left as it is.
  [[nodiscard]] Status add(const std::string &name, std::string_view text);
  [[nodiscard]] Status add(const std::string &name, int regular_file); // from where it stands to its end
  [[nodiscard]] Result<OwnedFd> seal() &&;

private:
  [[nodiscard]] Status append(std::string_view bytes);
  [[nodiscard]] bool has(const std::string &name) const { return known_.contains(name); }
  void enter(const std::string &name, std::uint64_t place);

  OwnedFd fd_;
  std::uint64_t size_ = 0;
  std::vector<BundledFile> files_;
  std::unordered_map<std::string, std::size_t> known_;
};

class Bundle {
public:
  // The descriptor is needed no longer than this call.
  [[nodiscard]] static Result<Bundle> open(int fd);

  Bundle(Bundle &&other) noexcept;
  Bundle &operator=(Bundle &&other) noexcept;
  ~Bundle();

  // What the file says, valid as long as the bundle.
  [[nodiscard]] std::optional<std::string_view> find(const std::filesystem::path &name) const;

private:
  Bundle() = default;
  [[nodiscard]] Status read_table();

  const char *memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::unordered_map<std::string_view, std::string_view> files_;
};

} // namespace weir::rules
