// One call after another fails, or is the last one of its process; see life.hpp for what has to hold.
//
//   WEIR_FAULTS_SECONDS=N   for all series together (55)
//   WEIR_FAULT_CASE=...     one run alone, as a failing test names it
#include "tests/faults/life.hpp"
#include "tests/support/seed.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <iostream>
#include <numeric>
#include <random>
#include <sstream>
#include <thread>

namespace weir::fault::fault_test {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double seconds = 55; // in `make check`, for all series together
constexpr unsigned series_all = 9;
constexpr unsigned findings_max = 4; // of one series; more say nothing new

struct Way { // in which a call of these kinds fails
  std::vector<Kind> kinds;
  Action action = Action::fail;
  int error = 0;
  bool lasting = false;
};

struct Case {
  std::size_t step = 0;
  Fault fault;
};

std::string text_of(const Case &c) {
  return fmt::format("{} {} {} {} {} {} {}", c.step, static_cast<unsigned>(c.fault.process),
                     static_cast<unsigned>(c.fault.kind), static_cast<unsigned>(c.fault.action),
                     c.fault.error, c.fault.lasting ? 1 : 0, c.fault.chosen);
}

std::optional<Case> case_from(const char *text) {
  if (text == nullptr) return std::nullopt;
  std::istringstream fields(text);
  unsigned process = 0, kind = 0, action = 0;
  Case c;
  fields >> c.step >> process >> kind >> action >> c.fault.error >> c.fault.lasting >> c.fault.chosen;
  if (!fields || c.step >= script().size() || kind >= kinds) return std::nullopt;
  c.fault.process = static_cast<Process>(process);
  c.fault.kind = static_cast<Kind>(kind);
  c.fault.action = static_cast<Action>(action);
  return c;
}

// Every call of every step, in an order that gives each step, process and kind its turn before the second of
// any.
std::vector<Case> cases_of(const Life &life, const std::vector<Way> &ways, std::mt19937_64 &random) {
  std::vector<std::vector<Case>> groups;
  for (std::size_t step = 0; step < script().size(); ++step)
    for (const Process process : {Process::control, Process::dataplane})
      for (const Way &way : ways)
        for (const Kind kind : way.kinds) {
          std::vector<Case> group;
          for (std::uint64_t n = 1; n <= life.calls_in(step, process, kind); ++n)
            group.push_back({step, {process, kind, way.action, way.error, way.lasting, n}});
          std::shuffle(group.begin(), group.end(), random);
          if (!group.empty()) groups.push_back(std::move(group));
        }
  std::shuffle(groups.begin(), groups.end(), random);
  std::vector<Case> all;
  for (bool more = true; more;) {
    more = false;
    for (std::vector<Case> &group : groups) {
      if (group.empty()) continue;
      all.push_back(group.back());
      group.pop_back();
      more = true;
    }
  }
  return all;
}

class Faults : public ::testing::Test {
protected:
  static void SetUpTestSuite() {
    // Memory rather than a disk: what is synced is the subject of the power cuts.
    if (std::filesystem::exists("/dev/shm") && std::getenv("TMPDIR") == nullptr)
      setenv("TMPDIR", "/dev/shm", 1);
    for (auto &life : lives_) life = std::make_unique<Life>();
    on_each([](std::size_t i) { wrong_[i] = lives_[i]->live_quietly({}); });
  }
  static void TearDownTestSuite() {
    for (auto &life : lives_) life.reset();
  }
  void SetUp() override {
    for (const std::string &wrong : wrong_) ASSERT_EQ(wrong, "");
  }

