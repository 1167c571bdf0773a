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
#include "weir/base/owned_fd.hpp"
#include "weir/base/result.hpp"
#include "weir/image/pages.hpp"

#include <cstdint>

namespace weir::build {

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
