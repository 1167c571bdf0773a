// Mixes of addresses that are asked about a set of prefixes.
//
//   uniform     IPv4: any address; IPv6: any address below the /16s that the set has prefixes in
//   inside      a random prefix of the set, and a random address in it
//   95 % miss   19 of 20 in blocks that no prefix of the set touches (/24s, /48s), the others inside
//   zipf        a million flows of which the i-th comes with a share of 1 / i: 20 % of them inside,
//               40 % uniform, 40 % in untouched blocks
#pragma once

#include "tests/bench/prefix_sets.hpp"

#include <random>
#include <utility>

namespace weir::bench {

enum class QueryMix : std::uint8_t { uniform, inside, miss, zipf };
inline constexpr QueryMix all_query_mixes[] = {QueryMix::uniform, QueryMix::inside, QueryMix::miss,
                                               QueryMix::zipf};
[[nodiscard]] const char *name_of(QueryMix mix);

template <class Wire> class PrefixQueries {
public:
  explicit PrefixQueries(const PrefixSet<Wire> &set); // the set must stay

  [[nodiscard]] std::vector<Wire> make(QueryMix mix, std::size_t count, std::uint64_t seed) const;

  [[nodiscard]] Wire uniform(std::mt19937_64 &random) const;
  [[nodiscard]] Wire inside(std::mt19937_64 &random) const;
  [[nodiscard]] Wire untouched(std::mt19937_64 &random) const;

private:
  using Of = OfFamily<Wire>;
  static constexpr unsigned block_bits = Of::bits == 32 ? 24 : 48;

  [[nodiscard]] Wide uniform_number(std::mt19937_64 &random) const;
  [[nodiscard]] bool is_touched(std::uint64_t block) const;

  const PrefixSet<Wire> &set_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> touched_; // first and last block, ascending
  std::vector<std::uint16_t> tops_;                              // the /16s in use
};

} // namespace weir::bench
