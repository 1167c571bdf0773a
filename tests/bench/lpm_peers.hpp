// DPDK's longest-prefix matches: rte_fib (DIR24_8) and rte_lpm for IPv4, rte_fib6 (TRIE) for IPv6. The next hop of
// a prefix is the number of its list + 1, and 0 where no prefix matches. They take IPv4 addresses in the
// byte order of the processor; the turning belongs to the lookup, since a packet has them in the other one.
#pragma once

#include "tests/bench/prefix_sets.hpp"

#include <span>

struct rte_fib;
struct rte_fib6;
struct rte_lpm;

namespace weir::bench {

// Next hops of four bytes, and the lookup of AVX-512 where the processor has it.
class RteFib {
public:
  using Wire = WireV4;
  static constexpr const char *name = "rte_fib";
  explicit RteFib(const PrefixSet<WireV4> &set);
  ~RteFib();
  RteFib(const RteFib &) = delete;
  RteFib &operator=(const RteFib &) = delete;

  [[nodiscard]] const char *lookup_name() const { return is_vector_ ? "AVX-512" : "scalar"; }
  [[nodiscard]] std::uint64_t run(std::span<const WireV4> queries) const; // how many matched
  [[nodiscard]] std::vector<std::uint32_t> list_words(std::span<const WireV4> queries) const;

private:
  template <class Take> void each_burst(std::span<const WireV4> queries, const Take &take) const;
  rte_fib *fib_;
  bool is_vector_ = false;
};

class RteFib6 {
public:
  using Wire = WireV6;
  static constexpr const char *name = "rte_fib6";
  explicit RteFib6(const PrefixSet<WireV6> &set);
  ~RteFib6();
  RteFib6(const RteFib6 &) = delete;
  RteFib6 &operator=(const RteFib6 &) = delete;

  [[nodiscard]] const char *lookup_name() const { return is_vector_ ? "AVX-512" : "scalar"; }
  [[nodiscard]] std::uint64_t run(std::span<const WireV6> queries) const;
  [[nodiscard]] std::vector<std::uint32_t> list_words(std::span<const WireV6> queries) const;

private:
  template <class Take> void each_burst(std::span<const WireV6> queries, const Take &take) const;
  rte_fib6 *fib_;
  bool is_vector_ = false;
};

// Asked four addresses at a time, as DPDK's own forwarder asks it.
class RteLpm {
public:
  explicit RteLpm(const PrefixSet<WireV4> &set);
  ~RteLpm();
  RteLpm(const RteLpm &) = delete;
  RteLpm &operator=(const RteLpm &) = delete;

  // Rules that are walked past to add all of them: each addition walks the rules of its length, and the
  // extension tables in use.
  [[nodiscard]] static double steps_to_build(const PrefixSet<WireV4> &set);

  [[nodiscard]] std::uint64_t run(std::span<const WireV4> queries) const;
  [[nodiscard]] std::vector<std::uint32_t> list_words(std::span<const WireV4> queries) const;

private:
  template <class Take> void each_burst(std::span<const WireV4> queries, const Take &take) const;
  rte_lpm *lpm_;
};

} // namespace weir::bench
