#include "tests/lab/stacked.hpp"

#include <nlohmann/json.hpp>

namespace weir::lab {
namespace {

using Json = nlohmann::ordered_json;

Json times(const StackedReport &report, const QueryTimes &ns) {
  if (!report.task.timing) return nullptr;
  return {{"positive", ns.positive},
          {"known_negative", report.plan.known > 0 ? Json(ns.known_negative) : Json(nullptr)},
          {"unknown_negative", ns.unknown_negative}};
}

Json cost(const WorkloadCost &of, double iops) {
  return {{"filter_ns", of.filter_ns}, {"accesses", of.accesses}, {"total_ns", of.total_ns(iops)}};
}

} // namespace

std::string json_of(const StackedReport &r) {
  Json json;
  json["layers"] = Json::array();
  for (const StackedReport::Layer &layer : r.layers)
    json["layers"].push_back({{"rate", layer.rate}, {"keys", layer.keys}, {"bits", layer.bits}});
  json["known_negatives"] = static_cast<std::uint64_t>(r.plan.known);
  json["psi"] = r.plan.psi;
  json["efpr_predicted"] = r.plan.efpr;
  json["efpr_measured"] = r.efpr;
  json["efpb_predicted"] = r.plan.efpb;
  json["efpb_measured"] = r.efpb;
  json["bits_per_key"] = r.bits_per_key;
  json["optimiser_seconds"] = r.optimiser_seconds;
  json["build_seconds"] = r.build_seconds;
  json["query_ns"] = times(r, r.ns);
  json["plain_fpr_measured"] = r.plain_fpr;
  json["plain_bits_per_key"] = r.plain_bits_per_key;
  json["plain_query_ns"] = times(r, r.plain_ns);
  json["efpr_by_class"] = r.efpr_by_class;
  json["plain_fpr_by_class"] = r.plain_by_class;
  if (r.task.iops.empty()) return json.dump(2);
  json["workload"] = Json::array();
  for (const double iops : r.task.iops)
    for (const MixedCost &mixed : r.costs)
      json["workload"].push_back({{"iops", iops},
                                  {"positive_share", mixed.positive_share},
                                  {"stacked", cost(mixed.stack, iops)},
                                  {"plain", cost(mixed.plain, iops)}});
  return json.dump(2);
}

} // namespace weir::lab
