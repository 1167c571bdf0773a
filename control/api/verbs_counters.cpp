// What is counted: stats, drops, top.
#include "control/api/api.hpp"
#include "control/api/judged.hpp"
#include "control/base/answers.hpp"

#include "weir/image/lists.hpp"
#include "weir/key/text.hpp"
#include "weir/wire/counters.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace weir::control {

namespace {

// A part of the report; what is not an object is an empty one.
Json section_of(const Json &report, const char *name) {
  const auto at = report.find(name);
  return at != report.end() && at->is_object() ? *at : Json::object();
}

// TSC cycles a packet of each worker's stages, since the dataplane began.
Json stages_in(const Json &report) {
  Json rows = Json::array();
  for (const Json &worker : push::child(report, "workers")) {
    const wire::CounterValues counted = push::counters_in(worker, wire::CounterGroup::worker);
    const auto packets = static_cast<double>(counted[wire::CounterId::timed_packets]);
    if (packets == 0) continue;
    Json &row = rows.emplace_back(Json{{"worker", push::count_in(worker, "id")}});
    for (const wire::CounterId id : wire::stage_counters)
      row[wire::stage_name(id)] = static_cast<double>(counted[id]) / packets;
  }
  return rows;
}

// {name: {packets, passed, dropped}} as rows.
Json rule_rows(const Json &report) {
  Json rows = Json::array();
  const Json all = section_of(report, "rules");
  for (const auto &[name, counts] : all.items()) {
    rows.push_back({{"name", name}});
    for (const char *what : {"packets", "passed", "dropped"})
      rows.back()[what] = push::count_in(counts, what);
  }
  return rows;
}

} // namespace

// The list that a sampled denial counts under, now that the rules can be asked.
std::string Api::list_of(const SampleTable::Row &row) const {
  const bool no_list = row.list == compact_list || denied_in_error(engine_, row.address);
  return no_list ? std::string(image::compact_list_name) : list_name(row.list);
}

// Of each list by its name. What the judge of compact mode denied in error has no list: it goes from the list that the
// class map named to `compact`.
Json Api::hits_of_lists(const Json &report) const {
  Json hits = section_of(report, "lists");
  const std::string none(image::compact_list_name);
  if (!hits.contains(none)) return hits;
  for (const auto &[list, in_error] : engine_.relief().denied_in_error()) {
    const std::string name = list_name(list);
    if (name == none || !hits.contains(name)) continue;
    const std::uint64_t before = push::count_in(hits, name.c_str());
    const std::uint64_t moved = std::min(before, static_cast<std::uint64_t>(in_error));
    hits[name] = before - moved;
    hits[none] = push::count_in(hits, none.c_str()) + moved;
  }
  return hits;
}

void Api::stats(const Json &, const Caller &, const Reply &reply) {
  ask_stats([this, reply](const Json &report) {
    if (!report.is_object())
      return reply(fail(Errc::unreachable, why_no_counters() + ": there are no counters"));
    reply(in_rows(report));
  });
}

// The report has lists and generations as objects by name; rows are easier for whoever draws a table.
Json Api::in_rows(const Json &report) const {
  Json answer = report;
  const Json all_lists = hits_of_lists(report), all_generations = section_of(report, "generations");
  Json lists = Json::array(), generations = Json::array();
  for (const auto &[name, hits] : all_lists.items()) {
    Json &row = lists.emplace_back(Json{{"name", name}, {"hits", hits}});
    const RuleList *list = engine_.rules() ? engine_.rules()->find(name) : nullptr;
    if (list == nullptr) continue;
    row["action"] = name_of(list->definition.action);
    if (list->definition.on_match != RuleAction::drop) row["on_match"] = name_of(list->definition.on_match);
    row["entries"] = list->body->size() + engine_.dynamic().counts(list->number).total();
    row["updated_at"] = list->updated_at;
  }
  for (const auto &[generation, packets] : all_generations.items()) {
    const std::uint64_t number = std::strtoull(generation.c_str(), nullptr, 10);
    generations.push_back(
        {{"generation", number > 0 ? Json(number) : Json(generation)}, {"packets", packets}});
  }
  answer["lists"] = std::move(lists);
  answer["rules"] = rule_rows(report);
  answer["generations"] = std::move(generations);
  return answer;
}

void Api::drops(const Json &, const Caller &, const Reply &reply) {
  ask_stats([this, reply](const Json &report) {
    if (!report.is_object())
      return reply(fail(Errc::unreachable, why_no_counters() + ": there are no counters"));
    const Json all_reasons = section_of(report, "reasons");
    Json reasons = Json::array(), lists = Json::array(), recent = Json::array();
    for (const auto &[reason, counts] : all_reasons.items())
      if (const std::uint64_t packets = push::count_in(counts, "drop"); packets > 0)
        reasons.push_back({{"reason", reason}, {"packets", packets}});
    const Json hits = hits_of_lists(report);
    const auto add = [&](const std::string &name) {
      lists.push_back({{"name", name}, {"hits", push::count_in(hits, name.c_str())}});
    };
    if (engine_.rules())
      for (const RuleList &list : engine_.rules()->lists)
        if (list.definition.action == Side::deny) add(list.definition.name);
    if (const std::string none(image::compact_list_name); push::count_in(hits, none.c_str()) > 0) add(none);
    for (const SampleTable::Row &row : engine_.traffic().samples().top(SampleTable::rows_max))
      if (row.denied && recent.size() < 20)
        recent.push_back(
            {{"address", to_string(row.address)}, {"list", list_of(row)}, {"count", row.at_least()}});
    Json rules = Json::array();
    for (Json &row : rule_rows(report))
      if (push::count_in(row, "dropped") > 0) rules.push_back(std::move(row));
    reply(Json{{"reasons", std::move(reasons)},
               {"lists", std::move(lists)},
               {"rules", std::move(rules)},
               {"recent", std::move(recent)}});
  });
}

void Api::top(const Json &request, const Caller &, const Reply &reply) {
  Json addresses = Json::array();
  for (const SampleTable::Row &row : engine_.traffic().samples().top(request.value("n", std::size_t{20}))) {
    addresses.push_back({{"address", to_string(row.address)},
                         {"packets", row.at_least()},
                         {"packets_at_most", row.count},
                         {"verdict", row.denied ? "drop" : "pass"}});
    if (row.denied) addresses.back()["list"] = list_of(row);
  }
  const std::uint64_t one_in = engine_.rules() ? engine_.rules()->config.sample_one_in : 0;
  // A dataplane that does not answer has no counters to show.
  ask_stats([this, reply, addresses = std::move(addresses), one_in](const Json &report) mutable {
    Json answer = report.is_object() ? in_rows(report) : Json::object();
    answer["addresses"] = std::move(addresses);
    answer["stages"] = stages_in(report);
    answer["at_ns"] = push::Clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    answer["sample_one_in"] = one_in;
    reply(std::move(answer));
  });
}

} // namespace weir::control
