#include "weir/build/image_check.hpp"

#include "weir/base/parallel.hpp"
#include "weir/build/keys.hpp"
#include "weir/key/text.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weir::build::detail {
namespace {

// Asks entries through the real view, prefetching ahead. A stack that judges knows hosts, not their lists.
template <class Line, class Entry>
[[nodiscard]] Status ask_some_keys(const image::ImageView &view, Side side, std::span<const Entry> entries,
                                   table::KeyHasher hasher, const auto &way_is_open) {
  const bool judged = view.judges_hosts(side);
  constexpr std::size_t window = 32;
  KeyHash hashes[window];
  for (std::size_t from = 0; from < entries.size(); from += window) {
    const std::size_t n = std::min(window, entries.size() - from);
    for (std::size_t i = 0; i < n; ++i) {
      const Entry &e = entries[from + i];
      hashes[i] = hasher(key_of(e), e.length);
      view.sides<Line>()[side].prefetch(hashes[i]);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const Entry &e = entries[from + i];
      const std::uint32_t wanted =
          judged && is_host(e) ? image::DenyFilterView::denial<Line> : table::value::make(e.list, e.length);
      if (view.find<Line>(side, key_of(e), e.length, hashes[i]) != wanted || !way_is_open(e, wanted))
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
  TRY(ask_every_key<table::LineV4>(view, side, in.v4, view.hasher(), open_v4, threads));
  const auto open_v6 = [&](const EntryV6 &e, std::uint32_t) { return view.lengths_v6[side].has(e.length); };
  return ask_every_key<table::LineV6>(view, side, in.v6, view.hasher(), open_v6, threads);
}

Status verify_allow_filter(const image::ImageView &view, const BuildInput &in, double &accepts) {
  if (view.allow_filter.empty()) return {};
  std::uint64_t refused = 0, accepted = 0;
  for_each_guarded_key(in.allow, view.hasher(),
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
