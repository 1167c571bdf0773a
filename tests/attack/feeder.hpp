// Packets for a running weir-dataplane without a network card: its net_pcap port reads a capture from a pipe,
// and whatever is written there arrives at once. A thread keeps the pipe full, with a flood that is made as
// it goes, with sources that send at a steady rate beside it, or with hardly anything.
#pragma once

#include "tests/attack/attack.hpp"
#include "tests/support/packets.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace weir::attack {

class Feeder {
public:
  using Next = std::function<void(std::uint8_t *frame)>; // makes the flood's next packet of the last one

  explicit Feeder(const std::filesystem::path &pipe);
  ~Feeder(); // after the dataplane's end: a port that waits for a packet cannot be stopped
  Feeder(const Feeder &) = delete;
  Feeder &operator=(const Feeder &) = delete;

  // From now on as fast as the port takes them.
  void flood(const test::Frame &like, Next next);
  // From now on each of these frames so many times a second, beside whatever else there is.
  void steady(std::vector<test::Frame> frames, double per_second);
  [[nodiscard]] Clock::time_point steady_since() const; // when the first of them was written
  [[nodiscard]] std::uint64_t written() const { return written_; }

private:
  void run();
  void append(const std::vector<std::uint8_t> &frame);
  bool write_out();

  int fd_ = -1;
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> written_ = 0;
  std::vector<std::uint8_t> out_;
  mutable std::mutex mutex_; // of what follows
  std::vector<std::uint8_t> like_;
  Next next_;
  std::vector<test::Frame> steady_;
  double per_second_ = 0;
  std::optional<Clock::time_point> steady_since_;
  std::uint64_t steady_sent_ = 0; // of each
  std::thread thread_;
};

// What a net_pcap port has written to a capture so far: the sources of IPv4 and when each was seen first.
class Passed {
public:
  explicit Passed(std::filesystem::path file) : file_(std::move(file)) {}
  void look();
  [[nodiscard]] std::optional<Clock::time_point> first(const std::string &source) const;
  [[nodiscard]] std::uint64_t packets(const std::string &source) const;

private:
  struct Seen {
    Clock::time_point first;
    std::uint64_t packets = 0;
  };
  std::filesystem::path file_;
  std::uint64_t at_ = 24; // behind the capture's header
  std::map<std::string, Seen> seen_;
};

[[nodiscard]] std::string dotted(std::uint32_t host);
void put_source(std::uint8_t *frame, std::uint32_t host); // of an untagged IPv4 frame

} // namespace weir::attack
