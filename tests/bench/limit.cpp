#include "tests/bench/limit.hpp"

#include "weir/lookup/kernels/choose.hpp"

#include <algorithm>

namespace weir::bench {
namespace {

constexpr std::uint64_t seed_of_limit = 0x5EED;

// A burst of at most burst_keys.
void hash_all(const lookup::Kernels &kernels, std::span<const WireV4> keys, const std::uint64_t *seeds,
              KeyHash *to) {
  kernels.hash_v4(keys.data(), seeds, static_cast<unsigned>(keys.size()), to);
}
void hash_all(const lookup::Kernels &kernels, std::span<const WireV6> keys, const std::uint64_t *seeds,
              KeyHash *to) {
  alignas(cache_line_bytes) std::array<table::KeyV6, burst_keys> copied;
  for (std::size_t k = 0; k < keys.size(); ++k) copied[k] = table::KeyV6::load(keys[k].data());
  kernels.hash_v6(copied.data(), seeds, static_cast<unsigned>(keys.size()), to);
}

template <class Wire> constexpr std::uint64_t seed_of(unsigned length) {
  return std::is_same_v<Wire, WireV4> ? xxh3::flip_v4(seed_of_limit + length) : seed_of_limit + length;
}

// How lines are fetched: each way has the bursts between the prefetch of a line and its use.
struct InterleavedIntoL2 {
  static constexpr unsigned ahead = 3;
  static std::uint64_t fetch_and_read(const void *const *fetch, const void *const *read, unsigned count) {
    std::uint64_t sum = 0;
    for (unsigned k = 0; k < count; ++k) {
      __builtin_prefetch(fetch[k], 0, 2);
      sum += load_unaligned<std::uint32_t>(read[k]);
    }
    return sum;
  }
};
struct BackToBackIntoL1 {
  static constexpr unsigned ahead = 1;
  static std::uint64_t fetch_and_read(const void *const *fetch, const void *const *read, unsigned count) {
    std::uint64_t sum = 0;
    for (unsigned k = 0; k < count; ++k) __builtin_prefetch(fetch[k], 0, 3);
    for (unsigned k = 0; k < count; ++k) sum += load_unaligned<std::uint32_t>(read[k]);
    return sum;
  }
};

} // namespace

LimitLookup::LimitLookup(std::size_t table_bytes, unsigned lines_a_query)
    : region_(std::max(table_bytes, cache_line_bytes)),
      lines_(static_cast<std::uint32_t>(region_.bytes().size() / cache_line_bytes)),
      lines_a_query_(lines_a_query) {
  std::ranges::fill(region_.bytes(), std::byte{1});
  for (Lines &of_burst : under_way_) of_burst.fill(region_.bytes().data());
}

// The hash and the multiply-and-shift of the lookup, by the same kernels.
template <class Way, class Wire> std::uint64_t LimitLookup::run_all(std::span<const Wire> queries) {
  const lookup::Kernels &kernels = lookup::best_kernels();
  std::array<std::array<std::uint64_t, burst_keys>, lengths_max> seeds;
  for (unsigned l = 0; l < lines_a_query_; ++l) seeds[l].fill(seed_of<Wire>(l));
  std::array<KeyHash, burst_keys> hashes;
  std::array<Lines, Way::ahead + 1> lines;
  const unsigned lines_a_burst = burst_keys * lines_a_query_;
  for (Lines &of_burst : lines) std::fill_n(of_burst.begin(), lines_a_burst, region_.bytes().data());
  std::uint64_t sum = 0;
  const std::size_t bursts = queries.size() / burst_keys;
  for (std::size_t i = 0; i < bursts; ++i) {
    Lines &of_burst = lines[i % lines.size()];
    for (unsigned l = 0; l < lines_a_query_; ++l) {
      hash_all(kernels, queries.subspan(i * burst_keys, burst_keys), seeds[l].data(), hashes.data());
      kernels.lines1(hashes.data(), burst_keys, region_.bytes().data(), lines_, &of_burst[l * burst_keys]);
    }
    sum += Way::fetch_and_read(of_burst.data(), lines[(i + 1) % lines.size()].data(), lines_a_burst);
  }
  return sum;
}

template <class Wire> std::uint64_t LimitLookup::run_one(std::span<const Wire> queries) {
  static constexpr auto seeds = [] {
    std::array<std::uint64_t, burst_keys> all{};
    all.fill(seed_of<Wire>(0));
    return all;
  }();
  const lookup::Kernels &kernels = lookup::best_kernels();
  const auto count = static_cast<unsigned>(queries.size());
  std::array<KeyHash, burst_keys> hashes;
  Lines &lines = under_way_[bursts_++ % under_way_.size()];
  hash_all(kernels, queries, seeds.data(), hashes.data());
  kernels.lines1(hashes.data(), count, region_.bytes().data(), lines_, lines.data());
  return InterleavedIntoL2::fetch_and_read(lines.data(), under_way_[bursts_ % under_way_.size()].data(),
                                           count);
}

std::uint64_t LimitLookup::run_a_burst(std::span<const WireV4> q) { return run_one(q); }
std::uint64_t LimitLookup::run_a_burst(std::span<const WireV6> q) { return run_one(q); }

std::uint64_t LimitLookup::run(std::span<const WireV4> q) { return run_all<InterleavedIntoL2>(q); }
std::uint64_t LimitLookup::run(std::span<const WireV6> q) { return run_all<InterleavedIntoL2>(q); }
std::uint64_t LimitLookup::run_into_l1(std::span<const WireV4> q) { return run_all<BackToBackIntoL1>(q); }
std::uint64_t LimitLookup::run_into_l1(std::span<const WireV6> q) { return run_all<BackToBackIntoL1>(q); }

} // namespace weir::bench
