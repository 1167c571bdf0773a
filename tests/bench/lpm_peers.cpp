#include "tests/bench/lpm_peers.hpp"

#include <fmt/core.h>
#include <rte_errno.h>
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_lpm.h>
#include <rte_memory.h>

#include <algorithm>
#include <array>
#include <unordered_set>

namespace weir::bench {
namespace {

// Tables behind an address's first 24 bits that `set` needs at most, each for eight bits more. rte_fib6 puts as many
// aside for a prefix as it has bytes behind those, unless another lies in the same whole number of bytes.
template <class Wire> std::uint32_t extension_tables(const PrefixSet<Wire> &set) {
  struct Hash {
    std::size_t operator()(Wide w) const {
      return static_cast<std::size_t>(
          remix({static_cast<std::uint64_t>(w >> 64)}, static_cast<std::uint64_t>(w)));
    }
  };
  std::uint64_t tables = 0;
  std::array<std::unordered_set<Wide, Hash>, 17> seen; // by whole bytes
  for (const auto &entry : set.entries) {
    if (entry.length <= 24) continue;
    const unsigned bytes = OfFamily<Wire>::bits == 32 ? 3 : entry.length / 8u;
    if (seen[bytes].insert(OfFamily<Wire>::number(entry) & ~host_mask<Wire>(bytes * 8)).second)
      tables += (entry.length + 7u) / 8 - 3;
  }
  return static_cast<std::uint32_t>(tables + 64);
}

[[noreturn]] void refuse(const char *what, std::size_t prefixes) {
  give_up(fmt::format("{} of {} prefixes: {}", what, prefixes, rte_strerror(rte_errno)));
}

std::string unique_name(const char *what) {
  static unsigned made = 0;
  return fmt::format("{}{}", what, made++);
}

using Hops = std::array<std::uint64_t, burst_keys>;

// As fast as the counting of weir's answers.
__attribute__((target("avx2"))) std::uint64_t count_matches(const Hops &hops) {
  std::uint64_t matches = 0;
  for (const std::uint64_t hop : hops) matches += hop != 0;
  return matches;
}

void turn(std::span<const WireV4> burst, std::uint32_t *to) {
  for (std::size_t k = 0; k < burst.size(); ++k) to[k] = byteswap32(burst[k]);
}

// How many matched, and what matched, from a peer's each_burst().
template <class Each> std::uint64_t count_all(const Each &each) {
  std::uint64_t matches = 0;
  each([&](const Hops &hops, unsigned) { matches += count_matches(hops); });
  return matches;
}
template <class Each> std::vector<std::uint32_t> words_of_all(const Each &each) {
  std::vector<std::uint32_t> words;
  each([&](const Hops &hops, unsigned count) {
    words.insert(words.end(), hops.begin(), hops.begin() + count);
  });
  return words;
}

} // namespace

// ---- rte_fib ------------------------------------------------------------------------------------

RteFib::RteFib(const PrefixSet<WireV4> &set) {
  rte_fib_conf conf{};
  conf.type = RTE_FIB_DIR24_8;
  conf.max_routes = static_cast<int>(set.entries.size() + 1024);
  conf.dir24_8.nh_sz = RTE_FIB_DIR24_8_4B;
  conf.dir24_8.num_tbl8 = extension_tables(set);
  fib_ = rte_fib_create(unique_name("fib").c_str(), SOCKET_ID_ANY, &conf);
  if (!fib_) refuse("rte_fib_create", set.entries.size());
  for (const auto &entry : set.entries)
    if (rte_fib_add(fib_, entry.host, entry.length, list_word(entry)) != 0)
      refuse("rte_fib_add", set.entries.size());
  is_vector_ = rte_fib_select_lookup(fib_, RTE_FIB_LOOKUP_DIR24_8_VECTOR_AVX512) == 0;
}

RteFib::~RteFib() { rte_fib_free(fib_); }

template <class Take> void RteFib::each_burst(std::span<const WireV4> queries, const Take &take) const {
  std::array<std::uint32_t, burst_keys> turned;
  Hops hops;
  for (std::size_t at = 0; at + burst_keys <= queries.size(); at += burst_keys) {
    turn(queries.subspan(at, burst_keys), turned.data());
    rte_fib_lookup_bulk(fib_, turned.data(), hops.data(), burst_keys);
    take(hops, burst_keys);
  }
}

std::uint64_t RteFib::run(std::span<const WireV4> queries) const {
  return count_all([&](const auto &take) { each_burst(queries, take); });
}
std::vector<std::uint32_t> RteFib::list_words(std::span<const WireV4> queries) const {
  return words_of_all([&](const auto &take) { each_burst(queries, take); });
}

// ---- rte_fib6 -----------------------------------------------------------------------------------

RteFib6::RteFib6(const PrefixSet<WireV6> &set) {
  rte_fib6_conf conf{};
  conf.type = RTE_FIB6_TRIE;
  conf.max_routes = static_cast<int>(set.entries.size() + 1024);
  conf.trie.nh_sz = RTE_FIB6_TRIE_4B;
  conf.trie.num_tbl8 = extension_tables(set);
  fib_ = rte_fib6_create(unique_name("fib6_").c_str(), SOCKET_ID_ANY, &conf);
  if (!fib_) refuse("rte_fib6_create", set.entries.size());
  for (const auto &entry : set.entries)
    if (rte_fib6_add(fib_, entry.address.data(), entry.length, list_word(entry)) != 0)
      refuse("rte_fib6_add", set.entries.size());
  is_vector_ = rte_fib6_select_lookup(fib_, RTE_FIB6_LOOKUP_TRIE_VECTOR_AVX512) == 0;
}

RteFib6::~RteFib6() { rte_fib6_free(fib_); }

template <class Take> void RteFib6::each_burst(std::span<const WireV6> queries, const Take &take) const {
  Hops hops;
  for (std::size_t at = 0; at + burst_keys <= queries.size(); at += burst_keys) {
    // It takes them as its own and does not change them.
    auto *addresses =
        const_cast<std::uint8_t(*)[16]>(reinterpret_cast<const std::uint8_t(*)[16]>(queries[at].data()));
    rte_fib6_lookup_bulk(fib_, addresses, hops.data(), burst_keys);
    take(hops, burst_keys);
  }
}

std::uint64_t RteFib6::run(std::span<const WireV6> queries) const {
  return count_all([&](const auto &take) { each_burst(queries, take); });
}
std::vector<std::uint32_t> RteFib6::list_words(std::span<const WireV6> queries) const {
  return words_of_all([&](const auto &take) { each_burst(queries, take); });
}

// ---- rte_lpm ------------------------------------------------------------------------------------

double RteLpm::steps_to_build(const PrefixSet<WireV4> &set) {
  std::array<double, 33> of_length{};
  for (const auto &entry : set.entries) ++of_length[entry.length];
  const auto tables = static_cast<double>(extension_tables(set));
  double steps = tables * tables / 2;
  for (const double rules : of_length) steps += rules * rules / 2;
  return steps;
}

RteLpm::RteLpm(const PrefixSet<WireV4> &set) {
  rte_lpm_config config{};
  config.max_rules = static_cast<std::uint32_t>(set.entries.size() + 64);
  config.number_tbl8s = extension_tables(set);
  lpm_ = rte_lpm_create(unique_name("lpm").c_str(), SOCKET_ID_ANY, &config);
  if (!lpm_) refuse("rte_lpm_create", set.entries.size());
  for (const auto &entry : set.entries)
    if (rte_lpm_add(lpm_, entry.host, entry.length, list_word(entry)) != 0)
      refuse("rte_lpm_add", set.entries.size());
}

RteLpm::~RteLpm() { rte_lpm_free(lpm_); }

template <class Take> void RteLpm::each_burst(std::span<const WireV4> queries, const Take &take) const {
  alignas(16) std::array<std::uint32_t, burst_keys> turned, found;
  Hops hops;
  for (std::size_t at = 0; at + burst_keys <= queries.size(); at += burst_keys) {
    turn(queries.subspan(at, burst_keys), turned.data());
    for (unsigned k = 0; k < burst_keys; k += 4)
      rte_lpm_lookupx4(lpm_, *reinterpret_cast<const xmm_t *>(&turned[k]), &found[k], 0);
    for (unsigned k = 0; k < burst_keys; ++k) hops[k] = found[k];
    take(hops, burst_keys);
  }
}

std::uint64_t RteLpm::run(std::span<const WireV4> queries) const {
  return count_all([&](const auto &take) { each_burst(queries, take); });
}
std::vector<std::uint32_t> RteLpm::list_words(std::span<const WireV4> queries) const {
  return words_of_all([&](const auto &take) { each_burst(queries, take); });
}

} // namespace weir::bench
