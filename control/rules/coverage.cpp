#include "control/rules/coverage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace weir::rules {
namespace {

AddressCount size_of(const EntryV4 &e) noexcept { return AddressCount{1} << (32 - e.length); }
AddressCount size_of(const EntryV6 &e) noexcept {
  return e.length == 0 ? std::numeric_limits<AddressCount>::max() : AddressCount{1} << (128 - e.length);
}

// Where a list stands; entries that are named are passed over.
template <class Entry> struct Place {
  const Entry *at, *end;
  const Entry *named, *named_end;

  void pass_named() noexcept {
    for (; at != end; ++at) {
      while (named != named_end && before(*named, *at)) ++named;
      if (named == named_end || !same_prefix(*named, *at)) return;
    }
  }
  void next() noexcept {
    ++at;
    if (named != named_end) pass_named();
  }
};

template <class Entry> AddressCount count(std::vector<Place<Entry>> places) {
  for (Place<Entry> &place : places) place.pass_named();
  std::erase_if(places, [](const Place<Entry> &p) { return p.at == p.end; });
  AddressCount total = 0;
  const Entry *outer = nullptr; // the last one counted
  const auto see = [&](const Entry *e) {
    if (outer != nullptr && covers(*outer, *e)) return;
    total = saturated_sum(total, size_of(*e));
    outer = e;
  };
  const auto later = [](const Place<Entry> &a, const Place<Entry> &b) { return before(*b.at, *a.at); };
  std::ranges::make_heap(places, later);
  while (places.size() > 1) {
    std::ranges::pop_heap(places, later);
    Place<Entry> &first = places.back();
    see(first.at);
    first.next();
    if (first.at == first.end)
      places.pop_back();
    else
      std::ranges::push_heap(places, later);
  }
  if (!places.empty())
    for (Place<Entry> &last = places.front(); last.at != last.end; last.next()) see(last.at);
  return total;
}

template <class Entry>
Place<Entry> place_of(std::span<const Entry> entries, std::span<const Entry> named) noexcept {
  return {entries.data(), entries.data() + entries.size(), named.data(), named.data() + named.size()};
}

std::string share_text(double share) {
  return share < 0.1 ? fmt::format("{:.2g}%", share * 100) : fmt::format("{:.0f}%", share * 100);
}

} // namespace

Covered covered_by(std::span<const Entries> lists) {
  std::vector<Place<EntryV4>> v4;
  std::vector<Place<EntryV6>> v6;
  for (const Entries &list : lists) {
    v4.push_back(place_of(list.v4, list.named_v4));
    v6.push_back(place_of(list.v6, list.named_v6));
  }
  return {static_cast<std::uint64_t>(count(std::move(v4))), count(std::move(v6))};
}

std::string covered_text_v4(double addresses) {
  std::string digits = fmt::format("{:.0f}", addresses);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return fmt::format("{} IPv4 address{} ({})", digits, addresses == 1 ? "" : "es",
                     share_text(addresses * 0x1p-32));
}

std::string covered_text_v6(double addresses) {
  if (addresses < 1) return "0 IPv6 addresses";
  const int bits = std::min(static_cast<int>(std::floor(std::log2(addresses))), 128);
  return fmt::format("{:.2f} times an IPv6 /{} ({})", std::ldexp(addresses, -bits), 128 - bits,
                     share_text(addresses * 0x1p-128));
}

} // namespace weir::rules
