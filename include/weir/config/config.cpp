#include "weir/config/config.hpp"

#include "weir/config/check.hpp"
#include "weir/config/groups.hpp"
#include "weir/config/listen_address.hpp"
#include "weir/config/values.hpp"
#include "weir/image/allow_filter_kinds.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <set>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

namespace weir::config {
namespace {

using YAML::Node;

constexpr unsigned rx_queues_max = 64;

// One reading of a file: collects every fault instead of stopping at the first.
class Reader {
public:
  explicit Reader(const std::filesystem::path &file) : faults(file.string()), folder_(file.parent_path()) {}

  void read(const Node &root);
  Config config;
  Groups groups;
  Faults faults;

private:
  struct Field {
    std::string_view key;
    std::function<void(const Node &, const std::string &)> read;
  };

  void fault(const Node &at, const std::string &key, std::string_view sentence) {
    faults.add(line_of(at), key, sentence);
  }
  static int line_of(const Node &node) { return node.Mark().line + 1; }

  // Calls the field of each key; unknown and repeated keys are faults.
  void map(const Node &node, const std::string &path, std::span<const Field> fields);
  void map(const Node &node, const std::string &path, std::initializer_list<Field> fields) {
    map(node, path, std::span(fields.begin(), fields.size()));
  }
  // Calls `each` for the items of a sequence.
  void sequence(const Node &node, const std::string &path,
                const std::function<void(const Node &, const std::string &)> &each);

  std::optional<std::string> scalar(const Node &node, const std::string &path);
  auto text(std::string &out) {
    return [&out, this](const Node &n, const std::string &path) {
      if (auto s = scalar(n, path)) out = std::move(*s);
    };
  }
  auto texts(std::vector<std::string> &out) {
    return [&out, this](const Node &n, const std::string &path) {
      sequence(n, path, [&](const Node &item, const std::string &where) {
        if (auto s = scalar(item, where)) out.push_back(std::move(*s));
      });
    };
  }
  auto number(unsigned &out, unsigned low, unsigned high) {
    return [&out, low, high, this](const Node &n, const std::string &path) {
      const auto s = scalar(n, path);
      if (!s) return;
      const auto value = parse_number(*s);
      if (!value || *value < low || *value > high)
        fault(n, path, fmt::format("\"{}\" is not a whole number from {} to {}", shown(*s), low, high));
      else
        out = static_cast<unsigned>(*value);
    };
  }
  template <class Enum> auto word(Enum &out, std::vector<Word<Enum>> words) {
    return [&out, words = std::move(words), this](const Node &n, const std::string &path) {
      const auto s = scalar(n, path);
      if (!s) return;
      std::vector<std::string_view> known;
      for (const auto &w : words) {
        if (w.word == *s) {
          out = w.value;
          return;
        }
        known.push_back(w.word);
      }
      fault(n, path,
            fmt::format("\"{}\" is not one of {}{}", shown(*s), fmt::join(known, ", "),
                        did_you_mean(*s, known)));
    };
  }
  auto boolean(bool &out) {
    return word<bool>(out, {{"true", true}, {"false", false}, {"yes", true}, {"no", false}});
  }
  auto verdict(Verdict &out) {
    return word<Verdict>(out, {{"pass", Verdict::pass}, {"drop", Verdict::drop}});
  }
  auto folder(std::filesystem::path &out) {
    return [&out, this](const Node &n, const std::string &path) {
      if (const auto s = scalar(n, path)) out = folder_ / *s;
    };
  }
  auto group(std::string &out) {
    return [&out, this](const Node &n, const std::string &path) {
      auto s = scalar(n, path);
      if (s && s->empty()) fault(n, path, "needs the name of a group; take the key out instead");
      if (s) out = std::move(*s);
    };
  }
  auto later(std::string_view remedy) {
    return [remedy = std::string(remedy), this](const Node &n, const std::string &path) {
      fault(n, path, "not available in this version; " + remedy);
    };
  }
  // {ipv4: VALUE, ipv6: VALUE}; `parse` takes text and the bits of the family.
  template <class Value, class Parse> auto families(Value &v4, Value &v6, Parse parse) {
    return [&v4, &v6, parse, this](const Node &n, const std::string &path) {
      const auto one = [&](Value &out, unsigned bits) {
        return [&out, bits, parse, this](const Node &at, const std::string &where) {
          const auto s = scalar(at, where);
          if (!s) return;
          const auto value = parse(*s, bits);
          if (!value) return fault(at, where, value.error().message);
          out = *value;
        };
      };
      map(n, path, {{"ipv4", one(v4, 32)}, {"ipv6", one(v6, 128)}});
    };
  }
  template <class Value> auto lengths(Value &v4, Value &v6) { return families(v4, v6, parse_length); }
  template <class Value> auto covered(Value &v4, Value &v6) { return families(v4, v6, parse_covered); }
  template <class Value> auto counts(Value &v4, Value &v6) { return families(v4, v6, parse_count); }
  template <class Value> auto share(Value &out) {
    return [&out, this](const Node &n, const std::string &path) {
      const auto s = scalar(n, path);
      if (!s) return;
      const auto value = parse_share(*s);
      if (!value) return fault(n, path, value.error().message);
      out = *value;
    };
  }
  auto into(void (Reader::*section)(const Node &, const std::string &)) {
    return [section, this](const Node &n, const std::string &path) { (this->*section)(n, path); };
  }

