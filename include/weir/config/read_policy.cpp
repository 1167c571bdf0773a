#include "weir/config/listen_address.hpp"
#include "weir/config/sections.hpp"

#include <fmt/format.h>

namespace weir::config {
namespace {

void read_compact(Reader &r, const Node &node, const std::string &path) {
  Compact c;
  const Reader::Read memory = [&](const Node &n, const std::string &where) {
    std::uint64_t bytes = 0;
    r.parsed(bytes, parse_bytes)(n, where);
    if (bytes == 0) return;
    if (bytes < compact_bytes_min)
      return r.fault(n, where, fmt::format("\"{}\" is less than a page; write 4KiB or more", shown(n.text)));
    c.memory_bytes = bytes;
    c.line = n.line;
  };
  if (!node.is_nothing())
    r.map(node, path,
          {{"false_positive_budget", r.budget(c.false_positive_budget)},
           {"unknown_budget", Reader::noted(r.places.unknown_budget, r.budget(c.unknown_budget))},
           {"judge", r.word<Judge>(c.judge, {{"auto", Judge::automatic},
                                             {"stacked", Judge::stacked},
                                             {"chained_and", Judge::chained_and},
                                             {"fuse", Judge::fuse}})},
           {"memory", memory}});
  r.config.compact = c;
}

} // namespace

void read_policy(Reader &r, const Node &node, const std::string &path) {
  Policy &p = r.config.policy;
  const auto match = r.word<Match>(p.match, {{"remote", Match::remote},
                                             {"source", Match::source},
                                             {"destination", Match::destination},
                                             {"either", Match::either}});
  const auto noted_match = [&](const Node &n, const std::string &where) {
    match(n, where);
    if (n.is_scalar() && n.text == "remote") r.places.remote = n.line;
    r.places.match_given = true;
  };
  r.map(node, path,
        {{"match", noted_match},
         {"default", r.verdict(p.fallthrough)},
         {"non_ip", r.verdict(p.non_ip)},
         {"too_many_tags", r.verdict(p.too_many_tags)},
         {"link_local", r.verdict(p.link_local)},
         {"malformed", r.verdict(p.malformed)},
         {"tunnels",
          r.word<Tunnels>(p.tunnels,
                          {{"outer", Tunnels::outer}, {"inner", Tunnels::inner}, {"both", Tunnels::both}})},
         {"no_image",
          r.word<NoImage>(r.config.no_image, {{"open", NoImage::open}, {"closed", NoImage::closed}})}});
}

// exact, compact, or compact with its budgets.
void read_mode(Reader &r, const Node &node, const std::string &path) {
  r.places.unknown_budget = node.line;
  const Reader::Read compact = [&r](const Node &n, const std::string &where) { read_compact(r, n, where); };
  if (node.is_map()) return r.map(node, path, {{"compact", compact}});
  const auto s = r.scalar(node, path);
  if (!s || *s == "exact") return;
  if (*s == "compact") return r.config.compact.emplace(), void();
  r.fault(node, path,
          fmt::format("\"{}\" is not a mode; write exact, compact or {{compact: {{...}}}}", shown(*s)));
}

void read_samples(Reader &r, const Node &node, const std::string &path) {
  const Reader::Read rate = [&r](const Node &n, const std::string &where) {
    const auto s = r.scalar(n, where);
    if (!s) return;
    const bool fraction = s->starts_with("1/");
    const auto one_in = parse_number(std::string_view(*s).substr(fraction ? 2 : 0));
    if (!fraction || !one_in || *one_in == 0 || *one_in > sample_one_in_max)
      return r.fault(
          n, where,
          fmt::format("\"{}\" is not a rate; write 1/1024, from 1/1 to 1/{}", shown(*s), sample_one_in_max));
    r.config.sample_one_in = static_cast<unsigned>(*one_in);
  };
  r.map(node, path, {{"rate", rate}});
}

void read_paths(Reader &r, const Node &node, const std::string &path) {
  r.map(node, path,
        {{"run", r.folder(r.config.paths.run)},
         {"state", r.folder(r.config.paths.state)},
         {"read_group", r.group(r.groups.read)},
         {"write_group", r.group(r.groups.write)}});
}

void read_metrics(Reader &r, const Node &node, const std::string &path) {
  const Reader::Read listen = [&r](const Node &n, const std::string &where) {
    const auto s = r.scalar(n, where);
    if (!s) return;
    if (const auto at = parse_listen(*s); !at) return r.fault(n, where, at.error().message);
    r.config.metrics_listen = *s;
  };
  r.map(node, path, {{"listen", listen}});
}

void read_health(Reader &r, const Node &node, const std::string &path) {
  HealthHook &h = r.config.health;
  const Reader::Read exec = [&r, &h](const Node &n, const std::string &where) {
    const auto s = r.scalar(n, where);
    if (!s) return;
    if (!s->starts_with('/'))
      return r.fault(n, where,
                     fmt::format("\"{}\" is no absolute path; write where the program stands, without "
                                 "arguments",
                                 shown(*s)));
    h.exec = *s;
  };
  r.map(node, path, {{"exec", exec}, {"timeout", r.duration(h.timeout)}, {"hold", r.duration(h.hold)}});
}

} // namespace weir::config
