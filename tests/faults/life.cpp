#include "tests/faults/life.hpp"

#include "tests/support/dataplane_client.hpp"
#include "tests/support/weir_pair.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <sstream>

namespace weir::fault {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using test::numbered_address;
using test::wait_until;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

namespace {

constexpr auto answer_time_max = 20s; // of weirctl under a fault
constexpr auto ready_time_max = 40s;
constexpr unsigned versions = 7;
constexpr unsigned content_entries = 40;
constexpr unsigned flows_of_a_rule = 20;
constexpr std::array both{Process::control, Process::dataplane};
const std::set<std::string> ops{"192.0.2.1", "192.0.2.2"};

Json parsed(const std::string &text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_object() ? value : Json::object();
}

// A field that is null or of another type is as good as none.
std::uint64_t number_in(const Json &object, const char *name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}

std::string text_in(const Json &object, const char *name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

std::string summary(const Rules &rules) {
  std::string text;
  for (const auto &[list, entries] : rules)
    text += fmt::format(" {}:{}{}", list, entries.size(),
                        entries.empty() ? "" : fmt::format("[{}..]", *entries.begin()));
  return text;
}

// An image was given the name that a restart looks for, and the folder was synced.
bool image_must_be_there(const std::vector<Event> &events, std::size_t count) {
  bool named = false;
  for (std::size_t i = 0; i < count; ++i) {
    named = named || (events[i].record.op == Op::rename && events[i].other.ends_with("/last.image"));
    if (named && events[i].record.op == Op::sync_folder) return true;
  }
  return false;
}

std::string first_line(const std::string &text) { return text.substr(0, text.find('\n')); }

} // namespace

bool denies(const Rules &rules, const std::string &address) {
  if (const auto allowed = rules.find("ops"); allowed != rules.end() && allowed->second.contains(address))
    return false;
  return std::any_of(rules.begin(), rules.end(),
                     [&](const auto &list) { return list.first != "ops" && list.second.contains(address); });
}

Life::Life() {
  of_control_ = std::make_unique<FaultBlock>(folder() / "control.fault");
  of_dataplane_ = std::make_unique<FaultBlock>(folder() / "dataplane.fault");
  for (unsigned version = 1; version < versions; ++version) {
    test::write_addresses(file_of(version), version * 1000, content_entries);
    std::string flows;
    for (unsigned i = 0; i < flows_of_a_rule; ++i)
      flows += fmt::format("udp 192.0.2.{}:{} 192.0.2.2:53\n", version, 1000 + i);
    test::write_text(flows_of(version), flows);
  }
  test::write_text(folder() / "ops.txt", fmt::format("{}\n", fmt::join(ops, "\n")));
}

Life::~Life() { end_both(); }

fs::path Life::file_of(unsigned version) const { return folder() / fmt::format("drop{}.txt", version); }
fs::path Life::flows_of(unsigned version) const { return folder() / fmt::format("flows{}.txt", version); }
fs::path Life::log(Process process) const { return folder() / fmt::format("{}.log", name_of(process)); }

void Life::write_config(unsigned version, const std::string &more_lists) const {
  test::write_text(folder() / "weir.yaml",
                   fmt::format("version: 1\n"
                               "eal: {{file_prefix: {0}, hugepages: no, vdevs: "
                               "[\"net_null0,no-rx=1\", \"net_null1,no-rx=1\"]}}\n"
                               "ports:\n- {{name: wan, device: net_null0, side: outside, peer: lan}}\n"
                               "- {{name: lan, device: net_null1, side: inside, peer: wan}}\n"
                               "paths: {{run: {1}/run, state: {1}/state}}\n"
                               "rules:\n- {{name: telnet, action: count, protocol: tcp, to_port: 23}}\n"
                               "- {{name: flows, action: count, file: {4}}}\n"
                               "lists:\n- {{name: ops, action: allow, file: {1}/ops.txt}}\n"
                               "- {{name: drop, action: deny, file: {2}}}\n"
                               "- {{name: bans, action: deny, dynamic: true}}\n"
                               "- {{name: short, action: deny, dynamic: true}}\n{3}",
                               folder().filename().string(), folder().string(), file_of(version).string(),
                               more_lists, flows_of(version).string()));
}

// ---- processes ---------------------------------------------------------------------------------

void Life::start(Process process) {
  for (const char *name : {"run", "state"}) fs::create_directories(folder() / name);
  std::vector<std::string> command{
      test::program(process == Process::control ? "weir-control" : "weir-dataplane"), "-c",
      folder() / "weir.yaml"};
  if (process == Process::control) {
    command.emplace_back("--foreground-log");
    command.insert(command.begin(), tracer_.begin(), tracer_.end());
  }
  child(process) = test::Child(
      {.arguments = command,
       .output = log(process),
       .environment = block(process).environment(folder(), recording_ ? record(process) : fs::path())});
}

void Life::end(Process process, int signal) {
  if (process == Process::control && !tracer_.empty()) // it would outlive its tracer
    if (const auto traced = child(process).child("weir-control")) ::kill(*traced, signal);
  if (!child(process).stop(signal, 10s)) child(process).stop(SIGKILL, 10s);
}

void Life::end_both() {
  for (const Process process : both) {
    block(process).disarm();
    end(process, SIGKILL);
  }
}

// Both answer, and the dataplane enforces what this control has.
bool Life::ready(std::chrono::milliseconds time_max) {
  bool good = false;
  (void)wait_until(
      [&] {
        if (!control_.running() || !dataplane_.running()) return true;
        const Json status = parsed(ctl({"status"}).out);
        const Json peer = status.value("dataplane", Json::object());
        const auto generation_now = number_in(status, "generation");
        good = peer.value("in_sync", false) && generation_now > 0 &&
               number_in(peer, "generation") == generation_now;
        return good;
      },
      time_max);
  return good;
}

// A process may end by a fault that keeps it from starting, with a sentence; never by a signal of its own
// making.
std::string Life::crashed(const Fault *fault) {
  for (const Process process : both) {
    if (child(process).running()) continue;
    const int code = child(process).wait(1s).value_or(-1);
    const bool killed = fault != nullptr && fault->process == process && given(process) &&
                        (fault->action == Action::kill_before || fault->action == Action::kill_after);
    if ((killed || !tracer_.empty()) && code == 128 + SIGKILL) continue;
    const std::string said = test::last_lines(log(process), 3);
    if (code == 1 && !said.empty() && fault != nullptr && fault->process == process && given(process))
      continue; // said why, and will be started again
    if (fault != nullptr && fault->kind == Kind::memory && fault->process == process && given(process))
      continue; // nobody promises to live without memory; what is left behind is looked at all the same
    return fmt::format("weir-{} ended with {}: {}", name_of(process), code, said);
  }
  return {};
}

// ---- questions ---------------------------------------------------------------------------------

Answer Life::ctl(std::vector<std::string> words, std::chrono::milliseconds time_max) {
  for (std::string &word : words) {
    if (word == "@config")
      word = folder() / "weir.yaml";
    else if (word.starts_with("@"))
      word = file_of(static_cast<unsigned>(std::stoul(word.substr(1))));
  }
  words.insert(words.begin(), {test::program("weirctl"), "-j", "-s", folder() / "run" / "control.sock"});
  const test::Outcome outcome = test::run(words, {}, time_max);
  return {outcome.code, outcome.out, outcome.err, outcome.seconds};
}

std::uint64_t Life::generation() { return number_in(parsed(ctl({"status"}).out), "generation"); }

bool Life::pending() {
  const Answer answer = ctl({"status"});
  const Json status = parsed(answer.out);
  return !answer.ok() || number_in(status, "pending_confirm_s") > 0 ||
         !text_in(status, "taking_back").empty() || !text_in(status, "doing").empty() ||
         number_in(status, "generation") < generation_before_ + 2;
}

std::optional<Rules> Life::exported() {
  Rules rules;
  const Answer shown = ctl({"list", "show"});
  if (!shown.ok()) return std::nullopt;
  const Json answer = parsed(shown.out);
  for (const Json &list : answer.value("lists", Json::array())) {
    const std::string name = text_in(list, "name");
    const fs::path file = folder() / "export.txt";
    std::error_code ignored;
    fs::remove(file, ignored);
    if (!ctl({"list", "export", name, file}).ok()) return std::nullopt;
    std::set<std::string> &entries = rules[name];
    std::istringstream lines(test::read_text(file));
    for (std::string line; std::getline(lines, line);) {
      line.resize(std::min(line.find_first_of(" #"), line.size()));
      for (const char *host : {"/32", "/128"})
        if (line.ends_with(host)) line.resize(line.size() - std::string(host).size());
      if (!line.empty()) entries.insert(line);
    }
  }
  return rules;
}

// Of every list's first entries, in any state that was acknowledged or may be in force.
std::set<std::string> Life::addresses() const {
  std::set<std::string> all{"192.0.2.1", "192.0.2.99"};
  for (const std::vector<Rules> *states : {&history_, &allowed_})
    for (const Rules &rules : *states)
      for (const auto &[list, entries] : rules) {
        if (!entries.empty()) all.insert(*entries.rbegin());
        unsigned taken = 0;
        for (auto at = entries.begin(); at != entries.end() && taken < 3; ++at, ++taken) all.insert(*at);
      }
  return all;
}

std::optional<Life::Verdicts> Life::verdicts(std::set<std::string> of) const {
  test::DataplaneClient client(folder() / "run" / "dataplane.sock");
  if (!client.connected()) return std::nullopt;
  Verdicts all;
  for (const std::string &address : of) {
    const Json answer = parsed(client.query(Json{{"what", "explain"}, {"address", address}}.dump()));
    if (!answer.contains("verdict")) return std::nullopt;
    all[address] = text_in(answer, "reason") == "no_image" ? "no_image" : text_in(answer, "verdict");
  }
  return all;
}

// ---- a quiet life ------------------------------------------------------------------------------

std::string Life::live_quietly(const Quiet &quiet) {
  recording_ = quiet.record;
  fs::create_directories(folder() / "copies");
  write_config(1);
  allowed_ = {Rules{}};
  for (std::size_t i = 0; i < std::min(script().size(), quiet.steps_max); ++i) {
    const Step &step = script()[i];
    keep_copy(i);
    std::vector<Rules> meanwhile = allowed_;
    const std::size_t known = history_.size();
    for (const Process process : both) block(process).step(static_cast<std::uint32_t>(2 * i));
    const std::string wrong = perform(step, nullptr);
    if (!wrong.empty() || allowed_.size() != 1)
      return fmt::format("step \"{}\" without any fault: {} {}", step.name, wrong, story_);
    for (const Process process : both) {
      block(process).step(static_cast<std::uint32_t>(2 * i + 1));
      before_.back().calls.push_back(block(process).calls());
    }
    meanwhile.insert(meanwhile.end(), history_.begin() + static_cast<std::ptrdiff_t>(known), history_.end());
    at_mark_.push_back(meanwhile);
    at_mark_.push_back(allowed_);
  }
  const std::string wrong = look("without any fault");
  end_both();
  recording_ = false;
  return wrong;
}

// As a kill of both would leave it.
void Life::keep_copy(std::size_t step) {
  fs::create_directories(folder() / "state");
  if (step > 0)
    (void)wait_until([&] { return fs::exists(folder() / "state" / "last.image"); }, ready_time_max);
  for (const Process process : both) child(process).signal(SIGSTOP);
  before_.push_back({folder() / "copies" / std::to_string(step), allowed_.front(), history_, {}});
  fs::copy(folder() / "state", before_.back().copy, fs::copy_options::recursive);
  fs::copy_file(folder() / "weir.yaml", folder() / fmt::format("weir.{}.yaml", step));
  for (const Process process : both) child(process).signal(SIGCONT);
}

std::uint64_t Life::calls_in(std::size_t step, Process process, Kind kind) const {
  return before_.at(step).calls.at(static_cast<std::size_t>(process)).at(static_cast<std::size_t>(kind));
}

void Life::restore(std::size_t step) {
  const Before &before = before_.at(step);
  for (const char *name : {"state", "run"}) fs::remove_all(folder() / name);
  fs::copy(before.copy, folder() / "state", fs::copy_options::recursive);
  fs::copy_file(folder() / fmt::format("weir.{}.yaml", step), folder() / "weir.yaml",
                fs::copy_options::overwrite_existing);
  for (const Process process : both) fs::remove(log(process));
  allowed_ = {before.rules};
  history_ = before.history;
  kept_image_ = step > 0;
}

// ---- power cuts --------------------------------------------------------------------------------

fs::path Life::record(Process process) const { return folder() / fmt::format("{}.record", name_of(process)); }

std::string Life::come_up(Process process, const std::vector<Event> &events, std::size_t count) {
  const std::uint32_t mark = events[std::min(count, events.size() - 1)].record.step;
  fs::remove_all(folder() / "run");
  fs::remove(log(process));
  allowed_ = at_mark_.at(mark);
  if (process == Process::dataplane) {
    kept_image_ = image_must_be_there(events, count);
    return look_at_kept_image();
  }
  if (mark < 2) allowed_ = at_mark_.at(1); // nothing was there: loads anew
  fs::copy_file(folder() / fmt::format("weir.{}.yaml", mark / 2), folder() / "weir.yaml",
                fs::copy_options::overwrite_existing);
  start(Process::control);
  std::optional<Rules> rules;
  (void)wait_until([&] { return !control_.running() || (generation() > 0 && (rules = exported())); },
                   ready_time_max);
  if (!rules) return "control does not come up: " + test::last_lines(log(Process::control), 3);
  if (std::find(allowed_.begin(), allowed_.end(), *rules) != allowed_.end()) return {};
  std::string text = "the lists are in no state that was acknowledged:" + summary(*rules) + "; could be";
  for (const Rules &state : allowed_) text += "{" + summary(state) + "}";
  return text;
}

// ---- a step ------------------------------------------------------------------------------------

// Leaves in allowed_ what may be in force, and in story_ what was answered.
std::string Life::perform(const Step &step, const Fault *fault) {
  story_.clear();
  may_still_ = {};
  in_doubt_ = false;
  for (const Process process : both) block(process).clear();
  const auto begin_fault = [&] {
    if (tracer_.empty()) // else every call from the start is wanted
      for (const Process process : both) block(process).clear();
    if (fault != nullptr) block(fault->process).arm(*fault);
  };
  if (step.restart != Restart::first && !child(Process::control).running()) {
    start(Process::dataplane);
    start(Process::control);
    if (!ready(tracer_.empty() ? ready_time_max : 5s)) {
      if (!tracer_.empty()) return {}; // the fault was met by the start
      return "the pair does not start from what a quiet life has left";
    }
  }
  if (step.restart != Restart::first) generation_before_ = generation();
  if (step.prepare) step.prepare(*this);
  begin_fault();
  if (step.restart == Restart::control || step.restart == Restart::dataplane) {
    const Process which = step.restart == Restart::control ? Process::control : Process::dataplane;
    end(which, SIGTERM);
    start(which);
  }
  if (step.restart == Restart::first) {
    start(Process::dataplane);
    start(Process::control);
    Rules loaded{{"ops", ops}, {"bans", {}}, {"short", {}}, {"drop", {}}};
    for (unsigned i = 0; i < content_entries; ++i) loaded["drop"].insert(numbered_address(1000 + i));
    allowed_.push_back(loaded);
  }
  if (step.restart != Restart::none) {
    const bool good = ready(fault == nullptr ? ready_time_max : 3s);
    if (good && step.restart == Restart::first) allowed_ = {allowed_.back()};
    if (!good && fault == nullptr) return "does not become ready";
    history_.insert(history_.end(), allowed_.begin(), allowed_.end());
    story_ += good ? "ready; " : "not ready; ";
  }
  for (const Request &request : step.requests) {
    const Answer answer = ctl(request.words, answer_time_max);
    story_ +=
        fmt::format("{} {}: {} after {:.2f} s{}; ", request.words.front(),
                    request.words.size() > 1 ? request.words[1] : "",
                    answer.status ? fmt::format("exit {}", *answer.status) : "no answer", answer.seconds,
                    answer.ok() ? "" : " (" + first_line(answer.err + answer.out) + ")");
    if (!answer.status) return fmt::format("no answer within {} s", answer_time_max.count());
    if (!answer.ok() && answer.err.empty() && answer.out.empty())
      return fmt::format("exit {} without a sentence", *answer.status);
    in_doubt_ = !answer.ok() &&
                (answer.err + answer.out).find("shows when it has started again") != std::string::npos;
    std::vector<Rules> next;
    for (const Rules &before : allowed_) {
      Rules after = before;
      if (request.effect) request.effect(after);
      if (!answer.ok()) next.push_back(before);
      next.push_back(after);
    }
    allowed_ = next;
    history_.insert(history_.end(), allowed_.begin(), allowed_.end());
    bool settled = true;
    if (request.settled && answer.ok())
      settled = wait_until([&] { return !control_.running() || request.settled(*this); },
                           fault == nullptr ? 20s : 4s);
    if (request.settled && fault == nullptr && !settled) return "does not come to rest";
    if (request.settled_effect) {
      if (fault != nullptr)
        may_still_ = request.settled_effect; // control takes it up again, now or after a restart
      std::vector<Rules> later;
      for (const Rules &before : allowed_) {
        Rules after = before;
        request.settled_effect(after);
        if (!settled || !answer.ok() || !control_.running()) later.push_back(before);
        later.push_back(after);
      }
      allowed_ = later;
      history_.insert(history_.end(), allowed_.begin(), allowed_.end());
    }
    if (!answer.ok()) break; // whoever types this looks first
  }
  return {};
}

// ---- under a fault -----------------------------------------------------------------------------

std::string Life::run(std::size_t step, const Fault &fault) {
  end_both();
  restore(step);
  std::string wrong = perform(script().at(step), &fault);
  hit_ = block(fault.process).given() > 0;
  story_ = fmt::format("{}: {}; hit: {}; {}", script().at(step).name, to_string(fault),
                       hit_ ? block(fault.process).what() : "nothing", story_);
  if (wrong.empty()) wrong = after_the_fault(step, fault);
  if (wrong.empty()) wrong = start_anew();
  end_both();
  return wrong;
}

std::string Life::run_traced(std::size_t step, const std::vector<std::string> &strace) {
  end_both();
  restore(step);
  tracer_ = strace;
  const Fault fault{.process = Process::control, .action = Action::none};
  std::string wrong = perform(script().at(step), &fault);
  if (wrong.empty()) wrong = crashed(&fault);
  end_both();
  traced_calls_ = of_control_->calls();
  tracer_.clear();
  if (wrong.empty()) wrong = start_anew();
  end_both();
  return wrong;
}

// Both once more and without faults: what the kept image, the store and a new change say.
std::string Life::start_anew() {
  std::string wrong = look_at_kept_image();
  if (wrong.empty()) {
    start(Process::control);
    in_doubt_ = false;
    wrong = ready(ready_time_max)
                ? look("after both were started anew")
                : "control does not come up again: " + test::last_lines(log(Process::control), 3);
  }
  if (wrong.empty()) wrong = change_again("after both were started anew");
  return wrong;
}

// Both may still live. What failed for want of something works again once there is enough, without a restart.
std::string Life::after_the_fault(std::size_t step, const Fault &fault) {
  std::string wrong = crashed(&fault);
  if (!wrong.empty()) return wrong;
  if (fault.lasting && hit_ && control_.running()) {
    const Answer answer = ctl({"status"}, 10s);
    if (!answer.status) return "status has no answer while the fault lasts";
  }
  for (const Process process : both) block(process).disarm();
  wrong = crashed(&fault);
  if (!wrong.empty()) return wrong;
  if (!control_.running() || !dataplane_.running()) return {};
  // What a first start could not load is loaded by whoever reads its log.
  if (script().at(step).restart == Restart::first && !ready(2s))
    (void)ctl({"apply", "@config"}, answer_time_max);
  if (!ready(ready_time_max)) {
    wrong = crashed(&fault); // only now: a process takes its time to end
    if (!wrong.empty()) return wrong;
    if (control_.running() && dataplane_.running())
      return fmt::format("no accord of the two after the fault is over: {}{}",
                         test::last_lines(log(Process::control), 2),
                         test::last_lines(log(Process::dataplane), 2));
    return {};
  }
  wrong = look("after the fault, both alive");
  if (wrong.empty()) wrong = change_again("after the fault, both alive");
  // Memory that was refused in the middle of a write to the store ends control, which takes its time.
  if (!wrong.empty() && fault.kind == Kind::memory) (void)wait_until([&] { return !control_.running(); }, 2s);
  if (!control_.running() || !dataplane_.running()) return crashed(&fault);
  return wrong;
}

// The lists are one of the allowed states, and verdicts are those of the same; nothing else is allowed
// afterwards.
std::string Life::look(const std::string &when) {
  std::optional<Rules> rules;
  for (unsigned tries = 0; tries < 3 && !rules; ++tries) rules = exported();
  if (!rules) return fmt::format("{}: the lists cannot be exported", when);
  const auto found = std::find(allowed_.begin(), allowed_.end(), *rules);
  if (found == allowed_.end()) {
    std::string text = fmt::format("{}: the lists are in no state that was acknowledged:{}; could be", when,
                                   summary(*rules));
    for (const Rules &state : allowed_) text += "{" + summary(state) + "}";
    return text;
  }
  const auto now = verdicts(addresses());
  if (!now) return fmt::format("{}: the dataplane does not answer", when);
  for (const auto &[address, verdict] : *now)
    if (verdict != (denies(*rules, address) ? "drop" : "pass") && !may_still_)
      return fmt::format("{}: {} is met with {}, against the lists:{}", when, address, verdict,
                         summary(*rules));
  if (!in_doubt_) allowed_ = {*rules};
  if (may_still_) {
    may_still_(*rules);
    allowed_.push_back(*rules);
  }
  return {};
}

// The dataplane alone, as after a restart of the machine: one acknowledged state, not necessarily the last.
std::string Life::look_at_kept_image() {
  end_both();
  start(Process::dataplane);
  std::optional<Verdicts> now;
  (void)wait_until([&] { return !dataplane_.running() || (now = verdicts(addresses())).has_value(); },
                   ready_time_max);
  if (!now) return "the dataplane does not come up again: " + test::last_lines(log(Process::dataplane), 3);
  const bool none =
      std::all_of(now->begin(), now->end(), [](const auto &one) { return one.second == "no_image"; });
  if (none) return kept_image_ ? "the kept image is gone" : "";
  const auto same = [&](const Rules &rules) {
    return std::all_of(now->begin(), now->end(), [&](const auto &one) {
      return one.second == (denies(rules, one.first) ? "drop" : "pass");
    });
  };
  if (std::any_of(history_.begin(), history_.end(), same) ||
      std::any_of(allowed_.begin(), allowed_.end(), same))
    return {};
  std::string text = "the kept image is of no acknowledged state:";
  for (const auto &[address, verdict] : *now) text += fmt::format(" {}={}", address, verdict);
  return text;
}

std::string Life::change_again(const std::string &when) {
  const std::string probe = fmt::format("192.0.2.{}", 100 + probes_++ % 100);
  const Answer answer = ctl({"list", "add", "bans", probe}, answer_time_max);
  if (!answer.ok())
    return fmt::format("{}: a new change does not work: {}", when,
                       answer.status ? answer.err + answer.out : "no answer");
  for (Rules &rules : allowed_) rules["bans"].insert(probe);
  history_.insert(history_.end(), allowed_.begin(), allowed_.end());
  const auto now = verdicts({probe});
  if (!now || now->at(probe) != "drop") return fmt::format("{}: {} was added and is not denied", when, probe);
  return {};
}

} // namespace weir::fault
