// Cuckoo hashing with one slot a bucket [Chained §5.3.1], as the predictors of the laboratory have it: two tables of as many
// buckets, and a key lies in one of two.
//
//   insert    into table 1. A key that is there already is evicted to table 2, the one that it meets there to table 1, and
//             so on, until a bucket is free
//
// `Entry` is what a bucket holds; hash_of(entry) gives its KeyHash.
#pragma once

#include "weir/base/hash.hpp"
#include "weir/table/chained_predictor.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::lab {

using table::Home;

[[nodiscard]] constexpr Home other(Home home) noexcept {
  return home == Home::table1 ? Home::table2 : Home::table1;
}

[[nodiscard]] constexpr KeyHash hash_of(KeyHash key) noexcept { return key; }

// As in the paper's measurement of throughput.
struct Record {
  std::array<char, 36> key;
  std::array<char, 64> value;

  friend bool operator==(const Record &a, const Record &b) noexcept {
    return std::memcmp(a.key.data(), b.key.data(), sizeof a.key) == 0;
  }
};
[[nodiscard]] inline KeyHash hash_of(const Record &record) noexcept {
  return {XXH3_64bits(record.key.data(), sizeof record.key)};
}

template <class Entry> class OneSlotTables {
public:
  // `buckets`: of each table.
  explicit OneSlotTables(std::uint32_t buckets)
      : buckets_(buckets), slots_(2 * std::size_t{buckets}), taken_(slots_.size()) {}

  [[nodiscard]] std::uint32_t buckets() const noexcept { return buckets_; }
  [[nodiscard]] std::size_t bucket(KeyHash h, Home home) const noexcept {
    return home == Home::table1
               ? reduce(static_cast<std::uint32_t>(h.bits >> 32), buckets_)
               : std::size_t{buckets_} + reduce(static_cast<std::uint32_t>(h.bits), buckets_);
  }
  [[nodiscard]] bool taken(std::size_t bucket) const noexcept { return taken_[bucket] != 0; }
  [[nodiscard]] const Entry &at(std::size_t bucket) const noexcept { return slots_[bucket]; }

  // What was there.
  [[nodiscard]] std::optional<Entry> put(std::size_t bucket, const Entry &entry) {
    std::optional<Entry> before;
    if (taken(bucket)) before = slots_[bucket];
    slots_[bucket] = entry;
    taken_[bucket] = 1;
    return before;
  }
  void clear(std::size_t bucket) noexcept { taken_[bucket] = 0; }
  void clear() noexcept { std::ranges::fill(taken_, std::uint8_t{0}); }

  void prefetch(KeyHash h, Home home) const noexcept {
    const auto *entry = reinterpret_cast<const std::byte *>(&slots_[bucket(h, home)]);
    for (std::size_t at = 0; at < sizeof(Entry); at += cache_line_bytes) __builtin_prefetch(entry + at);
  }
  template <class Visit> void each(Home home, Visit visit) const {
    const std::size_t first = home == Home::table1 ? 0 : buckets_;
    for (std::size_t b = first; b < first + buckets_; ++b)
      if (taken(b)) visit(slots_[b]);
  }
  // Nothing: it is not in this table.
  [[nodiscard]] const Entry *find(KeyHash h, const Entry &entry, Home home) const noexcept {
    const std::size_t b = bucket(h, home);
    return taken_[b] != 0 && slots_[b] == entry ? &slots_[b] : nullptr;
  }

private:
  std::uint32_t buckets_;
  std::vector<Entry> slots_;
  std::vector<std::uint8_t> taken_;
};

inline constexpr unsigned cuckoo_moves_max = 500;

// placed(hash, home) is told of every entry that came to a bucket. Returns the one that found no place, if there is one:
// not always the one that was to come in.
template <class Entry, class Placed>
[[nodiscard]] std::optional<Entry> cuckoo_insert(OneSlotTables<Entry> &tables, const Entry &entry,
                                                 Placed placed) {
  std::optional<Entry> hand = entry;
  Home home = Home::table1;
  for (unsigned move = 0; move < cuckoo_moves_max; ++move, home = other(home)) {
    const KeyHash h = hash_of(*hand);
    hand = tables.put(tables.bucket(h, home), *hand);
    placed(h, home);
    if (!hand) break;
  }
  return hand;
}

} // namespace weir::lab
