#include "tests/support/replay_run.hpp"

#include <nlohmann/json.hpp>

#include <csignal>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace weir::test {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

class Socket {
public:
  explicit Socket(const std::filesystem::path &file) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, file.c_str(), sizeof address.sun_path - 1);
    const timeval limit{30, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    connected_ = connect(fd_, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0;
  }
  ~Socket() { close(fd_); }
  Socket(const Socket &) = delete;
  Socket &operator=(const Socket &) = delete;

  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] std::string exchange(std::string line) {
    line += '\n';
    if (send(fd_, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) return {};
    std::string answer;
    char part[65536];
    while (answer.empty() || answer.back() != '\n') {
      const ssize_t got = recv(fd_, part, sizeof part, 0);
      if (got <= 0) return {};
      answer.append(part, static_cast<std::size_t>(got));
    }
    return answer;
  }

private:
  int fd_;
  bool connected_ = false;
};

std::map<std::string, std::uint64_t> numbers(const json &object) {
  std::map<std::string, std::uint64_t> out;
  for (const auto &[name, value] : object.items()) out[name] = value.get<std::uint64_t>();
  return out;
}

} // namespace

std::vector<VerdictRow> read_verdicts(const std::filesystem::path &file) {
  std::istringstream lines(read_text(file));
  std::string line;
  if (!std::getline(lines, line) || line != "index,generation,verdict,reason,list")
    throw std::runtime_error(file.string() + " has no head line");
  std::vector<VerdictRow> rows;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    VerdictRow row;
    char comma = 0, other_comma = 0;
    fields >> row.index >> comma >> row.generation >> other_comma;
    if (!fields || comma != ',' || other_comma != ',' || !std::getline(fields, row.verdict, ',') ||
        !std::getline(fields, row.reason, ','))
      throw std::runtime_error(file.string() + ": not a verdict: " + line);
    std::getline(fields, row.list);
    rows.push_back(std::move(row));
  }
  return rows;
}

ReplayReport parse_report(const std::string &text) {
  const json report = json::parse(text);
  ReplayReport out;
  out.packets = report.at("packets");
  out.pass = report.at("pass");
  out.drop = report.at("drop");
  out.lost = report.at("lost");
  out.truncated = report.at("truncated");
  out.read = report.at("replay").at("read");
  out.written = report.at("replay").at("written");
  out.eof = report.at("replay").at("eof");
  out.swap_count = report.at("swap_count");
  out.lists = numbers(report.at("lists"));
  out.generations = numbers(report.at("generations"));
  // weirctl gives plain counts by reason; what the dataplane wrote stands beside them.
  const bool from_weirctl = report.contains("reasons_by_verdict");
  if (from_weirctl) out.reasons = numbers(report.at("reasons"));
  for (const auto &[name, counts] : report.at(from_weirctl ? "reasons_by_verdict" : "reasons").items()) {
    if (counts.at("pass") != 0) out.reasons_pass[name] = counts.at("pass");
    if (counts.at("drop") != 0) out.reasons_drop[name] = counts.at("drop");
  }
  return out;
}

void ReplayRun::start(const std::vector<std::string> &dataplane_options, const std::string &capture) {
  start_dataplane(dataplane_options, capture);
  start_control();
}

void ReplayRun::start_dataplane(const std::vector<std::string> &options, const std::string &capture) {
  for (const char *folder : {"run", "state"}) std::filesystem::create_directories(dir_ / folder);
  std::vector<std::string> arguments{program("weir-dataplane"),
                                     "-c",
                                     "weir.yaml",
                                     "--run-dir",
                                     "run",
                                     "--state-dir",
                                     "state",
                                     "--replay",
                                     capture,
                                     "--out",
                                     "pass.pcap",
                                     "--denied",
                                     "denied.pcap",
                                     "--verdicts",
                                     "verdicts.csv",
                                     "--report",
                                     "report.json"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  dataplane = Child({arguments, dir_ / "dataplane.log", {}, dir_.path()});
}

void ReplayRun::start_control() {
  std::vector<std::string> arguments{program("weir-control"), "-c",   "weir.yaml", "--run-dir", "run",
                                     "--state-dir",           "state"};
  if (images_for_p4) arguments.insert(arguments.end(), {"--target", "p4"});
  control = Child({arguments, dir_ / "control.log", {}, dir_.path()});
}

namespace {

void take(ControlAnswer &answer, const json &parsed) {
  answer.ok = parsed.value("ok", false);
  const auto generation = parsed.find("generation");
  if (generation != parsed.end() && generation->is_number_unsigned())
    answer.generation = generation->get<std::uint64_t>();
}

} // namespace

ControlAnswer ReplayRun::ask(const std::string &line) {
  ControlAnswer answer;
  const auto asked = [&] {
    Socket socket(dir_ / "run/control.sock");
    if (!socket.connected()) return !control.running();
    answer.text = socket.exchange(line);
    return true;
  };
  if (!wait_until(asked, 10s) || answer.text.empty()) {
    answer.text = "control does not answer";
    return answer;
  }
  const json parsed = json::parse(answer.text, nullptr, false);
  if (parsed.is_object()) take(answer, parsed);
  return answer;
}

ControlAnswer ReplayRun::replace_list(const std::string &list, const std::filesystem::path &file) {
  const Outcome done = run({program("weirctl"), "-j", "-s", dir_ / "run/control.sock", "list", "replace",
                            list, dir_.path() / file, "--force"});
  ControlAnswer answer;
  answer.text = done.out;
  const json parsed = json::parse(answer.text, nullptr, false);
  if (parsed.is_object()) take(answer, parsed);
  return answer;
}

std::uint64_t ReplayRun::packets_judged() {
  const ControlAnswer answer = ask(R"({"verb": "stats"})");
  const json stats = json::parse(answer.text, nullptr, false);
  std::uint64_t packets = 0;
  if (stats.is_object() && stats.contains("verdicts"))
    for (const json &row : stats["verdicts"]) packets += row.value("packets", std::uint64_t{0});
  return packets;
}

bool ReplayRun::wait_for_judged(std::uint64_t packets) {
  return wait_until([&] { return packets_judged() >= packets || !dataplane.running(); }, 20s) &&
         dataplane.running();
}

int ReplayRun::finish(std::chrono::seconds limit) {
  const bool alone = control.pid() <= 0;
  (void)wait_until([&] { return !dataplane.running() || (!alone && !control.running()); }, limit);
  // Without control nothing more will come into force: what is not over soon never will be.
  const int code = dataplane.wait(2s).value_or(-1);
  control.signal(SIGTERM);
  if (!control.wait(5s)) control.signal(SIGKILL);
  return code;
}

std::string ReplayRun::logs() const {
  return "--- dataplane\n" + read_text(dir_ / "dataplane.log") + "--- control\n" +
         read_text(dir_ / "control.log");
}

} // namespace weir::test
