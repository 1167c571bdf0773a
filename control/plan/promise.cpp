#include "control/plan/promise.hpp"

#include "control/base/answers.hpp"
#include "weir/image/allow_filter_kinds.hpp"

#include <nlohmann/json.hpp>

namespace weir::plan {
namespace {

using push::child, push::count_in, push::number_in;
using Json = nlohmann::json;

bool learns(std::string_view allow_filter) {
  const image::AllowFilterOps *row = image::allow_filter_named(allow_filter);
  return row != nullptr && row->learns;
}

AllowPromise allow_in(const Json &filter) {
  const Json &predicted = child(filter, "predicted");
  const Json &chosen = child(filter, "chosen");
  return {.learns = chosen.is_string() && learns(chosen.get<std::string>()),
          .predicts = predicted.is_object(),
          .plain_churned = number_in(predicted, "plain_churned"),
          .weighted_churned = number_in(predicted, "weighted_churned")};
}

DenyPromise deny_in(const Json &filter) {
  const Json &predicted = child(filter, "predicted"), &built = child(filter, "built");
  DenyPromise promise;
  promise.stacks = built.is_object();
  promise.compact = child(filter, "mode") == "compact";
  promise.efpr = number_in(built, "efpr");
  promise.efpb = number_in(built, "efpb");
  promise.psi = number_in(predicted, "psi");
  promise.samples = number_in(filter, "samples");
  promise.hot = count_in(filter, "hot");
  promise.tolerated = promise.compact ? number_in(filter, "false_positive_budget") : front_tolerated;
  for (const Json &rate : child(built, "rates"))
    if (rate.is_number()) promise.rates.push_back(rate.get<double>());
  return promise;
}

AllowPromise promise_of(const AllowFilterPlan &filter) {
  AllowPromise promise{.learns = learns(filter.chosen), .predicts = filter.bytes != 0};
  if (!promise.predicts) return promise;
  const AllowFilterPlan::Rates rates = filter.predicted();
  promise.plain_churned = rates.plain_churned;
  promise.weighted_churned = rates.weighted_churned;
  return promise;
}

DenyPromise promise_of(const DenyFilterPlan &filter) {
  DenyPromise promise;
  promise.stacks = filter.built.has_value();
  promise.compact = filter.compact;
  promise.efpr = filter.built ? filter.built->efpr : 0;
  promise.efpb = filter.built ? filter.built->efpb : 0;
  promise.psi = filter.stacks() ? filter.stack.psi : 0;
  promise.samples = filter.samples;
  promise.hot = filter.stacks() ? filter.hot : 0;
  promise.tolerated = filter.compact ? filter.false_positive_budget : front_tolerated;
  if (filter.built) promise.rates = filter.built->rates;
  return promise;
}

} // namespace

Promise promise_of(const Plan &plan) {
  return {.allow = promise_of(plan.allow_filter), .deny = promise_of(plan.deny_filter)};
}

Promise decode_promise(const std::string &plan_json) {
  const Json plan = Json::parse(plan_json, nullptr, false);
  return {.allow = allow_in(child(plan, "allow_filter")), .deny = deny_in(child(plan, "deny_filter"))};
}

} // namespace weir::plan
