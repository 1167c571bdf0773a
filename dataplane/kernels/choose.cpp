#include "dataplane/kernels/kernels.hpp"

#include <cstdlib>
#include <vector>

namespace weir::dataplane {

std::span<const table::Kernels *const> available_kernels() {
  static const std::vector<const table::Kernels *> all = [] {
    std::vector<const table::Kernels *> found{&table::portable_kernels};
#ifndef WEIR_WORDWISE
    if (__builtin_cpu_supports("avx2")) found.push_back(&kernels::avx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
      found.push_back(&kernels::avx512);
#endif
    return found;
  }();
  return all;
}

const table::Kernels &best_kernels() {
  static const table::Kernels *const chosen = [] {
    const auto all = available_kernels();
    if (const char *wanted = std::getenv("WEIR_KERNELS"))
      for (const table::Kernels *k : all)
        if (std::string_view(k->name) == wanted) return k;
    return all.back();
  }();
  return *chosen;
}

} // namespace weir::dataplane
