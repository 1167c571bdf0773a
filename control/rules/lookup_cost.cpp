#include "control/rules/lookup_cost.hpp"

#include "weir/key/text.hpp"
#include "weir/table/length_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

namespace weir::rules {
namespace {

template <class Entry> constexpr bool is_v4 = std::is_same_v<Entry, EntryV4>;
template <class Entry> constexpr std::string_view family_name = is_v4<Entry> ? "IPv4" : "IPv6";
// A line of fewer bits costs no probe.
template <class Entry> constexpr unsigned shortest_asked = is_v4<Entry> ? table::short_length_max + 1 : 0;

template <class Entry> struct Lines {
  std::span<const Entry> after, before, named;

  template <class Each> void each(Each call) const {
    for (const Entry &e : after)
      if (e.length >= shortest_asked<Entry> && (named.empty() || !contains(named, e))) call(e);
  }
  [[nodiscard]] bool is_fresh(const Entry &e) const { return !contains(before, e); }
};

Lines<EntryV4> v4_of(const Entries &after, const Entries &before) {
  return {after.v4, before.v4, after.named_v4};
}
Lines<EntryV6> v6_of(const Entries &after, const Entries &before) {
  return {after.v6, before.v6, after.named_v6};
}

// The first few of `all`, those that are fresh before the others.
template <class Entry> void blame(Objection &objection, const Lines<Entry> &lines, std::vector<Entry> all) {
  std::ranges::stable_partition(all, [&](const Entry &e) { return lines.is_fresh(e); });
  objection.more = all.size() - std::min(all.size(), change_examples_max);
  for (const Entry &e : std::span(all).first(std::min(all.size(), change_examples_max)))
    objection.lines.push_back(to_prefix(e));
}

std::string remedy(std::string_view key) {
  return fmt::format("nothing of it was used. If they are meant, write them under entries of the list, set "
                     "its {}, or repeat with --force",
                     key);
}

// ---- max_nested ---------------------------------------------------------------------------------

// Entries stand behind what covers them, so those around the entry at hand are a stack.
template <class Entry> struct Deepest {
  std::vector<Entry> fresh, accepted;

  Deepest(const Lines<Entry> &lines, unsigned most) {
    std::vector<Entry> around;
    lines.each([&](const Entry &e) {
      while (!around.empty() && !covers(around.back(), e)) around.pop_back();
      around.push_back(e);
      if (around.size() <= std::max<std::size_t>(most, fresh.size())) return;
      if (std::ranges::any_of(around, [&](const Entry &line) { return lines.is_fresh(line); }))
        fresh = around;
      else if (around.size() > accepted.size())
        accepted = around;
    });
  }
};

template <class Entry>
std::optional<Objection> nesting(const config::List &list, const Lines<Entry> &lines, unsigned most) {
  const Deepest<Entry> deepest(lines, most);
  const bool accepted = deepest.fresh.empty();
  const std::vector<Entry> &worst = accepted ? deepest.accepted : deepest.fresh;
  if (worst.empty()) return std::nullopt;
  Objection objection{
      .sentence = fmt::format("list {}: {} lines nest around {}, more than max_nested for list {}, {} for "
                              "{}, and each makes lookups slower",
                              list.name, worst.size(), to_string(to_prefix(worst.back()).address), list.name,
                              most, family_name<Entry>),
      .accepted = accepted};
  objection.sentence += accepted ? ". They were accepted before and stay" : "; " + remedy("max_nested");
  blame(objection, lines, worst);
  return objection;
}

// ---- max_lengths --------------------------------------------------------------------------------

using LengthBits = std::array<std::uint64_t, 3>; // a bit for each length

template <class Entry> void see(LengthBits &bits, const Entry &e) {
  bits[e.length / 64] |= std::uint64_t{1} << e.length % 64;
}
bool has(const LengthBits &bits, unsigned length) { return (bits[length / 64] >> length % 64 & 1) != 0; }

// Lengths that are asked of one address, and a line of each.
template <class Entry> struct Variety {
  unsigned lengths = 0;
  bool gained = false;        // lengths that were not there before
  std::vector<Entry> lines{}; // of gained lengths, those with the fewest lines first; else of all
};

// Of IPv6 all lines bring lengths to all addresses.
Variety<EntryV6> variety_of(const Lines<EntryV6> &lines) {
  std::array<std::uint64_t, 129> count{};
  std::array<EntryV6, 129> example;
  lines.each([&](const EntryV6 &e) {
    if (count[e.length]++ == 0) example[e.length] = e;
  });
  LengthBits before{};
  for (const EntryV6 &e : lines.before) see(before, e);
  std::vector<unsigned> rarest;
  Variety<EntryV6> variety;
  for (unsigned length = 0; length <= 128; ++length) {
    if (count[length] == 0) continue;
    ++variety.lengths;
    variety.gained |= !has(before, length);
    rarest.push_back(length);
  }
  if (variety.gained) std::erase_if(rarest, [&](unsigned length) { return has(before, length); });
  std::ranges::stable_sort(rarest, {}, [&](unsigned length) { return count[length]; });
  for (const unsigned length : rarest) variety.lines.push_back(example[length]);
  return variety;
}

// Of IPv4 the /16 with the most of them beyond `most`, one that gained lengths before any other.
class WorstGroup {
public:
  WorstGroup(const Lines<EntryV4> &lines, unsigned most) : lines_(lines), most_(most) {
    lines.each([this](const EntryV4 &e) {
      if (!group_.empty() && group_.back().host >> 16 != e.host >> 16) close();
      group_.push_back(e);
      seen_ |= table::in_use_bit(e.length);
    });
    close();
  }
  [[nodiscard]] Variety<EntryV4> take() { return std::move(worst_); }

private:
  void close() {
    const auto lengths = static_cast<unsigned>(std::popcount(seen_));
    if (lengths > most_) {
      std::uint32_t old = 0;
      for (const EntryV4 &e : group_)
        if (!lines_.is_fresh(e)) old |= table::in_use_bit(e.length);
      const bool gained = (seen_ & ~old) != 0;
      if (gained > worst_.gained || (gained == worst_.gained && lengths > worst_.lengths))
        worst_ = {lengths, gained, one_of_each(gained ? seen_ & ~old : seen_)};
    }
    group_.clear();
    seen_ = 0;
  }
  [[nodiscard]] std::vector<EntryV4> one_of_each(std::uint32_t lengths) const {
    std::vector<EntryV4> some;
    for (const EntryV4 &e : group_) {
      if ((lengths & table::in_use_bit(e.length)) != 0) some.push_back(e);
      lengths &= ~table::in_use_bit(e.length);
    }
    return some;
  }