  void eal(const Node &node, const std::string &path);
  void port(const Node &node, const std::string &path);
  void ports(const Node &node, const std::string &path);
  void policy(const Node &node, const std::string &path);
  void list(const Node &node, const std::string &path);
  void lists(const Node &node, const std::string &path);
  void allow(const Node &node, const std::string &path);
  void guard(const Node &node, const std::string &path);
  void mode(const Node &node, const std::string &path);
  void compact(const Node &node, const std::string &path);
  void samples(const Node &node, const std::string &path);
  void offenders(const Node &node, const std::string &path);
  void replan(const Node &node, const std::string &path);
  auto budget(double &out) {
    return [&out, this](const Node &n, const std::string &path) {
      const auto s = scalar(n, path);
      if (!s) return;
      const auto share = parse_share(*s);
      if (!share || !(*share > 0) || *share > budget_max)
        return fault(
            n, path,
            fmt::format("\"{}\" is not a share of questions; write more than 0 and at most {:g}, such "
                        "as 1e-4 or 0.01%",
                        shown(*s), budget_max));
      out = *share;
    };
  }
  std::optional<Prefix> prefix(const Node &node, const std::string &path);

  std::filesystem::path folder_;
  Places places_;
};

void Reader::map(const Node &node, const std::string &path, std::span<const Field> fields) {
  if (!node.IsMap()) {
    std::vector<std::string_view> known;
    for (const Field &f : fields) known.push_back(f.key);
    fault(node, path.empty() ? "the file" : path,
          fmt::format("needs keys and values: {}", fmt::join(known, ", ")));
    return;
  }
  std::set<std::string> seen;
  for (const auto &pair : node) {
    const std::string key = pair.first.IsScalar() ? pair.first.Scalar() : std::string("(not a word)");
    const std::string where = path.empty() ? shown(key) : path + "." + shown(key);
    if (!seen.insert(key).second) {
      fault(pair.first, where, "stands here twice; keep one");
      continue;
    }
    const auto field = std::ranges::find(fields, std::string_view(key), &Field::key);
    if (field != fields.end()) {
      field->read(pair.second, where);
      continue;
    }
    std::vector<std::string_view> known;
    for (const Field &f : fields) known.push_back(f.key);
    fault(pair.first, where, fmt::format("unknown key; did you mean \"{}\"?", nearest(key, known)));
  }
}

void Reader::sequence(const Node &node, const std::string &path,
                      const std::function<void(const Node &, const std::string &)> &each) {
  if (node.IsNull()) return;
  if (!node.IsSequence()) {
    fault(node, path, "needs a list: [a, b] or one \"- a\" a line");
    return;
  }
  std::size_t index = 0;
  for (const auto &item : node) each(item, fmt::format("{}[{}]", path, index++));
}

std::optional<std::string> Reader::scalar(const Node &node, const std::string &path) {
  if (node.IsScalar()) return node.Scalar();
  fault(node, path, node.IsNull() ? "needs a value" : "needs one value, not a list or map");
  return std::nullopt;
}

std::optional<Prefix> Reader::prefix(const Node &node, const std::string &path) {
  const auto s = scalar(node, path);
  if (!s) return std::nullopt;
  const auto p = parse_prefix(*s);
  if (p) return *p;
  fault(node, path,
        fmt::format("\"{}\": {}; write 192.0.2.1, 192.0.2.0/24 or 2001:db8::/32", shown(*s), p.error()));
  return std::nullopt;
}

void Reader::eal(const Node &node, const std::string &path) {
  Eal &e = config.eal;
  using H = Eal::Hugepages;
  map(node, path,
      {{"lcores", text(e.lcores)},
       {"allow", texts(e.allow)},
       {"file_prefix", text(e.file_prefix)},
       {"vdevs", texts(e.vdevs)},
       {"extra", texts(e.extra)},
       {"hugepages", word<H>(e.hugepages, {{"auto", H::automatic}, {"yes", H::yes}, {"no", H::no}})},
       {"memory_mib", number(e.memory_mib, 0, 1u << 24)}});
}

void Reader::port(const Node &node, const std::string &path) {
  Port p;
  map(node, path,
      {{"name", text(p.name)},
       {"device", text(p.device)},
       {"rx_queues", number(p.rx_queues, 1, rx_queues_max)},
       {"side", word<PortSide>(p.side, {{"outside", PortSide::outside},
                                        {"inside", PortSide::inside},
                                        {"none", PortSide::none}})},
       {"peer", text(p.peer)}});
  config.ports.push_back(std::move(p));
  places_.ports.push_back(line_of(node));
}

void Reader::ports(const Node &node, const std::string &path) {
  sequence(node, path, [this](const Node &item, const std::string &where) { port(item, where); });
}

void Reader::policy(const Node &node, const std::string &path) {
  Policy &p = config.policy;
  const auto match = word<Match>(p.match, {{"remote", Match::remote},
                                           {"source", Match::source},
                                           {"destination", Match::destination},
                                           {"either", Match::either}});
  const auto noted_match = [&](const Node &n, const std::string &where) {
    match(n, where);
    if (n.IsScalar() && n.Scalar() == "remote") places_.remote = line_of(n);
    places_.match_given = true;
  };
  map(node, path,
      {{"match", noted_match},
       {"default", verdict(p.fallthrough)},
       {"non_ip", verdict(p.non_ip)},
       {"too_many_tags", verdict(p.too_many_tags)},
       {"link_local", verdict(p.link_local)},
       {"malformed", verdict(p.malformed)},
       {"tunnels",
        word<Tunnels>(p.tunnels,
                      {{"outer", Tunnels::outer}, {"inner", Tunnels::inner}, {"both", Tunnels::both}})},
       {"no_image", word<NoImage>(config.no_image, {{"open", NoImage::open}, {"closed", NoImage::closed}})}});
}

void Reader::list(const Node &node, const std::string &path) {
  List l;
  bool action_given = false;
  const auto action = word<Side>(l.action, {{"deny", Side::deny}, {"allow", Side::allow}});
  map(node, path,
      {{"name", text(l.name)},
       {"action",
        [&](const Node &n, const std::string &where) {
          action_given = true;
          action(n, where);
        }},
       {"file",
        [&](const Node &n, const std::string &where) {
          const auto s = scalar(n, where);
          if (s && s->empty()) fault(n, where, "needs the name of a file");
          if (s && !s->empty()) l.file = folder_ / *s;
        }},
       {"entries",
        [&](const Node &n, const std::string &where) {
          sequence(n, where, [&](const Node &item, const std::string &at) {
            if (prefix(item, at)) l.entries.push_back(item.Scalar());
          });
        }},
       {"format", word<Format>(l.format, {formats.begin(), formats.end()})},
       {"dynamic", boolean(l.dynamic)},
       {"ttl",
        [&](const Node &n, const std::string &where) {
          const auto s = scalar(n, where);
          if (!s) return;
          const auto duration = parse_duration(*s);
          if (!duration) return fault(n, where, duration.error().message);
          l.ttl = *duration;
        }},
       {"on_error", word<OnError>(l.on_error, {{"refuse", OnError::refuse}, {"skip", OnError::skip}})},
       {"comment", text(l.comment)},
       {"shortest_prefix", lengths(l.shortest_v4, l.shortest_v6)},
       {"max_covered", covered(l.max_covered_v4, l.max_covered_v6)},
       {"max_change", share(l.max_change)},
       {"max_nested", counts(l.max_nested_v4, l.max_nested_v6)},
       {"max_lengths", counts(l.max_lengths_v4, l.max_lengths_v6)},
       {"mapped", word<bool>(l.mapped_both, {{"as_written", false}, {"both", true}})}});
  if (node.IsMap() && !node["file"] && !node["entries"] && !l.dynamic)
    fault(node, path, "has no content; give it a file, entries or dynamic: true");
  config.lists.push_back(std::move(l));
  places_.lists.push_back(line_of(node));
  places_.actions.push_back(action_given);
}

void Reader::lists(const Node &node, const std::string &path) {
  sequence(node, path, [this](const Node &item, const std::string &where) { list(item, where); });
  places_.last_list = line_of(node);
}

std::vector<Word<std::string>> allow_filter_words() {
  std::vector<Word<std::string>> words;
  for (const std::string_view word : {allow_filter_auto, allow_filter_none})
    words.push_back({word, std::string(word)});
  for (const image::AllowFilterOps &kind : image::allow_filter_kinds())
    words.push_back({kind.name, std::string(kind.name)});
  return words;
}

void Reader::allow(const Node &node, const std::string &path) {
  const auto confirm = word<Confirm>(config.policy.confirm,
                                     {{"on_conflict", Confirm::on_conflict}, {"exact", Confirm::exact}});
  map(node, path,
      {{"confirm",
        [&](const Node &n, const std::string &where) {
          places_.confirm = line_of(n);
          confirm(n, where);
        }},
       {"filter", word<std::string>(config.allow.filter, allow_filter_words())},
       {"adaptive",
        [this](const Node &n, const std::string &where) {
          places_.adaptive = line_of(n);
          boolean(config.allow.adaptive)(n, where);
        }},
       {"bits_per_key", [this](const Node &n, const std::string &where) {
          unsigned bits = 0;
          number(bits, allow_bits_per_key_min, allow_bits_per_key_max)(n, where);
          if (bits != 0) config.allow.bits_per_key = bits;
          places_.bits_per_key = line_of(n);
        }}});
}

void Reader::guard(const Node &node, const std::string &path) {
  Guard &g = config.guard;
  const auto by_action = [this](auto deny, auto allow) {
    return [deny, allow, this](const Node &n, const std::string &where) {
      map(n, where, {{"deny", deny}, {"allow", allow}});
    };
  };
  map(node, path,
      {{"never_deny",
        [this](const Node &n, const std::string &where) {
          sequence(n, where, [this](const Node &item, const std::string &at) {
            if (const auto p = prefix(item, at)) config.guard.never_deny.push_back(*p);
          });
        }},
       {"max_change", share(g.max_change)},
       {"max_nested", counts(g.max_nested.v4, g.max_nested.v6)},
       {"max_lengths", counts(g.max_lengths_v4, g.max_lengths_v6)},
       {"shortest_prefix", by_action(lengths(g.shortest_deny.v4, g.shortest_deny.v6),
                                     lengths(g.shortest_allow.v4, g.shortest_allow.v6))},
       {"max_covered", by_action(covered(g.covered_deny.v4, g.covered_deny.v6),
                                 covered(g.covered_allow.v4, g.covered_allow.v6))}});
}

void Reader::compact(const Node &node, const std::string &path) {
  Compact c;
  const auto unknown = budget(c.unknown_budget);
  if (!node.IsNull())
    map(node, path,
        {{"false_positive_budget", budget(c.false_positive_budget)},
         {"unknown_budget",
          [&](const Node &n, const std::string &where) {
            places_.unknown_budget = line_of(n);
            unknown(n, where);
          }},
         {"judge", word<Judge>(c.judge, {{"auto", Judge::automatic},
                                         {"stacked", Judge::stacked},
                                         {"chained_and", Judge::chained_and},
                                         {"fuse", Judge::fuse}})},
         {"memory", [&](const Node &n, const std::string &where) {
            const auto s = scalar(n, where);
            if (!s) return;
            const auto bytes = parse_bytes(*s);
            if (!bytes) return fault(n, where, bytes.error().message);
            if (*bytes < compact_bytes_min)
              return fault(n, where,
                           fmt::format("\"{}\" is less than a page; write 4KiB or more", shown(*s)));
            c.memory_bytes = *bytes;
            c.line = line_of(n);
          }}});
  config.compact = c;
}

// exact, compact, or compact with its budgets.
void Reader::mode(const Node &node, const std::string &path) {
  places_.unknown_budget = line_of(node);
  if (node.IsMap()) return map(node, path, {{"compact", into(&Reader::compact)}});
  const auto s = scalar(node, path);
  if (!s || *s == "exact") return;
  if (*s == "compact") return config.compact.emplace(), void();
  fault(node, path,
        fmt::format("\"{}\" is not a mode; write exact, compact or {{compact: {{...}}}}", shown(*s)));
}

void Reader::samples(const Node &node, const std::string &path) {
  map(node, path, {{"rate", [this](const Node &n, const std::string &where) {
                      const auto s = scalar(n, where);
                      if (!s) return;
                      const bool fraction = s->starts_with("1/");
                      const auto one_in = parse_number(std::string_view(*s).substr(fraction ? 2 : 0));
                      if (!fraction || !one_in || *one_in == 0 || *one_in > sample_one_in_max)
                        return fault(n, where,
                                     fmt::format("\"{}\" is not a rate; write 1/1024, from 1/1 to 1/{}",
                                                 shown(*s), sample_one_in_max));
                      config.sample_one_in = static_cast<unsigned>(*one_in);
                    }}});
}

void Reader::offenders(const Node &node, const std::string &path) {
  Offenders o;
  o.line = line_of(node);
  const auto duration = [this](std::chrono::seconds &out) {
    return [&out, this](const Node &n, const std::string &where) {
      const auto s = scalar(n, where);
      if (!s) return;
      const auto value = parse_duration(*s);
      if (!value) return fault(n, where, value.error().message);
      out = *value;
    };
  };
  const auto whole = [this](auto &out, std::uint64_t low, std::uint64_t high) {
    return [&out, low, high, this](const Node &n, const std::string &where) {
      unsigned value = 0;
      number(value, static_cast<unsigned>(low), static_cast<unsigned>(high))(n, where);
      if (value != 0) out = value;
    };
  };
  const auto or_word = [](std::string_view word, auto &out, auto instead, auto read) {
    return [&out, word, instead, read](const Node &n, const std::string &where) {
      if (n.IsScalar() && n.Scalar() == word)
        out = instead;
      else
        read(n, where);
    };
  };
  constexpr std::uint64_t rate_max = 1'000'000'000;
  std::chrono::seconds every{0};
  if (!node.IsNull())
    map(node, path,
        {{"element", word<OffenderElement>(o.element, {{"source", OffenderElement::source},
                                                       {"header", OffenderElement::header}})},
         {"action", word<OffenderAction>(o.action, {{"count", OffenderAction::count},
                                                    {"rate_limit", OffenderAction::rate_limit},
                                                    {"drop", OffenderAction::drop},
                                                    {"ban", OffenderAction::ban}})},
         {"filter", word<Offenders::Filter>(o.filter, {{"auto", Offenders::Filter::automatic},
                                                       {"slbf", Offenders::Filter::slbf},
                                                       {"stable", Offenders::Filter::stable},
                                                       {"rotating", Offenders::Filter::rotating}})},
         {"remember", whole(o.gap, offender_gap_min, offender_gap_max)},
         {"false_positive_rate", budget(o.accepted)},
         {"miss_rate", budget(o.missed)},
         {"seed",
          [&](const Node &n, const std::string &where) {
            const auto s = scalar(n, where);
            if (!s) return;
            const auto seed = parse_number(*s);
            if (!seed) return fault(n, where, fmt::format("\"{}\" is not a whole number", shown(*s)));
            o.seed = *seed;
          }},
         {"groups", or_word("auto", o.groups, 0u, number(o.groups, 2, 64))},
         {"tell",
          [&](const Node &n, const std::string &where) {
            map(n, where,
                {{"denied", boolean(o.tells_denied)}, {"above", whole(o.tells_above, 1, rate_max)}});
          }},
         {"rate_limit",
          [&](const Node &n, const std::string &where) {
            map(n, where, {{"packets", whole(o.limit, 1, rate_max)}, {"burst", whole(o.burst, 1, rate_max)}});
          }},
         {"ban",
          [&](const Node &n, const std::string &where) {
            map(n, where,
                {{"list", text(o.ban_list)},
                 {"ttl", duration(o.ban_ttl)},
                 {"a_minute", number(o.bans_a_minute, 1, 100'000)}});
          }},
         {"train", [&](const Node &n, const std::string &where) {
            map(n, where,
                {{"every", or_word("never", o.train_every, std::optional<std::chrono::seconds>(),
                                   [&](const Node &of, const std::string &at) {
                                     duration(every)(of, at);
                                     if (every.count() != 0) o.train_every = every;
                                   })},
                 {"samples", number(o.train_samples, 500, 1'000'000)}});
          }}});
  config.offenders = o;
}

void Reader::replan(const Node &node, const std::string &path) {
  map(node, path, {{"interval", [this](const Node &n, const std::string &where) {
                      const auto s = scalar(n, where);
                      if (!s) return;
                      const auto duration = parse_duration(*s);
                      if (!duration) return fault(n, where, duration.error().message);
                      config.replan_interval = *duration;
                    }}});
}

void Reader::read(const Node &root) {
  if (root.IsNull()) return faults.add(1, "version", "the file is empty; it starts with \"version: 1\"");
  const auto version = [this](const Node &n, const std::string &path) {
    const auto s = scalar(n, path);
    if (s && *s != "1")
      fault(n, path, fmt::format("\"{}\" is not known; this program reads version 1", shown(*s)));
  };
  const auto paths = [this](const Node &n, const std::string &path) {
    map(n, path,
        {{"run", folder(config.paths.run)},
         {"state", folder(config.paths.state)},
         {"read_group", group(groups.read)},
         {"write_group", group(groups.write)}});
  };
  const auto metrics = [this](const Node &n, const std::string &path) {
    map(n, path, {{"listen", [this](const Node &of, const std::string &where) {
                     const auto s = scalar(of, where);
                     if (!s) return;
                     if (const auto at = parse_listen(*s); !at) return fault(of, where, at.error().message);
                     config.metrics_listen = *s;
                   }}});
  };
  map(root, "",
      {{"version", version},
       {"eal", into(&Reader::eal)},
       {"ports", into(&Reader::ports)},
       {"policy", into(&Reader::policy)},
       {"mode", into(&Reader::mode)},
       {"lists", into(&Reader::lists)},
       {"allow", into(&Reader::allow)},
       {"guard", into(&Reader::guard)},
       {"front_filter",
        [this](const Node &n, const std::string &where) {
          places_.front_filter = line_of(n);
          word<FrontFilter>(config.front_filter, {{"auto", FrontFilter::automatic},
                                                  {"none", FrontFilter::none},
                                                  {"split_block_bloom", FrontFilter::split_block_bloom},
                                                  {"stacked", FrontFilter::stacked}})(n, where);
        }},
       {"predictor", word<Predictor>(config.predictor, {{"auto", Predictor::automatic},
                                                        {"inline_bits", Predictor::inline_bits},
                                                        {"chained", Predictor::chained}})},
       {"samples", into(&Reader::samples)},
       {"replan", into(&Reader::replan)},
       {"paths", paths},
       {"metrics", metrics},
       {"generations_kept", number(config.generations_kept, 1, 1000)},
       {"capture", later("take it out: `weirctl drops -f -w FILE` writes dropped packets of live ports")},
       {"offenders", into(&Reader::offenders)}});
  if (root.IsMap() && !root["version"])
    faults.add(1, "version", "missing; the file starts with \"version: 1\"");
  check(config, places_, faults);
}

} // namespace

namespace {

Result<Reader> read_whole(const std::string &text, const std::filesystem::path &name) {
  Reader reader(name);
  try {
    reader.read(YAML::Load(text));
  } catch (const YAML::Exception &e) {
    return fail(Errc::config,
                fmt::format("{}:{}: not YAML: {}", name.string(), e.mark.line + 1, printable(e.msg)));
  }
  if (!reader.faults.empty()) return fail(Errc::config, reader.faults.text());
  return reader;
}

} // namespace

Result<Config> parse(const std::string &text, const std::filesystem::path &name) {
  auto reader = read_whole(text, name);
  if (!reader) return std::unexpected(std::move(reader.error()));
  reader->config.source = name;
  return std::move(reader->config);
}

Result<Groups> groups(const std::string &text, const std::filesystem::path &name) {
  if (text.find("_group") == std::string::npos) return Groups{}; // a large file is not read twice for nothing
  auto reader = read_whole(text, name);
  if (!reader) return std::unexpected(std::move(reader.error()));
  return std::move(reader->groups);
}

Result<std::string> read(const std::filesystem::path &file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  const bool opened = in.is_open();
  if (opened) errno = 0; // an empty file leaves the text in the same state as one that cannot be read
  if (opened) text << in.rdbuf();
  if (!opened || (text.fail() && errno != 0))
    return fail(Errc::io, fmt::format("{}: cannot read the configuration: {}; give another with -c",
                                      file.string(), std::strerror(errno)));
  return std::move(text).str();
}

Result<Config> load(const std::filesystem::path &file) {
  const auto text = TRY(read(file));
  return parse(text, file);
}

} // namespace weir::config
