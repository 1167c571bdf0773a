#include "weir/lookup/explain.hpp"

#include "weir/image/reader.hpp"
#include "weir/key/text.hpp"
#include "weir/table/range_prefix.hpp"

#include <fmt/format.h>

namespace weir::lookup {
namespace {

std::string lengths_text(const image::ImageView &view, Side side, const Address &address) {
  std::string text;
  if (address.family == Family::ipv4) {
    if (view.lengths_v4[side].lengths() == 0) return "no IPv4 entries";
    const std::uint64_t cell = view.lengths_v4[side].cell(address.wire());
    if (table::short_value(cell) != 0)
      text += fmt::format(" /{}", table::value::length_of(table::short_value(cell)));
    for (unsigned length = table::short_length_max + 1; length <= 32; ++length)
      if ((cell & table::length_bit(length)) != 0) text += fmt::format(" /{}", length);
    const Prefix sixteen{masked(address, table::short_length_max), table::short_length_max};
    return text.empty() ? fmt::format("none below {}", to_string(sixteen))
                        : fmt::format("below {}:{}", to_string(sixteen), text);
  }
  for (unsigned length = 0; length <= 128; ++length)
    if (view.lengths_v6[side].has(length)) text += fmt::format(" /{}", length);
  return text.empty() ? "no IPv6 entries" : "in use:" + text;
}

[[nodiscard]] table::KeyV6 key_of(const Address &address, const table::LineV6 *) {
  return table::KeyV6::load(address.bytes.data());
}
[[nodiscard]] std::uint32_t key_of(const Address &address, const table::LineV4 *) { return address.wire(); }

// "slot 3: match", or nothing when the key is not in this line.
template <class Line>
std::string slot_text(const Line &line, const typename Line::Key &key, unsigned length) {
  for (unsigned slot = 0; slot < Line::slots; ++slot)
    if (table::answers(table::read_acquire(line.value[slot]), length) &&
        table::read_key(line.key[slot]) == key)
      return fmt::format("slot {}: match", slot);
  return {};
}

// Where a host stands in words. `behind`: they do not say, the table behind them does.
std::string word_text(const table::WordTableView &words, std::uint32_t wire, bool &behind) {
  const auto at = words.spot(wire);
  const table::WordLine &line = words.lines[at.line];
  std::string text = fmt::format("word line {:#x}: ", at.line);
  for (unsigned slot = 0; slot < table::WordLine::slots; ++slot)
    if (table::read_acquire(line.word[slot]) - at.first_word < words.words_a_key())
      return text + fmt::format("slot {}: match", slot);
  behind = table::group_bit(line, at.group());
  return text + (behind ? "no match, group bit set; " : "no match, group bit clear: absent");
}

// A chain names one line, whose word is final.
template <class Line>
std::string predicted_text(const image::SideView<Line> &view, const typename Line::Key &key, unsigned length,
                           KeyHash h) {
  const table::TableView<Line> &t = view.table;
  const bool first = view.chain.predict(h) == table::Home::table1;
  const std::string text =
      first ? fmt::format("chained predictor: table 1 line {:#x}: ", reduce(table::half1(h), t.count1))
            : fmt::format("chained predictor: table 2 line {:#x}: ", reduce(table::half2(h), t.count2));
  if (const std::string hit = slot_text(first ? t.line1(h) : t.line2(h), key, length); !hit.empty())
    return text + hit;
  if (!first && t.find2(key, length, h) != 0) return text + "no match; stash: match";
  return text + "no match: absent";
}

// What the filter of denied hosts says of one.
template <class Line>
std::string stack_text(const image::DenyFilterView &stack, const typename Line::Key &key, KeyHash h) {
  const std::string name = stack.name();
  if (!stack.contains(h)) return name + ": absent";
  if (!stack.judges()) return name + ": yes; ";
  if (stack.spares(key)) return name + ": yes, but the address is never to be denied";
  const image::DenyFilterHeader &planned = stack.planned();
  return fmt::format("{}: denied; it judges alone, with a predicted false positive rate of {:.3g} "
                     "% ({:.3g} % for an address nobody knew of)",
                     name, 100 * image::stack_rate(planned.efpr), 100 * image::stack_rate(planned.efpb));
}

// Where the lookup of one prefix goes and ends, line by line. `stack`: what is to be asked; null: nothing.
template <class Line>
std::string probe_text(const image::SideView<Line> &view, const Prefix &prefix, KeyHash h,
                       const image::DenyFilterView *stack) {
  const auto key = key_of(prefix.address, static_cast<const Line *>(nullptr));
  if (!view.overlay.empty())
    if (const std::uint32_t v = view.overlay.find(key, prefix.length, h))
      return table::is_tombstone(v) ? "overlay: removed, absent" : "overlay: match";
  if (!view.front.empty() && !view.front.contains(h)) return "front filter: absent";
  std::string text;
  if (stack != nullptr) {
    text = stack_text<Line>(*stack, key, h);
    if (stack->judges() || !stack->contains(h)) return text;
  }
  if constexpr (Line::family == Family::ipv4)
    if (!view.words.empty()) {
      bool behind = false;
      text += word_text(view.words, key, behind);
      if (!behind) return text;
    }
  const table::TableView<Line> &t = view.table;
  if (view.chain.in_force()) return text + predicted_text(view, key, prefix.length, h);
  text += fmt::format("table 1 line {:#x}: ", reduce(table::half1(h), t.count1));
  if (const std::string hit = slot_text(t.line1(h), key, prefix.length); !hit.empty()) return text + hit;
  if (!t.may_be_in2(h)) return text + "no match, group bit clear: absent";
  text += fmt::format("no match, group bit set; table 2 line {:#x}: ", reduce(table::half2(h), t.count2));
  if (const std::string hit = slot_text(t.line2(h), key, prefix.length); !hit.empty()) return text + hit;
  return text + (t.find2(key, prefix.length, h) != 0 ? "no match; stash: match" : "no match: absent");
}

// How the filter in front of the allow tables answered.
struct AllowFilterAnswers {
  unsigned asked = 0, accepted = 0;
};

void add_probe(const image::ImageView &view, Side side, const Prefix &prefix, AllowFilterAnswers &answers,
               Explanation &out) {
  const KeyHash h = view.hash(prefix);
  std::string text;
  bool accepts = true;
  if (side == Side::allow && !view.allow_filter.empty()) {
    accepts = view.allow_filter.contains(h);
    ++answers.asked;
    answers.accepted += accepts;
    text = fmt::format("{}: {}", view.allow_filter.name(), accepts ? "yes; " : "no");
  }
  const bool in_stack = side == Side::deny && prefix.is_host() && !view.deny_filter.empty();
  const image::DenyFilterView *stack = in_stack ? &view.deny_filter : nullptr;
  if (accepts)
    text += prefix.family() == Family::ipv4 ? probe_text(view.v4[side], prefix, h, stack)
                                            : probe_text(view.v6[side], prefix, h, stack);
  out.path.push_back({fmt::format("{} /{}", name_of(side), prefix.length), std::move(text)});
}

// One step for each length that is asked of the table, the longest first.
AllowFilterAnswers add_probes(const image::ImageView &view, Side side, const Address &address,
                              Explanation &out) {
  AllowFilterAnswers answers;
  const bool v4 = address.family == Family::ipv4;
  const std::uint64_t cell =
      v4 && view.lengths_v4[side].lengths() != 0 ? view.lengths_v4[side].cell(address.wire()) : 0;
  for (unsigned length = address_bits(address.family) + 1; length-- > 0;) {
    const bool asked = v4 ? length > table::short_length_max && (cell & table::length_bit(length)) != 0
                          : view.lengths_v6[side].has(length);
    if (!asked) continue;
    add_probe(view, side, {masked(address, length), static_cast<std::uint8_t>(length)}, answers, out);
  }
  return answers;
}

// One step for the host, where its part of the addresses has any, and one for the range that answers.
template <class Line, class Map>
AllowFilterAnswers add_host_and_range(const image::ImageView &view, Side side, const Address &address,
                                      const Map &ranges, bool has_hosts, Explanation &out) {
  AllowFilterAnswers answers;
  const unsigned length = address_bits(address.family);
  if (has_hosts)
    add_probe(view, side, {address, static_cast<std::uint8_t>(length)}, answers, out);
  else
    out.path.push_back({fmt::format("{} /{}", name_of(side), length), "no hosts near it: absent"});
  const table::RangeWay way = table::way_to(ranges, key_of(address, static_cast<const Line *>(nullptr)));
  std::string text = fmt::format("line {:#x}", way.line);
  if (way.steps > 1) text += fmt::format(", {} lines from the first", way.steps);
  text += ": ";
  if (!table::value::is_set(way.value)) {
    text += "no prefix";
  } else {
    const unsigned bits = table::value::length_of(way.value);
    text += to_string(Prefix{masked(address, bits), static_cast<std::uint8_t>(bits)});
  }
  out.path.push_back({fmt::format("{} ranges", name_of(side)), std::move(text)});
  return answers;
}

std::string no_match_text(std::string_view filter, const AllowFilterAnswers &answers) {
  if (answers.asked == 0) return "no match";
  return fmt::format("{}: {}", filter, answers.accepted == 0 ? "no" : "yes, but no table has it");
}

AllowFilterAnswers add_way(const image::ImageView &view, Side side, const Address &address,
                           Explanation &out) {
  if (address.family == Family::ipv4) {
    if (const auto &ranges = view.ranges_v4[side]; !ranges.empty())
      return add_host_and_range<table::LineV4>(view, side, address, ranges,
                                               ranges.has_hosts_below(address.wire()), out);
  } else if (const auto &ranges = view.ranges_v6[side]; !ranges.empty()) {
    return add_host_and_range<table::LineV6>(
        view, side, address, ranges, ranges.has_hosts_near(table::KeyV6::load(address.bytes.data())), out);
  }
  out.path.push_back({fmt::format("{} lengths", name_of(side)), lengths_text(view, side, address)});
  return add_probes(view, side, address, out);
}

// What a side says about an address; fills in list and entry when it matches.
bool ask(const image::ImageView &view, Side side, const Address &address, Explanation &out,
         const image::ListActionEntry **action = nullptr) {
  const std::string name(name_of(side));
  const AllowFilterAnswers answers = add_way(view, side, address, out);
  const std::uint32_t value = image::lookup(view, side, address);
  if (!table::value::is_set(value)) {
    out.path.push_back({name, no_match_text(view.allow_filter.name(), answers)});
    return false;
  }
  const unsigned length = table::value::length_of(value);
  ListId list = table::value::list_of(value);
  out.judged = list == compact_list;
  if (out.judged && !view.class_map.empty()) {
    list = view.class_map.list_of(
        view.hash(Prefix{address, static_cast<std::uint8_t>(address_bits(address.family))}));
    out.path.push_back(
        {"class map", fmt::format("list {}, if a rule denies the host", image::list_name(view, list))});
  }
  out.list = image::list_name(view, list);
  out.entry = to_string(Prefix{masked(address, length), static_cast<std::uint8_t>(length)});
  out.path.push_back({name, fmt::format("{} on list {}", out.entry, out.list)});
  if (action != nullptr) *action = view.list_actions.of(list);
  return true;
}

} // namespace

Explanation explain(const image::ImageView &view, const Address &address) {
  Explanation out;
  out.path.push_back({"image", fmt::format("generation {}", view.header->generation)});
  out.path.push_back({"parse", fmt::format("{} address {}", address.family == Family::ipv4 ? "ipv4" : "ipv6",
                                           to_string(address))});
  const bool deny_first = !view.allow_filter.empty() && view.policy.confirm == Confirm::on_conflict;
  const image::ListActionEntry *action = nullptr; // of the list that denies it; null: it drops
  bool denied = deny_first && ask(view, Side::deny, address, out, &action);
  if (deny_first && !denied) out.path.push_back({"allow", "not asked: nothing denies it"});
  const bool allowed = (denied || !deny_first) && ask(view, Side::allow, address, out);
  if (!deny_first && !allowed) denied = ask(view, Side::deny, address, out, &action);
  if (denied && !allowed && action != nullptr) out.path.push_back({"on_match", image::text_of(*action)});
  if (allowed) {
    out.verdict = Verdict::pass;
    out.reason = Reason::allow;
  } else if (denied && (action == nullptr || !action->goes_on())) {
    out.verdict = Verdict::drop;
    out.reason = Reason::deny;
  } else {
    out.verdict = view.policy.fallthrough;
    out.reason = Reason::fallthrough;
    out.path.push_back({"default", fmt::format("policy.default is {}", name_of(out.verdict))});
  }
  return out;
}

} // namespace weir::lookup
