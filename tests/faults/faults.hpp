// The test's end of the block that libweirfault.so reads in a weir process.
#pragma once

#include "tests/faults/preload/block.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace weir::fault {

enum class Process : std::uint8_t { control, dataplane };
[[nodiscard]] constexpr const char *name_of(Process process) {
  return process == Process::control ? "control" : "dataplane";
}

struct Fault {
  Process process = Process::control;
  Kind kind = Kind::write;
  Action action = Action::fail;
  int error = 0;        // errno
  bool lasting = false; // until freed
  std::uint64_t chosen = 1;
};
[[nodiscard]] std::string to_string(const Fault &fault);

class FaultBlock {
public:
  explicit FaultBlock(const std::filesystem::path &file); // made new
  ~FaultBlock();
  FaultBlock(const FaultBlock &) = delete;
  FaultBlock &operator=(const FaultBlock &) = delete;

  void arm(const Fault &fault);
  void disarm();
  void clear(); // disarm, and count from zero
  void step(std::uint32_t number) { block_->step = number; }
  [[nodiscard]] std::uint64_t given() const { return block_->given; }
  [[nodiscard]] std::string what() const { return block_->what.data(); }
  [[nodiscard]] std::array<std::uint64_t, kinds> calls() const;

  // What a process needs in its environment to be under this block.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>>
  environment(const std::filesystem::path &folder, const std::filesystem::path &record = {}) const;

private:
  std::filesystem::path file_;
  Block *block_ = nullptr;
};

} // namespace weir::fault
