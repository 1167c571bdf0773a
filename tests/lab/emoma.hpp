// EMOMA in the setting of [Chained §5.3]: a counting block Bloom filter with a block for each bucket of table 1, two counters of
// four bits, which is asked for a key of table 2. It is never wrong, because keys stand where it says:
//
//   a key that it accepts stands in table 2, whatever its own place in table 1 holds
//   a key of table 1 that it comes to accept moves to table 2
//   a key of table 2 that others would have it accept still is locked: it cannot be evicted
//
// With one slot a bucket a key in table 2 has one bucket there, so that two locked keys of one bucket find no place.
// Its authors have four slots a bucket.
#pragma once

#include "tests/lab/cuckoo_tables.hpp"

#include <tuple>
#include <vector>

namespace weir::lab {

template <class Entry> class Emoma {
public:
  // `tables` are empty and outlive it.
  explicit Emoma(OneSlotTables<Entry> &tables) : tables_(tables), blocks_(tables.buckets()) {}

  [[nodiscard]] Home predict(KeyHash h) const noexcept { return count(h) != 0 ? Home::table2 : Home::table1; }
  [[nodiscard]] std::uint64_t bits() const noexcept { return 8 * blocks_.size(); }

  // How many keys found no place: this one, or others.
  unsigned insert(const Entry &entry) {
    pending_.assign(1, entry);
    unsigned lost = 0;
    for (unsigned move = 0; !pending_.empty(); ++move) {
      const Entry hand = pending_.back();
      pending_.pop_back();
      if (move >= cuckoo_moves_max || !place(hand)) ++lost;
    }
    return lost;
  }

private:
  static constexpr unsigned counter_max = 15; // stays there

  [[nodiscard]] std::size_t block(KeyHash h) const noexcept { return tables_.bucket(h, Home::table1); }
  [[nodiscard]] static unsigned shift(KeyHash h) noexcept { return (remix(h, 0xE303A) & 1) != 0 ? 4 : 0; }
  [[nodiscard]] unsigned count(KeyHash h) const noexcept {
    return blocks_[block(h)] >> shift(h) & counter_max;
  }
  void raise(KeyHash h) noexcept {
    if (count(h) != counter_max) blocks_[block(h)] += static_cast<std::uint8_t>(1u << shift(h));
  }
  void lower(KeyHash h) noexcept {
    if (count(h) != counter_max) blocks_[block(h)] -= static_cast<std::uint8_t>(1u << shift(h));
  }

  [[nodiscard]] bool place(const Entry &entry) {
    const KeyHash h = hash_of(entry);
    const std::size_t b = block(h);
    if (count(h) != 0) return place2(entry, h);
    if (!tables_.taken(b)) {
      std::ignore = tables_.put(b, entry);
      return true;
    }
    const Entry there = tables_.at(b);
    const KeyHash g = hash_of(there);
    // Both accepted or both not: of one counter, neither may stay alone. Otherwise the one that finds its place in
    // table 2 more easily goes there.
    if (shift(g) == shift(h) || trouble2(h) < trouble2(g)) return place2(entry, h);
    std::ignore = tables_.put(b, entry);
    return place2(there, g);
  }
  // Of its bucket in table 2: free, to be had, locked.
  [[nodiscard]] unsigned trouble2(KeyHash h) const noexcept {
    const std::size_t b = tables_.bucket(h, Home::table2);
    return !tables_.taken(b) ? 0 : count(hash_of(tables_.at(b))) == 1 ? 1 : 2;
  }
  [[nodiscard]] bool place2(const Entry &entry, KeyHash h) {
    const std::size_t b = tables_.bucket(h, Home::table2);
    if (tables_.taken(b)) {
      const Entry there = tables_.at(b);
      const KeyHash g = hash_of(there);
      if (trouble2(h) == 2) return false;
      lower(g);
      pending_.push_back(there);
    }
    std::ignore = tables_.put(b, entry);
    raise(h);
    const std::size_t first = block(h);
    if (!tables_.taken(first)) return true;
    const Entry mistaken = tables_.at(first);
    if (count(hash_of(mistaken)) == 0) return true;
    tables_.clear(first);
    pending_.push_back(mistaken);
    return true;
  }

  OneSlotTables<Entry> &tables_;
  std::vector<std::uint8_t> blocks_;
  std::vector<Entry> pending_;
};

} // namespace weir::lab
