#include "dataplane/report/offenders_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weir::dataplane {

using Json = nlohmann::ordered_json;

namespace {

Json groups_json(const image::OffendersView &view, const OffenderMemory &memory) {
  constexpr std::array<std::string_view, 3> answers{"filter", "accept", "reject"};
  const std::vector<double> in_use = memory.in_use();
  const unsigned halves = view.filter() == OffenderFilter::rotating ? 2 : 1;
  Json json = Json::array();
  for (std::size_t j = 0; j < in_use.size(); ++j) {
    const image::OffenderGroup &group = view.groups()[j];
    const bool last = j + 1 == in_use.size(), filter = group.answer == image::OffenderAnswer::filter;
    json.push_back({{"below", last ? Json(nullptr) : Json(group.below)},
                    {"answer", answers[static_cast<std::size_t>(group.answer)]},
                    {"bits", filter ? std::uint64_t{group.words} * 64 * halves : 0},
                    {"told", image::stack_rate(group.told)},
                    {"other", image::stack_rate(group.other)},
                    {"in_use", filter ? Json(in_use[j]) : Json(nullptr)}});
  }
  return json;
}

} // namespace

Json offenders_json(const Dataplane &dataplane) {
  const auto lock = dataplane.generations.lock();
  const AttachedImage *live = dataplane.slot.current();
  if (live == nullptr || live->view.offenders.empty()) return {{"filter", "none"}};
  const image::OffendersView &view = live->view.offenders;
  const image::OffendersHeader &h = view.header();
  Json json{{"filter", name_of(view.filter())},
            {"element", name_of(view.element())},
            {"action", name_of(view.action())},
            {"gap", h.gap},
            {"turn", h.turn},
            {"model", h.model},
            {"section_bytes", view.bytes()},
            {"cell_bits", view.cell_bits()}};
  json["wanted"] = {{"accepted", image::stack_rate(h.wanted_accepted)},
                    {"missed", image::stack_rate(h.wanted_missed)}};
  json["predicted"] = {{"accepted", image::stack_rate(h.predicted_accepted)},
                       {"missed", image::stack_rate(h.predicted_missed)}};
  json["cleared"] = dataplane.generations.offenders().cleared();
  json["warning"] = dataplane.generations.offenders().warning();
  if (live->offenders == nullptr) return json; // no memory; a warning says so
  const OffenderMemory &memory = *live->offenders;
  json["told"] = memory.told();
  json["loaded"] = memory.was_restored();
  json["marks"] = memory.marks().size(Mark::marked);
  json["forgotten"] = memory.marks().size(Mark::forgotten);
  json["groups"] = groups_json(view, memory);
  return json;
}

void explain_offender(const AttachedImage &image, const Address &address, const std::optional<Traits> &seen,
                      lookup::Explanation &why) {
  if (why.reason != Reason::fallthrough || image.offenders == nullptr) return;
  const image::OffendersView &view = image.view.offenders;
  const OffenderMemory &memory = *image.offenders;
  const Mark mark = memory.marks().of(address);
  const auto say = [&](std::string text) { // before what is asked last
    why.path.insert(why.path.end() - (why.path.empty() ? 0 : 1), {"offender", std::move(text)});
  };
  if (view.spares(address)) return say("guard.never_deny names the address: never taken for an offender");
  if (mark == Mark::forgotten) return say("unmarked: not an offender until it is told of again");
  const bool by_header = view.element() == OffenderElement::header;
  if (mark == Mark::none && by_header && !seen)
    return say("the memory goes by address and headers: it depends on the packet");
  const Traits traits = by_header ? seen.value_or(Traits()) : Traits();
  const float score = view.score_of(address, traits);
  const unsigned group = view.group_of(score);
  const std::string where =
      view.has_trees() ? fmt::format("group {} of {}, score {:.2f}", group + 1, view.groups().size(), score)
                       : std::string("one group for all");
  if (mark == Mark::none && !memory.contains(view.key_of(address, traits), score))
    return say("not remembered: " + where);
  say(mark == Mark::marked ? "marked by weirctl offender mark"
                           : fmt::format("remembered: {}; action {}", where, name_of(view.action())));
  why.reason = Reason::offender;
  if (view.action() == OffenderAction::drop) why.verdict = Verdict::drop;
}

} // namespace weir::dataplane
