// Whether there is memory for an image, and the sentence that says why not.
#include "control/plan/plan.hpp"

#include <fmt/format.h>

namespace weir::plan {

Status check_memory(std::uint64_t image_bytes, std::uint64_t besides_bytes, const MemoryFree &memory) {
  const bool hugepages = memory.fits_hugepages(image_bytes);
  const std::uint64_t needed = besides_bytes + (hugepages ? 0 : image_bytes);
  if (needed <= memory.ordinary_bytes()) return {};
  const bool limited = memory.cgroup_free_bytes && *memory.cgroup_free_bytes < memory.available_bytes;
  return fail(
      Errc::no_memory,
      fmt::format(
          "No free memory for a new image: needs {}, {} free{}; {} of hugepages are free. The running "
          "generation stays. {}, or shorten the lists",
          human_bytes(needed), human_bytes(memory.ordinary_bytes()),
          limited ? " below the limit of the control group" : "", human_bytes(memory.hugepages_free_bytes),
          limited ? "Raise the limit" : "Free memory or reserve hugepages"));
}

} // namespace weir::plan
