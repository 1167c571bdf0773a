#include "control/api/api.hpp"
#include "control/base/answers.hpp"
#include "control/base/texts.hpp"
#include "control/plan/lookups.hpp"

#include "weir/config/no_image.hpp"
#include "weir/key/text.hpp"
#include "weir/wire/counters.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace weir::control {

namespace {

Json parsed(const std::string &text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json() : value;
}

Json policy_json(const config::Config &config) {
  const Policy &policy = config.policy;
  return {{"match", name_of(policy.match)},           {"default", name_of(policy.fallthrough)},
          {"non_ip", name_of(policy.non_ip)},         {"too_many_tags", name_of(policy.too_many_tags)},
          {"link_local", name_of(policy.link_local)}, {"malformed", name_of(policy.malformed)},
          {"tunnels", name_of(policy.tunnels)},       {"confirm", name_of(policy.confirm)},
          {"no_image", name_of(config.no_image)}};
}

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// A counter by name, wherever the report has it; 0 otherwise.
std::uint64_t count_of(const Json &report, const char *section, const std::string &name) {
  return push::count_in(push::child(report, section), name.c_str());
}

// What the filter in front of the allow tables did under the live generation; null: it was never asked.
Json measured_filter(const Json &report) {
  using enum wire::CounterId;
  const Json &counters = push::child(report, "allow_filter_generation");
  const wire::CounterValues did = push::counters_in(counters, wire::CounterGroup::allow_filter);
  const auto count = [&](wire::CounterId id) { return static_cast<double>(did[id]); };
  const double absent = count(allow_asked) - (count(allow_accepted) - count(allow_false));
  if (did[allow_asked] == 0) return nullptr;
  Json measured{{"asked", did[allow_asked]},
                {"denied_asked", did[allow_denied_asked]},
                {"table_asked", did[allow_table_asked]}};
  if (absent > 0) measured["rate"] = count(allow_false) / absent;
  if (did[allow_denied_asked] > 0)
    measured["denied_rate"] = count(allow_denied_false) / count(allow_denied_asked);
  const std::uint64_t packets =
      count_of(report, "generations", std::to_string(push::count_in(counters, "generation")));
  if (packets > 0)
    measured["table_asked_per_packet"] = count(allow_table_asked) / static_cast<double>(packets);
  return measured;
}

// What the stacked filter of the deny side did under the live generation; null: it was never asked.
Json measured_stack(const Engine &engine, const Json &report) {
  using enum wire::CounterId;
  const Json &counters = push::child(report, "deny_filter_generation");
  const wire::CounterValues did = push::counters_in(counters, wire::CounterGroup::deny_filter);
  if (did[deny_asked] == 0 || push::count_in(counters, "generation") != engine.live_record().id)
    return nullptr;
  const watch::DenyFilterWatch &watch = engine.deny_watch();
  const auto rate = watch.rate(did);
  Json measured{{"asked", did[deny_asked]},     {"accepted", did[deny_accepted]},
                {"denied", did[deny_denied]},   {"checked", rate.checked},
                {"errors", rate.sampled.wrong}, {"relieved", engine.relief().relieved()}};
  if (rate.measured) measured["efpr"] = rate.share;
  if (rate.recent > 0 && watch.knows_plan()) {
    measured["psi"] = rate.psi;
    measured["psi_samples"] = rate.recent;
    measured["variation"] = rate.variation;
    measured["drift"] = rate.drift;
  }
  return measured;
}

Json held_back_json(const Engine::HeldBack &held) {
  Json networks = Json::array();
  for (const auto &[network, at_least] : held.networks)
    networks.push_back({{"network", to_string(network)}, {"samples", at_least}});
  Json answer{{"samples", held.samples}, {"networks", std::move(networks)}, {"reliefs", held.reliefs}};
  if (!held.image.empty()) {
    answer["image"] = held.image;
    answer["image_wait_s"] = held.image_wait_s;
  }
  return answer;
}

// Their links alone; stats has what they count.
Json ports_in(const Json &report) {
  Json rows = Json::array();
  for (const Json &port : push::child(report, "ports"))
    rows.push_back({{"name", push::text_in(port, "name")},
                    {"link", push::text_in(port, "link", "unknown")},
                    {"link_losses", push::count_in(port, "link_losses")}});
  return rows;
}

Json progress_json(const Engine &engine) {
  const Progress::Now now = engine.progress();
  return {{"doing", engine.doing()}, {"in_line", engine.in_line()}, {"phase", Progress::name_of(now.phase)},
          {"done", now.done},        {"total", now.total},          {"unit", Progress::unit_of(now.phase)},
          {"entries", now.entries},  {"phase_ms", now.phase_ms},    {"expected_ms", now.expected_ms}};
}

// Why the dataplane cannot even be asked for a connection; empty: it can.
std::string trouble_with_sockets() {
  const OwnedFd one(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (one.get() >= 0) return {};
  return fmt::format(
      "weir-control cannot connect to it: {}; close connections that are not needed, or raise its limit "
      "(LimitNOFILE)",
      std::strerror(errno));
}

} // namespace

// Every report also tells the planner how many of the questions find something.
void Api::ask_stats(const std::function<void(const Json &)> &then) {
  ask_dataplane(R"({"what":"stats"})", [this, then](const Result<std::string> &text) {
    const Json report = text ? parsed(*text) : Json();
    if (report.is_object()) engine_.traffic().note_lookups(plan::lookups_in(report));
    then(report);
  });
}

std::string Api::list_name(ListId number) const {
  const RuleList *list = engine_.rules() ? engine_.rules()->find(number) : nullptr;
  return list ? list->definition.name : fmt::format("list {}", number);
}

void Api::progress(const Json &, const Caller &, const Reply &reply) { reply(progress_json(engine_)); }

void Api::ping(const Json &, const Caller &, const Reply &reply) {
  reply(Json{{"pid", getpid()}, {"generation", engine_.live_record().id}});
}

void Api::status(const Json &, const Caller &caller, const Reply &reply) {
  const store::GenerationRecord &live = engine_.live_record();
  const std::string taking_back = engine_.taking_back();
  Json answer{{"generation", live.id},
              {"previous", 0},
              {"applied_at", live.applied_at},
              {"digest", rules::to_hex(live.digest)},
              {"mode", engine_.rules() && engine_.rules()->config.compact ? "compact" : "exact"},
              {"uptime_s", now_s() - engine_.started_at()},
              {"pending_confirm_s", engine_.pending_confirm_s().value_or(0)},
              {"taking_back", taking_back.empty() ? Json() : Json(taking_back)},
              {"doing", engine_.doing()},
              {"progress", progress_json(engine_)},
              {"error", caller.may_change ? engine_.last_error().text : engine_.last_error().brief}};
  if (const auto kept = engine_.store().generations())
    for (const store::GenerationRecord &record : *kept)
      if (record.id < live.id) answer["previous"] = record.id;
  EntryCounts deny;
  std::uint64_t allow = 0;
  if (engine_.rules()) {
    answer["policy"] = policy_json(engine_.rules()->config);
    for (const RuleList &list : engine_.rules()->lists) {
      const EntryCounts &file = list.body->counts, &dynamic = engine_.dynamic().counts(list.number);
      if (list.definition.action == Side::allow) {
        allow += file.total() + dynamic.total();
        continue;
      }
      deny.v4_hosts += file.v4_hosts + dynamic.v4_hosts;
      deny.v4_prefixes += file.v4_prefixes + dynamic.v4_prefixes;
      deny.v6 += file.v6 + dynamic.v6;
      if (list.definition.on_match != RuleAction::drop)
        answer["on_match"].push_back(
            {{"list", list.definition.name}, {"on_match", name_of(list.definition.on_match)}});
    }
  }
  answer["counts"] = {{"ipv4_hosts", deny.v4_hosts},
                      {"ipv4_prefixes", deny.v4_prefixes},
                      {"ipv6", deny.v6},
                      {"allow", allow}};
  answer["plan"] = parsed(live.plan_json);
  const push::Pusher &pusher = engine_.pusher();
  const wire::Hello hello = engine_.pusher().channel().hello();
  answer["dataplane"] = {{"connected", pusher.state() != push::Pusher::State::absent},
                         {"in_sync", pusher.state() == push::Pusher::State::live},
                         {"pid", hello.process},
                         {"sequence", pusher.applied_sequence()},
                         {"generation", pusher.dataplane_generation()}};
  if (pusher.state() == push::Pusher::State::absent)
    if (const std::string trouble = trouble_with_sockets(); !trouble.empty())
      answer["dataplane"]["trouble"] = trouble;
  if (!pusher.displaced().empty()) answer["dataplane"]["displaced"] = pusher.displaced();
  answer["held_back"] = held_back_json(engine_.held_back());
  answer["store"] = {{"bytes", engine_.store().bytes()},
                     {"sequence", engine_.store().sequence()},
                     {"id", [&] {
                        std::string hex;
                        for (const std::uint8_t byte : engine_.store().id())
                          hex += fmt::format("{:02x}", byte);
                        return hex;
                      }()}};
  const store::Space space = engine_.store().space();
  answer["store"]["full"] = space.full;
  if (space.free_bytes) answer["store"]["free_bytes"] = *space.free_bytes;
  answer["last_swap"] = {{"ns", engine_.last_swap().ns}, {"at", engine_.last_swap().at}, {"lost", 0}};
  answer["memory"] = {
      {"image_bytes", live.image_bytes}, {"kind", engine_.pages()}, {"resident_bytes", resident_bytes()}};
  ask_stats([this, answer = std::move(answer), reply](const Json &report) mutable {
    answer["dataplane"]["answers"] = report.is_object();
    if (silent_since_) answer["dataplane"]["silence"] = why_no_counters();
    if (report.is_object()) {
      if (const plan::Workload workload = engine_.traffic().workload(); workload.measured())
        answer["plan"]["measured_hit_ratio"] = workload.hit_ratio;
      answer["last_swap"]["lost"] = report.value("lost", Json(0));
      answer["dataplane"]["warnings"] = report.value("warnings", Json::array());
      answer["dataplane"]["faults"] = report.value("faults", Json::array());
      if (report.contains("not_forwarded_ms"))
        answer["dataplane"]["not_forwarded_ms"] = report["not_forwarded_ms"];
      answer["dataplane"]["ports"] = ports_in(report);
      answer["dataplane"]["kept"] = report.value("kept", Json());
      answer["memory"]["packets"] = report.value("memory", Json());
      const auto lookups = push::counters_in(push::child(report, "lookups"), wire::CounterGroup::lookups);
      if (const std::uint64_t probes = lookups[wire::CounterId::probes]; probes > 0)
        answer["plan"]["measured_lines"] =
            1 + static_cast<double>(lookups[wire::CounterId::second_lines]) / static_cast<double>(probes);
      if (const Json measured = measured_filter(report); measured.is_object())
        answer["plan"]["allow_filter"]["measured"] = measured;
      if (const Json measured = measured_stack(engine_, report); measured.is_object())
        answer["plan"]["deny_filter"]["measured"] = measured;
      if (const auto swaps = report.find("swaps");
          swaps != report.end() && swaps->is_array() && !swaps->empty())
        answer["last_swap"]["ns"] = push::count_in(swaps->back(), "swap_ns");
    }
    reply(std::move(answer));
  });
}

void Api::generations(const Json &, const Caller &, const Reply &reply) {
  const auto kept = engine_.store().generations();
  if (!kept) return reply(std::unexpected(kept.error()));
  Json rows = Json::array();
  for (const store::GenerationRecord &record : *kept)
    rows.push_back({{"generation", record.id},
                    {"applied_at", record.applied_at},
                    {"digest", rules::to_hex(record.digest)},
                    {"cause", record.cause},
                    {"live", record.id == engine_.live_record().id},
                    {"counts", parsed(record.counts_json)},
                    {"plan", parsed(record.plan_json)},
                    {"image_bytes", record.image_bytes},
                    {"build_ms", record.build_ms}});
  reply(Json{{"generations", std::move(rows)}});
}

} // namespace weir::control
