// The memory of offenders as an image describes it: section offender_model. The cells themselves belong to the dataplane
// (dataplane/offender/memory.hpp) and outlive images; here stand their shape, the classifier, and what is done [SLBF §3.2].
//
//   | OffendersHeader 128 | OffenderGroup 40 each, pad to 64 | spared ranges, pad to 64 | neighbours | trees |
//
//   group       score thresholds rise; a score up to and with `below` falls into the group, the last one takes all
//               that is left. Each has a filter, or accepts all, or rejects all
//   spared      addresses that are never taken for offenders: guard.never_deny
//   neighbours  a byte for each /16 of IPv4 and each of 65,536 hashes of a /32 of IPv6: how many denied entries lie
//               there, as a logarithm; the trees' view of the lists as they were at training. With trees alone
//   trees       learn/trees.hpp, over the features below; none: there is one group
//
// Two sections with the same shape_digest() describe the same memory, whatever else differs.
#pragma once

#include "weir/base/hash.hpp"
#include "weir/image/deny_filter_view.hpp"
#include "weir/key/address.hpp"
#include "weir/key/offender.hpp"
#include "weir/key/traits.hpp"
#include "weir/learn/trees.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

namespace weir::image {

inline constexpr std::array<char, 8> offenders_magic{'W', 'E', 'I', 'R', 'O', 'F', 'F', '1'};
inline constexpr unsigned offender_groups_max = 64;
inline constexpr std::uint32_t offender_neighbours = 65536;
inline constexpr std::uint64_t offender_bytes_max = std::uint64_t{1} << 30; // of all cells

struct OffendersHeader {
  std::array<char, 8> magic;
  std::uint8_t element, action, filter, tells_denied; // OffenderElement, OffenderAction, OffenderFilter, bool
  std::uint32_t groups;
  std::uint64_t gap;   // insertions that are remembered
  std::uint64_t turn;  // rotating: insertions between turns
  std::uint64_t seed;  // of hashes and random runs
  std::uint64_t model; // number of the training; 0: no trees
  std::uint32_t
      tells_above; // packets a second of a source nobody decides about, beyond which it is told; 0: none
  std::uint32_t limit, burst; // rate_limit: packets a second of a group, and at once
  std::uint32_t spared_v4, spared_v6;
  std::uint32_t neighbours; // bytes: 0 or offender_neighbours
  std::uint64_t trees_bytes;
  std::uint64_t wanted_accepted, wanted_missed; // in stack_rate_unit: wrong accepts, misses after the gap
  std::uint64_t predicted_accepted, predicted_missed; // by the model
  std::array<std::uint64_t, 2> reserved;
};
static_assert(sizeof(OffendersHeader) == 128 && std::has_unique_object_representations_v<OffendersHeader>);

enum class OffenderAnswer : std::uint8_t { filter = 0, accept = 1, reject = 2 };

struct OffenderGroup {
  float below;               // the last group's: infinity
  std::uint32_t words;       // of 64 bits; rotating: of each of the two
  double decrements;         // P
  std::uint64_t told, other; // q, p: shares of the keys told and of the others, in stack_rate_unit
  std::uint8_t max, hashes;  // Max (stable), K
  OffenderAnswer answer;
  std::array<std::uint8_t, 5> reserved;
};
static_assert(sizeof(OffenderGroup) == 40);

// What trees see, a byte each.
namespace offender_feature {
inline constexpr unsigned family = 0, address = 1, neighbours = 9, protocol = 10;
} // namespace offender_feature
[[nodiscard]] constexpr unsigned offender_features(OffenderElement element) noexcept {
  return element == OffenderElement::header ? offender_feature::protocol + Traits::count
                                            : offender_feature::protocol;
}
inline constexpr std::array<std::string_view, offender_feature::protocol + Traits::count>
    offender_feature_names{"family",     "address[0]", "address[1]", "address[2]", "address[3]",
                           "address[4]", "address[5]", "address[6]", "address[7]", "neighbours",
                           "protocol",   "port class", "ttl class",  "length",     "flags"};

// The net of an address in the table of neighbours.
[[nodiscard]] inline std::uint32_t offender_net(const Address &address) noexcept {
  const auto &b = address.bytes;
  if (address.family == Family::ipv4) return std::uint32_t{b[0]} << 8 | b[1];
  std::uint32_t first = 0;
  std::memcpy(&first, b.data(), sizeof first);
  return static_cast<std::uint32_t>(remix({first}, 0x0FF34DE24E15ull) >> 48);
}

using OffenderFeatures = std::array<std::uint8_t, offender_feature_names.size()>;

// The first offender_features() of it are the element's.
[[nodiscard]] inline OffenderFeatures offender_features_of(const Address &address, const Traits &traits,
                                                           std::uint8_t neighbours) noexcept {
  OffenderFeatures f{};
  f[offender_feature::family] = address.family == Family::ipv4 ? 4 : 6;
  std::memcpy(&f[offender_feature::address], address.bytes.data(), address.family == Family::ipv4 ? 4 : 8);
  f[offender_feature::neighbours] = neighbours;
  const auto bytes = traits.bytes();
  std::memcpy(&f[offender_feature::protocol], bytes.data(), bytes.size());
  return f;
}

// What is remembered, as one key.
[[nodiscard]] inline KeyHash offender_key(OffenderElement element, const Address &address,
                                          const Traits &traits, std::uint64_t seed) noexcept {
  std::array<std::uint8_t, 24> bytes{};
  std::memcpy(bytes.data(), address.bytes.data(), 16);
  bytes[16] = address.family == Family::ipv4 ? 4 : 6;
  const auto of = traits.bytes();
  if (element == OffenderElement::header) std::memcpy(&bytes[17], of.data(), of.size());
  return {XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed)};
}

