// Section flow_table: exact flows, and the packet rule that each of them leads to. A flow is source, destination, protocol and,
// where the protocol has them, ports.
//
//   | FlowsHeader 64 | FlowBucketV4 64 each | FlowBucketV6 128 each |
//
// A flow stands in one of the two buckets that the halves of its hash name, in any of their slots, which have the whole flow and
// not a fingerprint: a match is exact. Both buckets are asked for at once, so a packet costs the wait for one line of memory
// (IPv6: of two that lie side by side). Nothing changes in place; buckets are filled to about nine tenths.
//
//   IPv4 slot   | from 4 | to 4 | from port 2 | to port 2 | protocol 1 | used 1 | rule 2 |            as in a packet
//   IPv6 slot   | from 16 | to 16 | from port 2 | to port 2 | protocol 1 | used 1 | rule 2 |
//
// An unused slot is zero and matches nothing, since every question has `used` set.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/base/hash.hpp"
#include "weir/base/result.hpp"
#include "weir/key/rule.hpp"
#include "weir/key/tuple.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

namespace weir::image {

inline constexpr std::uint64_t flows_most = std::uint64_t{1} << 24; // of each family

struct FlowsHeader {
  std::uint64_t seed; // of the hashes
  std::uint64_t flows_v4, flows_v6;
  std::uint32_t buckets_v4, buckets_v6; // 0: no flow of that family
  std::array<std::uint8_t, 32> reserved;
};
static_assert(sizeof(FlowsHeader) == 64 && std::has_unique_object_representations_v<FlowsHeader>);

// Ports, protocol and the mark of a used slot in the low 48 bits, the rule above them.
namespace flow_word {
inline constexpr std::uint64_t asked_mask = 0x0000FFFFFFFFFFFF, used = std::uint64_t{1} << 40;
[[nodiscard]] constexpr std::uint64_t asked(std::uint32_t ports_wire, std::uint8_t protocol) noexcept {
  return ports_wire | std::uint64_t{protocol} << 32 | used;
}
[[nodiscard]] constexpr RuleId rule_of(std::uint64_t word) noexcept {
  return RuleId(static_cast<std::uint16_t>(word >> 48));
}
[[nodiscard]] constexpr std::uint64_t leading_to(std::uint64_t asked, RuleId rule) noexcept {
  return asked | std::uint64_t{rule.value()} << 48;
}
} // namespace flow_word

struct FlowV4 {
  static constexpr Family family = Family::ipv4;
  std::uint64_t addresses; // source, then destination, as in a packet
  std::uint64_t word;

  [[nodiscard]] bool is_flow_of(const FlowV4 &question) const noexcept {
    return addresses == question.addresses && (word & flow_word::asked_mask) == question.word;
  }
  friend bool operator==(const FlowV4 &, const FlowV4 &) = default;
};
struct FlowV6 {
  static constexpr Family family = Family::ipv6;
  std::array<std::uint64_t, 4> addresses; // likewise
  std::uint64_t word;

