#include "p4/swx/program.hpp"

#include <cstddef>

// The Makefile says that this file has to be compiled again when the program changes.
asm(R"(
.pushsection .rodata
.type weir_acl_spec, @object
weir_acl_spec:
.incbin "p4/generated/acl.spec"
weir_acl_spec_end:
.byte 0
.size weir_acl_spec, . - weir_acl_spec
.popsection
)");

extern "C" {
extern const char weir_acl_spec[], weir_acl_spec_end[];
}

namespace weir::p4 {

std::string_view program_spec() noexcept {
  return {weir_acl_spec, static_cast<std::size_t>(weir_acl_spec_end - weir_acl_spec)};
}

} // namespace weir::p4