  void series(const std::vector<Way> &ways) {
    const std::uint64_t seed = test::seed_or(20'261'122);
    std::mt19937_64 random(seed);
    std::vector<Case> cases = cases_of(*lives_[0], ways, random);
    if (const auto only = case_from(std::getenv("WEIR_FAULT_CASE"))) cases = {*only};
    const char *text = std::getenv("WEIR_FAULTS_SECONDS");
    const std::chrono::duration<double> time_max((text != nullptr ? std::strtod(text, nullptr) : seconds) /
                                                 series_all);
    const auto begin = Clock::now();
    std::atomic<std::size_t> next = 0;
    std::atomic<unsigned> runs = 0, hits = 0, findings = 0;
    on_each([&](std::size_t i) {
      for (std::size_t at = 0;
           Clock::now() - begin < time_max && findings < findings_max && (at = next++) < cases.size();) {
        const std::string wrong = lives_[i]->run(cases[at].step, cases[at].fault);
        ++runs;
        hits += lives_[i]->hit();
        if (wrong.empty()) continue;
        ++findings;
        ADD_FAILURE() << wrong << "\n  " << lives_[i]->story() << "\n  repeat with WEIR_FAULT_CASE=\""
                      << text_of(cases[at]) << "\", all with WEIR_SEED=" << seed;
      }
    });
    std::cout << fmt::format("{} runs of {}, {} met their call, {:.1f} s, seed {}\n", runs.load(),
                             cases.size(), hits.load(),
                             std::chrono::duration<double>(Clock::now() - begin).count(), seed);
    EXPECT_GT(hits, 0u);
  }

private:
  template <class Work> static void on_each(Work work) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < lives_.size(); ++i) threads.emplace_back(work, i);
    for (std::thread &thread : threads) thread.join();
  }

  static inline std::array<std::unique_ptr<Life>, 3> lives_; // a run waits more than it works
  static inline std::array<std::string, 3> wrong_;
};

} // namespace

TEST_F(Faults, a_file_that_cannot_be_opened_costs_no_rule) {
  const std::vector<Kind> k{Kind::open};
  series({{k, Action::fail, ENOSPC},
          {k, Action::fail, EIO},
          {k, Action::fail, EMFILE},
          {k, Action::fail, EMFILE, true}});
}

TEST_F(Faults, a_write_that_fails_or_is_cut_short_costs_no_rule) {
  const std::vector<Kind> k{Kind::write, Kind::truncate, Kind::allocate};
  series({{k, Action::fail, ENOSPC},
          {k, Action::fail, EIO},
          {{Kind::write}, Action::fail, EINTR},
          {{Kind::write}, Action::cut, ENOSPC}});
}

TEST_F(Faults, a_disk_that_is_full_until_freed_costs_no_rule) {
  series({{{Kind::write, Kind::truncate, Kind::allocate}, Action::cut, ENOSPC, true},
          {{Kind::open}, Action::fail, ENOSPC, true}});
}

TEST_F(Faults, a_sync_that_fails_costs_no_rule) {
  series({{{Kind::fsync}, Action::fail, EIO},
          {{Kind::fsync}, Action::fail, EIO, true},
          {{Kind::fsync}, Action::fail, ENOSPC}});
}

TEST_F(Faults, a_name_that_cannot_be_changed_costs_no_rule) {
  const std::vector<Kind> k{Kind::rename, Kind::link, Kind::unlink};
  series({{k, Action::fail, EIO}, {k, Action::fail, ENOSPC, true}});
}

TEST_F(Faults, a_read_that_fails_or_is_cut_short_costs_no_rule) {
  series({{{Kind::read}, Action::fail, EIO},
          {{Kind::read}, Action::fail, EINTR},
          {{Kind::read}, Action::cut, EIO}});
}

TEST_F(Faults, memory_that_is_refused_costs_no_rule) {
  series({{{Kind::mmap, Kind::memfd, Kind::memory}, Action::fail, ENOMEM},
          {{Kind::memfd}, Action::fail, EMFILE}});
}

TEST_F(Faults, a_socket_that_fails_costs_no_rule) {
  const std::vector<Kind> both{Kind::send, Kind::receive};
  series({{{Kind::socket}, Action::fail, EMFILE},
          {both, Action::fail, ENOMEM},
          {both, Action::fail, EINTR},
          {{Kind::poll}, Action::fail, EINTR}});
}

TEST_F(Faults, a_process_that_ends_at_any_call_costs_no_rule) {
  std::vector<Kind> all;
  for (std::uint32_t kind = 0; kind < kinds; ++kind) all.push_back(static_cast<Kind>(kind));
  series({{all, Action::kill_before}, {all, Action::kill_after}});
}

} // namespace weir::fault::fault_test
