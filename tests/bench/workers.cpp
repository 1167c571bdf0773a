// Do two workers answer twice as much? One image, as many threads as workers, each on a processor of
// its own with queries of its own. A thread counts the time it had a processor, so that other work on
// the machine takes turns from nobody; what the threads do to each other's memory shows.
#include "tests/bench/candidates.hpp"
#include "tests/bench/limit.hpp"

#include <fmt/core.h>

#include <barrier>
#include <pthread.h>
#include <thread>

namespace weir::bench {
namespace {

constexpr unsigned workers_max = 2;
using Answer = std::function<std::uint64_t(std::span<const WireV4>)>;

struct Team { // one contender, with an answerer for each worker
  std::string name;
  std::vector<Answer> members;
  std::vector<double> mlookups[workers_max]; // of one worker alone, of two together
};

void stay_on(unsigned processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

// Million lookups a second of `workers` members together.
double together(const Team &team, unsigned workers, std::span<const WireV4> queries) {
  std::barrier start(static_cast<std::ptrdiff_t>(workers));
  std::vector<double> mlookups(workers);
  std::vector<std::jthread> threads;
  const std::size_t each = queries.size() / workers_max;
  for (unsigned w = 0; w < workers; ++w)
    threads.emplace_back([&, w] {
      stay_on(w);
      start.arrive_and_wait();
      const double began = cpu_ns();
      (void)team.members[w](queries.subspan(w * each, each));
      mlookups[w] = static_cast<double>(each) / (cpu_ns() - began) * 1e3;
    });
  threads.clear(); // joins
  double sum = 0;
  for (const double one : mlookups) sum += one;
  return sum;
}

void race(const Options &options, std::uint32_t keys, std::vector<Team> &teams) {
  auto queries = make_rounds<WireV4>(options, keys, 10);
  for (unsigned round = 0; round <= options.rounds(); ++round)
    for (Team &team : teams)
      for (unsigned workers = 1; workers <= workers_max; ++workers) {
        const double mlookups = together(team, workers, queries.of(round));
        if (round > 0) team.mlookups[workers - 1].push_back(mlookups);
      }
}

void bench_workers(const Options &options, std::vector<Standing> &) {
  JsonLines lines(options, "workers");
  Grid grid{{"keys", "contender", "1 worker", "2 workers", "2 / 1"}, {}};
  if (std::thread::hardware_concurrency() < workers_max) {
    fmt::print("\nworkers: this machine has one processor, nothing to compare\n");
    return;
  }
  for (const std::uint32_t keys :
       options.quick ? std::vector{1'000'000u} : std::vector{1'000'000u, 10'000'000u}) {
    const auto entries = make_entries(keys);
    auto first = make_candidates(entries, {});
    std::vector<Team> teams;
    std::vector<std::unique_ptr<WeirLookup>> second;
    for (Candidate &c : first) {
      second.push_back(std::make_unique<WeirLookup>(c.image().view()));
      teams.push_back({c.name(),
                       {[&c](auto q) { return c.lookup().run(q); },
                        [&other = *second.back()](auto q) { return other.run(q); }},
                       {}});
    }
    const RteHashLookup<WireV4> peer(keys);
    LimitLookup limit(least_table_bytes(first));
    const Answer ask_peer = [&](auto q) { return peer.run(q); },
                 ask_limit = [&](auto q) { return limit.run(q); };
    teams.push_back({"rte_hash", {ask_peer, ask_peer}, {}});
    teams.push_back({"LIMIT", {ask_limit, ask_limit}, {}});
    race(options, keys, teams);
    for (const Team &team : teams) {
      const Figure one = figure_of(team.mlookups[0]), two = figure_of(team.mlookups[1]);
      grid.rows.push_back({count_words(keys), team.name, with_spread(one), with_spread(two),
                           short_number(ratio_of(team.mlookups[1], team.mlookups[0]).median)});
      for (unsigned w = 0; w < workers_max; ++w)
        lines.line({{"bench", "workers"},
                    {"contender", team.name},
                    {"keys", std::uint64_t{keys}},
                    {"workers", std::uint64_t{w + 1}},
                    {"mlookups_per_s", w == 0 ? one.median : two.median},
                    {"spread_percent", w == 0 ? one.spread_percent : two.spread_percent}});
    }
  }
  show(options, "workers", "one and two workers on one image, 10 % hits, million a second in sum", grid);
}

const Benchmark workers_benchmark{16, "workers", bench_workers};

} // namespace
} // namespace weir::bench
