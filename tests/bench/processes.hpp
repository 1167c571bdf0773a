// A real weir-dataplane and a real weir-control beside the benchmark, asked over control's socket.
#pragma once

#include "tests/bench/bench.hpp"
#include "tests/support/process.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace weir::bench {

// What the ports do.
enum class Traffic : std::uint8_t {
  none,     // they never bring a packet; lcores share all CPUs, so control has both
  full_rate // a capture that was read into memory once goes round and round; the worker owns CPU 1
};

class Processes {
public:
  Processes();
  ~Processes();
  Processes(const Processes &) = delete;
  Processes &operator=(const Processes &) = delete;

  void write_config(Traffic traffic, const std::string &lists) const;
  void start_control();
  // Gives the seconds from its start until workers poll with an image in force, or without one when
  // there is none kept.
  double start_dataplane();
  void kill_dataplane();
  void wait_in_step() const; // the dataplane enforces what control wants

  // One request line of control/api/api.hpp; gives up unless it is answered with ok.
  nlohmann::json ask(const nlohmann::json &request) const;

  [[nodiscard]] const std::filesystem::path &folder() const { return folder_.path(); }
  [[nodiscard]] std::filesystem::path config() const { return folder() / "weir.yaml"; }
  [[nodiscard]] test::Child &dataplane() { return dataplane_; }
  [[nodiscard]] test::Child &control() { return control_; }

private:
  [[nodiscard]] std::filesystem::path log_of(const char *program) const;
  [[noreturn]] void complain(const std::string &what) const;

  test::TempDir folder_;
  test::Child dataplane_, control_;
  unsigned starts_ = 0;
};

// Writes the first `count` addresses of scrambled_address() as lines, and says how many bytes.
std::uint64_t write_addresses(const std::filesystem::path &file, std::uint32_t count);
[[nodiscard]] std::string address_text(std::uint32_t index);

} // namespace weir::bench
