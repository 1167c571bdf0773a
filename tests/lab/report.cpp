#include "tests/lab/lab.hpp"

#include <nlohmann/json.hpp>

namespace weir::lab {
namespace {

using Json = nlohmann::ordered_json;

const char *name_of(KeySet set) {
  switch (set) {
  case KeySet::urls: return "urls";
  case KeySet::ycsb: return "ycsb";
  case KeySet::addresses: return "addresses";
  }
  return "";
}

// One member a contender; null for those that do not fit the budget.
template <class Of> Json each(const SeesawReport &report, Of of) {
  Json object = Json::object();
  for (const auto &[name, outcome] : report.contenders)
    object[name] = outcome ? Json(of(*outcome)) : Json(nullptr);
  return object;
}

Json maybe(const std::optional<double> &value) { return value ? Json(*value) : Json(nullptr); }

template <class Of> std::uint64_t sum(const SeesawReport &report, Of of) {
  std::uint64_t all = 0;
  for (const auto &[name, outcome] : report.contenders) all += outcome ? of(*outcome) : 0;
  return all;
}

void put_task(Json &json, const SeesawTask &t) {
  json["experiment"] = "seesaw";
  json["keys"] = t.keys;
  json["negatives"] = t.negatives;
  json["skew"] = t.skew;
  json["bits_per_key"] = t.bits;
  json["vulnerable"] = t.vulnerable;
  json["ada"] = t.ada;
  json["rounds"] = t.rounds;
  json["churn"] = t.churn;
  json["seeds"] = t.seeds;
  json["seed"] = t.seed;
  json["keyset"] = name_of(t.keyset);
}

void put_rates(Json &json, const SeesawReport &r) {
  json["weighted_fpr"] = each(r, [](const Outcome &o) { return o.fresh.weighted; });
  json["weighted_fpr_by_class"] = each(r, [](const Outcome &o) { return o.fresh.by_class; });
  json["weighted_fpr_predicted"] = each(r, [](const Outcome &o) { return maybe(o.predicted.weighted); });
  json["plain_fpr"] = each(r, [](const Outcome &o) { return o.fresh.plain; });
  json["plain_fpr_predicted"] = each(r, [](const Outcome &o) { return maybe(o.predicted.plain); });
  json["guarded_fpr"] = each(r, [](const Outcome &o) { return o.fresh.guarded; });
  json["weighted_fpr_churned"] = each(r, [](const Outcome &o) { return o.churned.weighted; });
  json["weighted_fpr_churned_by_class"] = each(r, [](const Outcome &o) { return o.churned.by_class; });
  json["weighted_fpr_churned_predicted"] =
      each(r, [](const Outcome &o) { return maybe(o.predicted.weighted_churned); });
  json["plain_fpr_churned"] = each(r, [](const Outcome &o) { return o.churned.plain; });
  json["plain_fpr_churned_predicted"] =
      each(r, [](const Outcome &o) { return maybe(o.predicted.plain_churned); });
  json["guarded_fpr_churned"] = each(r, [](const Outcome &o) { return o.churned.guarded; });
}

void put_latencies(Json &json, const SeesawReport &r) {
  json["insert_ns"] = each(r, [](const Outcome &o) { return o.ns.insert; });
  json["query_ns"] = each(r, [](const Outcome &o) { return o.ns.query; });
  json["insert_waiting_ns"] = each(r, [](const Outcome &o) { return o.ns.insert_waiting; });
  json["query_waiting_ns"] = each(r, [](const Outcome &o) { return o.ns.query_waiting; });
  json["query_present_ns"] = each(r, [](const Outcome &o) { return o.ns.query_present; });
  json["query_absent_ns"] = each(r, [](const Outcome &o) { return o.ns.query_absent; });
  json["query_batch_ns"] = each(r, [](const Outcome &o) { return o.ns.query_batch; });
  json["delete_ns"] = each(r, [](const Outcome &o) { return o.ns.erase; });
  json["times_counting_bloom"] = each(r, [](const Outcome &o) {
    if (!o.ratios) return Json(nullptr);
    return Json{{"insert", o.ratios->insert},
                {"query", o.ratios->query},
                {"delete", o.ratios->erase},
                {"insert_waiting", o.ratios->insert_waiting},
                {"query_waiting", o.ratios->query_waiting}};
  });
  json["batch_speedup"] =
      each(r, [](const Outcome &o) { return o.ratios ? Json(o.ratios->batch_speedup) : Json(nullptr); });
  json["batch_speedup_waiting"] = each(
      r, [](const Outcome &o) { return o.ratios ? Json(o.ratios->batch_speedup_waiting) : Json(nullptr); });
}

} // namespace

std::string json_of(const SeesawReport &r) {
  Json json;
  put_task(json, r.task);
  put_rates(json, r);
  json["bits_per_key_used"] = each(r, [](const Outcome &o) { return o.bits_per_key; });
  json["guarded"] = each(r, [](const Outcome &o) { return o.guarded; });
  json["shape"] = each(r, [](const Outcome &o) { return o.shape; });
  json["false_negatives"] = sum(r, [](const Outcome &o) { return o.false_negatives; });
  json["false_negatives_of"] = each(r, [](const Outcome &o) { return o.false_negatives; });
  json["overflows"] = sum(r, [](const Outcome &o) { return o.overflows; });
  json["overflows_of"] = each(r, [](const Outcome &o) { return o.overflows; });
  json["refused"] = each(r, [](const Outcome &o) { return o.refused; });
  if (r.task.ada) json["rate_by_round"] = each(r, [](const Outcome &o) { return o.weighted_by_round; });
  if (r.task.timing) put_latencies(json, r);
  return json.dump(2);
}

} // namespace weir::lab
