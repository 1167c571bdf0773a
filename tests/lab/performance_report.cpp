#include "tests/lab/performance.hpp"

#include <nlohmann/json.hpp>

namespace weir::lab {
namespace {

using Json = nlohmann::ordered_json;

std::string kind_of(const PerformanceCandidate &candidate) {
  return (candidate.stacked ? "stacked_" : "") + candidate.base;
}

Json json_of(const PerformanceCandidate &of) {
  return {{"kind", kind_of(of)},
          {"stacked", of.stacked},
          {"bits_per_key", of.bits_per_key},
          {"layer_bits", of.layer_bits},
          {"ns_negative", of.ns_negative},
          {"ns_present", of.ns_present},
          {"efpr_predicted", of.efpr_predicted},
          {"efpr_measured", of.efpr_measured}};
}

Json json_of(const PerformanceReport::Best &best, const std::vector<PerformanceCandidate> &candidates) {
  const PerformanceCandidate &any = candidates[best.any], &plain = candidates[best.plain];
  const double rho = any.rho(best.work_ns), plain_rho = plain.rho(best.work_ns);
  return {{"work_ns", best.work_ns},
          {"kind", kind_of(any)},
          {"stacked", any.stacked},
          {"bits_per_key", any.bits_per_key},
          {"rho", rho},
          {"plain_kind", kind_of(plain)},
          {"plain_bits_per_key", plain.bits_per_key},
          {"plain_rho", plain_rho},
          {"over_plain", rho / plain_rho}};
}

Json json_of(const PerformanceReport::Size &size) {
  Json json{{"keys", size.keys},
            {"known_negatives", size.known},
            {"candidates", Json::array()},
            {"best", Json::array()}};
  for (const PerformanceCandidate &candidate : size.candidates)
    json["candidates"].push_back(json_of(candidate));
  for (const PerformanceReport::Best &best : size.best)
    json["best"].push_back(json_of(best, size.candidates));
  return json;
}

} // namespace

std::string json_of(const PerformanceReport &report) {
  Json json{{"experiment", "performance"}, {"psi", report.task.psi},       {"beta", report.task.beta},
            {"seed", report.task.seed},    {"rounds", report.task.rounds}, {"batch", 64},
            {"sizes", Json::array()}};
  for (const PerformanceReport::Size &size : report.sizes) json["sizes"].push_back(json_of(size));
  return json.dump(2);
}

} // namespace weir::lab
