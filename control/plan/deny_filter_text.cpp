// The plan of the deny side's stacked filter for programs.
#include "control/plan/deny_filter.hpp"
#include "control/plan/plan.hpp"

#include <fmt/format.h>

namespace weir::plan {
namespace {

std::string layers_json(const StackPlan &stack) {
  std::string text;
  for (const build::LayerSize &layer : stack.layers)
    text += fmt::format(R"({}{{"rate":{:.6g},"keys":{:.0f},"bits":{:.0f}}})", text.empty() ? "" : ",",
                        layer.expected, layer.keys, layer.bits);
  return text;
}

std::string tried_json(const DenyFilterPlan &plan) {
  std::string text;
  for (const DenyFilterPlan::Tried &t : plan.tried)
    text += fmt::format(
        R"({}{{"judge":"{}","base":"{}","layers":{},"bytes":{:.0f},"bits_per_key":{:.3f},"efpr":{:.6g},"efpb":{:.6g},)"
        R"("known":{:.6g},"update":"{}","ns_per_lookup":{:.2f},"chosen":{},"why_not":"{}"}})",
        text.empty() ? "" : ",", name_of(facts_of(t.form).judge), name_of(t.form), t.depth, t.bits / 8,
        t.bits_per_key, t.efpr, t.efpb, t.known_rate, facts_of(t.form).in_place ? "in_place" : "overlay",
        t.ns, t.chosen, json_text(t.why_not));
  return text;
}

std::string advice_json(const DenyFilterPlan &plan) {
  if (!plan.advice) return "";
  const StackAdvice &a = *plan.advice;
  return fmt::format(
      R"(,"advice":{{"stack":{},"rate":{:.6g},"known":{:.0f},"psi":{:.6g},"psi_needed":{:.6g},)"
      R"("bits_single":{:.4f},"bits_stacked":{:.4f},"words":"{}"}})",
      a.stack, plan.advice_rate, a.known, a.psi, a.psi_needed, a.gain.bits_single, a.gain.bits_stacked,
      json_text(a.words));
}

} // namespace

std::string to_json(const DenyFilterPlan &plan) {
  std::string text = fmt::format(R"({{"chosen":"{}","why":"{}","mode":"{}","samples":{:.0f})", plan.chosen,
                                 json_text(plan.why), plan.compact ? "compact" : "exact", plan.samples);
  if (plan.stacks()) {
    const StackPlan &s = plan.stack;
    text += fmt::format(
        R"(,"base":"{}","keys":{},"planned_keys":{},"bytes":{:.0f},"bits_per_key":{:.3f},)"
        R"("known_negatives":{},"hot":{},"layers":[{}],)"
        R"("predicted":{{"psi":{:.6g},"efpr":{:.6g},"efpb":{:.6g},"known":{:.6g},"single":{:.6g}}})",
        name_of(plan.form), plan.keys, plan.planned_keys, s.bits / 8, plan.bits_per_key(), plan.known_count,
        plan.hot, layers_json(s), s.psi, s.efpr, s.efpb, s.known_rate, s.single_rate);
  }
  if (plan.built) {
    std::string rates;
    for (const double rate : plan.built->rates)
      rates += fmt::format("{}{:.6g}", rates.empty() ? "" : ",", rate);
    text += fmt::format(
        R"(,"built":{{"bytes":{},"rates":[{}],"efpr":{:.6g},"efpb":{:.6g},"known_accepted":{},"ms":{:.2f}}})",
        plan.built->bytes, rates, plan.built->efpr, plan.built->efpb, plan.built->known_accepted,
        plan.built->ms);
  }
  if (plan.compact) {
    text += fmt::format(R"(,"false_positive_budget":{:.6g},"unknown_budget":{:.6g},"keeps_budget":{})",
                        plan.false_positive_budget, plan.unknown_budget, plan.keeps_budget());
    text += fmt::format(R"(,"class_map_bytes":{})", plan.class_map_bytes);
    if (plan.needed_bits) text += fmt::format(R"(,"needed_bytes":{:.0f})", *plan.needed_bits / 8);
  }
  if (plan.ns > 0) text += fmt::format(R"(,"ns_per_lookup":{:.2f})", plan.ns);
  if (!plan.tried.empty()) text += fmt::format(R"(,"tried":[{}])", tried_json(plan));
  return text + advice_json(plan) + "}";
}

} // namespace weir::plan
