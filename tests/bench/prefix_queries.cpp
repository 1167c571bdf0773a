#include "tests/bench/prefix_queries.hpp"

#include <algorithm>
#include <cmath>

namespace weir::bench {

const char *name_of(QueryMix mix) {
  switch (mix) {
  case QueryMix::uniform: return "uniform";
  case QueryMix::inside: return "inside";
  case QueryMix::miss: return "95 % miss";
  case QueryMix::zipf: return "zipf";
  }
  return "";
}

template <class Wire> PrefixQueries<Wire>::PrefixQueries(const PrefixSet<Wire> &set) : set_(set) {
  for (const auto &entry : set.entries) {
    const Wide first = Of::number(entry), last = first | host_mask<Wire>(entry.length);
    const auto first_block = static_cast<std::uint64_t>(first >> (Of::bits - block_bits));
    const auto last_block = static_cast<std::uint64_t>(last >> (Of::bits - block_bits));
    if (!touched_.empty() && first_block <= touched_.back().second + 1)
      touched_.back().second = std::max(touched_.back().second, last_block);
    else
      touched_.emplace_back(first_block, last_block);
    const auto last_top = static_cast<unsigned>(last >> (Of::bits - 16));
    for (auto top = static_cast<unsigned>(first >> (Of::bits - 16)); top <= last_top; ++top)
      if (tops_.empty() || tops_.back() < top) tops_.push_back(static_cast<std::uint16_t>(top));
  }
}

template <class Wire> bool PrefixQueries<Wire>::is_touched(std::uint64_t block) const {
  const auto behind =
      std::ranges::upper_bound(touched_, block, {}, &std::pair<std::uint64_t, std::uint64_t>::first);
  return behind != touched_.begin() && block <= std::prev(behind)->second;
}

template <class Wire> Wide PrefixQueries<Wire>::uniform_number(std::mt19937_64 &random) const {
  if constexpr (Of::bits == 32) {
    return random() & 0xFFFF'FFFF;
  } else {
    const Wide drawn = Wide{random()} << 64 | random();
    const Wide top = tops_[random() % tops_.size()];
    return top << 112 | (drawn & host_mask<Wire>(16));
  }
}

template <class Wire> Wire PrefixQueries<Wire>::uniform(std::mt19937_64 &random) const {
  return Of::wire(uniform_number(random));
}

template <class Wire> Wire PrefixQueries<Wire>::inside(std::mt19937_64 &random) const {
  const auto &entry = set_.entries[random() % set_.entries.size()];
  const Wide drawn = Wide{random()} << 64 | random();
  return Of::wire(Of::number(entry) | (drawn & host_mask<Wire>(entry.length)));
}

template <class Wire> Wire PrefixQueries<Wire>::untouched(std::mt19937_64 &random) const {
  for (;;) {
    const Wide number = uniform_number(random);
    if (!is_touched(static_cast<std::uint64_t>(number >> (Of::bits - block_bits)))) return Of::wire(number);
  }
}

template <class Wire>
std::vector<Wire> PrefixQueries<Wire>::make(QueryMix mix, std::size_t count, std::uint64_t seed) const {
  std::mt19937_64 random(seed);
  std::vector<Wire> queries(count);
  switch (mix) {
  case QueryMix::uniform:
    for (Wire &query : queries) query = uniform(random);
    break;
  case QueryMix::inside:
    for (Wire &query : queries) query = inside(random);
    break;
  case QueryMix::miss:
    for (Wire &query : queries) query = random() % 20 == 0 ? inside(random) : untouched(random);
    break;
  case QueryMix::zipf: {
    std::vector<Wire> flows(1'000'000);
    for (Wire &flow : flows) {
      const std::uint64_t kind = random() % 5;
      flow = kind == 0 ? inside(random) : kind < 3 ? uniform(random) : untouched(random);
    }
    // The integral of 1 / x stands for the sum of 1 / i.
    const double log_behind = std::log(static_cast<double>(flows.size() + 1));
    std::uniform_real_distribution<double> share(0, log_behind);
    for (Wire &query : queries)
      query = flows[std::min(static_cast<std::size_t>(std::exp(share(random))) - 1, flows.size() - 1)];
    break;
  }
  }
  return queries;
}

template class PrefixQueries<WireV4>;
template class PrefixQueries<WireV6>;

} // namespace weir::bench
