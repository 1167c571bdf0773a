// What kind of pages an image lies on, in either process: 1 GiB pages when the machine offers them and
// the image fills most of them, else 2 MiB pages when enough are free, else ordinary ones. A lookup
// touches one random line, so larger pages save it the walk through the page table.
#pragma once

#include "weir/base/bits.hpp"

#include <linux/memfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace weir::image {

enum class Pages : std::uint8_t { huge, ordinary, gigantic };

[[nodiscard]] constexpr std::string_view name_of(Pages pages) noexcept {
  switch (pages) {
  case Pages::gigantic: return "hugepages (1 GiB)";
  case Pages::huge: return "hugepages (2 MiB)";
  case Pages::ordinary: break;
  }
  return "ordinary pages";
}

[[nodiscard]] inline std::uint64_t page_bytes(Pages pages) noexcept {
  switch (pages) {
  case Pages::gigantic: return std::uint64_t{1} << 30;
  case Pages::huge: return std::uint64_t{2} << 20;
  case Pages::ordinary: break;
  }
  return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// For memfd_create().
[[nodiscard]] constexpr unsigned memfd_flags(Pages pages) noexcept {
  switch (pages) {
  case Pages::gigantic: return MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB | MFD_HUGE_1GB;
  case Pages::huge: return MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB | MFD_HUGE_2MB;
  case Pages::ordinary: break;
  }
  return MFD_CLOEXEC | MFD_ALLOW_SEALING;
}

// Pages that nobody has reserved.
struct FreePages {
  std::uint64_t huge = 0, gigantic = 0;
};
[[nodiscard]] inline FreePages free_pages(const std::filesystem::path &sys = "/sys") {
  const auto unreserved = [&](const char *size) -> std::uint64_t {
    const std::filesystem::path folder = sys / "kernel/mm/hugepages" / size;
    std::ifstream free_file(folder / "free_hugepages"), reserved_file(folder / "resv_hugepages");
    std::uint64_t free = 0, reserved = 0;
    if (!(free_file >> free)) return 0;
    if (!(reserved_file >> reserved)) reserved = 0;
    return free > reserved ? free - reserved : 0;
  };
  return {unreserved("hugepages-2048kB"), unreserved("hugepages-1048576kB")};
}

// Would an image of `bytes` waste less than half of what its 1 GiB pages hold?
[[nodiscard]] inline bool fills_gigantic_pages(std::uint64_t bytes) noexcept {
  return bytes > round_up(bytes, page_bytes(Pages::gigantic)) / 2;
}

[[nodiscard]] inline Pages choose_pages(std::uint64_t bytes, const FreePages &free) noexcept {
  const auto fits = [bytes](Pages pages, std::uint64_t count) {
    return round_up(bytes, page_bytes(pages)) / page_bytes(pages) <= count;
  };
  if (fills_gigantic_pages(bytes) && fits(Pages::gigantic, free.gigantic)) return Pages::gigantic;
  return fits(Pages::huge, free.huge) ? Pages::huge : Pages::ordinary;
}

} // namespace weir::image
