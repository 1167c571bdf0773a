// Builds ChainedFilter with `&` over shared slots (filter/chained_and_shared.hpp): the positives are peeled for their
// fingerprints, then each column for the keys that chose it. One seed has to serve all three.
#pragma once

#include "weir/build/chained_model.hpp"
#include "weir/build/peeled_filter.hpp"
#include "weir/filter/chained_and_shared.hpp"

#include <fmt/format.h>

namespace weir::build {

template <unsigned ways> class ChainedAndShared {
  using Table = filter::FuseShape<ways>;
  using Key = filter::SharedKey<ways>;

public:
  using View = filter::ChainedAndSharedView<ways>;
  static constexpr unsigned first_bits_max = filter::peeled_fingerprint_bits_max - 2;

  // At least one bit of fingerprint. Keys may be repeated. Errors: usage, for a key that is positive and negative, for no
  // positives, and when none of 64 seeds finds a place for every key.
  [[nodiscard]] static Result<ChainedAndShared> build(std::span<const KeyHash> positives,
                                                      std::span<const KeyHash> negatives,
                                                      std::uint64_t layer = 0, std::uint64_t seed = 0) {
    const auto n = static_cast<double>(positives.size());
    if (positives.empty()) return fail(Errc::usage, "a chained filter over shared slots: no positives");
    const double lambda = static_cast<double>(negatives.size()) / n;
    const auto bits = static_cast<unsigned>(std::ceil(std::log2(std::clamp(lambda, 2.0, 0x1p18))));
    const auto table = Table::for_keys(n, bits + 2);
    if (!table) return fail(Errc::usage, "a chained filter over shared slots: more than 2^32 slots");
    return build(positives, negatives, *table, layer, seed);
  }
  // In a table of the caller's choice, whose slots have two bits more than the first stage. Any number of positives.
  [[nodiscard]] static Result<ChainedAndShared> build(std::span<const KeyHash> positives,
                                                      std::span<const KeyHash> negatives, const Table &table,
                                                      std::uint64_t layer = 0, std::uint64_t seed = 0) {
    ChainedAndShared made(table);
    for (unsigned attempt = 0; attempt < peel_seeds_max; ++attempt) {
      made.seed_ = remix({seed}, attempt);
      made.family_ = View::family(layer, made.seed_);
      if (made.fill(positives, negatives, attempt != 0)) return made;
      if (attempt == 0) TRY(check_apart(positives, negatives));
    }
    return fail(Errc::usage,
                fmt::format("a chained filter over shared slots: {} positives find no place in {} slots",
                            positives.size(), table.slots()));
  }

  [[nodiscard]] bool contains(KeyHash key) const noexcept { return view().contains(key); }
  [[nodiscard]] filter::HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return view().contains_batch(keys);
  }
  [[nodiscard]] View view() const noexcept { return View(table_, family_, bytes_.data()); }
  [[nodiscard]] std::uint64_t bits() const noexcept { return table_.bits(); }
  [[nodiscard]] unsigned first_bits() const noexcept { return table_.fingerprint_bits - 2; }
  [[nodiscard]] std::uint64_t keys() const noexcept { return keys_; }               // different positives
  [[nodiscard]] std::uint64_t second_keys() const noexcept { return second_keys_; } // in both columns
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }               // the one that served
  [[nodiscard]] Bytes cells() const noexcept { return bytes_; }

