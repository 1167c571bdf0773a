#include "weir/config/sections.hpp"
#include "weir/image/allow_filter_kinds.hpp"

namespace weir::config {
namespace {

// Keys that say something of one action alone.
void check_action(Reader &r, const Node &node, const std::string &path, const List &l) {
  if (!node.is_map()) return;
  if (l.action == Side::allow && node.has("on_match"))
    r.fault(node, path + ".on_match",
            "what an allow list matches passes; take it out, or write action: deny");
  const bool limits = l.on_match == RuleAction::rate_limit;
  if (limits && !node.has("packets"))
    r.fault(node, path + ".packets", "missing; write how many packets a second may pass");
  for (const char *key : {"packets", "burst", "per"})
    if (!limits && node.has(key))
      r.fault(node, path + "." + key,
              "only on_match: rate_limit knows it; take it out, or write on_match: rate_limit");
}

void read_list(Reader &r, const Node &node, const std::string &path) {
  List l;
  bool action_given = false;
  const Reader::Read entries = [&](const Node &n, const std::string &where) {
    r.sequence(n, where, [&](const Node &item, const std::string &at) {
      if (r.prefix(item, at)) l.entries.push_back(item.text);
    });
  };
  r.map(node, path,
        {{"name", r.text(l.name)},
         {"action",
          [&, action = r.word<Side>(l.action, {{"deny", Side::deny}, {"allow", Side::allow}})](
              const Node &n, const std::string &where) {
            action_given = true;
            action(n, where);
          }},
         {"file", r.file(l.file)},
         {"entries", entries},
         {"format", r.word<Format>(l.format, {formats.begin(), formats.end()})},
         {"dynamic", r.boolean(l.dynamic)},
         {"ttl", r.duration(l.ttl)},
         {"on_error", r.word<OnError>(l.on_error, {{"refuse", OnError::refuse}, {"skip", OnError::skip}})},
         {"comment", r.text(l.comment)},
         {"shortest_prefix", r.lengths(l.shortest_v4, l.shortest_v6)},
         {"max_covered", r.covered(l.max_covered_v4, l.max_covered_v6)},
         {"max_change", r.share(l.max_change)},
         {"on_match", r.word<RuleAction>(l.on_match, {{"drop", RuleAction::drop},
                                                      {"count", RuleAction::count},
                                                      {"rate_limit", RuleAction::rate_limit},
                                                      {"reject", RuleAction::reject}})},
         {"packets", r.whole(l.limit_packets, 1, rule_rate_max)},
         {"burst", r.whole(l.limit_burst, 1, rule_rate_max)},
         {"per", r.word<RulePer>(l.limit_per, {{"list", RulePer::rule}, {"address", RulePer::source}})},
         {"max_nested", r.counts(l.max_nested_v4, l.max_nested_v6)},
         {"max_lengths", r.counts(l.max_lengths_v4, l.max_lengths_v6)},
         {"mapped", r.word<bool>(l.mapped_both, {{"as_written", false}, {"both", true}})}});
  if (node.is_map() && !node.has("file") && !node.has("entries") && !l.dynamic)
    r.fault(node, path, "has no content; give it a file, entries or dynamic: true");
  check_action(r, node, path, l);
  if (l.on_match == RuleAction::rate_limit && l.limit_burst == 0) l.limit_burst = l.limit_packets;
  r.config.lists.push_back(std::move(l));
  r.places.lists.push_back(node.line);
  r.places.actions.push_back(action_given);
}

std::vector<Word<std::string>> allow_filter_words() {
  std::vector<Word<std::string>> words;
  for (const std::string_view word : {allow_filter_auto, allow_filter_none})
    words.push_back({word, std::string(word)});
  for (const image::AllowFilterOps &kind : image::allow_filter_kinds())
    words.push_back({kind.name, std::string(kind.name)});
  return words;
}

} // namespace

void read_lists(Reader &r, const Node &node, const std::string &path) {
  r.sequence(node, path, [&r](const Node &item, const std::string &where) { read_list(r, item, where); });
  r.places.last_list = node.line;
}

void read_allow(Reader &r, const Node &node, const std::string &path) {
  Allow &a = r.config.allow;
  const auto confirm = r.word<Confirm>(r.config.policy.confirm,
                                       {{"on_conflict", Confirm::on_conflict}, {"exact", Confirm::exact}});
  r.map(node, path,
        {{"confirm", Reader::noted(r.places.confirm, confirm)},
         {"filter", r.word<std::string>(a.filter, allow_filter_words())},
         {"adaptive", Reader::noted(r.places.adaptive, r.boolean(a.adaptive))},
         {"bits_per_key", Reader::noted(r.places.bits_per_key, r.whole(a.bits_per_key, allow_bits_per_key_min,
                                                                       allow_bits_per_key_max))}});
}

void read_guard(Reader &r, const Node &node, const std::string &path) {
  Guard &g = r.config.guard;
  const auto by_action = [&r](Reader::Read deny, Reader::Read allow) -> Reader::Read {
    return [deny = std::move(deny), allow = std::move(allow), &r](const Node &n, const std::string &where) {
      r.map(n, where, {{"deny", deny}, {"allow", allow}});
    };
  };
  r.map(node, path,
        {{"never_deny", r.prefixes(g.never_deny)},
         {"max_change", r.share(g.max_change)},
         {"max_nested", r.counts(g.max_nested.v4, g.max_nested.v6)},
         {"max_lengths", r.counts(g.max_lengths_v4, g.max_lengths_v6)},
         {"shortest_prefix", by_action(r.lengths(g.shortest_deny.v4, g.shortest_deny.v6),
                                       r.lengths(g.shortest_allow.v4, g.shortest_allow.v6))},
         {"max_covered", by_action(r.covered(g.covered_deny.v4, g.covered_deny.v6),
                                   r.covered(g.covered_allow.v4, g.covered_allow.v6))}});
}

} // namespace weir::config
