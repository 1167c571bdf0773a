#include "tests/attack/attack.hpp"

#include "tests/support/seed.hpp"
#include "weir/base/owned_fd.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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

struct Beside::State {
  std::function<double()> measure_s;
  std::atomic<bool> stop = false;
  std::atomic<double> worst = 0;
  std::thread thread;
};

Beside::Beside(std::function<double()> measure_s) : state_(std::make_unique<State>()) {
  state_->measure_s = std::move(measure_s);
  state_->thread = std::thread([state = state_.get()] {
    while (!state->stop) state->worst = std::max(state->worst.load(), state->measure_s());
  });
}

Beside::~Beside() {
  state_->stop = true;
  state_->thread.join();
}

double Beside::worst_s() const { return state_->worst; }

Lateness::Lateness()
    : Beside([] {
        constexpr std::chrono::milliseconds nap(1);
        const auto before = Clock::now();
        std::this_thread::sleep_for(nap);
        return Seconds(Clock::now() - before - nap).count();
      }) {}

SyncedWrites::SyncedWrites(const std::filesystem::path &folder)
    : Beside([file = std::make_shared<OwnedFd>(
                  ::open((folder / "synced").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600))] {
        constexpr std::array<char, 200> record{};
        const auto before = Clock::now();
        if (::write(file->get(), record.data(), record.size()) < 0 || ::fdatasync(file->get()) != 0)
          return 0.0;
        const double took = Seconds(Clock::now() - before).count();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return took;
      }) {}

} // namespace weir::attack
