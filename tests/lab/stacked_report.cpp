#include "tests/lab/stacked.hpp"

#include <nlohmann/json.hpp>

namespace weir::lab {
namespace {

using Json = nlohmann::ordered_json;

Json times(const QueryTimes &ns) {
  return {{"positive", ns.positive},
          {"known_negative", ns.known_negative},
          {"unknown_negative", ns.unknown_negative}};
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
  json["query_ns"] = r.task.timing ? times(r.ns) : Json(nullptr);
  json["plain_fpr_measured"] = r.plain_fpr;
  json["plain_bits_per_key"] = r.plain_bits_per_key;
  json["plain_query_ns"] = r.task.timing ? times(r.plain_ns) : Json(nullptr);
  return json.dump(2);
}

} // namespace weir::lab
