// The memory an image is built in: a memfd, on hugepages when enough are free, else on ordinary
// pages (weir/image/pages.hpp), on the node of the processors that will read it. Its pages are allocated
// before the first byte is written, since with ordinary pages "no memory" would otherwise be the kernel
// killing somebody in the middle of a build.
//
//   make(bytes) -> write into bytes() -> seal(): size sealed, unmapped, the descriptor is yours
//
// Afterwards this process has no mapping: what the dataplane verifies cannot change behind it.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/base/numa.hpp"
#include "weir/base/result.hpp"
#include "weir/image/pages.hpp"

#include <cstdint>
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

using image::name_of;
using image::Pages;

class MemoryFile {
public:
  // Falls back to smaller pages when those asked for are refused after all. `node`: where the workers
  // are.
  [[nodiscard]] static Result<MemoryFile> make(std::uint64_t bytes, Pages pages, int node = any_node);
  [[nodiscard]] static Result<MemoryFile> make(std::uint64_t bytes, bool try_huge) {
    return make(bytes, try_huge ? Pages::huge : Pages::ordinary);
  }
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
