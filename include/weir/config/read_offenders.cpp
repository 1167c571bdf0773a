#include "weir/config/sections.hpp"

#include <fmt/format.h>

namespace weir::config {
namespace {

constexpr std::uint64_t rate_max = 1'000'000'000;

// A section below `offenders`, of which nothing needs to stand there.
template <class... Fields> Reader::Read part(Reader &r, Fields... fields) {
  return [&r, all = std::vector<Reader::Field>{std::move(fields)...}](
             const Node &n, const std::string &path) { r.map(n, path, all); };
}

Reader::Read seed(Reader &r, std::optional<std::uint64_t> &out) {
  return [&r, &out](const Node &n, const std::string &path) {
    const auto s = r.scalar(n, path);
    if (!s) return;
    const auto seed = parse_number(*s);
    if (!seed) return r.fault(n, path, fmt::format("\"{}\" is not a whole number", shown(*s)));
    out = *seed;
  };
}

} // namespace

void read_offenders(Reader &r, const Node &node, const std::string &path) {
  using Filter = Offenders::Filter;
  using Field = Reader::Field;
  Offenders o;
  o.line = node.line;
  if (!node.is_nothing())
    r.map(node, path,
          {{"element", r.word<OffenderElement>(o.element, {{"source", OffenderElement::source},
                                                           {"header", OffenderElement::header}})},
           {"action", r.word<OffenderAction>(o.action, {{"count", OffenderAction::count},
                                                        {"rate_limit", OffenderAction::rate_limit},
                                                        {"drop", OffenderAction::drop},
                                                        {"ban", OffenderAction::ban}})},
           {"filter", r.word<Filter>(o.filter, {{"auto", Filter::automatic},
                                                {"slbf", Filter::slbf},
                                                {"stable", Filter::stable},
                                                {"rotating", Filter::rotating}})},
           {"remember", r.whole(o.gap, offender_gap_min, offender_gap_max)},
           {"false_positive_rate", r.budget(o.accepted)},
           {"miss_rate", r.budget(o.missed)},
           {"seed", seed(r, o.seed)},
           {"model", r.file(o.model)},
           {"groups", r.or_word("auto", o.groups, 0u, r.number(o.groups, 2, 64))},
           {"tell", part(r, Field{"denied", r.boolean(o.tells_denied)},
                         Field{"above", r.whole(o.tells_above, 1, rate_max)})},
           {"rate_limit", part(r, Field{"packets", r.whole(o.limit, 1, rate_max)},
                               Field{"burst", r.whole(o.burst, 1, rate_max)})},
           {"ban", part(r, Field{"list", r.text(o.ban_list)}, Field{"ttl", r.duration(o.ban_ttl)},
                        Field{"a_minute", r.number(o.bans_a_minute, 1, 100'000)})},
           {"train",
            part(r,
                 Field{"every", r.or_word("never", o.train_every, std::optional<std::chrono::seconds>(),
                                          r.duration(o.train_every))},
                 Field{"samples", r.number(o.train_samples, 500, 1'000'000)})}});
  r.config.offenders = o;
}

} // namespace weir::config
