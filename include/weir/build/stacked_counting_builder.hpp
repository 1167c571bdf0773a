// Lays out a stacked counting filter in a section: known negatives first, then the keys. The same parameters,
// keys and negatives give the same bytes. filter/stacked_counting.hpp says what it is.
#pragma once

#include "weir/filter/stacked_counting.hpp"

#include <span>
#include <string>

namespace weir::build {

struct StackedCountingParams {
  std::uint64_t planned_keys = 0;
  filter::StackedCountingShape shape;

  // For the allow side, see allow_filter_params.hpp.
  [[nodiscard]] Result<std::uint64_t> bytes() const;
  [[nodiscard]] HashFamily hash_family() const noexcept { return HashFamily::xxh3; }
  [[nodiscard]] Status build(std::span<const KeyHash> keys, std::span<const KeyHash> known,
                             MutableBytes section) const;
};

// Of the whole section. Errors: usage, when the shape cannot be.
[[nodiscard]] inline Result<std::uint64_t> stacked_counting_bytes(const StackedCountingParams &params) {
  if (const char *objection = params.shape.objection())
    return fail(Errc::usage, std::string("stacked filter: ") + objection + ", choose other parameters");
  return params.shape.bytes();
}

// Fills `section`, of stacked_counting_bytes() bytes, aligned to 64. Errors: usage, when it is of another
// size.
[[nodiscard]] inline Result<filter::StackedCountingLoad>
build_stacked_counting(const StackedCountingParams &params, std::span<const KeyHash> keys,
                       std::span<const KeyHash> known, MutableBytes section) {
  TRY(filter::lay_out_stacked_counting(params.shape, params.planned_keys, section));
  auto writer = TRY(filter::StackedCountingWriter::attach(section));
  for (const KeyHash negative : known) TRY(writer.learn(negative));
  for (const KeyHash key : keys) writer.insert(key);
  return writer.load();
}

inline Result<std::uint64_t> StackedCountingParams::bytes() const { return stacked_counting_bytes(*this); }
inline Status StackedCountingParams::build(std::span<const KeyHash> keys, std::span<const KeyHash> known,
                                           MutableBytes section) const {
  TRY(build_stacked_counting(*this, keys, known, section));
  return {};
}

} // namespace weir::build
