#include "weir/build/image_check.hpp"

#include "weir/base/parallel.hpp"
#include "weir/build/keys.hpp"
#include "weir/key/text.hpp"
#include "weir/table/range_prefix.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weir::build::detail {
namespace {

// Asks entries through the real view, prefetching ahead. A stack that judges knows hosts, and a class map
// their lists.
template <class Line, class Entry>
[[nodiscard]] Status ask_some_keys(const image::ImageView &view, Side side, std::span<const Entry> entries,
                                   table::KeyHasher hasher, const auto &way_is_open) {
  const bool judged = view.judges_hosts(side), has_map = view.has_ranges<Line>(side);
  constexpr std::size_t window = 32;
  KeyHash hashes[window];
  for (std::size_t from = 0; from < entries.size(); from += window) {
    const std::size_t n = std::min(window, entries.size() - from);
    for (std::size_t i = 0; i < n; ++i) {
      const Entry &e = entries[from + i];
      hashes[i] = hasher(key_of(e), e.length);
      view.sides<Line>()[side].prefetch(key_of(e), hashes[i]);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const Entry &e = entries[from + i];
      if (has_map && !is_host(e)) continue;
      const std::uint32_t wanted =
          judged && is_host(e) ? image::DenyFilterView::denial<Line> : table::value::make(e.list, e.length);
      const bool misnamed =
          judged && is_host(e) && !view.class_map.empty() && view.class_map.list_of(hashes[i]) != e.list;
      if (misnamed || view.find<Line>(side, key_of(e), e.length, hashes[i]) != wanted ||
          !way_is_open(e, wanted))
        return fail(Errc::bad_image, "the image built does not answer for " + to_string(address_of(e)) + '/' +
                                         std::to_string(e.length));
    }
  }
  return {};
}

template <class Line, class Entry>
[[nodiscard]] Status ask_every_key(const image::ImageView &view, Side side, std::span<const Entry> entries,
                                   table::KeyHasher hasher, const auto &way_is_open, unsigned threads) {
  std::vector<Status> parts(entries.size() < entries_worth_a_thread ? 1 : threads);
  const auto count = static_cast<unsigned>(parts.size());
  in_parallel(count, [&](unsigned part) {
    const WorkRange r = part_of(entries.size(), part, count);
    parts[part] = ask_some_keys<Line, Entry>(view, side, entries.subspan(r.begin, r.end - r.begin), hasher,
                                             way_is_open);
  });
  for (Status &s : parts)
    if (!s) return std::move(s);
  return {};
}

} // namespace

[[nodiscard]] std::uint32_t first_of(const EntryV4 &e) noexcept { return e.host; }
[[nodiscard]] table::AddressV6 first_of(const EntryV6 &e) noexcept { return table::address_of(key_of(e)); }

// Does a range map have the hosts of its side as well, and its table none?
[[nodiscard]] bool has_hosts_too(const auto &map) noexcept {
  return (map.in_use() & table::range_hosts) == 0;
}

// Prefixes of range maps: each has to be found as itself, at its first and at its last address.
template <class Entry, class Map>
[[nodiscard]] Status ask_every_prefix(const Map &map, std::span<const Entry> entries) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry &e = entries[i];
    if (is_host(e) && !has_hosts_too(map)) continue;
    const std::uint32_t wanted = table::value::make(e.list, e.length);
    const auto first = first_of(e), last = table::last_in(first, e.length);
    const bool answers = table::find_prefix(map, first, e.length) == wanted &&
                         table::value::length_of(map.find(table::question_of(first))) >= e.length &&
                         table::value::length_of(map.find(table::question_of(last))) >= e.length;
    if (!answers)
      return fail(Errc::bad_image, "the image built does not answer for " + to_string(address_of(e)) + '/' +
                                       std::to_string(e.length));
  }
  return {};
}

Status verify_side(const image::ImageView &view, Side side, const SideInput &in, unsigned threads) {
  const table::LengthMapV4 &map = view.lengths_v4[side];
  const auto open_v4 = [&](const EntryV4 &e, std::uint32_t value) {
    if (e.length == 0) return *map.default_value == value;
    const std::uint64_t cell = map.cell(key_of(e));
    if ((table::sign_of(cell) & ~map.sign(key_of(e))) != 0) return false;
    if (e.length > table::short_length_max && e.length < 32 && table::has_lone(cell) &&
        cell != table::with_lone(cell, e.host, value))
      return false;
    if (e.length > table::short_length_max) return (cell & table::length_bit(e.length)) != 0;
    return table::value::length_of(table::short_value(cell)) >= e.length;
  };
  if (const table::RangeMapV4 &ranges = view.ranges_v4[side]; !ranges.empty()) {
    const auto known = [&](const EntryV4 &e, std::uint32_t) { return ranges.has_hosts_below(key_of(e)); };
    TRY(ask_every_prefix(ranges, in.v4));
    if (!has_hosts_too(ranges))
      TRY(ask_every_key<table::LineV4>(view, side, in.v4, view.hasher(), known, threads));
  } else {
    TRY(ask_every_key<table::LineV4>(view, side, in.v4, view.hasher(), open_v4, threads));
  }
  if (const table::RangeMapV6 &ranges = view.ranges_v6[side]; !ranges.empty()) {
    const auto known = [&](const EntryV6 &e, std::uint32_t) { return ranges.has_hosts_near(key_of(e)); };
    TRY(ask_every_prefix(ranges, in.v6));
    if (has_hosts_too(ranges)) return {};
    return ask_every_key<table::LineV6>(view, side, in.v6, view.hasher(), known, threads);
  }
  const auto open_v6 = [&](const EntryV6 &e, std::uint32_t) { return view.lengths_v6[side].has(e.length); };
  return ask_every_key<table::LineV6>(view, side, in.v6, view.hasher(), open_v6, threads);
}

Status verify_allow_filter(const image::ImageView &view, const BuildInput &in, double &accepts) {
  if (view.allow_filter.empty()) return {};
  std::uint64_t refused = 0, accepted = 0;
  const HostsAlone hosts_alone{!view.ranges_v4[Side::allow].empty(), !view.ranges_v6[Side::allow].empty()};
  for_each_guarded_key(in.allow, hosts_alone, view.hasher(),
                       [&](KeyHash key) { refused += !view.allow_filter.contains(key); });
  if (refused != 0)
    return fail(Errc::bad_image, "the filter built refuses " + std::to_string(refused) + " allowed keys");
  for (const VulnerableKey &v : in.allow_filter.guarded)
    accepted += view.allow_filter.contains(view.hash(v.key));
  if (!in.allow_filter.guarded.empty())
    accepts = static_cast<double>(accepted) / static_cast<double>(in.allow_filter.guarded.size());
  return {};
}

double stack_accepts(const image::ImageView &view, std::span<const Address> known) {
  if (view.deny_filter.empty() || known.empty()) return 0;
  std::uint64_t accepted = 0;
  for (const Address &a : known)
    accepted +=
        view.deny_filter.contains(view.hash(Prefix{a, static_cast<std::uint8_t>(address_bits(a.family))}));
  return static_cast<double>(accepted) / static_cast<double>(known.size());
}

} // namespace weir::build::detail
