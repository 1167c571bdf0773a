// The release that a program was built from.
#pragma once

namespace weir {

inline constexpr const char *version_text = "0.1.0";

} // namespace weir
