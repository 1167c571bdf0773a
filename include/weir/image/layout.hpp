// The bytes of an image: one contiguous region in a memfd, header first, then the section table,
// then sections at 64-byte aligned offsets. Everything is little-endian; reserved bytes are zero.
// docs/image-format.md describes the same for people and changes in the same commit.
//
//   0            ImageHeader (192 bytes)
//   192          SectionEntry[section_count] (32 bytes each)
//   ...          sections, each 64-byte aligned, in the order of the table
//
// Sections flagged `mutable` are changed in place by the dataplane; their checksum describes them
// as built. Unknown kinds are refused unless flagged `optional`.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/image/deny_filter_role.hpp"
#include "weir/image/identity.hpp"
#include "weir/image/lists.hpp"
#include "weir/key/address.hpp"
#include "weir/key/policy.hpp"
#include "weir/key/side.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace weir::image {

inline constexpr std::array<char, 8> magic{'W', 'E', 'I', 'R', 'I', 'M', 'G', '1'};
inline constexpr std::uint32_t format_version = 6;

struct ImageHeader {
  std::array<char, 8> magic;
  std::uint32_t format_version;
  std::uint32_t header_bytes; // sizeof(ImageHeader)
  std::uint64_t total_bytes;  // of the image; the file may be longer (page rounding)
  Generation generation{};
  StoreId store_id;          // which rule store this came from
  std::uint64_t sequence;    // the last delta contained
  std::uint64_t build_seed;  // secret; see base/hash.hpp
  std::uint32_t hash_family; // HashFamily
  std::uint32_t section_count;
  Digest rules_digest;            // of the effective rules and the policy
  std::uint64_t section_checksum; // of the section table
  std::array<std::uint8_t, 72> reserved;
  std::uint64_t header_checksum; // of all bytes before it
};
static_assert(sizeof(ImageHeader) == 192 && std::has_unique_object_representations_v<ImageHeader>);
static_assert(offsetof(ImageHeader, store_id) == 32 && offsetof(ImageHeader, rules_digest) == 72 &&
              offsetof(ImageHeader, header_checksum) == 184);

// Where a section is asked. What stands there, where that may differ, says the header that it begins with: a
// FilterHeader, by its kind. Numbers are for ever: a kind is never reused for something else; 36, 37, 40 and 41
// named filters of formats up to 4.
enum class SectionKind : std::uint32_t {
  policy = 1, // Policy
  lists = 2,  // ListsHeader, ListEntry[]

  deny_v4_table = 16, // table::TableHeader, lines; see table/
  deny_v6_table = 17,
  allow_v4_table = 18,
  allow_v6_table = 19,

  // Prefixes stand in the tables, and these say which lengths to ask them for ...
  deny_v4_lengths = 20, // table::LengthMapHeader, cells
  deny_v6_lengths = 21, // table::LengthSetV6
  allow_v4_lengths = 22,
  allow_v6_lengths = 23,

  deny_v4_overlay = 24, // table::OverlayHeader, lines
  deny_v6_overlay = 25,
  allow_v4_overlay = 26,
  allow_v6_overlay = 27,

  deny_v4_front = 28, // a filter that every key of the table is in
  deny_v6_front = 29,

  deny_v4_predictor = 32, // which line of the table has a key [Chained §5.3]
  deny_v6_predictor = 33,
  allow_v4_predictor = 34,
  allow_v6_predictor = 35,

  allow_filter = 42, // a filter that changes, in front of the allow tables of both families [SSCF]

  // DenyFilterHeader, ranges, a filter: denied hosts of both families [Stacked].
  deny_front = 43, // what it rejects no table has
  deny_judge = 44, // compact mode: what it accepts is denied, no table has hosts

  // ... or prefixes stand here, and hosts alone in the tables; in place of the lengths of that side and family.
  deny_v4_ranges = 48, // table::RangeHeaderV4, lines of ranges
  deny_v6_ranges = 49, // table::RangeHeaderV6
  allow_v4_ranges = 50,
  allow_v6_ranges = 51,

  // Hosts stand here, beside such ranges, and the table has those alone that find no room; 53 to 55 are set aside for
  // the other sides and families.
  deny_v4_hosts = 52, // table::WordHeader, lines of words

  deny_class_map =
      39, // a Huffman map: which list a host is on that a judge denies [Chained §5.2]; only beside 44

  offender_model =
      38, // OffendersHeader: the shape of the dataplane's memory of offenders, and its classifier [SLBF]

  packet_rules = 56, // RulesHeader, names of ports, rules and their patterns (packet_rules.hpp)
  flow_table =
      57, // FlowsHeader, buckets: exact flows that lead to such rules (flow_table.hpp); only beside 56
  list_actions =
      58, // ListActionsHeader, entries: deny lists that do not just drop (list_actions.hpp); never beside 44
};