private:
  // Where keys go: slots_of() for peel().
  struct Places {
    const Table &table;
    [[nodiscard]] std::uint64_t slots() const noexcept { return table.slots(); }
    [[nodiscard]] filter::PeeledSlots<ways> slots_of(std::uint64_t h) const noexcept {
      return Key(table, h).slots;
    }
  };

  explicit ChainedAndShared(const Table &table) : table_(table), bytes_(table.bits() / 8) {}

  // A positive's lowest bit is 1, a negative's 0.
  [[nodiscard]] std::uint64_t mixed(KeyHash key, bool positive) const noexcept {
    return (remix(key, family_) & ~std::uint64_t{1}) | (positive ? 1 : 0);
  }

  // `once`: repeated keys are looked for and put out.
  [[nodiscard]] bool fill(std::span<const KeyHash> positives, std::span<const KeyHash> negatives, bool once) {
    std::ranges::fill(bytes_, std::byte{0});
    const unsigned f = first_bits();
    const std::uint32_t fingerprint = (std::uint32_t{1} << f) - 1;
    const auto order = peel_all(positives.size(), once, [&](auto take) {
      for (const KeyHash key : positives) take(mixed(key, true));
    });
    if (!order) return false;
    keys_ = order->mixed.size();
    second_keys_ = 0;
    settle_bits(*order, fingerprint, [](const Key &key, std::uint64_t) { return key.wanted; });

    std::vector<std::uint64_t> columns[2];
    for (const KeyHash key : positives) add(mixed(key, true), columns);
    for (const KeyHash key : negatives) {
      const std::uint64_t h = mixed(key, false);
      const Key k(table_, h);
      if (((combined(k.slots) ^ k.wanted) & fingerprint) == 0) add(h, columns);
    }
    for (unsigned c = 0; c < 2; ++c) {
      const auto in_column = peel_all(columns[c].size(), once, [&](auto take) {
        for (const std::uint64_t h : columns[c]) take(h);
      });
      if (!in_column) return false;
      second_keys_ += in_column->mixed.size();
      settle_bits(*in_column, std::uint32_t{1} << (f + c),
                  [](const Key &key, std::uint64_t h) { return (h & 1) != 0 ? key.wanted : 0; });
    }
    return true;
  }

  template <class Each>
  [[nodiscard]] std::optional<Peeling> peel_all(std::size_t count, bool once, Each each) const {
    std::vector<std::uint64_t> keys = in_slot_order(count, each);
    if (once) {
      std::ranges::sort(keys);
      const auto rest = std::ranges::unique(keys);
      keys.erase(rest.begin(), rest.end());
    }
    return peel(Places{table_}, std::move(keys));
  }

  void add(std::uint64_t h, std::vector<std::uint64_t> (&columns)[2]) const {
    columns[Key(table_, h).mask >> (first_bits() + 1)].push_back(h);
  }
  [[nodiscard]] std::uint32_t combined(const filter::PeeledSlots<ways> &slots) const noexcept {
    std::uint32_t bits = 0;
    for (const std::uint32_t slot : slots)
      bits ^= filter::peeled_load(bytes_.data(), std::uint64_t{slot} * table_.fingerprint_bits);
    return bits;
  }

  // As settle(), of the bits in `mask` of each slot alone.
  template <class Wanted> void settle_bits(const Peeling &order, std::uint32_t mask, Wanted wanted) {
    for (std::size_t i = order.mixed.size(); i-- > 0;) {
      const Key key(table_, order.mixed[i]);
      const std::uint32_t bits = (wanted(key, order.mixed[i]) ^ combined(key.slots)) & mask;
      const std::uint64_t at = std::uint64_t{order.slots[i]} * table_.fingerprint_bits;
      const auto word = load_unaligned<std::uint32_t>(bytes_.data() + at / 8) | bits << at % 8;
      std::memcpy(bytes_.data() + at / 8, &word, sizeof word);
    }
  }

  [[nodiscard]] static Status check_apart(std::span<const KeyHash> positives,
                                          std::span<const KeyHash> negatives) {
    std::vector<std::uint64_t> sorted;
    for (const KeyHash key : positives) sorted.push_back(key.bits);
    std::ranges::sort(sorted);
    for (const KeyHash key : negatives)
      if (std::ranges::binary_search(sorted, key.bits))
        return fail(Errc::usage,
                    fmt::format("a chained filter over shared slots: key {:016x} is positive and negative",
                                key.bits));
    return {};
  }

  Table table_;
  std::uint64_t family_ = 0, seed_ = 0, keys_ = 0, second_keys_ = 0;
  std::vector<std::byte> bytes_;
};

} // namespace weir::build
