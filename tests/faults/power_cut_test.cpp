// The power goes before any call that changes a file: what came up afterwards is one acknowledged state.
#include "tests/faults/life.hpp"
#include "tests/faults/power_cut.hpp"
#include "tests/support/seed.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <random>

namespace weir::fault::power_cut_test {

namespace {

using Clock = std::chrono::steady_clock;

class PowerCuts : public ::testing::Test {
protected:
  static void SetUpTestSuite() {
    if (std::filesystem::exists("/dev/shm") && std::getenv("TMPDIR") == nullptr)
      setenv("TMPDIR", "/dev/shm", 1);
    life_ = std::make_unique<Life>();
    wrong_ = life_->live_quietly({.record = true});
  }
  static void TearDownTestSuite() { life_.reset(); }
  void SetUp() override { ASSERT_EQ(wrong_, ""); }

  void cuts(Process process) {
    const std::uint64_t seed = test::seed_or(20'261'123);
    WEIR_TRACE_SEED(seed);
    std::mt19937_64 random(seed);
    const std::vector<Event> events = read_record(life_->record(process));
    std::vector<std::pair<std::size_t, Kept>> all;
    for (std::size_t count = 1; count <= events.size(); ++count)
      for (std::size_t kept = 0; kept < kept_names.size(); ++kept)
        all.emplace_back(count, static_cast<Kept>(kept));
    std::shuffle(all.begin(), all.end(), random);
    const char *text = std::getenv("WEIR_FAULTS_SECONDS");
    const double seconds = (text != nullptr ? std::strtod(text, nullptr) : 48) / 8;
    const auto begin = Clock::now();
    unsigned runs = 0, findings = 0;
    for (const auto &[count, kept] : all) {
      if (std::chrono::duration<double>(Clock::now() - begin).count() > seconds || findings >= 4) break;
      ++runs;
      std::mt19937_64 of_this(seed + count * 8 + static_cast<std::size_t>(kept));
      life_->forget_processes();
      lay_out(events, count, kept, of_this, life_->folder() / "state");
      const std::string wrong = life_->come_up(process, events, count);
      if (wrong.empty()) continue;
      ++findings;
      const Event &last = events[count - 1];
      ADD_FAILURE() << wrong
                    << fmt::format("\n  cut after call {} of {} ({} {} {}), step {}, kept: {}", count,
                                   events.size(), static_cast<unsigned>(last.record.op), last.path,
                                   last.other, last.record.step, kept_names[static_cast<std::size_t>(kept)]);
    }
    std::cout << fmt::format("{} of {} cuts, {:.1f} s, seed {}\n", runs, all.size(),
                             std::chrono::duration<double>(Clock::now() - begin).count(), seed);
    EXPECT_GT(runs, 0u);
  }

private:
  static inline std::unique_ptr<Life> life_;
  static inline std::string wrong_;
};

} // namespace

TEST_F(PowerCuts, the_store_comes_up_from_each_with_what_was_acknowledged) { cuts(Process::control); }

TEST_F(PowerCuts, the_kept_image_comes_up_from_each_with_an_acknowledged_state) { cuts(Process::dataplane); }

} // namespace weir::fault::power_cut_test
