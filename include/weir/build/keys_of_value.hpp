// What a retrieval is built of: keys in groups, each with the value that its keys have together.
#pragma once

#include "weir/base/hash.hpp"
#include "weir/base/result.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <utility>
#include <vector>

namespace weir::build {

// Keys that have a value together, such as the positives of a universe.
struct KeysOfValue {
  std::span<const KeyHash> keys;
  std::uint32_t value = 0;
};

struct KeyAndValue {
  KeyHash key;
  std::uint32_t value;
};

template <class Take> void for_each_key(std::span<const KeysOfValue> groups, const Take &take) {
  for (const KeysOfValue &group : groups)
    for (const KeyHash key : group.keys) take(key, group.value);
}
template <class Take> void for_each_key(const std::vector<KeyAndValue> &entries, const Take &take) {
  for (const KeyAndValue &e : entries) take(e.key, e.value);
}

// How many, repeated ones as often. Errors: usage, for a value that the shape has no room for, and for more keys than
// its hashes tell apart.
template <class Shape>
[[nodiscard]] Result<std::uint64_t> count_keys(std::span<const KeysOfValue> groups, const Shape &shape) {
  std::uint64_t keys = 0;
  for (const KeysOfValue &group : groups) {
    keys += group.keys.size();
    if (group.value > shape.value_mask())
      return fail(Errc::usage, fmt::format("{}: value {} does not fit in {} bits", name_of(Shape::kind),
                                           group.value, shape.value_bits()));
  }
  if (Shape::serves(static_cast<double>(keys), shape.value_bits())) return keys;
  return fail(Errc::usage,
              fmt::format("{}: {} keys with values of {} bits are too many for 64-bit hashes, divide the "
                          "values among two",
                          name_of(Shape::kind), keys, shape.value_bits()));
}

// Repeated ones once. Errors: usage, for a key with two values. `name`: of who asks.
[[nodiscard]] inline Result<std::vector<KeyAndValue>> each_key_once(std::span<const KeysOfValue> groups,
                                                                    std::uint64_t keys, const char *name) {
  std::vector<KeyAndValue> entries;
  entries.reserve(keys);
  for_each_key(groups, [&](KeyHash key, std::uint32_t value) { entries.push_back({key, value}); });
  std::ranges::sort(entries, {}, [](const KeyAndValue &e) { return std::pair(e.key.bits, e.value); });
  const auto other = std::ranges::adjacent_find(entries, [](const KeyAndValue &a, const KeyAndValue &b) {
    return a.key == b.key && a.value != b.value;
  });
  if (other != entries.end())
    return fail(Errc::usage, fmt::format("{}: key {:016x} has two values, {} and {}", name, other->key.bits,
                                         other->value, (other + 1)->value));
  const auto rest = std::ranges::unique(entries, {}, [](const KeyAndValue &e) { return e.key.bits; });
  entries.erase(rest.begin(), rest.end());
  return entries;
}

} // namespace weir::build
