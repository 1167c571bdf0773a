#include "tests/lab/performance_options.hpp"

#include <CLI/CLI.hpp>

namespace weir::lab {
namespace {

constexpr const char *footer = R"(
The filter of least cost by the number of keys and by what a false positive costs, as in "Performance-Optimal
Filtering", with stacks of three layers beside plain filters. `rho` is the time of a negative question and the rate
of false positives times `work_ns`; rates in it are the predicted ones. Each kind is built with 4, 6 ... 20 bits a key
and may take what serves it best. Times are for one key in batches of 64, all filters alike, medians of one thread's
processor time over interleaved rounds, and good for ratios.

Examples:
  weir-lab performance --psi 0.9                    minutes, 1 GiB: from 4096 to four million keys
  weir-lab performance --psi 0.5 --most-keys 65536  seconds
)";

template <class T> CLI::Validator between(T low, T high) { return CLI::Range(low, high).description(""); }

} // namespace

void add_performance(CLI::App &app, PerformanceTask &t) {
  app.add_option("--psi", t.psi, "share of the negative questions that ask for known negatives, all alike")
      ->check(between(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--beta", t.beta, "keys over keys and known negatives")
      ->check(between(0.05, 0.99))
      ->capture_default_str();
  app.add_option("--most-keys", t.keys_max, "numbers of keys are 4096, 16384 ... up to this one")
      ->check(between(performance_keys_least, std::uint64_t{1} << 24))
      ->capture_default_str();
  app.add_option("--rounds", t.rounds, "to take medians of")
      ->check(between(1u, 1'000u))
      ->capture_default_str();
  app.add_option("--seed", t.seed, "of keys, questions and filters")->capture_default_str();
  app.footer(footer);
}

} // namespace weir::lab
