// Allowed hosts behind each kind of filter that the planner knows, beside none: 100k denied hosts of which
// 10k are allowed, and half of the questions are about these. All addresses are denied, so that the allow
// side is asked about each of them, whichever `confirm` there is.
#include "control/plan/allow_filter.hpp"
#include "control/plan/cost.hpp"
#include "tests/bench/contenders.hpp"
#include "tests/bench/race.hpp"

#include <fmt/core.h>

#include <random>

namespace weir::bench {
namespace {

constexpr std::uint32_t denied_count = 100'000, allowed_count = 10'000;
constexpr unsigned bits_per_key = 20;
constexpr std::array confirms{Confirm::exact, Confirm::on_conflict};

struct Sides {
  std::vector<build::EntryV4> deny = make_entries(denied_count), allow = make_entries(allowed_count);

  Sides() {
    for (build::EntryV4 &e : allow) e.list = 1;
  }
};

class AllowImage {
public:
  AllowImage(const Sides &sides, std::string_view filter, Confirm confirm) {
    config::Config config;
    config.allow.filter = filter;
    config.allow.bits_per_key = bits_per_key;
    config.policy.confirm = confirm;
    build::BuildInput input;
    input.lists = {{.name = "deny", .number = 0, .side = Side::deny},
                   {.name = "allow", .number = 1, .side = Side::allow}};
    input.deny.v4 = sides.deny;
    input.allow.v4 = sides.allow;
    input.policy.confirm = confirm;
    input.identity.generation = 1;
    input.seed = 0x5EED;
    const auto plan =
        plan::plan_allow_filter(input, config, plan::hit_ratio_assumed, plan::built_in_calibration(), {});
    if (!plan) give_up(plan.error().message);
    if (plan->sized) input.allow_filter = {.params = plan->sized->params, .guarded = plan->guarded};
    const std::uint64_t bytes = build::image_bytes(input);
    region_ = std::make_unique<Region>(bytes);
    const auto report = build::build_image(input, region_->bytes());
    if (!report) give_up(report.error().message);
    view_ = image::attach(Bytes(region_->bytes()).first(bytes)).value();
    lookup_ = std::make_unique<WeirLookup>(view_);
  }
  std::uint64_t run(std::span<const WireV4> queries) { return lookup_->run(queries); }

private:
  std::unique_ptr<Region> region_;
  image::ImageView view_;
  std::unique_ptr<WeirLookup> lookup_;
};

Queries<WireV4> half_allowed(const Options &options) {
  Queries<WireV4> queries = make_rounds<WireV4>(options, denied_count, 100);
  std::mt19937_64 random(7);
  for (WireV4 &query : queries.all) {
    const std::uint64_t r = random(), others = denied_count - allowed_count;
    const std::uint64_t number = r % 2 == 0 ? (r >> 1) % allowed_count : allowed_count + (r >> 1) % others;
    query = address_at<WireV4>(static_cast<std::uint32_t>(number));
  }
  return queries;
}

void bench_allow_filter(const Options &options, std::vector<Standing> &) {
  std::vector<std::string> filters{std::string(config::allow_filter_none)};
  for (const plan::AllowFilterPlanner *planner : plan::allow_filter_planners())
    filters.emplace_back(planner->name);
  const Sides sides;
  const auto queries = half_allowed(options);
  std::vector<std::unique_ptr<AllowImage>> images;
  std::vector<Contender> contenders;
  for (const std::string &filter : filters)
    for (const Confirm confirm : confirms) {
      AllowImage *image = images.emplace_back(std::make_unique<AllowImage>(sides, filter, confirm)).get();
      contenders.push_back({fmt::format("{}, {}", filter, name_of(confirm)),
                            [&queries, image](unsigned round) { return image->run(queries.of(round)); }});
    }
  const std::vector<Outcome> outcomes = compete(contenders, queries.a_round, options.rounds());

  JsonLines lines(options, "allow_filter");
  Grid grid{{"allow filter", "confirm: exact", "confirm: on_conflict", "exact, ns", "on_conflict, ns"}, {}};
  for (std::size_t i = 0; i < filters.size(); ++i) {
    std::vector<std::string> row{filters[i]}, ns;
    for (std::size_t c = 0; c < confirms.size(); ++c) {
      const Figure &figure = outcomes[i * confirms.size() + c].figure;
      row.push_back(with_spread(figure));
      ns.push_back(fmt::format("{:.1f}", 1e3 / figure.median));
      lines.line({{"bench", "allow_filter"},
                  {"filter", filters[i]},
                  {"confirm", std::string(name_of(confirms[c]))},
                  {"mlookups_per_s", figure.median}});
    }
    row.insert(row.end(), ns.begin(), ns.end());
    grid.rows.push_back(std::move(row));
  }
  show(options, "allow_filter",
       "allowed hosts behind a filter, one core, million lookups a second and ns a lookup", grid);
}

const Benchmark allow_filter_benchmark{16, "allow_filter", bench_allow_filter};

} // namespace
} // namespace weir::bench
