#include "weir/filter/fuse_kernels.hpp"

#include <cstdlib>
#include <string_view>

namespace weir::filter::kernels {
namespace {

const FuseKernelSet *best_fuse_kernels() noexcept {
  const char *wanted = std::getenv("WEIR_KERNELS");
  if (wanted != nullptr && std::string_view(wanted) != "avx512") return nullptr;
  const bool has_all = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512vl");
  return has_all ? &fuse_avx512 : nullptr;
}

} // namespace

const FuseKernelSet *const fuse_best = best_fuse_kernels();

} // namespace weir::filter::kernels