class OffendersView {
public:
  OffendersView() = default; // none: nothing is remembered

  // Errors: bad_image, and why.
  [[nodiscard]] static Result<OffendersView> attach(Bytes section);

  [[nodiscard]] bool empty() const noexcept { return header_ == nullptr; }
  [[nodiscard]] const OffendersHeader &header() const noexcept { return *header_; }
  [[nodiscard]] OffenderElement element() const noexcept { return element_; }
  [[nodiscard]] OffenderAction action() const noexcept { return action_; }
  [[nodiscard]] OffenderFilter filter() const noexcept { return filter_; }
  [[nodiscard]] std::span<const OffenderGroup> groups() const noexcept { return groups_; }
  [[nodiscard]] bool has_trees() const noexcept { return trees_.trees() != 0; }
  [[nodiscard]] const learn::TreesView &trees() const noexcept { return trees_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; } // of the section
  [[nodiscard]] std::uint64_t cell_bits() const noexcept;               // of all groups
  [[nodiscard]] std::uint64_t shape_digest() const noexcept { return digest_; }

  [[nodiscard]] bool spares(const Address &address) const noexcept {
    return address.family == Family::ipv4
               ? !spared_v4_.empty() && lies_in(spared_v4_, byteswap32(address.wire()))
               : !spared_v6_.empty() && lies_in(spared_v6_, address.bytes);
  }
  [[nodiscard]] std::uint8_t neighbours(const Address &address) const noexcept {
    return neighbours_ == nullptr ? 0 : neighbours_[offender_net(address)];
  }
  [[nodiscard]] KeyHash key_of(const Address &address, const Traits &traits) const noexcept {
    return offender_key(element_, address, traits, seed_);
  }
  [[nodiscard]] OffenderFeatures features_of(const Address &address, const Traits &traits) const noexcept {
    return offender_features_of(address, traits, neighbours(address));
  }
  // Of one element; workers score bursts.
  [[nodiscard]] float score_of(const Address &address, const Traits &traits) const noexcept {
    return has_trees() ? trees_.score_one(features_of(address, traits)) : 0;
  }
  // Scores are margins of the trees.
  [[nodiscard]] unsigned group_of(float score) const noexcept {
    unsigned group = 0;
    for (std::size_t i = 0; i + 1 < groups_.size(); ++i) group += groups_[i].below < score ? 1 : 0;
    return group;
  }

private:
  const OffendersHeader *header_ = nullptr;
  OffenderElement element_{};
  OffenderAction action_{};
  OffenderFilter filter_{};
  std::uint64_t seed_ = 0, bytes_ = 0, digest_ = 0;
  std::span<const OffenderGroup> groups_;
  std::span<const SparedV4> spared_v4_;
  std::span<const SparedV6> spared_v6_;
  const std::uint8_t *neighbours_ = nullptr;
  learn::TreesView trees_;
};
static_assert(std::is_trivially_copyable_v<OffendersView>);

} // namespace weir::image
