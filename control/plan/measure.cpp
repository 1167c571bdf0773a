#include "control/plan/measure.hpp"

#include "weir/build/image_builder.hpp"
#include "weir/lookup/burst_stream.hpp"
#include "weir/lookup/kernels/choose.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <ranges>
#include <tuple>

namespace weir::plan {
namespace {

using lookup::BurstLookup;

constexpr unsigned burst_keys = BurstLookup::slots_max;
constexpr std::uint32_t image_keys = 4096; // a table that stays in L2
constexpr std::uint32_t build_keys = 1 << 15;
constexpr std::size_t question_count = 1 << 15; // too many for a branch predictor to learn
constexpr std::size_t touch_count = 1 << 17; // of a large table: what lies around it comes into cache early
constexpr std::uint64_t hugepage_bytes = std::uint64_t{2} << 20;

double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Memory as an image would have it: hugepages, or ordinary pages and never transparent huge ones.
class Region {
public:
  Region() = default;
  Region(std::uint64_t bytes, Pages pages) {
    const int kind = pages == Pages::huge ? MAP_HUGETLB : 0;
    const std::uint64_t length = round_up(bytes, hugepage_bytes);
    void *at = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | kind, -1, 0);
    if (at == MAP_FAILED) return;
    if (pages == Pages::ordinary) madvise(at, length, MADV_NOHUGEPAGE);
    data_ = static_cast<std::byte *>(at);
    bytes_ = length;
  }
  Region(Region &&other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Region &operator=(Region &&other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Region() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }

  [[nodiscard]] MutableBytes bytes() const { return {data_, data_ != nullptr ? bytes_ : 0}; }
  // Every line is written: its page is there, and as much as fits is in cache.
  void touch(std::uint64_t from, std::uint64_t to) const {
    std::memset(data_ + from, 0, std::min(to, bytes_) - from);
  }

private:
  std::byte *data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

struct Questions {
  std::vector<std::uint32_t> v4; // wire order
  std::vector<table::KeyV6> v6;
};

// A stream of questions, each burst of one family, as a worker sends them.
class Pipeline {
public:
  // ns of one of the first `count` questions.
  double run(const image::ImageView &view, const Questions &questions, Family family,
             std::size_t count = question_count) {
    const double start = cpu_ns();
    stream_.run(
        view, lookup::best_kernels(), count / burst_keys,
        [&](BurstLookup &burst, std::size_t i) {
          if (family == Family::ipv4)
            burst.ask_all_v4(&questions.v4[i * burst_keys], burst_keys);
          else
            burst.ask_all_v6(&questions.v6[i * burst_keys], burst_keys);
        },
        [&](const BurstLookup &burst, std::size_t) {
          const std::uint32_t *const denied = family == Family::ipv4 ? burst.deny_v4() : burst.deny_v6();
          for (unsigned k = 0; k < burst_keys; ++k) found += denied[k] != 0;
        });
    return (cpu_ns() - start) / static_cast<double>(count);
  }

  std::uint64_t found = 0; // keeps the answers alive

private:
  lookup::BurstStream stream_;
};

double median(std::vector<double> samples) {
  const auto at = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::ranges::nth_element(samples, at);
  return *at;
}

// What was taken between two turns of the unit, and how far apart these were: a neighbour that came or went meanwhile makes
// a sample half or twice what it should be.
struct Sample {
  double value, drift;
};
double apart(double a, double b) noexcept { return std::max(a, b) / std::min(a, b); }
// Of the steadier half.
double steady_median(std::vector<Sample> samples) {
  const auto half = static_cast<std::ptrdiff_t>((samples.size() + 1) / 2);
  std::ranges::nth_element(samples, samples.begin() + half - 1, {}, &Sample::drift);
  std::vector<double> values;
  for (const Sample &sample : samples | std::views::take(half)) values.push_back(sample.value);
  return median(std::move(values));
}

struct Rules {
  std::vector<build::EntryV4> v4;
  std::vector<build::EntryV6> v6;
};

Rules make_rules(std::mt19937_64 &random, std::uint32_t keys) {
  Rules rules;
  for (std::uint32_t i = 0; i < keys; ++i) rules.v4.push_back({.host = static_cast<std::uint32_t>(random())});
  for (std::uint32_t i = 0; i < keys; ++i) {
    build::EntryV6 entry;
    const std::uint64_t halves[2] = {random(), random()};
    std::memcpy(entry.address.data(), halves, sizeof halves);
    rules.v6.push_back(entry);
  }
  std::ranges::sort(rules.v4);
  rules.v4.erase(std::ranges::unique(rules.v4).begin(), rules.v4.end());
  std::ranges::sort(rules.v6);
  return rules;
}

Questions make_questions(const Rules &rules, double hit_ratio, std::mt19937_64 &random) {
  Questions questions;
  const auto bound = static_cast<std::uint32_t>(hit_ratio * 4294967295.0);
  for (std::size_t i = 0; i < question_count; ++i) {
    const std::uint64_t r = random(), other = random();
    const bool hit = hit_ratio > 0 && static_cast<std::uint32_t>(r) <= bound;
    const auto place = static_cast<std::uint32_t>(r >> 32);
    questions.v4.push_back(
        byteswap32(hit ? rules.v4[reduce(place, static_cast<std::uint32_t>(rules.v4.size()))].host
                       : static_cast<std::uint32_t>(other)));
    if (rules.v6.empty()) continue;
    const auto &v6 = rules.v6[reduce(place, static_cast<std::uint32_t>(rules.v6.size()))];
    questions.v6.push_back(hit ? table::KeyV6::load(v6.address.data()) : table::KeyV6{r, other});
  }
  return questions;
}

struct SmallImage {
  Region memory;
  image::ImageView view;
  double build_ns = 0; // a key, asking included
};

Result<SmallImage> make_image(const Rules &rules, Option option, bool with_v6,
                              build::HostHome home = build::HostHome::table) {
  build::BuildInput input;
  input.lists = {{.name = "measured", .number = 0, .side = Side::deny}};
  input.deny.v4 = rules.v4;
  input.deny.hosts_v4 = home;
  if (with_v6) input.deny.v6 = rules.v6;
  input.deny.front_filter = option.front_filter == FrontFilter::split_block_bloom;
  input.deny.predictor = option.predictor;
  input.seed = 0x5EED;
  const std::uint64_t bytes = build::image_bytes(input);
  SmallImage image;
  image.memory = Region(bytes, Pages::ordinary);
  if (image.memory.bytes().empty()) return fail(Errc::no_memory, "no memory for a measurement");
  image.memory.touch(0, bytes);
  const double start = cpu_ns();
  const auto report = TRY(build::build_image(input, image.memory.bytes()));
  image.build_ns = (cpu_ns() - start) / static_cast<double>(report.keys_verified);
  const auto view = TRY(image::attach(Bytes(image.memory.bytes()).first(bytes)));
  image.view = view;
  return image;
}

// Times of the same few questions through the plainest small image: the unit of all other times. A
// processor that is shared runs now at one speed and now at two thirds of it, for longer than a round;
// what is taken in the same round as its unit does not show that.
class Unit {
public:
  Unit(const Rules &rules, std::mt19937_64 &random) : questions_(make_questions(rules, 0, random)) {}
  [[nodiscard]] double run(Pipeline &pipeline, const image::ImageView &plain) {
    const double ns = pipeline.run(plain, questions_, Family::ipv4);
    fastest_ = std::min(fastest_, ns);
    return ns;
  }
  [[nodiscard]] double fastest_ns() const { return fastest_; } // neighbours can only add

private:
  Questions questions_;
  double fastest_ = std::numeric_limits<double>::max();
};

// Small images that take turns, each asked beside the unit.
class WorkRace {
public:
  WorkRace(Unit &unit, const image::ImageView &plain) : unit_(unit), plain_(plain) {}

  Result<const image::ImageView *> add_image(const Rules &rules, Option option, build::HostHome home) {
    images_.push_back(std::make_unique<SmallImage>(TRY(make_image(rules, option, true, home))));
    return &images_.back()->view;
  }
  // `figure`: of a question, in units. `times`: asked in each turn, of which the last one counts.
  void add(const image::ImageView *view, const Questions &asked, Family family, double *figure,
           unsigned times = 1) {
    contenders_.push_back({view, &asked, family, figure, times, {}});
  }

  void run(unsigned rounds) {
    for (unsigned round = 0; round <= rounds; ++round) // round 0 warms up
      for (Contender &c : contenders_) {
        const double before = unit_.run(pipeline_, plain_);
        double ns = 0;
        for (unsigned i = 0; i < c.times; ++i) ns = pipeline_.run(*c.view, *c.asked, c.family);
        const double after = unit_.run(pipeline_, plain_);
        if (round > 0) c.samples.push_back({2 * ns / (before + after), apart(before, after)});
      }
    for (Contender &c : contenders_) *c.figure = steady_median(std::move(c.samples));
  }

private:
  struct Contender {
    const image::ImageView *view;
    const Questions *asked;
    Family family;
    double *figure;
    unsigned times;
    std::vector<Sample> samples;
  };

  Unit &unit_;
  const image::ImageView &plain_;
  Pipeline pipeline_;
  std::vector<std::unique_ptr<SmallImage>> images_;
  std::vector<Contender> contenders_;
};

// Hosts that fill a line of a range map with each /21, in two /16s: `home` says how.
Rules make_full_lines(build::HostHome home) {
  constexpr std::uint32_t part = 2048, parts = 64;
  const std::uint32_t hosts = home == build::HostHome::points ? 14 : 7; // a range ends as well
  Rules rules;
  for (std::uint32_t p = 0; p < parts; ++p)
    for (std::uint32_t i = 1; i <= hosts; ++i)
      rules.v4.push_back({.host = (10u << 24) + p * part + i * (part / (hosts + 1))});
  return rules;
}

// Works in units.
Status measure_work(const MeasureOptions &options, const Rules &rules, std::mt19937_64 &random, Unit &unit,
                    const image::ImageView &plain, Calibration &out) {
  static constexpr std::pair<double, double Work::*> points[] = {
      {0, &Work::absent}, {Work::few_hits, &Work::few}, {0.5, &Work::even}, {1, &Work::hit}};
  std::vector<Questions> questions;
  for (const auto &[hit_ratio, figure] : points)
    questions.push_back(make_questions(rules, hit_ratio, random));
  WorkRace race(unit, plain);
  for (const Option &option : all_options) {
    const auto *const view = TRY(race.add_image(rules, option, build::HostHome::table));
    for (std::size_t at = 0; at < std::size(points); ++at)
      for (const Family family : {Family::ipv4, Family::ipv6})
        race.add(view, questions[at], family, &(out.work_of(family, option).*points[at].second));
  }
  const auto *const words = TRY(race.add_image(rules, {}, build::HostHome::words));
  for (std::size_t at = 0; at < std::size(points); ++at)
    race.add(words, questions[at], Family::ipv4, &(out.in_words.*points[at].second));
  Questions of_ranges, of_points;
  for (const auto &[home, asked, work] : {std::tuple{build::HostHome::ranges, &of_ranges, &out.in_ranges},
                                          {build::HostHome::points, &of_points, &out.in_points}}) {
    const Rules hosts = make_full_lines(home);
    const auto *const map = TRY(race.add_image(hosts, {}, home));
    *asked = make_questions(hosts, 1, random);
    // Its cells have left the second cache since its last turn, which they do not under a load.
    constexpr unsigned times = 2;
    race.add(map, *asked, Family::ipv4, &work->near, times);
    race.add(map, questions[0], Family::ipv4, &work->far, times);
  }
  race.run(3 * options.rounds);
  return {};
}

Status measure_build(const MeasureOptions &options, Calibration &out) {
  std::mt19937_64 random(options.seed + 1);
  Rules rules = make_rules(random, build_keys);
  std::vector<double> samples;
  for (unsigned round = 0; round < 3; ++round) {
    const auto image = TRY(make_image(rules, {}, false));
    samples.push_back(image.build_ns);
  }
  out.build_ns = median(std::move(samples));
  return {};
}

// What large tables are made of.
struct Parts {
  Region zeroes;       // empty lines and blocks
  Region bits;         // of a predictor, at random
  Region few, several; // blocks
};

// A view whose table 1, or front filter, or both tables behind a predictor, are `bytes` of zeroes. `few`, `several`: a table 1
// behind a sieve of a sixth of its bytes, as filters are.
image::ImageView over_zeroes(image::ImageView view, Path path, const Parts &parts, std::uint64_t bytes) {
  const MutableBytes zeroes = parts.zeroes.bytes();
  static constexpr std::uint32_t exact = 1;
  image::SideView<table::LineV4> &side = view.v4[Side::deny];
  if (path == Path::block) {
    side.front = {reinterpret_cast<const filter::Block *>(zeroes.data()),
                  static_cast<std::uint32_t>(bytes / sizeof(filter::Block))};
    return view;
  }
  const auto *const lines = reinterpret_cast<const table::LineV4 *>(zeroes.data());
  const auto count = static_cast<std::uint32_t>(bytes / cache_line_bytes);
  side.table.lines1 = lines;
  side.table.count1 = count;
  if (path == Path::few || path == Path::several)
    side.front = {reinterpret_cast<const filter::Block *>(
                      (path == Path::few ? parts.few : parts.several).bytes().data()),
                  static_cast<std::uint32_t>(bytes / Calibration::few_filter_part / sizeof(filter::Block))};
  if (path == Path::chained) {
    constexpr std::uint32_t groups = build::chained_density<table::LineV4>.whole_groups;
    side.table.count1 = side.table.count2 = count / 2;
    side.table.lines2 = lines + count / 2;
    side.chain = {{reinterpret_cast<const std::uint32_t *>(parts.bits.bytes().data()), side.table.count1,
                   static_cast<std::uint32_t>(std::countr_zero(groups)), groups - 1},
                  {},
                  &exact};
  }
  return view;
}

// In units, by path, beyond what the smallest size takes; the paths take turns. Questions are never
// stored ones: each touches one line, or one block.
class Touches {
public:
  Touches(const MeasureOptions &options, Unit &unit, const image::ImageView &plain)
      : options_(options), unit_(unit), plain_(plain), random_(options.seed + 2) {
    fresh_.v4.resize(touch_count);
  }

  std::array<double, all_paths.size()> over(std::uint64_t bytes, std::uint64_t smallest, const Parts &parts) {
    std::array<std::vector<Sample>, all_paths.size()> samples;
    for (unsigned round = 0; round <= options_.rounds; ++round)
      for (const Path path : all_paths) {
        std::ranges::generate(fresh_.v4, [&] { return static_cast<std::uint32_t>(random_()); });
        const auto ask = [&](std::uint64_t size, std::size_t count) {
          return pipeline_.run(over_zeroes(plain_, path, parts, size), fresh_, Family::ipv4, count);
        };
        const double before = unit_.run(pipeline_, plain_);
        const double small = ask(smallest, question_count), large = ask(bytes, touch_count);
        const double after = unit_.run(pipeline_, plain_);
        if (round > 0)
          samples[static_cast<std::size_t>(path)].push_back(
              {2 * (large - small) / (before + after), apart(before, after)});
      }
    std::array<double, all_paths.size()> more{};
    for (std::size_t i = 0; i < more.size(); ++i) more[i] = steady_median(std::move(samples[i]));
    return more;
  }

private:
  const MeasureOptions &options_;
  Unit &unit_;
  const image::ImageView &plain_;
  std::mt19937_64 random_;
  Questions fresh_;
  Pipeline pipeline_;
};

// More bytes are never faster but by noise: points that fall share their mean (least squares under that
// order).
void never_falling(std::vector<TouchPoint> &points) {
  struct Level {
    double ns;
    std::size_t count;
  };
  std::vector<Level> levels;
  for (const TouchPoint &point : points) {
    levels.push_back({point.ns, 1});
    while (levels.size() > 1 && levels.back().ns < levels[levels.size() - 2].ns) {
      const Level last = levels.back();
      levels.pop_back();
      Level &before = levels.back();
      const std::size_t count = before.count + last.count;
      before.ns =
          (before.ns * static_cast<double>(before.count) + last.ns * static_cast<double>(last.count)) /
          static_cast<double>(count);
      before.count = count;
    }
  }
  auto at = points.begin();
  for (const Level &level : levels)
    for (std::size_t i = 0; i < level.count; ++i) (at++)->ns = level.ns;
}

Status measure_touch(const MeasureOptions &options, Unit &unit, const image::ImageView &plain,
                     Calibration &out) {
  constexpr std::uint64_t smallest = 16u << 10, first = 64u << 10, cached_bytes_max = 64u << 20,
                          bits_part = 128;
  const auto with_the_rest = [](std::uint64_t table) {
    return table + 2 * (table / Calibration::few_filter_part) + table / bits_part;
  };
  std::uint64_t largest = std::bit_floor(std::max(options.memory_bytes_max, first));
  while (largest > first && with_the_rest(largest) > options.memory_bytes_max) largest /= 2;
  Parts parts;
  for (; largest >= first && parts.zeroes.bytes().empty(); largest /= 2)
    parts.zeroes = Region(largest, options.pages);
  const std::uint64_t bytes_there = parts.zeroes.bytes().size();
  parts.bits = Region(bytes_there / bits_part, options.pages); // up to eight a line of table 1
  parts.few = Region(bytes_there / Calibration::few_filter_part, options.pages);
  parts.several = Region(bytes_there / Calibration::few_filter_part, options.pages);
  for (const Region *part : {&parts.zeroes, &parts.bits, &parts.few, &parts.several})
    if (part->bytes().empty()) return fail(Errc::no_memory, "no memory for a measurement");
  largest = std::min<std::uint64_t>(largest * 2, bytes_there);
  std::mt19937_64 random(options.seed + 3);
  for (std::byte &byte : parts.bits.bytes()) byte = static_cast<std::byte>(random());
  make_sieve(parts.few.bytes(), Calibration::few_set, random);
  make_sieve(parts.several.bytes(), Calibration::several_set, random);

  Touches touches(options, unit, plain);
  parts.zeroes.touch(0, smallest);
  for (auto &points : out.touch) points.push_back({smallest, 0});
  for (std::uint64_t bytes = first; bytes <= largest; bytes *= 2) {
    parts.zeroes.touch(bytes > cached_bytes_max ? bytes / 2 : 0, bytes); // the lower half is there already
    const auto more = touches.over(bytes, smallest, parts);
    for (std::size_t i = 0; i < more.size(); ++i) out.touch[i].push_back({bytes, std::max(more[i], 0.0)});
  }
  for (auto &points : out.touch) never_falling(points);
  return {};
}

// From units to nanoseconds.
void scale(Work &work, double unit_ns) {
  for (double *figure : {&work.absent, &work.few, &work.even, &work.hit}) *figure *= unit_ns;
}
void scale(Calibration &c, double unit_ns) {
  for (auto &families : c.work)
    for (auto &filters : families)
      for (Work &work : filters) scale(work, unit_ns);
  scale(c.in_words, unit_ns);
  for (double *figure : {&c.in_ranges.near, &c.in_ranges.far, &c.in_points.near, &c.in_points.far})
    *figure *= unit_ns;
  for (auto &points : c.touch)
    for (TouchPoint &point : points) point.ns *= unit_ns;
}

} // namespace

void make_sieve(MutableBytes blocks, unsigned set_of_32, std::mt19937_64 &random) {
  for (std::size_t at = 0; at < blocks.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t bits = 0; // from the lowest digit on: each halves what is set or what is not
    for (unsigned digit = 0; digit < 5; ++digit)
      bits = (set_of_32 >> digit & 1) != 0 ? bits | random() : bits & random();
    std::memcpy(&blocks[at], &bits, sizeof bits);
  }
}

Result<Calibration> measure(const MeasureOptions &options) {
  const double start = cpu_ns();
  const Machine machine = this_machine();
  Calibration c;
  c.processor = machine.processor;
  fill_in_caches(c, machine);
  c.pages = options.pages;
  c.seed = options.seed;
  std::mt19937_64 random(options.seed);
  const Rules rules = make_rules(random, image_keys);
  const auto plain = TRY(make_image(rules, all_options[0], true));
  Unit unit(rules, random);
  TRY(measure_work(options, rules, random, unit, plain.view, c));
  TRY(measure_build(options, c));
  TRY(measure_touch(options, unit, plain.view, c));
  scale(c, unit.fastest_ns());
  c.measured = true;
  c.took_ms = (cpu_ns() - start) / 1e6;
  return c;
}

} // namespace weir::plan
