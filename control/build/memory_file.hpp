// The memory an image is built in: a memfd, on hugepages when enough are free, else on ordinary
// pages. Its pages are allocated before the first byte is written, since with ordinary pages "no
// memory" would otherwise be the kernel killing somebody in the middle of a build.
//
//   make(bytes) -> write into bytes() -> seal(): size sealed, unmapped, the descriptor is yours
//
// Afterwards this process has no mapping: what the dataplane verifies cannot change behind it.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/base/result.hpp"

#include <cstdint>
#include <string_view>
#include <utility>

namespace weir::build {

// A descriptor with one owner.
class OwnedFd {
public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd &operator=(OwnedFd &&other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OwnedFd();

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

private:
  int fd_ = -1;
};

enum class Pages : std::uint8_t { huge, ordinary };
[[nodiscard]] constexpr std::string_view name_of(Pages pages) noexcept {
  return pages == Pages::huge ? "hugepages (2 MiB)" : "ordinary pages";
}

class MemoryFile {
public:
  // `try_huge`: fall back to ordinary pages when hugepages are refused after all.
  [[nodiscard]] static Result<MemoryFile> make(std::uint64_t bytes, bool try_huge);
  MemoryFile(MemoryFile &&other) noexcept;
  MemoryFile &operator=(MemoryFile &&other) noexcept;
  ~MemoryFile();

  [[nodiscard]] MutableBytes bytes() const { return {static_cast<std::byte *>(memory_), mapped_bytes_}; }
  [[nodiscard]] Pages pages() const { return pages_; }

  [[nodiscard]] Result<OwnedFd> seal() &&;

private:
  MemoryFile() = default;
  static Result<MemoryFile> make_with(std::uint64_t bytes, Pages pages);
  void unmap();

  OwnedFd fd_;
  void *memory_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  Pages pages_ = Pages::ordinary;
};

} // namespace weir::build
