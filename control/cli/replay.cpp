#include "control/cli/replay.hpp"

#include "control/cli/capture.hpp"
#include "control/cli/client.hpp"
#include "control/cli/fields.hpp"
#include "control/cli/gather.hpp"
#include "control/cli/process.hpp"
#include "weir/config/no_image.hpp"
#include "weir/wire/sockets.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>
#include <map>

#include <poll.h>

namespace weir::cli {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr auto poll_interval = std::chrono::milliseconds(5);
constexpr auto progress_interval = std::chrono::milliseconds(1000);
constexpr auto last_answer_wait = std::chrono::seconds(10);

// Outputs of a run that fails half-way would look like whole captures: those that the run made are
// removed, those that were there before are left to their owner.
class FreshOutputs {
public:
  explicit FreshOutputs(const ReplayOptions &options) {
    std::error_code ignored;
    for (const fs::path &file : {options.out, options.denied, options.verdicts})
      if (!file.empty() && !fs::exists(file, ignored)) files_.push_back(file);
  }
  FreshOutputs(const FreshOutputs &) = delete;
  FreshOutputs &operator=(const FreshOutputs &) = delete;
  void keep() { files_.clear(); }
  ~FreshOutputs() {
    std::error_code ignored;
    for (const fs::path &file : files_)
      if (fs::is_regular_file(file, ignored)) fs::remove(file, ignored);
  }

private:
  std::vector<fs::path> files_;
};

Status check_outputs(const ReplayOptions &options) {
  const std::vector<std::pair<const char *, fs::path>> files{{"the input", options.input},
                                                             {"--out", options.out},
                                                             {"--denied", options.denied},
                                                             {"--verdicts", options.verdicts}};
  std::error_code ignored;
  for (std::size_t i = 0; i < files.size(); ++i)
    for (std::size_t j = i + 1; j < files.size(); ++j) {
      const auto &[a, b] = std::pair{files[i].second, files[j].second};
      if (a.empty() || b.empty()) continue;
      const bool same = fs::weakly_canonical(a, ignored) == fs::weakly_canonical(b, ignored);
      if (same && (!fs::exists(a) || fs::is_regular_file(a)))
        return fail(Errc::usage, fmt::format("{} and {} are the same file, {}.", files[i].first,
                                             files[j].first, b.string()));
    }
  for (const auto &[name, file] : files) {
    if (file.empty() || file == options.input) continue;
    const fs::path folder = fs::absolute(file).parent_path();
    if (!fs::is_directory(folder, ignored))
      return fail(Errc::io,
                  fmt::format("{} {}: there is no folder {}.", name, file.string(), folder.string()));
  }
  return {};
}

class Replay {
public:
  Replay(const ReplayOptions &options, ReplayProgress *progress)
      : options_(options), progress_(progress), outputs_(options) {}
  Result<Json> run();

private:
  Status prepare();
  Status start_dataplane(const fs::path &folder);
  Status start_control(const fs::path &folder);
  Result<bool> wait(); // true when the dataplane has ended well
  Status advance();
  Status take_answer(const std::string &line);
  Status take_apply(const Json &answer, const std::string &line);
  Status take_status(const Json &answer);
  Status take_counters(const Json &answer);
  Result<Json> report(const fs::path &file);

