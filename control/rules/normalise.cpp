#include "control/rules/normalise.hpp"

#include "control/rules/conflicts.hpp"
#include "control/rules/sink.hpp"
#include "weir/base/hash.hpp"
#include "weir/build/input.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <set>
#include <utility>

namespace weir::rules {
namespace {

template <class Entry> std::span<const Entry> entries_of(const ListSource &source) {
  if constexpr (std::is_same_v<Entry, EntryV4>)
    return source.v4;
  else
    return source.v6;
}

template <class Entry> Status check_order(const ListSource &source) {
  const auto entries = entries_of<Entry>(source);
  const auto fault =
      std::ranges::adjacent_find(entries, [](const Entry &a, const Entry &b) { return !before(a, b); });
  if (fault == entries.end()) return {};
  return fail(Errc::usage, fmt::format("list {}: {} is out of order or stands twice", source.name,
                                       to_string(to_prefix(*std::next(fault)))));
}

Status check_sources(std::span<const ListSource> sources) {
  std::set<std::string_view> names;
  std::set<ListId> numbers;
  if (sources.size() >= image::lists_max)
    return fail(Errc::config,
                fmt::format("{} lists; at most {} are possible", sources.size(), image::lists_max - 1));
  for (const ListSource &source : sources) {
    if (!names.insert(source.name).second)
      return fail(Errc::usage, fmt::format("list {} is given twice", source.name));
    if (source.number.value() >= image::lists_max || !numbers.insert(source.number).second)
      return fail(Errc::usage,
                  fmt::format("list {}: number {} is taken or too large", source.name, source.number));
    TRY(check_order<EntryV4>(source));
    if (auto status = check_order<EntryV6>(source); !status) return status;
  }
  return {};
}

// A sorted run whose `list` holds ranks: places in configuration order (place_of()).
template <class Entry> using Run = std::vector<Entry>;

// Merges `b` into `a` from the back, in a's own memory where that has room: of two equal prefixes the lower rank
// stays.
template <class Entry> void unite(Run<Entry> &a, const Run<Entry> &b) {
  std::size_t of_a = a.size(), of_b = b.size(), to = of_a + of_b;
  a.resize(to);
  while (of_b > 0) {
    const Entry &y = b[of_b - 1];
    if (of_a > 0 && same_prefix(a[of_a - 1], y)) {
      const Entry first = a[of_a - 1].list < y.list ? a[of_a - 1] : y;
      a[--to] = first;
      --of_a, --of_b;
    } else if (of_a > 0 && before(y, a[of_a - 1])) {
      a[--to] = a[--of_a];
    } else {
      a[--to] = b[--of_b];
    }
  }
  const auto at = [&a](std::size_t i) { return a.begin() + static_cast<std::ptrdiff_t>(i); };
  a.erase(at(of_a), at(to)); // as many as were equal
}

// Merges two at a time, smallest first, so that few entries are moved often. The largest run has room for all,
// so that it is never in memory twice.
template <class Entry> Run<Entry> merge(std::span<const ListSource> sources, Side side) {
  const auto larger = [](const Run<Entry> &a, const Run<Entry> &b) { return a.size() > b.size(); };
  std::size_t total = 0, largest = 0;
  for (const ListSource &source : sources) {
    if (source.side != side) continue;
    total += entries_of<Entry>(source).size();
    largest = std::max(largest, entries_of<Entry>(source).size());
  }
  std::vector<Run<Entry>> heap;
  for (std::size_t rank = 0; rank < sources.size(); ++rank) {
    const auto entries = entries_of<Entry>(sources[rank]);
    if (sources[rank].side != side || entries.empty()) continue;
    Run<Entry> run;
    if (entries.size() == largest) run.reserve(std::exchange(total, 0));
    run.assign(entries.begin(), entries.end());
    for (Entry &e : run) e.list = ListId(rank);
    heap.push_back(std::move(run));
  }
  if (heap.empty()) return {};
  std::ranges::make_heap(heap, larger);
  const auto pop = [&] {
    std::ranges::pop_heap(heap, larger);
    Run<Entry> run = std::move(heap.back());
    heap.pop_back();
    return run;
  };
  while (heap.size() > 1) {
    const Run<Entry> smaller = pop();
    Run<Entry> united = pop();
    unite(united, smaller);
    heap.push_back(std::move(united));
    std::ranges::push_heap(heap, larger);
  }
  return std::move(heap.front());
}

// How many entries each list names, then ranks become list numbers.
template <class Entry>
void count_and_number(Run<Entry> &run, std::span<const ListSource> sources,
                      std::vector<std::uint64_t> &named) {
  for (Entry &e : run) {
    ++named[place_of(e)];
    e.list = sources[place_of(e)].number;
  }
}

ListCounts counts_of(const ListSource &source, std::uint64_t named) {
  ListCounts counts{.name = source.name};
  for (const EntryV4 &e : source.v4) ++(e.length == 32 ? counts.v4_hosts : counts.v4_prefixes);
  counts.v6 = source.v6.size();
  counts.shared = source.v4.size() + source.v6.size() - named;
  return counts;
}

} // namespace

template <class Entry> std::vector<Entry> first_places(std::span<const ListSource> sources, Side side) {
  return merge<Entry>(sources, side);
}
template std::vector<EntryV4> first_places(std::span<const ListSource>, Side);
template std::vector<EntryV6> first_places(std::span<const ListSource>, Side);

void put_deciding_first(std::vector<ListSource> &sources) {
  std::ranges::stable_partition(sources, [](const ListSource &source) { return !source.goes_on; });
}

Result<Effective> normalise(std::span<const ListSource> sources) {
  TRY(check_sources(sources));
  Effective out;
  for (const ListSource &s : sources) out.lists.push_back({s.name, s.number, s.side});
  out.deny = {merge<EntryV4>(sources, Side::deny), merge<EntryV6>(sources, Side::deny)};
  out.allow = {merge<EntryV4>(sources, Side::allow), merge<EntryV6>(sources, Side::allow)};
  ConflictFinder finder(sources);
  finder.find<EntryV4>(out.deny.v4, out.allow.v4);
  finder.find<EntryV6>(out.deny.v6, out.allow.v6);
  finder.find_going_on<EntryV4>(out.deny.v4);
  finder.find_going_on<EntryV6>(out.deny.v6);
  out.conflicts = finder.take();
  std::vector<std::uint64_t> named(sources.size());
  for (SideState *side : {&out.deny, &out.allow}) {
    count_and_number(side->v4, sources, named);
    count_and_number(side->v6, sources, named);
  }
  for (std::size_t i = 0; i < sources.size(); ++i) out.counts.push_back(counts_of(sources[i], named[i]));
  return out;
}

NeverDeny::NeverDeny(std::span<const Prefix> prefixes) {
  for (const Prefix &p : prefixes) {
    if (p.family() == Family::ipv4)
      v4.push_back(to_entry_v4(p));
    else
      v6.push_back(to_entry_v6(p));
  }
  const auto settle = [](auto &entries) {
    sort_entries(entries);
    const auto rest = std::ranges::unique(entries);
    entries.erase(rest.begin(), rest.end());
  };
  settle(v4);
  settle(v6);
}

ListSource NeverDeny::source(ListId number) const {
  return {.name = std::string(never_deny_name), .number = number, .side = Side::allow, .v4 = v4, .v6 = v6};
}

bool contains(const ListSource &source, const Prefix &prefix) noexcept {
  return prefix.family() == Family::ipv4 ? contains<EntryV4>(source.v4, to_entry_v4(prefix))
                                         : contains<EntryV6>(source.v6, to_entry_v6(prefix));
}

image::Delta make_delta(Side side, const Prefix &prefix, std::optional<ListId> list) noexcept {
  image::Delta delta;
  delta.op = list ? image::DeltaOp::set : image::DeltaOp::unset;
  delta.side = side;
  delta.family = prefix.family();
  delta.length = prefix.length;
  delta.list = list.value_or(ListId());
  delta.address = prefix.address.bytes;
  return delta;
}

build::BuildInput build_input(const Effective &rules, const Policy &policy) {
  build::BuildInput input;
  input.policy = policy;
  input.lists = rules.lists;
  input.deny.v4 = rules.deny.v4;
  input.deny.v6 = rules.deny.v6;
  input.allow.v4 = rules.allow.v4;
  input.allow.v6 = rules.allow.v6;
  input.rules_digest = rules_digest(rules, policy);
  return input;
}

} // namespace weir::rules
