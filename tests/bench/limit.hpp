// LIMIT is no table at all: the hash of the lookup, a prefetch, and one random line of memory as large as a table.
//
// It prefetches its lines into L2, one between every two lines that it reads, and reads each of them three bursts
// later. That fetched most lines of all that was tried. "LIMIT, L1" is the LIMIT of older tables: it prefetches
// the lines of a burst into L1, back to back, and reads them one burst later.
#pragma once

#include "tests/bench/contenders.hpp"

namespace weir::bench {

// `lines_a_query` of them are touched, each behind a hash of its own: one for hosts, otherwise as many
// as there are prefix lengths to ask.
class LimitLookup {
public:
  explicit LimitLookup(std::size_t table_bytes, unsigned lines_a_query = 1);
  // The count is meaningless and never zero by luck.
  std::uint64_t run(std::span<const WireV4> queries);
  std::uint64_t run(std::span<const WireV6> queries);
  std::uint64_t run_into_l1(std::span<const WireV4> queries);
  std::uint64_t run_into_l1(std::span<const WireV6> queries);

  // One burst of run(), for a loop of its own: prefetches the lines of `queries` and reads those of three bursts ago.
  std::uint64_t run_a_burst(std::span<const WireV4> queries);
  std::uint64_t run_a_burst(std::span<const WireV6> queries);

  [[nodiscard]] std::size_t bytes() const noexcept { return region_.bytes().size(); }

private:
  // The lines of one burst.
  static constexpr unsigned lengths_max = 16;
  using Lines = std::array<const void *, burst_keys * lengths_max>;

  template <class Way, class Wire> std::uint64_t run_all(std::span<const Wire> queries);
  template <class Wire> std::uint64_t run_one(std::span<const Wire> queries);

  Region region_;
  std::uint32_t lines_;
  unsigned lines_a_query_;
  std::array<Lines, 4> under_way_; // of run_a_burst()
  std::size_t bursts_ = 0;
};

} // namespace weir::bench
