#include "weir/image/memory_file.hpp"

#include "weir/base/memory_free.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace weir::image {

namespace {

std::unexpected<Error> no_memory(std::uint64_t bytes, Pages pages, const char *step) {
  const Errc code = errno == ENOSPC || errno == ENOMEM ? Errc::no_memory : Errc::io;
  return fail(code,
              fmt::format("no memory for a new image: {} bytes in {} ({}: {}); the running generation stays",
                          bytes, name_of(pages), step, std::strerror(errno)));
}

} // namespace

Status check_memory(std::uint64_t bytes) {
  const auto memory = memory_free();
  if (!memory || bytes <= memory->ordinary_bytes()) return {};
  return fail(Errc::no_memory,
              fmt::format("an image needs {} bytes of memory and {} are free; free some or raise the limit",
                          bytes, memory->ordinary_bytes()));
}

MemoryFile::MemoryFile(MemoryFile &&other) noexcept
    : fd_(std::move(other.fd_)), memory_(std::exchange(other.memory_, nullptr)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)), pages_(other.pages_) {}

MemoryFile &MemoryFile::operator=(MemoryFile &&other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(memory_, other.memory_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(pages_, other.pages_);
  return *this;
}

MemoryFile::~MemoryFile() { unmap(); }

void MemoryFile::unmap() {
  if (memory_ != nullptr) munmap(memory_, mapped_bytes_);
  memory_ = nullptr;
}

Result<MemoryFile> MemoryFile::make(std::uint64_t bytes, Pages pages, int node) {
  const PreferNode near(node);
  if (pages == Pages::gigantic) {
    if (auto file = make_with(bytes, Pages::gigantic)) return file;
  }
  if (pages != Pages::ordinary) {
    if (auto file = make_with(bytes, Pages::huge)) return file;
  }
  TRY(check_memory(bytes));
  return make_with(bytes, Pages::ordinary);
}

Result<MemoryFile> MemoryFile::make_with(std::uint64_t bytes, Pages pages) {
  MemoryFile file;
  file.pages_ = pages;
  const std::uint64_t size = round_up(bytes, page_bytes(pages));
  file.fd_ = OwnedFd(memfd_create("weir-image", memfd_flags(pages)));
  if (file.fd_.get() < 0) return no_memory(size, pages, "memfd_create");
  if (ftruncate(file.fd_.get(), static_cast<off_t>(size)) != 0) return no_memory(size, pages, "ftruncate");
  if (fallocate(file.fd_.get(), 0, 0, static_cast<off_t>(size)) != 0)
    return no_memory(size, pages, "fallocate");
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.fd_.get(), 0);
  if (memory == MAP_FAILED) return no_memory(size, pages, "mmap");
  file.memory_ = memory;
  file.mapped_bytes_ = size;
  return file;
}

Result<OwnedFd> MemoryFile::seal() && {
  unmap();
  if (fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    return fail(Errc::io, fmt::format("an image cannot be sealed: {}", std::strerror(errno)));
  return std::move(fd_);
}

} // namespace weir::image