  [[nodiscard]] bool is_flow_of(const FlowV6 &question) const noexcept {
    return addresses == question.addresses && (word & flow_word::asked_mask) == question.word;
  }
  friend bool operator==(const FlowV6 &, const FlowV6 &) = default;
};
static_assert(sizeof(FlowV4) == 16 && sizeof(FlowV6) == 40);

// Sections begin at a multiple of 64 bytes, so that a bucket is whole lines.
struct FlowBucketV4 {
  std::array<FlowV4, 4> slots;
};
struct FlowBucketV6 {
  std::array<FlowV6, 3> slots;
  std::uint64_t reserved;
};
static_assert(sizeof(FlowBucketV4) == 64 && sizeof(FlowBucketV6) == 128);
static_assert(std::has_unique_object_representations_v<FlowBucketV4> &&
              std::has_unique_object_representations_v<FlowBucketV6>);

template <class Flow> struct FlowBucketOf;
template <> struct FlowBucketOf<FlowV4> {
  using type = FlowBucketV4;
};
template <> struct FlowBucketOf<FlowV6> {
  using type = FlowBucketV6;
};

// Of a question, whose word has no rule.
template <class Flow>
[[nodiscard]] inline KeyHash hash_of(const Flow &question, std::uint64_t seed) noexcept {
  return {XXH3_64bits_withSeed(&question, sizeof question, seed)};
}

struct FlowPlaces {
  std::uint32_t first, second;
};
[[nodiscard]] constexpr FlowPlaces flow_places(KeyHash hash, std::uint32_t buckets) noexcept {
  return {reduce(static_cast<std::uint32_t>(hash.bits), buckets),
          reduce(static_cast<std::uint32_t>(hash.bits >> 32), buckets)};
}

// Can a packet be one of an exact flow? Not where its protocol has ports and it has none.
[[nodiscard]] constexpr bool is_of_a_flow(const PacketTuple &tuple) noexcept {
  return tuple.has_ports() || !protocol_has_ports(tuple.protocol);
}
template <class Flow>
[[nodiscard]] inline Flow question_of(const PacketTuple &tuple, const std::uint8_t *frame) noexcept {
  const auto ports = tuple.has_ports() ? load_unaligned<std::uint32_t>(frame + tuple.ports_offset) : 0u;
  // Source and destination stand side by side in both headers.
  return {load_unaligned<decltype(Flow::addresses)>(frame + tuple.source_offset),
          flow_word::asked(ports, tuple.protocol)};
}

template <class Flow> class FlowBuckets {
public:
  using Bucket = typename FlowBucketOf<Flow>::type;
  FlowBuckets() = default;
  FlowBuckets(std::span<const Bucket> buckets, std::uint64_t seed) : buckets_(buckets), seed_(seed) {}

  [[nodiscard]] bool empty() const noexcept { return buckets_.empty(); }
  [[nodiscard]] std::span<const Bucket> buckets() const noexcept { return buckets_; }

  [[nodiscard]] FlowPlaces places(const Flow &question) const noexcept {
    return flow_places(hash_of(question, seed_), static_cast<std::uint32_t>(buckets_.size()));
  }
  void prefetch(FlowPlaces at) const noexcept {
    for (const std::uint32_t bucket : {at.first, at.second}) {
      const auto *const line = reinterpret_cast<const std::byte *>(&buckets_[bucket]);
      __builtin_prefetch(line);
      if constexpr (sizeof(Bucket) > cache_line_bytes) __builtin_prefetch(line + cache_line_bytes);
    }
  }
  // no_rule: it is not there.
  [[nodiscard]] RuleId find(const Flow &question, FlowPlaces at) const noexcept {
    for (const std::uint32_t bucket : {at.first, at.second})
      for (const Flow &slot : buckets_[bucket].slots)
        if (slot.is_flow_of(question)) return flow_word::rule_of(slot.word);
    return no_rule;
  }
  [[nodiscard]] RuleId find(const Flow &question) const noexcept {
    return empty() ? no_rule : find(question, places(question));
  }

private:
  std::span<const Bucket> buckets_;
  std::uint64_t seed_ = 0;
};

class FlowTableView {
public:
  FlowTableView() = default; // none

  // `rules`: how many there are that flows may lead to. Errors: bad_image, and why.
  [[nodiscard]] static Result<FlowTableView> attach(Bytes section, std::size_t rules);

  [[nodiscard]] bool empty() const noexcept { return v4_.empty() && v6_.empty(); }
  [[nodiscard]] std::uint64_t flows() const noexcept { return flows_; }
  [[nodiscard]] const FlowBuckets<FlowV4> &v4() const noexcept { return v4_; }
  [[nodiscard]] const FlowBuckets<FlowV6> &v6() const noexcept { return v6_; }

  // For explain and tests.
  [[nodiscard]] RuleId find(const PacketTuple &tuple, const std::uint8_t *frame) const noexcept {
    if (!is_of_a_flow(tuple)) return no_rule;
    return tuple.is_v6 ? v6_.find(question_of<FlowV6>(tuple, frame))
                       : v4_.find(question_of<FlowV4>(tuple, frame));
  }

private:
  FlowBuckets<FlowV4> v4_;
  FlowBuckets<FlowV6> v6_;
  std::uint64_t flows_ = 0;
};
static_assert(std::is_trivially_copyable_v<FlowTableView>);

} // namespace weir::image
