#include "weir/lookup/kernels/choose.hpp"

#include <cstdlib>
#include <string>
#include <vector>

namespace weir::lookup {

std::span<const Kernels *const> available_kernels() {
  static const std::vector<const Kernels *> all = [] {
    std::vector<const Kernels *> found{&portable_kernels};
#ifndef WEIR_WORDWISE
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("lzcnt");
    if (avx2) found.push_back(&kernels::avx2);
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
      found.push_back(&kernels::avx512);
#endif
    return found;
  }();
  return all;
}

namespace {

// Null: none of this name.
const Kernels *named(std::string_view name) {
  for (const Kernels *k : available_kernels())
    if (k->name == name) return k;
  return nullptr;
}

const char *wanted() { return std::getenv("WEIR_KERNELS"); }

} // namespace

const Kernels &best_kernels() {
  static const Kernels *const chosen = [] {
    const Kernels *const asked_for = wanted() != nullptr ? named(wanted()) : nullptr;
    return asked_for != nullptr ? asked_for : available_kernels().back();
  }();
  return *chosen;
}

Status check_wanted_kernels() {
  if (wanted() == nullptr || named(wanted()) != nullptr) return {};
  std::string known;
  for (const Kernels *k : available_kernels()) known += (known.empty() ? "" : ", ") + std::string(k->name);
  return fail(Errc::usage, "WEIR_KERNELS=" + std::string(wanted()) + ": this processor has " + known +
                               "; unset it to have the fastest chosen");
}

} // namespace weir::lookup
