#include "tests/attack/attack.hpp"

#include "tests/support/seed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <thread>

namespace weir::attack {

namespace {

constexpr double sample_seconds = 90; // in `make check`; some rounds are longer than a share of that
constexpr unsigned attacks = 7;
constexpr std::uint64_t seed_usual = 20'261'123;

std::string &said() {
  static std::string figures;
  return figures;
}

} // namespace

void Attack::rounds(const std::string &name, const std::function<void(Random &)> &round) {
  const char *text = std::getenv("WEIR_ATTACK_SECONDS");
  const Seconds share((text != nullptr ? std::strtod(text, nullptr) : sample_seconds) / attacks);
  const std::uint64_t seed = test::seed_or(seed_usual);
  const auto begin = Clock::now();
  Seconds longest{0};
  std::uint64_t done = 0;
  said() = "no figures";
  do {
    WEIR_TRACE_SEED(seed + done);
    const auto round_begin = Clock::now();
    Random random(seed + done);
    round(random);
    ++done;
    longest = std::max<Seconds>(longest, Clock::now() - round_begin);
  } while (!HasFailure() && !IsSkipped() && Clock::now() - begin + longest <= share);
  std::cout << fmt::format("{}: {} rounds in {:.1f} s, seeds {} to {}\n", name, done,
                           Seconds(Clock::now() - begin).count(), seed, seed + done - 1);
  if (HasFailure()) std::cout << said() << '\n';
}

void Attack::say(const std::string &figures) {
  std::cout << figures << '\n';
  said() = figures;
}

struct Lateness::State {
  std::atomic<bool> stop = false;
  std::atomic<double> worst = 0;
  std::thread thread;
};

Lateness::Lateness() : state_(std::make_unique<State>()) {
  state_->thread = std::thread([state = state_.get()] {
    constexpr std::chrono::milliseconds nap(1);
    while (!state->stop) {
      const auto before = Clock::now();
      std::this_thread::sleep_for(nap);
      const double late = Seconds(Clock::now() - before - nap).count();
      state->worst = std::max(state->worst.load(), late);
    }
  });
}

Lateness::~Lateness() {
  state_->stop = true;
  state_->thread.join();
}

double Lateness::worst_s() const { return state_->worst; }

} // namespace weir::attack
