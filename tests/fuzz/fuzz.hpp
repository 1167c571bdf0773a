// A fuzz target is one file: FUZZ_TARGET(name, data) { ... }. Built with PROFILE=fuzz it is a
// libFuzzer program of its own; otherwise all targets together are the test program that replays
// tests/fuzz/corpus/<name>/, one test a file. A target must not keep state between calls.
#pragma once

#include "weir/base/bits.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace weir::fuzz {

struct Target {
  const char *name;
  void (*run)(Bytes data);
};

// Filled before main() by the targets; empty under libFuzzer.
[[nodiscard]] inline std::vector<Target> &targets() {
  static std::vector<Target> all;
  return all;
}

// Ends the process, so that both libFuzzer and the replay see it, in release builds too.
inline void require(bool holds, const char *what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// Gives the address sanitizer an exact end to watch: the bytes in an allocation of their size.
[[nodiscard]] inline std::vector<std::byte> exact_copy(Bytes data) { return {data.begin(), data.end()}; }

} // namespace weir::fuzz

#ifdef WEIR_LIBFUZZER
#define FUZZ_TARGET(name, data)                                                                              \
  static void fuzz_##name(::weir::Bytes data);                                                               \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size);                        \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *bytes, std::size_t size) {                       \
    fuzz_##name({reinterpret_cast<const std::byte *>(bytes), size});                                         \
    return 0;                                                                                                \
  }                                                                                                          \
  static void fuzz_##name(::weir::Bytes data)
#else
#define FUZZ_TARGET(name, data)                                                                              \
  static void fuzz_##name(::weir::Bytes data);                                                               \
  [[maybe_unused]] static const bool registered_##name =                                                     \
      (::weir::fuzz::targets().push_back({#name, &fuzz_##name}), true);                                      \
  static void fuzz_##name(::weir::Bytes data)
#endif
