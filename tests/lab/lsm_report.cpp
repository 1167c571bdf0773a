#include "tests/lab/lsm.hpp"
#include "tests/lab/lsm_data.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace weir::lab {
namespace {

nlohmann::ordered_json json_of(const LsmReads &reads) {
  nlohmann::ordered_json json{{"p50_us", reads.p50},
                              {"p90_us", reads.p90},
                              {"p95_us", reads.p95},
                              {"p99_us", reads.p99},
                              {"p999_us", reads.p999},
                              {"mean_us", reads.mean},
                              {"lookups_per_second", reads.lookups_per_second},
                              {"runs_read", reads.runs_read},
                              {"runs_read_in_vain", reads.runs_in_vain},
                              {"blocks_read", reads.blocks_read},
                              {"runs_read_most", reads.runs_read_most},
                              {"runs_read_in_vain_most", reads.in_vain_most},
                              {"lookups_by_runs_in_vain", reads.in_vain}};
  if (!reads.curve.empty()) json["curve_us"] = reads.curve;
  return json;
}

const LsmArm *arm_of(const LsmReport &report, std::string_view name) {
  const auto at = std::ranges::find(report.arms, name, &LsmArm::name);
  return at == report.arms.end() ? nullptr : &*at;
}

} // namespace

std::string json_of(const LsmReport &report) {
  const LsmTask &task = report.task;
  nlohmann::ordered_json json;
  json["keys"] = task.keys;
  json["runs"] = task.runs;
  json["key_bytes"] = lsm_key_bytes;
  json["value_bytes"] = lsm_value_bytes;
  json["lookups"] = task.lookups;
  json["rounds"] = task.rounds;
  json["skew"] = task.skew;
  json["hot"] = task.hot;
  json["repeats"] = task.repeats;
  json["delta_share"] = task.delta_share;
  json["direct"] = task.direct;
  json["seed"] = task.seed;
  json["entries"] = report.entries;
  json["table_bytes"] = report.table_bytes;
  json["bits_per_key"] = report.bits_per_key;
  json["excluded_keys"] = report.excluded;
  json["record_bytes_per_key"] = report.record_bytes_per_key;
  for (const LsmArm &arm : report.arms) {
    auto &out = json["arms"][arm.name];
    out["bits_per_key"] = arm.bits_per_key;
    out["build_seconds"] = arm.build_seconds;
    out["wrong_answers"] = arm.wrong;
    out["runs_read_in_vain_most"] =
        std::max({arm.present.in_vain_most, arm.absent.in_vain_most, arm.zipf.in_vain_most});
    out["present"] = json_of(arm.present);
    out["absent"] = json_of(arm.absent);
    out["zipf"] = json_of(arm.zipf);
  }
  const LsmArm *bloom = arm_of(report, "bloom");
  for (const char *name : {"chained", "chained_static", "stacked"})
    if (const LsmArm *arm = arm_of(report, name); arm != nullptr && bloom != nullptr)
      json["p99_below_bloom"][name] = {{"present", 1 - arm->present.p99 / bloom->present.p99},
                                       {"absent", 1 - arm->absent.p99 / bloom->absent.p99},
                                       {"zipf", 1 - arm->zipf.p99 / bloom->zipf.p99}};
  return json.dump(2);
}

} // namespace weir::lab
