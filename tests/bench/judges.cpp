// What following the plan costs in compact mode: at each point every judge is planned, built and asked, and the one that the
// planner takes is held against the best. The best is the smallest of those that keep both budgets, as measured, or, where
// `memory` is too little for that, the one with the fewest errors. Time is shown beside it.
#include "control/build/deny_filter.hpp"
#include "tests/bench/contenders.hpp"
#include "tests/bench/race.hpp"
#include "tests/bench/regret.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace weir::bench {
namespace {

constexpr std::uint32_t sources = 5'000, strangers = 2'000'000;
constexpr double psi_of_sources = 0.9; // of the questions that nothing denies; others ask the rest
constexpr double kept = 1.25;          // times a budget: what a built filter may be off from its plan

struct Point {
  std::uint32_t hosts;
  double budget, unknown_budget;
  bool traffic;             // is anything known of it?
  double memory_bits_a_key; // 0: what the budgets need
};

struct Judged {
  std::string name;
  double bits_per_key = 0, efpr = 0, efpb = 0, known = 0, predicted_ns = 0;
  double asked = 1; // strangers
  std::unique_ptr<Region> region;
  std::unique_ptr<WeirLookup> lookup;
  std::vector<double> mlookups;
};

std::uint32_t denied_host(std::uint32_t number) { return 0x0B000000 + 3 * number; }
Address source(std::uint32_t number) { return Address::from_host(denied_host(number) + 1); }
Address stranger(std::uint32_t number) { return Address::from_host(denied_host(number) + 2); }

class Traffic {
public:
  explicit Traffic(const Point &point) : deny_(point.hosts) {
    for (std::uint32_t i = 0; i < point.hosts; ++i) deny_[i] = {denied_host(i), 32, 0, 0};
    config_.source = "weir.yaml";
    config_.compact = {
        .false_positive_budget = point.budget, .unknown_budget = point.unknown_budget, .memory_bytes = {}};
    if (point.memory_bits_a_key > 0)
      config_.compact->memory_bytes = static_cast<std::uint64_t>(point.hosts * point.memory_bits_a_key / 8);
    input_.lists = {{.name = "bench", .number = 0, .side = Side::deny}};
    input_.deny.v4 = deny_;
    input_.identity.generation = 1;
    input_.seed = 0x5EED;
    if (!point.traffic) return;
    double all = 0;
    for (std::uint32_t i = 1; i <= sources; ++i) all += 1.0 / i;
    negatives_.total = 1e6;
    for (std::uint32_t i = 0; i < sources; ++i)
      negatives_.hottest.push_back({source(i), 1e6 * psi_of_sources / all / (i + 1)});
  }

  [[nodiscard]] Result<Judged> judge(config::Judge word, const plan::Calibration &calibration) {
    config_.compact->judge = word;
    const auto plan = TRY(plan::plan_deny_filter({input_, config_, negatives_, calibration, 0.1}));
    const auto section = TRY(build::make_deny_filter(input_, plan));
    Judged judged{.name = plan::name_of(plan.form), .region = {}, .lookup = {}, .mlookups = {}};
    judged.predicted_ns = plan.ns;
    judged.bits_per_key = 8 * static_cast<double>(section.bytes.size()) / static_cast<double>(deny_.size());
    build::BuildInput with = input_;
    with.deny_filter = {.role = section.role, .section = section.bytes, .known = plan.known};
    const std::uint64_t bytes = build::image_bytes(with);
    judged.region = std::make_unique<Region>(bytes);
    TRY(build::build_image(with, judged.region->bytes()));
    const auto view = TRY(
        image::attach(Bytes(judged.region->bytes()).first(bytes), image::Check::not_the_mutable_checksums));
    measure(view, judged);
    judged.lookup = std::make_unique<WeirLookup>(view);
    return judged;
  }

private:
  void measure(const image::ImageView &view, Judged &judged) const {
    const auto denies = [&](const Address &a) { return image::lookup(view, Side::deny, a) != 0; };
    std::uint64_t wrong = 0;
    const auto asked = static_cast<std::uint32_t>(std::min<std::size_t>(deny_.size(), strangers));
    for (std::uint32_t i = 0; i < asked; ++i) wrong += denies(stranger(i));
    judged.asked = asked;
    judged.efpb = static_cast<double>(wrong) / asked;
    double cost = 0;
    for (const workload::HotSource &hot : negatives_.hottest) cost += denies(hot.address) ? hot.cost : 0;
    const double psi = negatives_.hottest.empty() ? 0 : psi_of_sources;
    judged.known = negatives_.hottest.empty() ? 0 : cost / (negatives_.total * psi);
    judged.efpr = psi * judged.known + (1 - psi) * judged.efpb;
  }

