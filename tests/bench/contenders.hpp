// The two that answer the same questions about hosts: weir's burst pipeline and DPDK's rte_hash.
#pragma once

#include "control/plan/calibration.hpp"
#include "tests/bench/bench.hpp"
#include "weir/build/image_builder.hpp"
#include "weir/image/view.hpp"
#include "weir/lookup/burst_stream.hpp"

#include <array>
#include <memory>
#include <span>

struct rte_hash;

namespace weir::bench {

inline constexpr unsigned burst_keys = 64;

using WireV4 = std::uint32_t; // an address as it stands in a packet
using WireV6 = std::array<std::uint8_t, 16>;

// The i-th of 2^32 distinct addresses without visible order.
[[nodiscard]] std::uint32_t scrambled_address(std::uint32_t i);
template <class Wire> [[nodiscard]] Wire address_at(std::uint32_t i);

// One stretch of queries for each round, so that no round finds the lines of the last one in a cache.
template <class Wire> struct Queries {
  std::vector<Wire> all;
  std::size_t a_round = 0;
  [[nodiscard]] std::span<const Wire> of(unsigned round) const {
    return std::span<const Wire>(all).subspan(round * a_round % all.size(), a_round);
  }
};

// Reads all of them, so that they lie in a cache as far as they fit.
template <class Wire> void touch(std::span<const Wire> queries) {
  const auto *bytes = reinterpret_cast<const volatile std::uint8_t *>(queries.data());
  for (std::size_t i = 0; i < queries.size_bytes(); i += cache_line_bytes) (void)bytes[i];
}

// `count` queries of which `hit_percent` ask for one of the first `keys` addresses, the rest for others.
template <class Wire>
[[nodiscard]] std::vector<Wire> make_queries_of(std::uint32_t keys, double hit_percent, std::size_t count,
                                                std::uint64_t seed);
[[nodiscard]] std::vector<std::uint32_t> make_queries(std::uint32_t keys, double hit_percent,
                                                      std::size_t count, std::uint64_t seed);

// Enough for every round of the run and the one that warms up.
template <class Wire>
[[nodiscard]] Queries<Wire> make_rounds(const Options &options, std::uint32_t keys, double hit_percent) {
  const std::size_t a_round = options.quick ? 1u << 18 : 1u << 20;
  return {make_queries_of<Wire>(keys, hit_percent, a_round * (options.rounds() + 1), 42), a_round};
}

// The first `keys` addresses as sorted deny entries of one list.
[[nodiscard]] std::vector<build::EntryV4> make_entries(std::uint32_t keys);
[[nodiscard]] std::vector<build::EntryV6> make_entries_v6(std::uint32_t keys);

inline constexpr plan::Option plain_plan{plan::FrontFilter::none, plan::Predictor::inline_bits};

// An image over `entries` and a view of it.
class Image {
public:
  // Entries name lists 0 to `lists` - 1.
  Image(std::span<const build::EntryV4> v4, std::span<const build::EntryV6> v6, plan::Option option,
        unsigned lists = 1, build::HostHome home = build::HostHome::table);
  Image(std::span<const build::EntryV4> v4, std::span<const build::EntryV6> v6, bool front_filter);
  [[nodiscard]] const image::ImageView &view() const { return view_; }
  [[nodiscard]] const build::BuildReport &report() const { return report_; }
  [[nodiscard]] const Region &region() const { return *region_; }

private:
  std::unique_ptr<Region> region_;
  build::BuildReport report_;
  image::ImageView view_;
};

// Of one family, by plain_plan.
[[nodiscard]] std::unique_ptr<Image> image_of(std::span<const build::EntryV4> entries, unsigned lists = 1);
[[nodiscard]] std::unique_ptr<Image> image_of(std::span<const build::EntryV6> entries, unsigned lists = 1);
// What the entries of such an image add to one that lists nothing.
[[nodiscard]] std::uint64_t bytes_of_entries(const Image &image, unsigned lists = 1);

// Each answers a stream of queries, in bursts, and says how many were found.
class WeirLookup {
public:
  explicit WeirLookup(const image::ImageView &view);
  std::uint64_t run(std::span<const WireV4> queries);
  std::uint64_t run(std::span<const WireV6> queries);

  // For each of a whole number of bursts the number of the list that has it + 1, 0 for none.
  [[nodiscard]] std::vector<std::uint32_t> list_words(std::span<const WireV4> queries);
  [[nodiscard]] std::vector<std::uint32_t> list_words(std::span<const WireV6> queries);

  // Lines of tables and front filter touched for a query, over all runs so far.
  [[nodiscard]] double lines_per_lookup() const;

private:
  template <class Wire> std::uint64_t run_all(std::span<const Wire> queries);
  template <class Wire> std::vector<std::uint32_t> list_words_of(std::span<const Wire> queries);

  const image::ImageView &view_;
  lookup::BurstStream stream_;
  std::uint64_t asked_ = 0, lines_ = 0;
};

// Keys of `key_bytes`, which is a key's size in `key_at`'s memory as well.
class RteHash {
public:
  RteHash(std::uint32_t keys, std::uint32_t key_bytes);
  ~RteHash();
  RteHash(const RteHash &) = delete;
  RteHash &operator=(const RteHash &) = delete;
  void add(const void *key, std::uint32_t number);
  // Bit i: key i of at most 64 is there.
  [[nodiscard]] std::uint64_t find(const void **keys, unsigned count) const;
  [[nodiscard]] const rte_hash *table() const { return table_; }

private:
  rte_hash *table_;
};

template <class Wire> class RteHashLookup {
public:
  explicit RteHashLookup(std::uint32_t keys) : table_(keys, sizeof(Wire)) {
    for (std::uint32_t i = 0; i < keys; ++i) {
      const Wire key = address_at<Wire>(i);
      table_.add(&key, i);
    }
  }

  [[nodiscard]] const rte_hash *table() const { return table_.table(); }

  std::uint64_t run(std::span<const Wire> queries) const {
    std::uint64_t found = 0;
    const void *keys[burst_keys];
    for (std::size_t at = 0; at + burst_keys <= queries.size(); at += burst_keys) {
      for (unsigned i = 0; i < burst_keys; ++i) keys[i] = &queries[at + i];
      found += static_cast<unsigned>(std::popcount(table_.find(keys, burst_keys)));
    }
    return found;
  }

private:
  RteHash table_;
};

} // namespace weir::bench
