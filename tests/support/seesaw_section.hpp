// A Seesaw section in memory of its own, and keys to fill it with.
#pragma once

#include "tests/support/seeded_key.hpp"
#include "weir/build/seesaw_builder.hpp"

#include <vector>

namespace weir::test {

class SeesawSection {
public:
  explicit SeesawSection(const build::SeesawParams &params, std::span<const KeyHash> keys = {},
                         std::span<const KeyHash> guarded = {})
      : lines_(build::seesaw_bytes(params).value() / sizeof(Line)) {
    load_ = build::build_seesaw(params, keys, guarded, bytes()).value();
  }

  [[nodiscard]] MutableBytes bytes() noexcept { return std::as_writable_bytes(std::span(lines_)); }
  [[nodiscard]] const filter::SeesawLoad &load() const noexcept { return load_; } // as built
  template <class Rounds = filter::AllDecisions> [[nodiscard]] filter::BasicSeesawView<Rounds> view() {
    return filter::BasicSeesawView<Rounds>::attach(bytes()).value();
  }
  template <class Rules = filter::SeesawRules> [[nodiscard]] filter::BasicSeesawWriter<Rules> writer() {
    return filter::BasicSeesawWriter<Rules>::attach(bytes()).value();
  }

private:
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes;
  };
  std::vector<Line> lines_;
  filter::SeesawLoad load_;
};

// Different `kind`s never meet.
[[nodiscard]] inline KeyHash numbered_key(std::uint64_t seed, std::uint64_t kind, std::uint64_t number) {
  return seeded_key(seed, number << 8 | kind);
}
[[nodiscard]] inline std::vector<KeyHash> numbered_keys(std::uint64_t seed, std::uint64_t kind,
                                                        std::uint64_t count) {
  std::vector<KeyHash> keys(count);
  for (std::uint64_t i = 0; i < count; ++i) keys[i] = numbered_key(seed, kind, i);
  return keys;
}

} // namespace weir::test