  std::vector<build::EntryV4> deny_;
  build::BuildInput input_;
  config::Config config_;
  workload::Negatives negatives_;
};

void race(std::vector<Judged> &all, const Point &point, unsigned rounds) {
  constexpr std::uint32_t a_round = 200'000;
  std::mt19937_64 random(9);
  std::vector<WireV4> queries(a_round);
  for (WireV4 &query : queries) {
    const auto i = static_cast<std::uint32_t>(random() % point.hosts);
    query = (random() % 10 == 0 ? Address::from_host(denied_host(i)) : stranger(i)).wire();
  }
  for (unsigned round = 0; round < rounds; ++round)
    for (Judged &judged : all) {
      const double start = cpu_ns();
      (void)judged.lookup->run(queries);
      judged.mlookups.push_back(a_round * 1e3 / (cpu_ns() - start));
    }
}

std::string percent(double share) { return short_number(100 * share) + " %"; }

// How many times as much as the best the chosen one takes, or errs.
double regret_of(const Point &point, const std::vector<Judged> &all, std::size_t chosen) {
  const auto keeps = [&](const Judged &j) {
    // Of few strangers so many more may be denied by chance, but for one time in seven hundred.
    const auto most = [&](double budget) { return kept * budget + 3 * std::sqrt(budget / j.asked); };
    return j.efpr <= most(point.budget) && j.efpb <= most(point.unknown_budget);
  };
  const bool any_keeps = std::ranges::any_of(all, keeps);
  if (any_keeps && !keeps(all[chosen])) return std::numeric_limits<double>::infinity();
  const auto worth = [&](const Judged &j) {
    if (any_keeps) return keeps(j) ? j.bits_per_key : std::numeric_limits<double>::infinity();
    return j.efpr;
  };
  double best = std::numeric_limits<double>::infinity();
  for (const Judged &judged : all) best = std::min(best, worth(judged));
  return worth(all[chosen]) / best;
}

void bench_judges(const Options &options, std::vector<Standing> &standings) {
  JsonLines lines(options, "judges");
  Grid grid{{"hosts", "budgets", "traffic", "memory", "judge", "bits a host", "in error", "of known sources",
             "of unknown ones", "million lookups a second", "times the best"},
            {}};
  std::vector<Point> points;
  for (const std::uint32_t hosts : {20'000u, 200'000u, 1'000'000u})
    for (const bool traffic : {false, true}) {
      points.push_back({hosts, 1e-4, 1e-2, traffic, 0});
      points.push_back({hosts, 2e-3, 2e-2, traffic, 0});
      points.push_back({hosts, 1e-4, 2e-1, traffic, 8});
    }
  double worst = 0;
  for (const Point &point : points) {
    Traffic traffic(point);
    std::vector<Judged> all;
    for (const config::Judge word : {config::Judge::automatic, config::Judge::stacked,
                                     config::Judge::chained_and, config::Judge::fuse}) {
      auto judged = traffic.judge(word, calibration(options));
      if (!judged) give_up(judged.error().message);
      all.push_back(std::move(*judged));
    }
    race(all, point, options.rounds());
    const double regret = regret_of(point, all, 0);
    worst = std::max(worst, regret);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Judged &j = all[i];
      const Figure speed = figure_of(j.mlookups);
      const char *word = plan::name_of(std::array{config::Judge::automatic, config::Judge::stacked,
                                                  config::Judge::chained_and, config::Judge::fuse}[i]);
      grid.rows.push_back(
          {count_words(point.hosts), fmt::format("{:g}, {:g}", point.budget, point.unknown_budget),
           point.traffic ? "known" : "unknown",
           point.memory_bits_a_key > 0 ? fmt::format("{:g} bits", point.memory_bits_a_key) : std::string("-"),
           fmt::format("{}: {}", word, j.name), short_number(j.bits_per_key), percent(j.efpr),
           percent(j.known), percent(j.efpb), with_spread(speed), i == 0 ? short_number(regret) : ""});
      lines.line({{"bench", "judges"},
                  {"hosts", std::uint64_t{point.hosts}},
                  {"false_positive_budget", point.budget},
                  {"unknown_budget", point.unknown_budget},
                  {"traffic", point.traffic ? "known" : "unknown"},
                  {"memory_bits_per_key", point.memory_bits_a_key},
                  {"judge", word},
                  {"form", j.name},
                  {"bits_per_key", j.bits_per_key},
                  {"efpr", j.efpr},
                  {"known", j.known},
                  {"efpb", j.efpb},
                  {"predicted_ns", j.predicted_ns},
                  {"mlookups_per_s", speed.median}});
    }
  }
  show(options, "judges", "judges of compact mode, each as the plan has it, and the planner's choice", grid);
  standings.push_back(standing(
      fmt::format("chosen judge / best candidate, memory or errors, worst of {} points", points.size()), 1.10,
      1.05, Figure{worst, 0}, true));
}

const Benchmark judges_benchmark{16, "judges", bench_judges};

} // namespace
} // namespace weir::bench
