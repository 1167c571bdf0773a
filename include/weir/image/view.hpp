// A reader's private, trivially copyable picture of an attached image: pointers and parameters that
// were checked once. Probes use only these parameters, never a number found inside a section, so
// no content of a section can lead a reader out of it.
#pragma once

#include "weir/filter/split_block_bloom.hpp"
#include "weir/image/allow_filter_view.hpp"
#include "weir/image/class_map.hpp"
#include "weir/image/deny_filter_view.hpp"
#include "weir/image/flow_table.hpp"
#include "weir/image/layout.hpp"
#include "weir/image/list_actions.hpp"
#include "weir/image/offenders.hpp"
#include "weir/image/packet_rules.hpp"
#include "weir/key/address.hpp"
#include "weir/key/side.hpp"
#include "weir/table/chained_predictor.hpp"
#include "weir/table/length_map.hpp"
#include "weir/table/overlay.hpp"
#include "weir/table/range_map_v4.hpp"
#include "weir/table/range_map_v6.hpp"
#include "weir/table/table.hpp"
#include "weir/table/word_line.hpp"

#include <span>
#include <type_traits>

namespace weir::image {

// Everything about one side (allow or deny) of one family.
template <class LineType> struct SideView {
  using Line = LineType;
  table::TableView<Line> table;
  table::OverlayView<Line> overlay;
  filter::SplitBlockBloom front; // empty(): no front filter
  table::ChainedPredictor chain; // empty(): the group bits in the lines predict alone
  // Of IPv4 on the deny side. Not empty(): hosts stand here, and the table has hosts alone that have no room; there is
  // neither a front filter nor a chain.
  table::WordTableView words;

  // The value of exactly (key, length): overlay, front filter, words, table. With a chain in force one line
  // is the last word; without, the lines' own group bits lead on.
  [[nodiscard]] std::uint32_t find(const typename Line::Key &key, unsigned length, KeyHash h) const noexcept {
    if (!overlay.empty())
      if (const std::uint32_t v = overlay.find(key, length, h)) return table::is_tombstone(v) ? 0 : v;
    if (!front.empty() && !front.contains(h)) return 0;
    if constexpr (Line::family == Family::ipv4)
      if (!words.empty()) {
        if (length != address_bits(Line::family)) return 0;
        const auto [value, behind] = words.find(key);
        return behind ? table.find(key, length, h) : value;
      }
    if (!chain.in_force()) return table.find(key, length, h);
    return chain.predict(h) == table::Home::table1 ? table.find1(key, length, h)
                                                   : table.find2(key, length, h);
  }

  // Does one line answer any key? Then the line that chain.predict() names is the last word.
  [[nodiscard]] bool predicts_alone() const noexcept {
    return chain.in_force() && table::read_acquire(*table.stash_keys) == 0;
  }

  // Asks for the line that find() will read first.
  [[gnu::always_inline]] void prefetch(const typename Line::Key &key, KeyHash h) const noexcept {
    if constexpr (Line::family == Family::ipv4)
      if (!words.empty()) return words.prefetch(key);
    if (chain.in_force() && chain.predict(h) == table::Home::table2)
      table.prefetch2(h);
    else
      table.prefetch1(h);
  }
};

struct ImageView {
  const ImageHeader *header = nullptr;
  Policy policy;
  Generation generation{};
  HashFamily family = HashFamily::xxh3;
  PerSide<SideView<table::LineV4>> v4;
  PerSide<SideView<table::LineV6>> v6;
  // Of what the allow tables are asked for, both families: hosts; without ranges prefixes too, of IPv4 from length 17
  // on, of IPv6 of all lengths.
  // Never refuses a key of theirs; empty(): no filter, ask the tables.
  AllowFilterView allow_filter;
  // Of denied hosts, both families; empty(): no such filter.
  DenyFilterView deny_filter;
  // Which list a host is on that such a filter denies alone; empty(): nobody says.
  ClassMapView class_map;
  // What the dataplane remembers of packets; empty(): nothing.
  OffendersView offenders;
  // Asked before the lists; empty(): none.
  PacketRulesView packet_rules;
  // Exact flows, asked before their patterns; empty(): none.
  FlowTableView flows;
  // Deny lists that do not just drop; empty(): none.
  ListActionsView list_actions;
  // Of a side and family there is either a map of ranges, which has its prefixes while the table has hosts alone,
  // or there are the lengths at which the table is asked for prefixes and hosts alike.
  PerSide<table::RangeMapV4> ranges_v4;
  PerSide<table::RangeMapV6> ranges_v6;
  PerSide<table::LengthMapV4> lengths_v4;
  PerSide<table::LengthsV6> lengths_v6;
  std::span<const ListEntry> lists; // numbers are unique
  std::uint64_t seeds_v4[33] = {};  // length_seed() of every length
  std::uint64_t flips_v4[33] = {};  // xxh3::flip_v4() of each; family jhash: the seeds once more
  std::uint64_t seeds_v6[129] = {};

  // Of a masked address, as the tables have it. Workers hash with kernels.
  [[nodiscard]] KeyHash hash(std::uint32_t wire, unsigned length) const noexcept {
    return table::hash_of(wire, seeds_v4[length], family);
  }
  [[nodiscard]] KeyHash hash(const table::KeyV6 &key, unsigned length) const noexcept {
    return table::hash_of(key, seeds_v6[length], family);
  }
  [[nodiscard]] KeyHash hash(const Prefix &prefix) const noexcept {
    const Address &a = prefix.address;
    return a.family == Family::ipv4 ? hash(a.wire(), prefix.length)
                                    : hash(table::KeyV6::load(a.bytes.data()), prefix.length);
  }
  // For those who hash many keys of any length, of either family of addresses; the view must outlive it.
  [[nodiscard]] table::KeyHasher hasher() const noexcept { return {seeds_v6, family}; }

  // Hosts of this side are judged by the deny filter; no table has them.
  [[nodiscard]] bool judges_hosts(Side side) const noexcept {
    return side == Side::deny && deny_filter.judges();
  }
  // The table of this side has hosts alone.
  template <class Line> [[nodiscard]] bool has_ranges(Side side) const noexcept {
    if constexpr (Line::family == Family::ipv4)
      return !ranges_v4[side].empty();
    else
      return !ranges_v6[side].empty();
  }
  // The value of exactly (key, length) on a side, of those that stand in a table.
  template <class Line>
  [[nodiscard]] std::uint32_t find(Side side, const typename Line::Key &key, unsigned length,
                                   KeyHash h) const noexcept {
    const SideView<Line> &of = sides<Line>()[side];
    if (length != address_bits(Line::family) || !judges_hosts(side)) return of.find(key, length, h);
    if (!of.overlay.empty())
      if (const std::uint32_t v = of.overlay.find(key, length, h)) return table::is_tombstone(v) ? 0 : v;
    return deny_filter.judge<Line>(key, h);
  }
  template <class Line> [[nodiscard]] const PerSide<SideView<Line>> &sides() const noexcept {
    if constexpr (Line::family == Family::ipv4)
      return v4;
    else
      return v6;
  }
};
static_assert(std::is_trivially_copyable_v<ImageView>);

} // namespace weir::image
