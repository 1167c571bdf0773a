// Denied hosts behind a stacked filter and judged by one alone, beside a table without a filter and behind
// one layer: 10M keys, absent ones half of the time from 200k known negatives.
#include "tests/bench/contenders.hpp"
#include "tests/bench/race.hpp"
#include "weir/build/deny_filter_builder.hpp"

#include <fmt/core.h>

#include <random>

namespace weir::bench {
namespace {

constexpr std::uint32_t known_count = 200'000;

struct Kind {
  const char *name;
  std::optional<image::DenyFilterRole> role; // none: as `front` says
  std::vector<double> bits; // a key of each layer; whole ones of a fingerprint where the base has these
  filter::FilterKind base = filter::FilterKind::split_block_bloom;
  bool front = false;
};

// Deep stacks have the memory of one layer of ten bits, more or less.
std::vector<Kind> kinds() {
  using enum image::DenyFilterRole;
  const std::vector<double> one{10}, three{9.5, 7, 6};
  return {{"exact", {}, {}},
          {"exact, split-block front", {}, {}, {}, true},
          {"exact, stack of 1", front, one},
          {"exact, stack of 3", front, three},
          {"compact, stack of 1", judge, one},
          {"compact, stack of 3", judge, three},
          {"compact, Bloom stack of 3", judge, three, filter::FilterKind::bloom},
          {"compact, fuse stack of 3", judge, {7, 5, 4}, filter::FilterKind::binary_fuse},
          {"compact, chained", judge, {6, 1}, filter::FilterKind::chained_and},
          {"compact, chained, shared slots", judge, {6, 1}, filter::FilterKind::chained_and_shared}};
}

class StackImage {
public:
  StackImage(const Kind &kind, std::span<const build::EntryV4> entries, std::span<const Address> known) {
    build::BuildInput input;
    input.lists = {{.name = "bench", .number = 0, .side = Side::deny}};
    input.deny.v4 = entries;
    input.deny.front_filter = kind.front;
    input.identity.generation = 1;
    input.seed = 0x5EED;
    build::DenyFilter stack;
    if (kind.role) {
      build::DenyFilterSizes plan{
          .role = *kind.role, .base = kind.base, .layers = {}, .known = known, .spared = {}};
      const bool digits = kind.base == filter::FilterKind::binary_fuse || filter::is_chained(kind.base);
      for (const double bits : kind.bits)
        plan.layers.push_back(digits ? build::LayerSize{.digits = static_cast<unsigned>(bits)}
                                     : build::LayerSize{.keys = 1, .bits = bits});
      auto built = build::build_deny_filter(input.deny, plan, input.seed);
      if (!built) give_up(built.error().message);
      stack = std::move(*built);
      input.deny_filter = stack.input();
    }
    const std::uint64_t bytes = build::image_bytes(input);
    region_ = std::make_unique<Region>(bytes);
    const auto report = build::build_image(input, region_->bytes());
    if (!report) give_up(report.error().message);
    view_ =
        image::attach(Bytes(region_->bytes()).first(bytes), image::Check::not_the_mutable_checksums).value();
    bits_per_key_ = 8 * static_cast<double>(bytes) / static_cast<double>(entries.size());
    lookup_ = std::make_unique<WeirLookup>(view_);
  }
  std::uint64_t run(std::span<const WireV4> queries) { return lookup_->run(queries); }
  [[nodiscard]] double bits_per_key() const { return bits_per_key_; }

private:
  std::unique_ptr<Region> region_;
  image::ImageView view_;
  std::unique_ptr<WeirLookup> lookup_;
  double bits_per_key_ = 0;
};

Queries<WireV4> make_skewed_rounds(const Options &options, std::uint32_t keys, double hit_percent) {
  Queries<WireV4> queries = make_rounds<WireV4>(options, keys, hit_percent);
  if (hit_percent == 100) return queries;
  // Addresses beyond the keys are absent ones; half of the questions go to the first of them.
  std::mt19937_64 random(7);
  for (WireV4 &query : queries.all)
    if (const std::uint64_t r = random(); r % 2 == 0)
      query = address_at<WireV4>(static_cast<std::uint32_t>(keys + (r >> 1) % known_count));
  return queries;
}

void measure(const Options &options, std::uint32_t keys, JsonLines &lines, Grid &grid,
             std::vector<Standing> &standings) {
  const auto entries = make_entries(keys);
  std::vector<Address> known;
  for (std::uint32_t i = 0; i < known_count; ++i)
    known.push_back(Address::from_wire(address_at<WireV4>(keys + i)));
  const std::vector<Kind> all = kinds();
  std::vector<std::unique_ptr<StackImage>> images;
  for (const Kind &kind : all) images.push_back(std::make_unique<StackImage>(kind, entries, known));
  std::vector<std::vector<Outcome>> by_hits;
  for (const double hits : {2.0, 100.0}) { // half of the first are replaced: 1 % hits
    const auto queries = make_skewed_rounds(options, keys, hits);
    std::vector<Contender> contenders;
    for (std::size_t i = 0; i < all.size(); ++i)
      contenders.push_back({all[i].name, [&, i](unsigned r) { return images[i]->run(queries.of(r)); },
                            all[i].role != image::DenyFilterRole::judge});
    by_hits.push_back(compete(contenders, queries.a_round, options.rounds()));
    for (std::size_t i = 0; i < all.size(); ++i)
      lines.line({{"bench", "deny_filter"},
                  {"contender", all[i].name},
                  {"keys", std::uint64_t{keys}},
                  {"hit_percent", hits == 2 ? 1 : hits},
                  {"mlookups_per_s", by_hits.back()[i].figure.median},
                  {"bits_per_key", images[i]->bits_per_key()}});
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    grid.rows.push_back({count_words(keys), all[i].name, short_number(images[i]->bits_per_key()),
                         with_spread(by_hits[0][i].figure), with_spread(by_hits[1][i].figure)});
  const auto row = [&](const char *what, std::size_t hits, std::size_t of, std::size_t to, double floor,
                       double aim) {
    standings.push_back(
        standing(fmt::format("{}, {} hosts, {} % hits", what, count_words(keys), hits == 0 ? 1 : 100), floor,
                 aim, ratio_of(by_hits[hits][of], by_hits[hits][to])));
  };
  row("stack of 3 / split-block front", 0, 3, 1, 0.91, 1);
  row("compact, stack of 3 / of 1", 0, 5, 4, 0.91, 1);
  row("compact, stack of 3 / of 1", 1, 5, 4, 0.625, 0.8);
  row("compact, stack of 3 / exact", 0, 5, 0, 1, 1.5);
}

void bench_deny_filter(const Options &options, std::vector<Standing> &standings) {
  JsonLines lines(options, "deny_filter");
  Grid grid{{"keys", "deny side", "bits a key, whole image", "1 % hits", "100 % hits"}, {}};
  measure(options, 10'000'000, lines, grid, standings);
  show(options, "deny_filter", "denied hosts behind a stacked filter, one core, million lookups a second",
       grid);
}

const Benchmark deny_filter_benchmark{15, "deny_filter", bench_deny_filter};

} // namespace
} // namespace weir::bench
