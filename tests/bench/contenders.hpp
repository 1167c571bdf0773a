// The three that answer the same questions: weir's burst pipeline, DPDK's rte_hash, and LIMIT, which
// is no table at all but what a table cannot beat: the same hash, a prefetch, one random line.
#pragma once

#include "tests/bench/bench.hpp"
#include "weir/build/image_builder.hpp"
#include "weir/image/view.hpp"
#include "weir/table/burst_lookup.hpp"

#include <memory>
#include <span>

struct rte_hash;

namespace weir::bench {

inline constexpr unsigned burst_keys = 64;

// The i-th of 2^32 distinct addresses, in wire order, without visible order.
[[nodiscard]] std::uint32_t scrambled_address(std::uint32_t i);

// Queries of which `hit_percent` ask for one of the first `keys` addresses and the rest for others.
[[nodiscard]] std::vector<std::uint32_t> make_queries(std::uint32_t keys, double hit_percent,
                                                      std::size_t count, std::uint64_t seed);

// The first `keys` addresses as sorted deny entries of one list.
[[nodiscard]] std::vector<build::EntryV4> make_entries(std::uint32_t keys);

// An image over `entries` and a view of it.
class Image {
public:
  Image(std::span<const build::EntryV4> v4, std::span<const build::EntryV6> v6, bool front_filter);
  [[nodiscard]] const image::ImageView &view() const { return view_; }
  [[nodiscard]] const build::BuildReport &report() const { return report_; }
  [[nodiscard]] const Region &region() const { return *region_; }

private:
  std::unique_ptr<Region> region_;
  build::BuildReport report_;
  image::ImageView view_;
};

// Each answers a stream of queries, in bursts, and says how many were found.
class WeirLookup {
public:
  explicit WeirLookup(const image::ImageView &view);
  std::uint64_t run(std::span<const std::uint32_t> queries);

private:
  const image::ImageView &view_;
  std::unique_ptr<table::BurstLookup[]> bursts_; // three in flight
};

class RteHashLookup {
public:
  explicit RteHashLookup(std::uint32_t keys);
  ~RteHashLookup();
  RteHashLookup(const RteHashLookup &) = delete;
  RteHashLookup &operator=(const RteHashLookup &) = delete;
  [[nodiscard]] const rte_hash *table() const { return table_; }
  std::uint64_t run(std::span<const std::uint32_t> queries);

private:
  rte_hash *table_;
};

class LimitLookup {
public:
  explicit LimitLookup(std::size_t table_bytes);
  std::uint64_t
  run(std::span<const std::uint32_t> queries); // the count is meaningless and never zero by luck

private:
  Region region_;
  std::uint32_t lines_;
};

} // namespace weir::bench
