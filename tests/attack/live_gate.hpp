// A running pair whose port wan takes packets from a pipe, and a client of control's socket that measures
// what it waits.
#pragma once

#include "tests/attack/feeder.hpp"
#include "tests/support/weir_pair.hpp"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <set>
#include <string>

namespace weir::attack {

using Json = nlohmann::json;

class LiveGate {
public:
  // `keep_passed`: what passes goes into a capture; otherwise nowhere, which is for floods that pass.
  LiveGate(const std::string &lists, const std::string &more, bool keep_passed);
  ~LiveGate();
  LiveGate(const LiveGate &) = delete;
  LiveGate &operator=(const LiveGate &) = delete;

  [[nodiscard]] std::filesystem::path folder() const { return folder_.path(); } // for rule files
  void start(); // a test failure if it does not

  struct Answer {
    std::string text;
    double seconds = 0;              // until it was there, by the client's clock
    [[nodiscard]] Json json() const; // an object in any case
  };
  // One line on a connection of its own; an answer without "ok" is a test failure.
  Answer ask(const Json &request) const;
  [[nodiscard]] std::uint64_t generation() const;
  [[nodiscard]] std::string reasons() const; // why the newest generations were built
  [[nodiscard]] std::string verdict(const std::string &address) const;
  [[nodiscard]] double packets_per_s(std::chrono::milliseconds during) const; // that workers judge

  [[nodiscard]] Feeder &feeder() { return *feeder_; }
  [[nodiscard]] Passed &passed() { return passed_; }
  [[nodiscard]] test::WeirPair &pair() { return *pair_; }

private:
  test::TempDir folder_;
  std::unique_ptr<Feeder> feeder_; // outlives the pair
  Passed passed_;
  std::unique_ptr<test::WeirPair> pair_;
};

// `mode:` for a judge of so many bits a host, six of which deny some 7 % of the strangers.
[[nodiscard]] std::string compact_mode(std::size_t hosts, double bits);

// Hosts with gaps between them, at random but close together.
class DeniedHosts {
public:
  DeniedHosts(Random &random, std::uint32_t count);
  void write(const std::filesystem::path &file) const;
  [[nodiscard]] const std::vector<std::uint32_t> &all() const { return hosts_; }
  [[nodiscard]] bool has(std::uint32_t host) const { return set_.contains(host); }
  // One that no list names, in a /16 with such hosts, since about others no filter is asked.
  [[nodiscard]] std::uint32_t stranger(Random &random) const;

private:
  std::vector<std::uint32_t> hosts_;
  std::set<std::uint32_t> set_;
};

} // namespace weir::attack
