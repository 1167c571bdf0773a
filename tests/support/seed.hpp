// Every random test takes its seed from here and names it when it fails.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

namespace weir::test {

// WEIR_SEED if set, else `otherwise`.
[[nodiscard]] inline std::uint64_t seed_or(std::uint64_t otherwise) {
  const char *text = std::getenv("WEIR_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

} // namespace weir::test

// The rest of the enclosing scope is traced with the seed.
#define WEIR_TRACE_SEED(seed) SCOPED_TRACE("repeat with WEIR_SEED=" + std::to_string(seed))
