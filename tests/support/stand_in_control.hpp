// A stand-in for weir-control: listens on a socket of its own, keeps the request lines, and answers
// each connection with the lines it was given.
#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace weir::test {

class StandInControl {
public:
  // An answer of nothing closes the connection without a word.
  explicit StandInControl(std::vector<std::string> answers);
  StandInControl(const StandInControl &) = delete;
  StandInControl &operator=(const StandInControl &) = delete;
  ~StandInControl();

  [[nodiscard]] std::string socket() const { return (folder_ / "control.sock").string(); }
  [[nodiscard]] std::vector<std::string> requests() const;

private:
  void serve();
  void serve_one(int fd);

  std::filesystem::path folder_;
  int listener_ = -1;
  int stop_[2] = {-1, -1};
  mutable std::mutex mutex_;
  std::vector<std::string> answers_; // the next one last
  std::vector<std::string> requests_;
  std::thread thread_;
};

} // namespace weir::test
