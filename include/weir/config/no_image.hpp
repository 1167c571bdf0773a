// What policy.no_image means: the verdict on every packet until a first generation is attached.
#pragma once

#include "weir/config/config.hpp"
#include "weir/key/verdict.hpp"

#include <string_view>

namespace weir::config {

[[nodiscard]] constexpr Verdict verdict_of(NoImage no_image) noexcept {
  return no_image == NoImage::open ? Verdict::pass : Verdict::drop;
}
// As the configuration has it.
[[nodiscard]] constexpr std::string_view name_of(NoImage no_image) noexcept {
  return no_image == NoImage::open ? "open" : "closed";
}

} // namespace weir::config
