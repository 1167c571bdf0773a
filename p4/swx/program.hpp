// p4/generated/acl.spec, as it was when this binary was built.
#pragma once

#include <string_view>

namespace weir::p4 {

[[nodiscard]] std::string_view program_spec() noexcept;

} // namespace weir::p4
