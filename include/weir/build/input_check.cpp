#include "weir/build/input_check.hpp"

#include "weir/build/keys.hpp"
#include "weir/image/layout.hpp"
#include "weir/key/text.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace weir::build {
namespace {

using detail::address_of, detail::same_prefix_order;

template <class Entry>
[[nodiscard]] Status check_entries(std::span<const Entry> entries, std::string_view what) {
  const auto fault = [&](const Entry &e, const char *why) {
    return fail(Errc::usage, std::string(what) + " entry " + to_string(address_of(e)) + '/' +
                                 std::to_string(e.length) + ' ' + why);
  };
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry &e = entries[i];
    const Address a = address_of(e);
    if (e.length > address_bits(a.family)) return fault(e, "has an impossible length");
    if (e.length < address_bits(a.family) && masked(a, e.length) != a)
      return fault(e, "has bits beyond its length");
    if (e.list.value() >= image::lists_max) return fault(e, "names no list");
    if (i > 0 && !same_prefix_order(entries[i - 1], e)) return fault(e, "is out of order or stands twice");
  }
  return {};
}

// What family jhash leaves no choice about. What a stack is made of the reader says at the end.
[[nodiscard]] Status check_family(const BuildInput &in) {
  if (in.allow_filter.params && in.allow_filter.params.hash_family() != in.family)
    return fail(Errc::usage, "the filter of the allow side is of another hash family than the image: give "
                             "both the same, or take a filter that has this family");
  if (in.family == HashFamily::xxh3) return {};
  if (in.family != HashFamily::jhash) return fail(Errc::usage, "no such hash family: take xxh3 or jhash");
  if (in.deny.predictor != Predictor::chained || in.allow.predictor != Predictor::chained)
    return fail(Errc::usage, "hash family jhash wants a chained predictor on both sides");
  if (in.deny.front_filter)
    return fail(Errc::usage,
                "hash family jhash has no split-block front filter: take a stack of Bloom layers, "
                "or none");
  if (without_hosts(in, Side::deny))
    return fail(Errc::usage, "hash family jhash has no filter that judges hosts alone: take mode exact");
  return {};
}

// Readers of words ask nothing in front of them.
[[nodiscard]] Status check_words(const BuildInput &in) {
  if (in.allow.hosts_v4 == HostHome::words)
    return fail(Errc::usage, "hosts in words are of the deny side alone: give the allow side a table");
  if (in.deny.hosts_v4 != HostHome::words) return {};
  if (in.family != HashFamily::xxh3)
    return fail(Errc::usage, "hosts in words have no form for hash family jhash: give them a table");
  if (in.deny.front_filter || !in.deny_filter.section.empty())
    return fail(Errc::usage,
                "no filter stands in front of hosts in words or judges them: give them a table, or none");
  if (in.deny.predictor == Predictor::chained)
    return fail(Errc::usage,
                "hosts in words have no chained predictor: take inline bits, or give them a table");
  return {};
}

} // namespace

bool without_hosts(const BuildInput &in, Side side) noexcept {
  return side == Side::deny && !in.deny_filter.section.empty() &&
         in.deny_filter.role == image::DenyFilterRole::judge;
}

Status check_input(const BuildInput &in) {
  if (in.lists.size() > image::lists_max)
    return fail(Errc::usage,
                std::to_string(in.lists.size()) + " lists, at most " + std::to_string(image::lists_max));
  for (const ListInput &l : in.lists)
    if (l.name.empty() || l.name.size() > image::list_name_bytes_max)
      return fail(Errc::usage, "list name '" + l.name + "' must have 1 to 55 characters");
  TRY(check_words(in));
  TRY(check_family(in));
  if (in.allow_filter.params) TRY(in.allow_filter.params.bytes());
  if (!in.deny_filter.section.empty() && in.deny.front_filter)
    return fail(Errc::usage, "two filters for the deny side: give it one");
  if (!in.deny_filter.class_map.empty() && !without_hosts(in, Side::deny))
    return fail(Errc::usage,
                "a class map names the lists of what a judge denies: build none without a judge");
  if (without_hosts(in, Side::deny) &&
      std::ranges::any_of(in.lists, [](const ListInput &l) { return l.name == image::compact_list_name; }))
    return fail(Errc::usage, "a list is called compact, the name under which compact mode counts: rename it");
  TRY(check_entries(in.deny.v4, "deny"));
  TRY(check_entries(in.deny.v6, "deny"));
  TRY(check_entries(in.allow.v4, "allow"));
  return check_entries(in.allow.v6, "allow");
}

} // namespace weir::build
