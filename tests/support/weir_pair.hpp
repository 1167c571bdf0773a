// A weir-dataplane and a weir-control of our own: private folders, started and stopped by pid, asked
// through the real weirctl. When a test has failed, the destructor prints the last lines of both logs.
#pragma once

#include "tests/support/process.hpp"

#include <nlohmann/json_fwd.hpp>

#include <set>
#include <string>
#include <vector>

namespace weir::test {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

struct PairSetup {
  std::string netns;                       // where the dataplane runs
  std::vector<std::string> vdevs;          // two, which become the ports wan (outside) and lan (inside)
  std::string lists;                       // the value of `lists:`, YAML; a text of lines starting with "- "
  std::string more;                        // further top-level YAML
  std::string of_ports;                    // further keys of both ports, such as "mtu: 9000"
  bool hugepages = false;                  // use them when there are some
  std::vector<std::string> control_runner; // a command in front of weir-control that ends in executing it
  static PairSetup idle();                 // ports that never see a packet
  static PairSetup between(const std::string &netns); // af_packet on the devices wan and lan
};

struct Reply {
  int status = -1; // weirctl's exit code
  std::string out, err;
  double seconds = 0;
  [[nodiscard]] bool ok() const { return status == 0; }
  [[nodiscard]] nlohmann::json json() const; // of stdout; an empty object when it is none
};

class WeirPair {
public:
  explicit WeirPair(PairSetup setup);
  ~WeirPair();
  WeirPair(const WeirPair &) = delete;
  WeirPair &operator=(const WeirPair &) = delete;

  void start(); // both, and waits until the first generation is live
  void start_dataplane();
  void start_control();
  // Both answer and the dataplane enforces a generation of this control.
  [[nodiscard]] bool ready(std::chrono::milliseconds time_max = 60s);

  // weirctl -j -s OUR_SOCKET WORDS...
  Reply ctl(std::vector<std::string> words, std::chrono::milliseconds time_max = 120s) const;
  // The same for what has to work: a test failure otherwise.
  nlohmann::json must(std::vector<std::string> words) const;
  // What the dataplane would do with this address: "pass" or "drop".
  [[nodiscard]] std::string verdict(const std::string &address) const;
  // The entries of a list as `list export` writes them; hosts without their length.
  [[nodiscard]] std::set<std::string> exported(const std::string &list) const;
  void write_config(const std::string &lists, const std::string &more = {}) const;

  [[nodiscard]] Child &dataplane() { return dataplane_; }
  [[nodiscard]] Child &control() { return control_; }
  [[nodiscard]] const std::filesystem::path &folder() const { return folder_.path(); }
  [[nodiscard]] std::filesystem::path config() const { return folder() / "weir.yaml"; }
  [[nodiscard]] std::filesystem::path dataplane_log() const { return folder() / "dataplane.log"; }
  [[nodiscard]] std::filesystem::path control_log() const { return folder() / "control.log"; }

private:
  PairSetup setup_;
  std::string prefix_; // of EAL, so that two can run beside each other
  TempDir folder_;
  Child dataplane_, control_;
};

// Address number `index` of a sequence that never repeats itself within 2^27 and stays in 32.0.0.0/5.
[[nodiscard]] std::string numbered_address(std::uint64_t index);
// A rule file of the addresses numbered first, first + 1, ... first + count - 1.
void write_addresses(const std::filesystem::path &file, std::uint64_t first, std::uint64_t count);

} // namespace weir::test
