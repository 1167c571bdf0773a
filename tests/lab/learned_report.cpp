#include "tests/lab/learned.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace weir::lab {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::vector<LearnedFilter> &filters, bool model_counted) {
  Json json;
  const auto bits = [model_counted](const LearnedFilter &f) {
    return model_counted ? f.bits() : f.backup_bits;
  };
  for (const LearnedFilter &f : filters)
    json[f.name] = {{"bits", bits(f)},
                    {"trees", f.trees},
                    {"model_bits", f.model_bits},
                    {"backup_bits", f.backup_bits},
                    {"backup_members", f.backup_members},
                    {"missed", f.missed},
                    {"error", f.error},
                    {"unseen_error", f.unseen_error}};
  const auto saved = [&](std::size_t rival) {
    const auto of_rival = static_cast<double>(bits(filters[rival]));
    return of_rival > 0 ? Json(1 - static_cast<double>(bits(filters[2])) / of_rival) : Json();
  };
  json["chained_saves_of_bloom"] = saved(0);
  json["chained_saves_of_bloomier"] = saved(1);
  return json;
}

} // namespace

std::string json_of(const LearnedReport &report) {
  const LearnedTask &task = report.task;
  Json json;
  json["keyset"] = name_of(task.keys.kind);
  json["seed"] = task.keys.seed;
  json["members"] = task.keys.members;
  json["others"] = task.keys.others;
  json["error"] = task.error;
  json["auc_asked"] = task.keys.auc;
  json["auc_possible"] = report.auc_possible;
  json["depth"] = task.trees.depth;
  json["lower_bound_bits"] = report.lower_bound_bits;
  json["plain_bloom_bits"] = report.plain_bloom_bits;
  json["plain_chained_bits"] = report.plain_chained_bits;
  for (const LearnedRow &row : report.rows)
    json["shares"].push_back({{"share", row.share},
                              {"training_seconds", row.training_seconds},
                              {"auc_trained", row.auc_trained},
                              {"auc_unseen", row.auc_unseen},
                              {"model_not_counted", json_of(row.uncounted, false)},
                              {"model_counted", json_of(row.counted, true)}});
  if (!report.classifiers.empty()) json["classifiers"] = rows_of(report.classifiers);
  return json.dump(2);
}

} // namespace weir::lab
