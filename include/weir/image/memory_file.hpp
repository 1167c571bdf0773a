// The memory an image is built in, or copied to from a disk: a memfd, on hugepages when enough are free, else
// on ordinary pages (pages.hpp), on the node of the processors that will read it. Its pages are allocated
// before the first byte is written, and ordinary ones only where so much is free, since "no memory" would
// otherwise be the kernel killing somebody in the middle of it.
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

namespace weir::image {

// An error that says how much is free when an image of so many bytes has no room on ordinary pages.
[[nodiscard]] Status check_memory(std::uint64_t bytes);

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

} // namespace weir::image
