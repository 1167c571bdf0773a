// What control does to a list before it is enforced, in this process and on one thread unless it takes
// more itself:
//
//   parse    rules::parse_feed over the text of a rule file in memory: sorted, duplicates dropped
//   seal     build::build_sealed from sorted entries in memory to a sealed memory file: plan, memory,
//            tables, every key asked through the real view, seal
//
// Wall time, best to be read on a quiet machine; a figure is the median of three (one in a quick run).
#include "control/build/sealed_image.hpp"
#include "control/rules/feed.hpp"
#include "tests/bench/gate.hpp"
#include "tests/bench/processes.hpp"

#include <fmt/core.h>

namespace weir::bench {
namespace {

double parse_seconds(const std::string &text, std::uint32_t lines) {
  const auto start = Clock::now();
  const auto content = rules::parse_feed(text, "bench.txt");
  const double seconds = ns_since(start) / 1e9;
  if (!content) give_up(content.error().message);
  if (content->v4.size() != lines)
    give_up(fmt::format("{} of {} lines were read", content->v4.size(), lines));
  return seconds;
}

// The planner keeps its calibration in `state`.
double seal_seconds(const rules::Effective &rules, const std::string &state) {
  const auto start = Clock::now();
  const auto image = build::build_sealed(rules, {}, {.identity = {.generation = 1}, .state = state});
  const double seconds = ns_since(start) / 1e9;
  if (!image) give_up(image.error().message);
  return seconds;
}

void bench_build(const Options &options, std::vector<Standing> &standings) {
  constexpr std::uint32_t count = 10'000'000;
  const unsigned rounds = options.quick ? 1 : 3;
  run_on_all_cpus();
  std::vector<double> parse, seal;
  {
    const test::TempDir folder;
    write_addresses(folder / "rules.txt", count);
    const std::string text = test::read_text(folder / "rules.txt");
    for (unsigned i = 0; i < rounds; ++i) parse.push_back(parse_seconds(text, count));
  }
  rules::Effective rules;
  rules.lists = {{.name = "bench", .number = 0, .side = Side::deny}};
  rules.deny.v4 = make_entries(count / 50);
  (void)seal_seconds(rules, options.out); // the planner measures this machine once, as control did long ago
  rules.deny.v4 = make_entries(count);
  for (unsigned i = 0; i < rounds; ++i) seal.push_back(seal_seconds(rules, options.out));
  run_on_cpu(0);

  const Figure parsed = figure_of(parse), sealed = figure_of(seal);
  show(options, "build", "10M entries, seconds",
       {{"", "s"},
        {{"rule file in memory to sorted entries", with_spread(parsed)},
         {"sorted entries to sealed image", with_spread(sealed)}}});
  JsonLines lines(options, "build");
  lines.line({{"bench", "build"},
              {"entries", std::uint64_t{count}},
              {"parse_s", parsed.median},
              {"seal_s", sealed.median}});
  standings.push_back(standing("rule file of 10M lines, parsed, s", 3, 1, parsed, true));
  standings.push_back(standing("image of 10M entries, sorted memory to sealed, s", 3, 1, sealed, true));
}

const Benchmark build_benchmark{54, "build", bench_build};

} // namespace
} // namespace weir::bench
