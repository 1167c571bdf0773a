// What the lines of a feed do to every lookup: a seeded search for the feed of n lines that slows lookups
// most, beside n lines at random.
//
//   random    lines at random addresses, of the lengths that most feeds publish
//   nested    one line of each of k lengths around one address, the longest innermost; then random lines
//   apart     the same k lengths, one line each, none inside another; then random lines
//   groups    IPv4: lines of k lengths below as many /16s as n lines are enough for
//   close     IPv6: lines of k lengths inside one /32
//
// A feed is asked about addresses anywhere and about addresses inside its lines, and so is the random one;
// the higher of the two ratios counts. The search draws feeds, then changes the worst so far, and the
// worst of all takes turns with the random one for the figure. WEIR_SEED repeats another search.
#include "tests/bench/contenders.hpp"
#include "tests/bench/race.hpp"
#include "tests/support/seed.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>

namespace weir::bench {
namespace {

enum class Shape : std::uint8_t { random, nested, apart, crowd };

struct Feed {
  Shape shape = Shape::random;
  unsigned lengths = 0;  // how many, from the longest down
  unsigned shortest = 0; // none is shorter
};

template <class Wire> struct Family;
template <> struct Family<WireV4> {
  using Entry = build::EntryV4;
  static constexpr const char *name = "IPv4";
  static constexpr const char *crowd_name = "groups";
  static constexpr unsigned bits = 32, shortest = 17;
  static constexpr std::array<unsigned, 4> published{20, 22, 24, 32};
  static WireV4 drawn(std::mt19937_64 &random) { return byteswap32(static_cast<std::uint32_t>(random())); }
  static WireV4 crowded(std::mt19937_64 &random, std::size_t i, std::size_t lines, unsigned lengths) {
    const auto groups = static_cast<std::uint32_t>(std::clamp<std::size_t>(lines / lengths, 1, 1u << 16));
    const auto group = static_cast<std::uint32_t>(i / lengths) % groups * (0x10000 / groups);
    return byteswap32(group << 16 | (static_cast<std::uint32_t>(random()) & 0xFFFF));
  }
  static Entry entry(WireV4 address, unsigned length) {
    return {byteswap32(address & wire_mask_v4(length)), static_cast<std::uint8_t>(length), 0, 0};
  }
  // An address inside an entry.
  static WireV4 inside(const Entry &entry, std::mt19937_64 &random) {
    const WireV4 mask = wire_mask_v4(entry.length);
    return byteswap32(entry.host) | (drawn(random) & ~mask);
  }
};
template <> struct Family<WireV6> {
  using Entry = build::EntryV6;
  static constexpr const char *name = "IPv6";
  static constexpr const char *crowd_name = "close";
  static constexpr unsigned bits = 128, shortest = 17;
  static constexpr std::array<unsigned, 4> published{32, 48, 64, 128};
  static WireV6 drawn(std::mt19937_64 &random) {
    WireV6 address;
    const std::uint64_t halves[2] = {random(), random()};
    std::memcpy(address.data(), halves, sizeof halves);
    address[0] = static_cast<std::uint8_t>(0x20 | (address[0] & 0x1F)); // 2000::/3
    return address;
  }
  static WireV6 crowded(std::mt19937_64 &random, std::size_t, std::size_t, unsigned) {
    WireV6 address = drawn(random);
    constexpr std::uint8_t site[] = {0x20, 0x01, 0x0D, 0xB8};
    std::ranges::copy(site, address.begin());
    return address;
  }
  static Entry entry(const WireV6 &address, unsigned length) {
    return {masked(Address::from_v6(address.data()), length).bytes, static_cast<std::uint8_t>(length), 0, 0};
  }
  static WireV6 inside(const Entry &entry, std::mt19937_64 &random) {
    const WireV6 other = drawn(random);
    WireV6 address = entry.address;
    for (unsigned bit = entry.length; bit < bits; ++bit)
      address[bit / 8] = static_cast<std::uint8_t>(address[bit / 8] | (other[bit / 8] & 0x80 >> bit % 8));
    return address;
  }
};

template <class Wire> auto entries_of(const Feed &feed, std::size_t lines, std::uint64_t seed) {
  using Of = Family<Wire>;
  std::mt19937_64 random(seed);
  std::vector<typename Of::Entry> entries;
  const Wire around = Of::drawn(random);
  for (std::size_t i = 0; i < lines; ++i) {
    const bool aimed = feed.shape == Shape::crowd || (feed.shape != Shape::random && i < feed.lengths);
    if (!aimed) {
      entries.push_back(Of::entry(Of::drawn(random), Of::published[random() % Of::published.size()]));
      continue;
    }
    const unsigned length = std::max(feed.shortest, Of::bits - static_cast<unsigned>(i % feed.lengths));
    const Wire address = feed.shape == Shape::nested  ? around
                         : feed.shape == Shape::apart ? Of::drawn(random)
                                                      : Of::crowded(random, i, lines, feed.lengths);
    entries.push_back(Of::entry(address, length));
  }
  std::ranges::sort(entries);
  const auto again = std::ranges::unique(entries);
  entries.erase(again.begin(), again.end());
  return entries;
}

// A feed's image and what is asked of it.
template <class Wire> class Contestant {
public:
  Contestant(const Feed &feed, std::size_t lines, std::size_t a_round, unsigned rounds, std::uint64_t seed)
      : entries_(entries_of<Wire>(feed, lines, seed)), image_(image_of(entries_)), lookup_(image_->view()) {
    std::mt19937_64 random(seed + 1);
    // Of the lines that make the feed what it is, the addresses inside them; else inside any.
    const bool few = feed.shape == Shape::nested || feed.shape == Shape::apart;
    const auto longest = std::ranges::max_element(entries_, {}, &Family<Wire>::Entry::length);
    for (std::size_t i = 0; i < a_round * (rounds + 1); ++i) {
      anywhere_.push_back(Family<Wire>::drawn(random));
      const auto &entry =
          few && feed.shape == Shape::nested ? *longest : entries_[random() % entries_.size()];
      inside_.push_back(Family<Wire>::inside(entry, random));
    }
    a_round_ = a_round;
  }

  [[nodiscard]] std::span<const Wire> queries(bool inside, unsigned round) const {
    const std::span<const Wire> all = inside ? inside_ : anywhere_;
    return all.subspan(round * a_round_ % all.size(), a_round_);
  }
  std::uint64_t run(bool inside, unsigned round) { return lookup_.run(queries(inside, round)); }

private:
  std::vector<typename Family<Wire>::Entry> entries_;
  std::unique_ptr<Image> image_;
  WeirLookup lookup_;
  std::vector<Wire> anywhere_, inside_;
  std::size_t a_round_ = 0;
};

struct Ratios {
  std::array<Figure, 2> of{}; // anywhere, inside
  [[nodiscard]] bool inside() const { return of[1].median > of[0].median; }
  [[nodiscard]] const Figure &worst() const { return of[inside() ? 1 : 0]; }
};

// How much longer a lookup takes than beside the random feed.
template <class Wire>
Ratios ratios(Contestant<Wire> &random, Contestant<Wire> &feed, std::size_t a_round, unsigned rounds) {
  Ratios ratios;
  for (const bool inside : {false, true}) {
    unsigned turn = 0;
    const Prepare prepare = [&](unsigned r) { // of who is next
      touch((turn++ % 2 == 0 ? random : feed).queries(inside, r));
    };
    const auto outcomes = compete({{"random", [&](unsigned r) { return random.run(inside, r); }, false},
                                   {"feed", [&](unsigned r) { return feed.run(inside, r); }, false}},
                                  a_round, rounds, prepare);
    ratios.of[inside ? 1 : 0] = ratio_of(outcomes[0], outcomes[1]);
  }
  return ratios;
}

template <class Wire> Feed drawn_feed(std::mt19937_64 &random) {
  using Of = Family<Wire>;
  const auto shape = static_cast<Shape>(1 + random() % 3);
  return {shape, 1 + static_cast<unsigned>(random() % (Of::bits - Of::shortest + 1)), Of::shortest};
}

template <class Wire> Feed changed(Feed feed, std::mt19937_64 &random) {
  using Of = Family<Wire>;
  const int step = static_cast<int>(random() % 17) - 8;
  feed.lengths = static_cast<unsigned>(
      std::clamp(static_cast<int>(feed.lengths) + step, 1, static_cast<int>(Of::bits - Of::shortest + 1)));
  return feed;
}

template <class Wire> std::string words_of(const Feed &feed) {
  const char *shape = feed.shape == Shape::nested  ? "nested"
                      : feed.shape == Shape::apart ? "apart"
                                                   : Family<Wire>::crowd_name;
  return fmt::format("{}, {} lengths", shape, feed.lengths);
}

template <class Wire>
void search(const Options &options, std::size_t lines, std::uint64_t seed, JsonLines &json, Grid &grid,
            std::vector<Standing> &standings) {
  std::mt19937_64 random(seed);
  const std::size_t small = 1u << 13, whole = options.quick ? 1u << 15 : 1u << 17;
  Contestant<Wire> plain({}, lines, whole, options.rounds(), seed);
  Feed worst;
  double slowest = 0;
  const unsigned trials = options.quick ? 24 : 96;
  for (unsigned trial = 0; trial < trials; ++trial) {
    const Feed feed = trial < trials / 2 ? drawn_feed<Wire>(random) : changed<Wire>(worst, random);
    Contestant<Wire> aimed(feed, lines, small, 3, seed);
    Contestant<Wire> beside({}, lines, small, 3, seed);
    const double ratio = ratios(beside, aimed, small, 3).worst().median;
    if (ratio > slowest) worst = feed, slowest = ratio;
  }
  Contestant<Wire> aimed(worst, lines, whole, options.rounds(), seed);
  const Ratios figures = ratios(plain, aimed, whole, options.rounds());
  grid.rows.push_back({Family<Wire>::name, count_words(lines), words_of<Wire>(worst),
                       with_spread(figures.of[0]), with_spread(figures.of[1])});
  json.line({{"bench", "worst_feed"},
             {"family", Family<Wire>::name},
             {"lines", std::uint64_t{lines}},
             {"feed", words_of<Wire>(worst)},
             {"seed", seed},
             {"ratio_anywhere", figures.of[0].median},
             {"ratio_inside", figures.of[1].median}});
  if (lines != 2000) return;
  standings.push_back(standing(fmt::format("worst feed / random lines, {}, 2,000 lines", Family<Wire>::name),
                               1.5, 1.2, figures.worst(), true));
}

// The cost of each further length, for docs/threats.md.
template <class Wire>
void by_lengths(const Options &options, std::uint64_t seed, std::vector<unsigned> counts, Grid &grid) {
  const std::size_t a_round = options.quick ? 1u << 14 : 1u << 16;
  Contestant<Wire> plain({}, 2000, a_round, options.rounds(), seed);
  for (const Shape shape : {Shape::nested, Shape::apart}) {
    for (const unsigned count : counts) {
      const Feed feed{shape, count, Family<Wire>::shortest};
      Contestant<Wire> aimed(feed, 2000, a_round, options.rounds(), seed);
      const Ratios figures = ratios(plain, aimed, a_round, options.rounds());
      grid.rows.push_back(
          {Family<Wire>::name, words_of<Wire>(feed), with_spread(figures.of[0]), with_spread(figures.of[1])});
    }
  }
}

void bench_worst_feed(const Options &options, std::vector<Standing> &standings) {
  const std::uint64_t seed = test::seed_or(1);
  JsonLines json(options, "worst_feed");
  Grid grid{{"family", "lines", "feed", "anywhere", "inside"}, {}};
  for (const std::size_t lines : {std::size_t{2000}, std::size_t{100'000}}) {
    search<WireV4>(options, lines, seed, json, grid, standings);
    search<WireV6>(options, lines, seed, json, grid, standings);
  }
  show(options, "worst_feed",
       fmt::format("the worst feed that a search found, time of a lookup beside random lines, seed {}", seed),
       grid);
  Grid lengths{{"family", "feed", "anywhere", "inside"}, {}};
  by_lengths<WireV4>(options, seed, {4, 8, 12, 16}, lengths);
  by_lengths<WireV6>(options, seed, {8, 12, 16, 24, 32, 48, 64, 97}, lengths);
  show(options, "feed_lengths", "lengths that 2,000 lines bring, time of a lookup beside random lines",
       lengths);
}

const Benchmark worst_feed_benchmark{15, "worst_feed", bench_worst_feed};

} // namespace
} // namespace weir::bench
