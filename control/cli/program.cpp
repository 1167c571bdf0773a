#include "control/cli/program.hpp"

#include "control/base/health.hpp"
#include "control/cli/capture.hpp"
#include "control/cli/change_watch.hpp"
#include "control/cli/check.hpp"
#include "control/cli/client.hpp"
#include "control/cli/completion.hpp"
#include "control/cli/doctor.hpp"
#include "control/cli/export_file.hpp"
#include "control/cli/fields.hpp"
#include "control/cli/follow_drops.hpp"
#include "control/cli/gather.hpp"
#include "control/cli/options.hpp"
#include "control/cli/progress_line.hpp"
#include "control/cli/progress_text.hpp"
#include "control/cli/registers.hpp"
#include "control/cli/render.hpp"
#include "control/cli/replay.hpp"
#include "control/cli/terminal.hpp"
#include "control/cli/top.hpp"
#include "weir/config/values.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <iostream>

namespace weir::cli {

namespace {

namespace fs = std::filesystem;

// The name of a verb in the requests of control/api/api.hpp.
const char *request_name(Verb verb) {
  switch (verb) {
  case Verb::list_show: return "list_show";
  case Verb::list_add: return "list_add";
  case Verb::list_del: return "list_del";
  case Verb::list_replace: return "list_replace";
  case Verb::list_export: return "list_export";
  case Verb::plan: return "plan";
  case Verb::diff: return "diff";
  case Verb::apply: return "apply";
  case Verb::confirm: return "confirm";
  case Verb::rollback: return "rollback";
  case Verb::generations: return "generations";
  case Verb::log: return "log";
  case Verb::explain: return "explain";
  case Verb::stats: return "stats";
  case Verb::drops: return "drops";
  case Verb::offenders: return "offenders";
  case Verb::offender_mark: return "offender_mark";
  case Verb::offender_unmark: return "offender_unmark";
  case Verb::offender_train: return "offender_train";
  case Verb::offender_model: return "offender_model";
  default: return "status";
  }
}

// Entries of the command line, with `-` replaced by the lines of standard input.
Result<std::vector<std::string>> all_entries(const Options &options, std::istream &in) {
  std::vector<std::string> entries;
  for (const std::string &entry : options.entries) {
    if (entry != "-") {
      entries.push_back(entry);
      continue;
    }
    std::size_t number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      line.erase(std::min(line.find('#'), line.size()));
      line.erase(line.find_last_not_of(" \t\r") + 1);
      line.erase(0, line.find_first_not_of(" \t"));
      if (line.empty()) continue;
      if (const auto prefix = parse_prefix(line); !prefix)
        return fail(Errc::usage,
                    fmt::format("standard input, line {}: \"{}\": {}.", number, line, prefix.error()));
      entries.push_back(line);
    }
  }
  if (entries.empty()) return fail(Errc::usage, "standard input has no entries.");
  return entries;
}

Result<Json> request_of(const Options &options, std::istream &in) {
  Json request{{"verb", request_name(options.verb)}};
  if (!options.list.empty()) request["list"] = options.list;
  if (options.verb == Verb::list_replace) request["file"] = fs::absolute(options.file).string();
  if (!options.config.empty()) request["config"] = fs::absolute(options.config).string();
  if (options.force) request["force"] = true;
  if (options.confirm) request["confirm_s"] = options.confirm->count();
  if (options.generation) request["generation"] = *options.generation;
  if (!options.address.empty()) request["address"] = options.address;
  if (!options.packet.empty()) {
    std::string packet = TRY(packet_text(options.packet));
    if (options.vlan != 0) packet = TRY(in_vlan(packet, options.vlan));
    request["packet"] = std::move(packet);
  }
  if (!options.port.empty()) request["port"] = options.port;
  if (options.from) request["from"] = *options.from;
  if (options.to) request["to"] = *options.to;
  if (options.since)
    request["since"] = std::max<std::int64_t>(0, std::time(nullptr) - options.since->count());
  if (options.count) request["n"] = *options.count;
  if (options.apply_plan) request["apply"] = true;
  const bool marks = options.verb == Verb::offender_mark || options.verb == Verb::offender_unmark;
  if (options.verb != Verb::list_add && options.verb != Verb::list_del && !marks) return request;
  auto entries = all_entries(options, in);
  if (!entries) return std::unexpected(std::move(entries.error()));
  request["entries"] = Json::array();
  for (const std::string &text : *entries) {
    if (options.verb != Verb::list_add) {
      request["entries"].push_back(text);
      continue;
    }
    Json entry{{"prefix", text}};
    if (options.ttl) entry["ttl"] = options.ttl->count();
    if (!options.comment.empty()) entry["comment"] = options.comment;
    request["entries"].push_back(std::move(entry));
  }
  return request;
}

// What only reads is answered at once. A change of the rules takes as long as it takes: it is waited for
// while weir-control answers others (client.hpp).
std::chrono::milliseconds patience(const Options &options) {
  if (options.verb == Verb::explain && (options.generation || !options.config.empty()))
    return std::chrono::milliseconds::max(); // lists are read
  switch (options.verb) {
  case Verb::list_replace:
  case Verb::list_export:
  case Verb::plan:
  case Verb::diff:
  case Verb::apply:
  case Verb::rollback:
  case Verb::offender_train:
  case Verb::list_add:
  case Verb::list_del: return std::chrono::milliseconds::max();
  case Verb::health: return std::chrono::seconds(2); // three with that for the connection
  default: return std::chrono::seconds(10);
  }
}

// Answered with a file.
bool writes_file(Verb verb) { return verb == Verb::list_export || verb == Verb::offender_model; }

// What goes with the request: the files that it names, read here, or one that the answer is written into.
Result<OwnedFd> passed_with(const Options &options) {
  if (writes_file(options.verb)) return answer_file();
  if (options.verb == Verb::list_replace) return gather_list(fs::absolute(options.file));
  const bool configures = options.verb == Verb::plan || options.verb == Verb::diff ||
                          options.verb == Verb::apply || options.verb == Verb::explain;
  if (configures && !options.config.empty()) return gather_configuration(fs::absolute(options.config));
  return OwnedFd();
}

Result<Json> asked(const Options &options, Streams streams) {
  const auto request = TRY(request_of(options, streams.in));
  ChangeWatch watch(options);
  const ProgressLine progress(streams.err, [&watch] { return watch.text(); });
  const auto passed = TRY(passed_with(options));
  ClientWaits waits;
  if (options.verb == Verb::health) waits.connect_max = std::chrono::seconds(1);
  auto client = Client::connect(options.socket, waits);
  if (!client) return std::unexpected(std::move(client.error()));
  const int fd = passed.get();
  const auto line = TRY(client->ask(json_line(request), patience(options), {&fd, fd < 0 ? 0u : 1u}));
  Json answer = Json::parse(line, nullptr, false);
  if (!answer.is_object())
    return fail(Errc::parse, "weir-control answered something that is no JSON object.");
  if (writes_file(options.verb) && flag_in(answer, "ok"))
    if (auto placed = put_in_place(passed, options.file); !placed)
      return std::unexpected(std::move(placed.error()));
  return answer;
}

Result<Json> health(const Options &options, Streams streams) {
  Json status = TRY(asked(options, streams));
  if (!flag_in(status, "ok")) return status;
  const control::Health health = control::health_of(status);
  return Json{{"ok", true},
              {"healthy", health.faults.empty()},
              {"generation", count_in(status, "generation")},
              {"faults", health.faults},
              {"warnings", health.warnings}};
}

Json doctor(const Options &options) {
  const Patient patient{options.config.empty() ? default_config : options.config, options.socket};
  Json answer{{"ok", true}, {"findings", Json::array()}, {"wrong", 0}, {"notes", 0}};
  for (const Finding &finding : examine(patient)) {
    answer["findings"].push_back({{"level", name_of(finding.level)},
                                  {"topic", finding.topic},
                                  {"finding", finding.finding},
                                  {"remedy", finding.remedy}});
    if (finding.level == Level::wrong) answer["wrong"] = count_in(answer, "wrong") + 1;
    if (finding.level == Level::note) answer["notes"] = count_in(answer, "notes") + 1;
  }
  answer["ok"] = count_in(answer, "wrong") == 0;
  return answer;
}

// What weirctl does by itself with a configuration.
Result<Json> local(const Options &options, std::ostream &err) {
  const std::filesystem::path config = options.config.empty() ? default_config : options.config;
  control::Progress progress;
  const ProgressLine line(err, [&progress] { return progress_text(work_part(progress.now())); });
  if (options.verb == Verb::check) return check_configuration(config, &progress);
  return write_registers(config, options.file, &progress);
}

Result<Json> replayed(const Options &options, std::ostream &err) {
  ReplayProgress progress;
  const ProgressLine line(err, [&progress] { return progress_text(work_part(progress)); });
  return run_replay(options.replay, line.shows() ? &progress : nullptr);
}

Result<Json> answer_to(const Options &options, Streams streams) {
  switch (options.verb) {
  case Verb::replay: return replayed(options, streams.err);
  case Verb::check:
  case Verb::registers: return local(options, streams.err);
  case Verb::doctor: return doctor(options);
  case Verb::health: return health(options, streams);
  default: return asked(options, streams);
  }
}

int exit_code_of(const std::string &code) {
  if (code == name_of(Errc::usage)) return exit_usage;
  if (code == name_of(Errc::unreachable)) return exit_unreachable;
  return exit_refused;
}

int report_failure(const Options &options, const std::string &code, const std::string &message,
                   Streams streams) {
  if (options.json) streams.out << json_line({{"ok", false}, {"code", code}, {"message", message}}) << '\n';
  // Many faults, one a line, stand by themselves and can be opened by an editor.
  const bool many = message.find('\n') != std::string::npos;
  streams.err << "weirctl: " << config::printable_lines(message)
              << (many && !message.ends_with('\n') ? "\n" : "") << (many ? "" : "\n");
  return exit_code_of(code);
}

// Who bans in the name of a log hands on what the log says, in whatever encoding.
void say_in_utf8(std::string &comment, std::ostream &err) {
  std::string text = config::utf8_of(comment);
  if (text == comment) return;
  err << "weirctl: --comment is not UTF-8: kept as \"" << config::printable(text) << "\"\n";
  comment = std::move(text);
}

// An address that no list holds, of a packet that no rule decides about, is an answer, but not a match.
int exit_code_of(const Options &options, const Json &answer) {
  if (options.verb == Verb::doctor) return flag_in(answer, "ok") ? exit_done : exit_refused;
  if (options.verb == Verb::health)
    return flag_in(answer, "healthy") && !(options.strict && !child(answer, "warnings").empty())
               ? exit_done
               : exit_refused;
  if (options.verb != Verb::explain) return exit_done;
  const std::string reason = text_in(answer, "reason");
  return reason == "deny" || reason == "allow" || reason == "rule" ? exit_done : exit_refused;
}

// A reader that has left, as `head` does, has what it wanted.
bool has_no_reader(const std::ostream &out) {
  pollfd looked_at{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return &out == &std::cout && poll(&looked_at, 1, 0) == 1 && (looked_at.revents & POLLERR) != 0;
}

// The code of what is done, unless standard output did not take all that was to be printed.
int code_when_printed(int code, Streams streams) {
  if (streams.out.flush() || code != exit_done || has_no_reader(streams.out)) return code;
  streams.err
      << "weirctl: what was asked for is done, but standard output did not take all of the answer: it "
         "is closed, or its disk is full.\n";
  return exit_refused;
}

int carry_out(Options &options, Streams streams) {
  if (options.verb == Verb::completion) {
    streams.out << completion_for(options.shell);
    return exit_done;
  }
  if (options.verb == Verb::drops && options.drops.follow)
    return follow_drops(options, streams.out, streams.err);
  if (options.verb == Verb::top) return top(options, streams.out, streams.err);
  say_in_utf8(options.comment, streams.err);
  const auto answer = answer_to(options, streams);
  if (!answer) return report_failure(options, name_of(answer.error().code), answer.error().message, streams);
  if (child(*answer, "ok").is_boolean() && !flag_in(*answer, "ok") && options.verb != Verb::doctor)
    return report_failure(options, text_in(*answer, "code", "refused"),
                          lines_in(*answer, "message", json_line(*answer)), streams);
  if (options.json)
    streams.out << json_line(*answer) << '\n';
  else
    streams.out << config::printable_lines(
        render(options, *answer, std::time(nullptr), &streams.out == &std::cout ? terminal_size() : Size()));
  return exit_code_of(options, *answer);
}

} // namespace

int run(const std::vector<std::string> &arguments, Streams streams) {
  auto parsed = parse(arguments);
  if (const auto *end = std::get_if<Exit>(&parsed)) {
    streams.out << end->out;
    streams.err << config::printable_lines(end->err);
    return code_when_printed(end->code, streams);
  }
  Options &options = std::get<Options>(parsed);
  const int code = carry_out(options, streams);
  return options.verb == Verb::health ? code : code_when_printed(code, streams); // its code is the answer
}

} // namespace weir::cli
