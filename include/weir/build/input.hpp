// What the image builder takes: the effective state. For each side and family the prefixes, sorted
// and unique, each with the number of the list that names it.
#pragma once

#include "weir/build/allow_filter_params.hpp"
#include "weir/build/entry.hpp"
#include "weir/build/list_input.hpp"
#include "weir/image/deny_filter_role.hpp"
#include "weir/image/identity.hpp"
#include "weir/key/address.hpp"
#include "weir/key/policy.hpp"
#include "weir/table/sections.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weir::build {

// How a lookup knows which of a key's two lines to read; see table/chained_predictor.hpp.
enum class Predictor : std::uint8_t {
  inline_bits, // group bits in the lines: 1.09 lines a hit, changes in place
  chained,     // a chain beside the table as well: one line for any key, most additions to the overlay
};

// What is to read the image: weir's own dataplane, or a P4 program, which has hash family jhash.
enum class Target : std::uint8_t { cpp, p4 };
[[nodiscard]] constexpr const char *name_of(Target target) noexcept {
  return target == Target::p4 ? "p4" : "cpp";
}
[[nodiscard]] constexpr HashFamily family_of(Target target) noexcept {
  return target == Target::p4 ? HashFamily::jhash : HashFamily::xxh3;
}

// How sizes follow from what is wanted: as they come or, for family jhash, as powers of two.
struct SizeRule {
  HashFamily family = HashFamily::xxh3;
  unsigned doublings = 0; // family jhash: how many times a build has asked for larger tables

  [[nodiscard]] constexpr std::uint32_t operator()(std::uint32_t wanted) const noexcept {
    return family == HashFamily::jhash ? std::bit_ceil(wanted) << doublings : wanted;
  }
};

// Words of 64 bits of each deeper layer of a chain; all 0: sizes that suit the number of keys.
using ChainWords = std::array<std::uint32_t, table::chain_deep_layers_max>;

// Where IPv4 hosts stand, on a side that has prefixes in a range map: in a table of their own, unless they are few
// (build/prefix_ranges.hpp), or all in the map, as ranges of one address or as points (table/range_line.hpp), or one word
// each beside a small table (table/word_line.hpp). Ranges are faster to read, points take half the lines, words are for
// hosts without order.
//
// Words are of the deny side alone, and there is no filter in front of them, no predictor and no P4 program that reads
// them: check_input() refuses those. Where hosts are few, or a range map cannot have the prefixes, they are ignored.
enum class HostHome : std::uint8_t { table, ranges, points, words };

struct SideInput {
  std::span<const EntryV4> v4;
  std::span<const EntryV6> v6;
  bool front_filter = false; // split-block Bloom in front of the tables; deny side only
  Predictor predictor = Predictor::inline_bits;
  ChainWords chain_words_v4{}, chain_words_v6{}; // as planned
  HostHome hosts_v4 = HostHome::table;           // deny side only
};

// What the filter in front of the allow tables should not accept, and what it costs when it does.
struct VulnerableKey {
  Prefix key; // a denied address, masked to a length that the allow side is asked for
  double cost = 1;
};

struct AllowFilterInput {
  AllowFilterParams params;               // without a value: no filter
  std::span<const VulnerableKey> guarded; // the dearest first
};

// Denied hosts as a stacked filter: the section that build_deny_filter() has made of the same entries for the
// same seed (build/deny_filter_builder.hpp). Where it judges, hosts of the deny side get no table.
struct DenyFilterInput {
  image::DenyFilterRole role = image::DenyFilterRole::front;
  Bytes section{};                // empty: no such filter
  std::span<const Address> known; // the negatives that it was told of, to be asked about at the end
  // Of a judge: what build_class_map() has made of the same entries for the same seed (build/class_map_builder.hpp).
  // Empty: what it denies has no list.
  Bytes class_map{};
  // Overlays of the deny side have so many lines at least: beside a judge no table takes what is added.
  std::uint32_t overlay_lines_least = 0;
};

struct PrefixRanges; // build/prefix_ranges.hpp

struct BuildInput {
  Policy policy;
  std::vector<ListInput> lists;
  SideInput deny;
  SideInput allow;
  AllowFilterInput allow_filter;
  DenyFilterInput deny_filter;
  Bytes
      offenders{}; // section offender_model, of build_offenders() (build/offenders_builder.hpp); empty: nothing is remembered
  Bytes
      packet_rules{}; // section of build_packet_rules() (build/packet_rules_builder.hpp); empty: there are none
  Bytes flows{}; // section of build_flow_table() (build/flow_table_builder.hpp); only beside packet rules
  Bytes list_actions{};          // section of image::list_actions_section(); empty: all deny lists drop
  image::ImageIdentity identity; // bytes: what comes of it
  std::uint64_t seed = 0;
  // jhash: chained predictors on both sides, and of filters those alone that image/family_check.hpp names.
  HashFamily family = HashFamily::xxh3;
  unsigned doublings = 0; // see SizeRule
  image::Digest rules_digest{};
  std::shared_ptr<const PrefixRanges> ranges; // of these entries; null: the builder resolves them itself
  unsigned threads = 0; // that work on it, 0: two where there are two processors; the bytes are the same

  [[nodiscard]] SizeRule size_rule() const noexcept { return {family, doublings}; }
  [[nodiscard]] Target target() const noexcept {
    return family == HashFamily::jhash ? Target::p4 : Target::cpp;
  }
};

} // namespace weir::build