  const Lines<EntryV4> &lines_;
  unsigned most_;
  std::vector<EntryV4> group_; // its lines
  std::uint32_t seen_ = 0;     // their lengths
  Variety<EntryV4> worst_;
};

Variety<EntryV4> variety_of(const Lines<EntryV4> &lines, unsigned most) {
  if (most >= address_bits(Family::ipv4) - table::short_length_max) return {}; // there are no more
  return WorstGroup(lines, most).take();
}

template <class Entry>
std::optional<Objection> variety(const config::List &list, const Lines<Entry> &lines,
                                 const Variety<Entry> &found, unsigned most, bool only_warned) {
  if (found.lengths <= most) return std::nullopt;
  Objection objection{.sentence = fmt::format(
                          "list {}: {} prefix lengths of {}{}, more than max_lengths for list {}: {}, and "
                          "each makes lookups slower",
                          list.name, found.lengths, family_name<Entry>, is_v4<Entry> ? " below one /16" : "",
                          list.name, most),
                      .accepted = !found.gained || only_warned};
  if (!found.gained)
    objection.sentence += ". They were accepted before and stay";
  else if (only_warned)
    objection.sentence += fmt::format(". A later change that brings more will be refused unless the list has "
                                      "max_lengths: {{{}}}",
                                      is_v4<Entry> ? "ipv4: 16" : "ipv6: 128");
  else
    objection.sentence += "; " + remedy("max_lengths");
  blame(objection, lines, found.lines);
  return objection;
}

} // namespace

std::optional<Objection> object_to_nesting(const config::List &list, const Entries &after,
                                           const Entries &before, const config::PerFamily &most) {
  const auto v4 = nesting(list, v4_of(after, before), most.v4);
  const auto v6 = v4 && !v4->accepted ? std::nullopt : nesting(list, v6_of(after, before), most.v6);
  return v6 && (!v4 || !v6->accepted) ? v6 : v4;
}

std::optional<Objection> object_to_variety(const config::List &list, const Entries &after,
                                           const Entries &before, const LengthsAsked &asked) {
  const auto lines_v4 = v4_of(after, before);
  const auto lines_v6 = v6_of(after, before);
  const auto v4 = variety(list, lines_v4, variety_of(lines_v4, asked.most.v4), asked.most.v4,
                          asked.first_load && !asked.set_v4);
  const auto v6 = v4 && !v4->accepted ? std::nullopt
                                      : variety(list, lines_v6, variety_of(lines_v6), asked.most.v6,
                                                asked.first_load && !asked.set_v6);
  return v6 && (!v4 || !v6->accepted) ? v6 : v4;
}

} // namespace weir::rules
