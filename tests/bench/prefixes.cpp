// What prefix lengths cost: an address is asked at 1 to 16 of them, all in use below every /16. Beside rte_hash
// asked once a length, longest first, and a LIMIT of as many hashes and random lines as there are lengths.
#include "tests/bench/candidates.hpp"
#include "tests/bench/limit.hpp"
#include "tests/bench/race.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <random>

namespace weir::bench {
namespace {

WireV4 masked_to(WireV4 address, unsigned length) { return address & wire_mask_v4(length); }
WireV6 masked_to(WireV6 address, unsigned length) {
  return masked(Address::from_v6(address.data()), length).bytes;
}

// rte_hash knows no prefixes: (masked address, length) is the key, asked for each length.
template <class Wire> class RteHashPrefixes {
public:
  struct Key {
    Wire address;
    std::uint32_t length;
  };

  RteHashPrefixes(std::span<const Key> keys, std::vector<unsigned> longest_first)
      : table_(static_cast<std::uint32_t>(keys.size()), sizeof(Key)), lengths_(std::move(longest_first)) {
    for (std::uint32_t i = 0; i < keys.size(); ++i) table_.add(&keys[i], i);
  }

  std::uint64_t run(std::span<const Wire> queries) const {
    std::uint64_t found = 0;
    Key keys[burst_keys];
    const void *asked[burst_keys];
    for (std::size_t at = 0; at + burst_keys <= queries.size(); at += burst_keys) {
      std::uint64_t open = ~std::uint64_t{0};
      for (const unsigned length : lengths_) {
        unsigned slots[burst_keys], count = 0;
        for (std::uint64_t rest = open; rest != 0; rest &= rest - 1, ++count) {
          slots[count] = static_cast<unsigned>(std::countr_zero(rest));
          keys[count] = {masked_to(queries[at + slots[count]], length), length};
          asked[count] = &keys[count];
        }
        if (count == 0) break;
        for (std::uint64_t hits = table_.find(asked, count); hits != 0; hits &= hits - 1)
          open &= ~(std::uint64_t{1} << slots[std::countr_zero(hits)]);
      }
      found += burst_keys - static_cast<unsigned>(std::popcount(open));
    }
    return found;
  }

private:
  RteHash table_;
  std::vector<unsigned> lengths_;
};

// Entries sorted and unique, and the peer's keys for them.
struct PrefixesV4 {
  std::vector<build::EntryV4> entries;
  std::vector<RteHashPrefixes<WireV4>::Key> keys;
};
struct PrefixesV6 {
  std::vector<build::EntryV6> entries;
  std::vector<RteHashPrefixes<WireV6>::Key> keys;
};

template <class Prefixes> Prefixes finished(Prefixes p) {
  std::ranges::sort(p.entries);
  const auto again = std::ranges::unique(p.entries);
  p.entries.erase(again.begin(), again.end());
  for (const auto &e : p.entries) {
    if constexpr (std::is_same_v<Prefixes, PrefixesV4>)
      p.keys.push_back({byteswap32(e.host), e.length});
    else
      p.keys.push_back({e.address, e.length});
  }
  return p;
}

// `count` entries: a prefix of each length but the longest below every /16, the rest hosts.
PrefixesV4 make_prefixes_v4(std::span<const unsigned> longest_first, std::uint32_t count) {
  std::mt19937_64 random(17);
  PrefixesV4 p;
  for (const unsigned length : longest_first.subspan(1))
    for (std::uint32_t cell = 0; cell < 1u << 16; ++cell) {
      const std::uint32_t host = cell << 16 | static_cast<std::uint32_t>(random() & 0xFFFF);
      p.entries.push_back(
          {host & (~std::uint32_t{0} << (32 - length)), static_cast<std::uint8_t>(length), 0, 0});
    }
  for (std::uint32_t i = 0; p.entries.size() < count; ++i)
    p.entries.push_back({byteswap32(scrambled_address(i)), 32, 0, 0});
  return finished(std::move(p));
}

PrefixesV6 make_prefixes_v6(std::span<const unsigned> longest_first, std::uint32_t count) {
  PrefixesV6 p;
  for (std::uint32_t i = 0; i < count; ++i) {
    const unsigned length = longest_first[i % longest_first.size()];
    p.entries.push_back({masked_to(address_at<WireV6>(i), length), static_cast<std::uint8_t>(length), 0, 0});
  }
  return finished(std::move(p));
}

struct Question {
  const char *family;
  std::uint32_t keys;
  unsigned lengths;
};

template <class Wire>
void race_lengths(const Options &options, const Question &question, std::vector<Candidate> candidates,
                  const RteHashPrefixes<Wire> &peer, JsonLines &lines, Grid &grid) {
  LimitLookup limit(least_table_bytes(candidates), question.lengths);
  auto queries = make_rounds<Wire>(options, question.keys / 2, 1);
  queries.a_round /= 4;
  std::vector<Contender> contenders;
  for (Candidate &candidate : candidates)
    contenders.push_back(
        {candidate.name(), [&](unsigned r) { return candidate.lookup().run(queries.of(r)); }});
  contenders.push_back({"rte_hash", [&](unsigned r) { return peer.run(queries.of(r)); }});
  contenders.push_back({"LIMIT", [&](unsigned r) { return limit.run(queries.of(r)); }, false});
  const auto outcomes = compete(contenders, queries.a_round, options.rounds());

  std::vector<std::string> cells{question.family, std::to_string(question.lengths)};
  for (const Outcome &outcome : outcomes) {
    cells.push_back(with_spread(outcome.figure));
    lines.line({{"bench", "prefixes"},
                {"family", question.family},
                {"contender", outcome.name},
                {"keys", std::uint64_t{question.keys}},
                {"lengths", std::uint64_t{question.lengths}},
                {"mlookups_per_s", outcome.figure.median},
                {"ns_per_key", 1e3 / outcome.figure.median},
                {"spread_percent", outcome.figure.spread_percent}});
  }
  const std::size_t ours = candidates.size(), best = fastest(outcomes, 0, ours);
  cells.insert(cells.end(), {fmt::format("{:.2f}", candidates.front().lines_per_lookup()),
                             short_number(ratio_of(outcomes[best], outcomes[ours + 1]).median),
                             short_number(ratio_of(outcomes[best], outcomes[ours]).median)});
  grid.rows.push_back(cells);
}

void bench_prefixes(const Options &options, std::vector<Standing> &) {
  JsonLines lines(options, "prefixes");
  Grid grid{{"family", "lengths"}, {}};
  for (const PlanShape &shape : plan_shapes()) grid.columns.emplace_back(shape.name);
  for (const char *name : {"rte_hash", "LIMIT", "lines", "/ LIMIT", "/ rte_hash"})
    grid.columns.emplace_back(name);

  const std::uint32_t keys = options.quick ? 1'200'000 : 2'000'000;
  std::vector<unsigned> all;
  for (unsigned length = 32; length > 16; --length) all.push_back(length);
  for (const unsigned count :
       options.quick ? std::vector{1u, 4u, 16u} : std::vector{1u, 2u, 4u, 6u, 8u, 12u, 16u}) {
    const std::vector<unsigned> lengths(all.begin(), all.begin() + count);
    const PrefixesV4 p = make_prefixes_v4(lengths, keys);
    const RteHashPrefixes<WireV4> peer(p.keys, lengths);
    race_lengths<WireV4>(options, {"IPv4", keys, count}, make_candidates(p.entries, {}), peer, lines, grid);
  }
  for (const std::vector<unsigned> &lengths : {std::vector{128u}, std::vector{128u, 64u, 56u, 48u}}) {
    if (options.quick && lengths.size() == 1) continue;
    const PrefixesV6 p = make_prefixes_v6(lengths, 1'000'000);
    const RteHashPrefixes<WireV6> peer(p.keys, lengths);
    const auto count = static_cast<unsigned>(lengths.size());
    race_lengths<WireV6>(options, {"IPv6", 1'000'000, count}, make_candidates({}, p.entries), peer, lines,
                         grid);
  }
  show(options, "prefixes", "addresses asked at several prefix lengths, one core, million addresses a second",
       grid);
}

const Benchmark prefixes_benchmark{14, "prefixes", bench_prefixes};

} // namespace
} // namespace weir::bench
