#include "tests/support/weir_pair.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <atomic>
#include <csignal>
#include <iostream>
#include <sstream>
#include <unistd.h>

namespace weir::test {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint32_t addresses_first = 0x20000000; // 32.0.0.0
constexpr std::uint32_t addresses_mask = (1u << 27) - 1;

std::uint32_t numbered(std::uint64_t index) {
  // An odd factor modulo a power of two: every index has an address of its own.
  return addresses_first + (static_cast<std::uint32_t>(index * 2654435761u) & addresses_mask);
}

void append_dotted(std::string &text, std::uint32_t address) {
  static const auto octets = [] {
    std::array<std::string, 256> all;
    for (unsigned i = 0; i < 256; ++i) all[i] = std::to_string(i);
    return all;
  }();
  for (int shift = 24; shift >= 0; shift -= 8) {
    text += octets[address >> shift & 255];
    if (shift > 0) text += '.';
  }
}

} // namespace

PairSetup PairSetup::idle() {
  PairSetup setup;
  setup.vdevs = {"net_null0,no-rx=1", "net_null1,no-rx=1"};
  return setup;
}

PairSetup PairSetup::between(const std::string &netns) {
  PairSetup setup;
  setup.netns = netns;
  setup.vdevs = {"net_af_packet0,iface=wan,blocksz=65536,framesz=2048,framecnt=4096",
                 "net_af_packet1,iface=lan,blocksz=65536,framesz=2048,framecnt=4096"};
  return setup;
}

Json Reply::json() const {
  Json value = Json::parse(out, nullptr, false);
  return value.is_object() ? value : Json::object();
}

WeirPair::WeirPair(PairSetup setup) : setup_(std::move(setup)) {
  static std::atomic<unsigned> made{0};
  prefix_ = fmt::format("weir{}_{}", getpid(), made++);
  write_config(setup_.lists, setup_.more);
}

WeirPair::~WeirPair() {
  for (Child *child : {&control_, &dataplane_}) {
    child->signal(SIGCONT);
    if (!child->stop(SIGTERM, 5s)) child->stop(SIGKILL, 5s);
  }
  if (!::testing::Test::HasFailure()) return;
  for (const fs::path &log : {dataplane_log(), control_log()})
    std::cout << "---- the end of " << log.filename().string() << "\n" << last_lines(log, 40);
}

void WeirPair::write_config(const std::string &lists, const std::string &more) const {
  const auto device = [](const std::string &vdev) { return vdev.substr(0, vdev.find(',')); };
  std::string text = "version: 1\n";
  text += fmt::format("eal: {{file_prefix: {}, hugepages: {}, vdevs: [\"{}\"]}}\n", prefix_,
                      setup_.hugepages ? "auto" : "no", fmt::join(setup_.vdevs, "\", \""));
  const std::string of_ports = setup_.of_ports.empty() ? "" : ", " + setup_.of_ports;
  text += fmt::format("ports:\n- {{name: wan, device: {0}, side: outside, peer: lan{2}}}\n"
                      "- {{name: lan, device: {1}, side: inside, peer: wan{2}}}\n",
                      device(setup_.vdevs.at(0)), device(setup_.vdevs.at(1)), of_ports);
  text += fmt::format("paths: {{run: {0}/run, state: {0}/state}}\n", folder().string());
  text += "lists:\n" + lists + more;
  write_text(config(), text);
}

void WeirPair::start_dataplane() {
  for (const char *name : {"run", "state"}) fs::create_directories(folder() / name);
  dataplane_ = Child({.arguments = {program("weir-dataplane"), "-c", config(), "--print-totals"},
                      .output = dataplane_log(),
                      .netns = setup_.netns});
}

void WeirPair::start_control() {
  for (const char *name : {"run", "state"}) fs::create_directories(folder() / name);
  std::vector<std::string> command = setup_.control_runner;
  command.insert(command.end(), {program("weir-control"), "-c", config(), "--foreground-log"});
  control_ = Child({.arguments = command, .output = control_log()});
}

void WeirPair::start() {
  start_dataplane();
  start_control();
  ASSERT_TRUE(ready()) << "the pair did not become ready";
}

bool WeirPair::ready(std::chrono::milliseconds time_max) {
  return wait_until(
             [this] {
               if (!dataplane_.running() || !control_.running()) return true; // waiting longer is pointless
               const Json status = ctl({"status"}).json();
               const Json peer = status.value("dataplane", Json::object());
               const auto generation = status.value("generation", std::uint64_t{0});
               return peer.value("in_sync", false) && generation > 0 &&
                      peer.value("generation", std::uint64_t{0}) == generation;
             },
             time_max) &&
         dataplane_.running() && control_.running();
}

Reply WeirPair::ctl(std::vector<std::string> words, std::chrono::milliseconds time_max) const {
  words.insert(words.begin(), {program("weirctl"), "-j", "-s", folder() / "run" / "control.sock"});
  const Outcome outcome = run(words, {}, time_max);
  return {outcome.code.value_or(-1), outcome.out, outcome.err, outcome.seconds};
}

Json WeirPair::must(std::vector<std::string> words) const {
  const Reply reply = ctl(words);
  EXPECT_TRUE(reply.ok()) << fmt::format("weirctl {}: exit {}\n", fmt::join(words, " "), reply.status)
                          << reply.out << reply.err;
  return reply.json();
}

std::string WeirPair::verdict(const std::string &address) const {
  const Reply reply = ctl({"explain", address});
  // An address that no list names is "no match": exit 1, like grep.
  EXPECT_TRUE(reply.status == 0 || reply.status == 1) << reply.out << reply.err;
  const std::string verdict = reply.json().value("verdict", "");
  EXPECT_TRUE(verdict == "pass" || verdict == "drop") << reply.out << reply.err;
  return verdict;
}

std::set<std::string> WeirPair::exported(const std::string &list) const {
  const fs::path file = folder() / "export.txt";
  must({"list", "export", list, file});
  std::istringstream lines(read_text(file));
  std::set<std::string> entries;
  for (std::string line; std::getline(lines, line);) {
    line.resize(std::min(line.find_first_of(" #"), line.size()));
    if (line.ends_with("/32")) line.resize(line.size() - 3);
    if (!line.empty()) entries.insert(line);
  }
  return entries;
}

std::string numbered_address(std::uint64_t index) {
  std::string text;
  append_dotted(text, numbered(index));
  return text;
}

void write_addresses(const fs::path &file, std::uint64_t first, std::uint64_t count) {
  std::string text;
  text.reserve(count * 16);
  for (std::uint64_t i = first; i < first + count; ++i) {
    append_dotted(text, numbered(i));
    text += '\n';
  }
  write_text(file, text);
}

} // namespace weir::test