  const ReplayOptions &options_;
  ReplayProgress *progress_; // null: nobody looks
  FreshOutputs outputs_;
  config::Config first_;
  std::vector<ReplayStep> steps_;
  std::size_t next_step_ = 0;
  std::uint64_t packets_ = 0;       // over all loops; 0: not counted
  std::uint64_t capture_bytes_ = 0; // of the file
  Json configurations_ = Json::array();
  Json actions_ = Json::object();
  std::optional<Child> dataplane_;
  std::optional<Child> control_;
  std::optional<Client> client_;
  std::optional<EndSignals> signals_;
  fs::path socket_;
  bool started_ = false;  // the first generation is live
  bool asked_ = false;    // an answer is awaited
  bool applying_ = false; // and it is that of an apply
  Clock::time_point next_poll_{};
  std::optional<Clock::time_point> answer_due_; // once the dataplane has ended before it came
};

Status Replay::prepare() {
  TRY(check_outputs(options_));
  auto first = config::load(options_.config);
  if (!first) return std::unexpected(std::move(first.error()));
  first_ = std::move(*first);
  if (first_.lists.empty() && first_.rules.empty())
    return fail(
        Errc::refused,
        fmt::format(
            "{}: there are neither lists nor rules, so nothing would be enforced. If that is meant, give it "
            "one that is empty: {{name: none, action: deny, dynamic: true}}.",
            options_.config.string()));
  configurations_.push_back({{"generation", 1}, {"config", options_.config.string()}});
  const auto note_actions = [this](const config::Config &config) {
    for (const config::List &list : config.lists)
      actions_[list.name] = list.action == Side::allow ? "allow" : "deny";
  };
  note_actions(first_);
  for (const ReplayApply &apply : options_.applies) {
    auto next = config::load(apply.config);
    if (!next) return std::unexpected(std::move(next.error()));
    note_actions(*next);
  }
  const auto capture = TRY(inspect_capture(options_.input, !options_.applies.empty()));
  std::error_code unknown;
  capture_bytes_ = fs::file_size(options_.input, unknown);
  if (unknown) capture_bytes_ = 0;
  if (options_.applies.empty()) return {};
  if (capture.packets > 0 && options_.loop > std::numeric_limits<std::uint64_t>::max() / capture.packets)
    return fail(Errc::usage, "--loop: the packets of all loops exceed 64 bits.");
  packets_ = capture.packets * options_.loop;
  auto steps = replay_steps(options_.applies, packets_);
  if (!steps) return std::unexpected(std::move(steps.error()));
  steps_ = std::move(*steps);
  return {};
}

// Registers of the P4 program that grow with the lists; ordinary pages are taken when they are touched.
constexpr const char *registers_memory = "eal: {hugepages: no, memory_mib: 4096}\n";

Status Replay::start_dataplane(const fs::path &folder) {
  const auto program = TRY(sibling_program("weir-dataplane"));
  // Of the configuration only no_image concerns the dataplane of a replay; ports and eal are its own.
  const fs::path config = folder / "dataplane.yaml";
  std::ofstream(config) << "version: 1\npolicy: {no_image: " << name_of(first_.no_image) << "}\n"
                        << (options_.target == "p4" ? registers_memory : "");
  std::vector<std::string> command{program.string(),
                                   "-c",
                                   config.string(),
                                   "--run-dir",
                                   folder.string(),
                                   "--state-dir",
                                   (folder / "dataplane").string(),
                                   "--replay",
                                   fs::absolute(options_.input).string()};
  const auto with = [&command](const char *name, const std::string &value) {
    command.emplace_back(name);
    command.push_back(value);
  };
  if (!options_.out.empty()) with("--out", fs::absolute(options_.out).string());
  if (!options_.denied.empty()) with("--denied", fs::absolute(options_.denied).string());
  if (!options_.verdicts.empty()) with("--verdicts", fs::absolute(options_.verdicts).string());
  if (options_.loop != 1) with("--loop", std::to_string(options_.loop));
  if (options_.rate_pps != 0) with("--rate", std::to_string(options_.rate_pps));
  for (const ReplayStep &step : steps_)
    with("--gate", fmt::format("{}:{}", step.first_packet, step.generation));
  with("--report", (folder / "report.json").string());
  with("--target", options_.target);
  fs::create_directory(folder / "dataplane");
  // EAL's runtime folder is made under TMPDIR: it goes with the private one, however the process ends.
  auto child = Child::start("weir-dataplane", command, folder / "dataplane.log",
                            {{"TMPDIR", (folder / "dataplane").string()}});
  if (!child) return std::unexpected(std::move(child.error()));
  dataplane_.emplace(std::move(*child));
  return {};
}

Status Replay::start_control(const fs::path &folder) {
  const auto program = TRY(sibling_program("weir-control"));
  const fs::path state = folder / "control";
  fs::create_directory(state);
  auto child = Child::start("weir-control",
                            {program.string(), "-c", fs::absolute(options_.config).string(), "--run-dir",
                             folder.string(), "--state-dir", state.string(), "--private", "--foreground-log",
                             "--target", options_.target},
                            folder / "control.log", {{"TMPDIR", state.string()}});
  if (!child) return std::unexpected(std::move(child.error()));
  control_.emplace(std::move(*child));
  return {};
}

// Sleeps until something happens, and looks at who has ended.
Result<bool> Replay::wait() {
  std::array<pollfd, 4> waiting{{{signals_->fd(), POLLIN, 0},
                                 {dataplane_->ended() ? -1 : dataplane_->fd(), POLLIN, 0},
                                 {control_->fd(), POLLIN, 0},
                                 {asked_ ? client_->fd() : -1, POLLIN, 0}}};
  const bool busy = (!started_ || next_step_ < steps_.size()) && !applying_;
  poll(waiting.data(), waiting.size(), busy ? static_cast<int>(poll_interval.count()) : 1000);
  if (const auto signal = signals_->take())
    return fail(Errc::refused, fmt::format("ended by signal {} ({}); the replay is not complete.", *signal,
                                           strsignal(*signal)));
  const auto dataplane = dataplane_->ended();
  const auto control = control_->ended();
  if (dataplane && *dataplane != 0) return fail(Errc::io, dataplane_->obituary());
  if (control) return fail(Errc::io, control_->obituary());
  if (dataplane && !applying_) return true;
  if (asked_ && (waiting[3].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
    auto line = client_->receive();
    if (!line) { // most likely it has just died; its last words say more than a closed socket
      pollfd dying{control_->fd(), POLLIN, 0};
      poll(&dying, 1, 500);
      return fail(Errc::io, control_->ended() ? control_->obituary() : line.error().message);
    }
    if (*line) {
      asked_ = false;
      if (auto taken = take_answer(**line); !taken) return std::unexpected(std::move(taken.error()));
    }
  }
  if (!dataplane) return false;
  if (!applying_) return true;
  // What a generation judges may be over before weir-control has said that it is live.
  if (!answer_due_) answer_due_ = Clock::now() + last_answer_wait;
  if (Clock::now() < *answer_due_) return false;
  return fail(Errc::unreachable, fmt::format("weir-control does not say what became of {}.",
                                             steps_[next_step_].config.string()));
}

// Asks from time to time: at first whether the first generation has come, then for the counters
// until the next configuration is due.
Status Replay::advance() {
  const bool no_step = started_ && next_step_ == steps_.size();
  if (asked_ || (no_step && progress_ == nullptr) || Clock::now() < next_poll_) return {};
  next_poll_ = Clock::now() + (no_step ? progress_interval : poll_interval);
  if (!client_) {
    auto client = Client::connect(socket_);
    if (!client) return {}; // it is still starting; wait() notices when it has ended
    client_.emplace(std::move(*client));
  }
  auto sent = client_->send(started_ ? R"({"verb":"stats"})" : R"({"verb":"status"})");
  asked_ = sent.has_value();
  return sent;
}

Status Replay::take_answer(const std::string &line) {
  const Json answer = Json::parse(line, nullptr, false);
  if (applying_) return take_apply(answer, line);
  if (!flag_in(answer, "ok")) return {}; // no dataplane yet
  return started_ ? take_counters(answer) : take_status(answer);
}

Status Replay::take_apply(const Json &answer, const std::string &line) {
  const ReplayStep &step = steps_[next_step_];
  applying_ = false;
  if (!flag_in(answer, "ok"))
    return fail(Errc::refused,
                fmt::format("{}: {}", step.config.string(), lines_in(answer, "message", line)));
  if (const auto generation = count_in(answer, "generation"); generation != step.generation)
    return fail(Errc::io, fmt::format("{} became generation {} where {} was expected.", step.config.string(),
                                      generation, step.generation));
  configurations_.push_back({{"generation", step.generation},
                             {"config", step.config.string()},
                             {"live_ms", child(answer, "live_ms")},
                             {"swap_ns", child(answer, "swap_ns")}});
  ++next_step_;
  return {};
}

// Rules that cannot be loaded or pushed would leave the dataplane waiting for ever.
Status Replay::take_status(const Json &answer) {
  if (count_in(child(answer, "dataplane"), "generation") > 0) {
    started_ = true;
    if (progress_ != nullptr)
      progress_->began_ns = Clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    return {};
  }
  const std::string error = lines_in(answer, "error");
  if (error.empty() || !text_in(answer, "doing", "").empty()) return {};
  return fail(Errc::refused, fmt::format("{}: {}", options_.config.string(), error));
}

Status Replay::take_counters(const Json &answer) {
  if (progress_ != nullptr) note_progress(answer, packets_, capture_bytes_ * options_.loop, *progress_);
  if (next_step_ == steps_.size()) return {};
  const ReplayStep &step = steps_[next_step_];
  std::uint64_t judged = 0;
  bool current_judged_some = false;
  for (const Json &row : child(answer, "generations")) {
    judged += count_in(row, "packets");
    if (count_in(row, "generation") + 1 == step.generation)
      current_judged_some = count_in(row, "packets") > 0;
  }
  if (!current_judged_some || judged < step.after) return {};
  const fs::path file = fs::absolute(step.config);
  const auto files = TRY(gather_configuration(file));
  const int fd = files.get();
  auto sent =
      client_->send(json_line({{"verb", "apply"}, {"config", file.string()}, {"force", true}}), {&fd, 1});
  asked_ = applying_ = sent.has_value();
  return sent;
}

// {"deny": 588} for readers that want counts; which verdict a reason led to stands beside it.
void count_by_reason(Json &report) {
  Json totals = Json::object();
  for (const auto &[name, counts] : child(report, "reasons").items())
    totals[name] = count_in(counts, "pass") + count_in(counts, "drop");
  report["reasons_by_verdict"] = std::move(report["reasons"]);
  report["reasons"] = std::move(totals);
}

Result<Json> Replay::report(const fs::path &file) {
  std::ifstream in(file);
  if (!in) return fail(Errc::io, "weir-dataplane ended without a report.");
  Json report = Json::parse(in, nullptr, false);
  if (!report.is_object()) return fail(Errc::parse, "the report of weir-dataplane is no JSON object.");
  // weir-dataplane also ends well when somebody else asks it to; that is no whole replay.
  const Json &replayed = child(report, "replay");
  if (!flag_in(replayed, "eof") || count_in(replayed, "read") != count_in(replayed, "written"))
    return fail(Errc::io,
                fmt::format("weir-dataplane was stopped before the end of {}: {} packets read, {} written.",
                            options_.input.string(), count_in(replayed, "read"),
                            count_in(replayed, "written")));
  count_by_reason(report);
  report["input"] = options_.input.string();
  report["configurations"] = configurations_;
  report["actions"] = actions_;
  return report;
}

Result<Json> Replay::run() {
  if (auto ready = prepare(); !ready) return std::unexpected(std::move(ready.error()));
  signals_.emplace();
  auto folder = PrivateFolder::make();
  if (!folder) return std::unexpected(std::move(folder.error()));
  socket_ = folder->path() / wire::control_socket_name;
  // Whatever happens below, the children end before their folder is removed.
  struct Ender {
    Replay &replay;
    ~Ender() {
      replay.client_.reset();
      replay.control_.reset();
      replay.dataplane_.reset();
    }
  } ender{*this};
  if (auto started = start_dataplane(folder->path()); !started)
    return std::unexpected(std::move(started.error()));
  if (auto started = start_control(folder->path()); !started)
    return std::unexpected(std::move(started.error()));
  for (;;) {
    if (auto sent = advance(); !sent) return std::unexpected(std::move(sent.error()));
    const auto done = TRY(wait());
    if (done) break;
  }
  if (next_step_ < steps_.size())
    return fail(Errc::io, fmt::format("weir-dataplane ended before {} was applied.",
                                      steps_[next_step_].config.string()));
  auto result = report(folder->path() / "report.json");
  if (result) outputs_.keep();
  return result;
}

} // namespace

Result<Json> run_replay(const ReplayOptions &options, ReplayProgress *progress) {
  return Replay(options, progress).run();
}

} // namespace weir::cli
