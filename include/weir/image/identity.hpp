// What tells images and the stores of rules that they come from apart.
#pragma once

#include <array>
#include <cstdint>

namespace weir::image {

using StoreId = std::array<std::uint8_t, 16>;
using Digest = std::array<std::uint8_t, 32>;

} // namespace weir::image
