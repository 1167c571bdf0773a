#include "tests/lab/slbf.hpp"

#include <nlohmann/json.hpp>

namespace weir::lab {
namespace {

using Json = nlohmann::ordered_json;

const char *name_of(build::Setting setting) {
  switch (setting) {
  case build::Setting::printed: return "printed";
  case build::Setting::corrected: return "corrected";
  case build::Setting::best: return "best";
  }
  return "unknown";
}

Json json_of(const Errors &errors) { return {{"fpr", errors.fpr}, {"fnr", errors.fnr}}; }

Json json_of(const SlbfFilter &filter, const SlbfReport &report) {
  Json json{{"name", filter.name},
            {"bits", filter.bits},
            {"fpr", filter.measured.fpr},
            {"fnr", filter.measured.fnr},
            {"predicted", json_of(filter.predicted)},
            {"fpr_most", filter.fpr_most},
            {"fpr_by_look", filter.fpr_by_look}};
  if (!report.task.timing) return json;
  json["insert_mops"] = filter.insert_mops;
  json["query_mops"] = filter.query_mops;
  if (report.model_mops == 0 || !filter.learned) return json;
  const auto with_model = [&](double mops) { return 1 / (1 / mops + 1 / report.model_mops); };
  json["insert_mops_with_model"] = with_model(filter.insert_mops);
  json["query_mops_with_model"] = with_model(filter.query_mops);
  return json;
}

Json json_of(const SlbfSetting &setting) {
  Json groups = Json::array();
  for (const build::GroupSetting &group : setting.groups)
    groups.push_back({{"rate", group.rate},
                      {"hashes", group.law.hashes},
                      {"max", group.law.max},
                      {"decrements", group.law.decrements},
                      {"bits_a_gap", group.bits_a_gap}});
  return {{"name", name_of(setting.setting)},
          {"fpr", setting.rate},
          {"fnr", setting.missed},
          {"fnr_by_printed_model", setting.missed_printed},
          {"groups", std::move(groups)}};
}

Json json_of(const SlbfLeast &least) {
  const auto of_stable = [&](double bits) { return bits / least.stable; };
  return {{"stable", least.stable},
          {"s_slbf", least.s_slbf},
          {"g_slbf", least.g_slbf},
          {"g_slbf_auto", least.g_slbf_auto},
          {"rotating", least.rotating},
          {"rotating_learned", least.rotating_learned},
          {"auto_groups", least.auto_groups},
          {"s_slbf_of_stable", of_stable(least.s_slbf)},
          {"g_slbf_of_stable", of_stable(least.g_slbf)},
          {"g_slbf_auto_of_stable", of_stable(least.g_slbf_auto)},
          {"rotating_learned_of_rotating", least.rotating_learned / least.rotating}};
}

} // namespace

std::string json_of(const SlbfReport &report) {
  Json json;
  json["data"] = report.task.stream.data;
  if (report.capture)
    json["capture"] = {{"packets", report.capture->packets},
                       {"not_judged", report.capture->not_judged},
                       {"unlabelled", report.capture->unlabelled},
                       {"sources", report.capture->sources},
                       {"told", report.capture->told},
                       {"others", report.capture->others}};
  json["auc"] = report.auc;
  json["epsilon"] = report.task.rate;
  json["gap"] = report.task.gap;
  json["model_bits"] = report.task.model_bits;
  if (report.task.timing && report.model_mops > 0) json["model_mops"] = report.model_mops;
  json["setting"] = name_of(report.task.setting);
  json["seed"] = report.task.stream.seed;
  Json groups = Json::array();
  for (const build::ScoreGroup &group : report.estimated)
    groups.push_back({{"p", group.other}, {"q", group.told}});
  json["groups"] = std::move(groups);
  json["looked_after"] = report.looked_after;
  json["asked_a_look"] = report.asked_a_look;
  json["filters"] = Json::array();
  for (const SlbfFilter &filter : report.filters) json["filters"].push_back(json_of(filter, report));
  json["settings"] = Json::array();
  for (const SlbfSetting &setting : report.settings) json["settings"].push_back(json_of(setting));
  json["least_bits_a_gap"] = json_of(report.least);
  return json.dump(2);
}

} // namespace weir::lab