// What a kind is called in messages; empty for numbers that are none.
[[nodiscard]] constexpr std::string_view name_of(SectionKind kind) noexcept {
  constexpr std::array<std::string_view, 14> sections{
      "deny_v4_table",    "deny_v6_table",    "allow_v4_table",   "allow_v6_table",  "deny_v4_lengths",
      "deny_v6_lengths",  "allow_v4_lengths", "allow_v6_lengths", "deny_v4_overlay", "deny_v6_overlay",
      "allow_v4_overlay", "allow_v6_overlay", "deny_v4_front",    "deny_v6_front"};
  constexpr std::array<std::string_view, 4> predictors{"deny_v4_predictor", "deny_v6_predictor",
                                                       "allow_v4_predictor", "allow_v6_predictor"};
  constexpr std::array<std::string_view, 4> ranges{"deny_v4_ranges", "deny_v6_ranges", "allow_v4_ranges",
                                                   "allow_v6_ranges"};
  const auto n = static_cast<std::uint32_t>(kind);
  if (kind == SectionKind::policy) return "policy";
  if (kind == SectionKind::lists) return "lists";
  if (kind == SectionKind::allow_filter) return "allow_filter";
  if (kind == SectionKind::deny_front) return "deny_front";
  if (kind == SectionKind::deny_judge) return "deny_judge";
  if (kind == SectionKind::deny_class_map) return "deny_class_map";
  if (kind == SectionKind::deny_v4_hosts) return "deny_v4_hosts";
  if (kind == SectionKind::offender_model) return "offender_model";
  if (kind == SectionKind::packet_rules) return "packet_rules";
  if (kind == SectionKind::flow_table) return "flow_table";
  if (kind == SectionKind::list_actions) return "list_actions";
  if (n >= 32 && n < 32 + predictors.size()) return predictors[n - 32];
  if (n >= 48 && n < 48 + ranges.size()) return ranges[n - 48];
  return n >= 16 && n < 16 + sections.size() ? sections[n - 16] : std::string_view{};
}

// The kind of this side and family, by that of IPv4 on the deny side.
[[nodiscard]] constexpr SectionKind kind_of(SectionKind deny_v4, Side side, Family family) noexcept {
  return static_cast<SectionKind>(static_cast<std::uint32_t>(deny_v4) + (family == Family::ipv6 ? 1 : 0) +
                                  (side == Side::allow ? 2 : 0));
}

inline constexpr std::uint32_t section_mutable = 1;  // changes after the build
inline constexpr std::uint32_t section_optional = 2; // may be skipped by a reader that does not know it

struct SectionEntry {
  std::uint32_t kind;
  std::uint32_t flags;
  std::uint64_t offset; // from the start of the image, a multiple of 64
  std::uint64_t bytes;
  std::uint64_t checksum; // XXH3 of the section as built
};
static_assert(sizeof(SectionEntry) == 32 && std::has_unique_object_representations_v<SectionEntry>);

// ---- denied hosts as a filter --------------------------------------------------------------------

[[nodiscard]] constexpr SectionKind section_of(DenyFilterRole role) noexcept {
  return role == DenyFilterRole::judge ? SectionKind::deny_judge : SectionKind::deny_front;
}

// Rates in the image are whole numbers of these parts.
inline constexpr double stack_rate_unit = 1e-12;
inline constexpr std::uint64_t stack_rate_max = 1'000'000'000'000;
[[nodiscard]] constexpr std::uint64_t stack_rate_parts(double rate) noexcept {
  const double parts = rate / stack_rate_unit + 0.5;
  if (!(parts > 0)) return 0;
  return parts < static_cast<double>(stack_rate_max) ? static_cast<std::uint64_t>(parts) : stack_rate_max;
}
[[nodiscard]] constexpr double stack_rate(std::uint64_t parts) noexcept {
  return static_cast<double>(parts) * stack_rate_unit;
}

// Then the ranges, IPv4 first, padded to 64 bytes, then a stack as filter/stacked_view.hpp has it.
inline constexpr unsigned deny_filter_depth_max = 9;
struct DenyFilterHeader {
  std::uint64_t reserved0;
  std::uint64_t planned_keys;         // hosts that there is room for
  std::uint64_t psi, efpr, efpb;      // as planned, in stack_rate_unit
  std::uint32_t spared_v4, spared_v6; // ranges: addresses that a judge never denies
  std::array<std::uint8_t, 16> reserved;
};
static_assert(sizeof(DenyFilterHeader) == 64 && std::has_unique_object_representations_v<DenyFilterHeader>);
static_assert(offsetof(DenyFilterHeader, psi) == 16 && offsetof(DenyFilterHeader, spared_v4) == 40);

// Both ends belong to it; ranges ascend and never overlap.
struct SparedV4 {
  std::uint32_t first, last; // as numbers
};
struct SparedV6 {
  std::array<std::uint8_t, 16> first, last; // network order
};
static_assert(sizeof(SparedV4) == 8 && sizeof(SparedV6) == 32);

[[nodiscard]] constexpr std::uint64_t deny_filter_offset(std::uint32_t spared_v4,
                                                         std::uint32_t spared_v6) noexcept {
  return round_up(sizeof(DenyFilterHeader) + spared_v4 * sizeof(SparedV4) + spared_v6 * sizeof(SparedV6),
                  cache_line_bytes);
}

} // namespace weir::image
