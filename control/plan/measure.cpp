#include "control/plan/measure.hpp"

#include "dataplane/kernels/kernels.hpp"
#include "weir/build/image_builder.hpp"
#include "weir/table/burst_lookup.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <numeric>
#include <random>

namespace weir::plan {
namespace {

using table::BurstLookup;

constexpr unsigned burst_keys = BurstLookup::slots_max;
constexpr std::uint32_t image_keys = 4096; // a table that stays in L2
constexpr std::uint32_t build_keys = 1 << 15;
constexpr std::size_t question_count = 1 << 15; // too many for a branch predictor to learn
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

// A stream of questions through three bursts in flight, as a worker sends them.
class Pipeline {
public:
  // ns of one question.
  template <class Ask> double run(const image::ImageView &view, Ask ask) {
    constexpr std::size_t bursts = question_count / burst_keys;
    const double start = cpu_ns();
    for (std::size_t i = 0; i < bursts + 2; ++i) {
      BurstLookup *const ahead = i >= 1 && i - 1 < bursts ? &bursts_[(i - 1) % 3] : nullptr;
      if (i >= 2) bursts_[(i - 2) % 3].settle();
      if (i < bursts)
        begin(bursts_[i % 3], ahead, view,
              [&](BurstLookup &burst, unsigned slot) { ask(burst, slot, i * burst_keys + slot); });
      else if (ahead != nullptr)
        ahead->probe_first();
      if (i >= 2) finish(bursts_[(i - 2) % 3]);
    }
    return (cpu_ns() - start) / static_cast<double>(question_count);
  }

  std::uint64_t found = 0; // keeps the answers alive

private:
  template <class Ask>
  static void begin(BurstLookup &burst, BurstLookup *ahead, const image::ImageView &view, Ask ask) {
    burst.begin(view, dataplane::best_kernels());
    for (unsigned slot = 0; slot < burst_keys; ++slot) ask(burst, slot);
    if (ahead != nullptr)
      burst.send_behind(*ahead);
    else
      burst.send();
  }
  void finish(BurstLookup &burst) {
    burst.finish();
    for (unsigned slot = 0; slot < burst_keys; ++slot) found += burst.deny(slot) != 0;
  }

  std::unique_ptr<BurstLookup[]> bursts_ = std::make_unique<BurstLookup[]>(3);
};

double ask_v4(Pipeline &pipeline, const image::ImageView &view, const std::vector<std::uint32_t> &keys) {
  return pipeline.run(
      view, [&keys](BurstLookup &burst, unsigned slot, std::size_t i) { burst.ask_v4(slot, keys[i]); });
}
double ask_v6(Pipeline &pipeline, const image::ImageView &view, const std::vector<table::KeyV6> &keys) {
  return pipeline.run(view, [&keys](BurstLookup &burst, unsigned slot, std::size_t i) {
    burst.ask_v6(slot, reinterpret_cast<const std::uint8_t *>(&keys[i]));
  });
}

double quartile(std::vector<double> samples) {
  const auto at = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 4);
  std::ranges::nth_element(samples, at);
  return *at;
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

Result<SmallImage> make_image(const Rules &rules, Option option, bool with_v6) {
  build::BuildInput input;
  input.lists = {{.name = "measured", .number = 0, .side = image::Side::deny}};
  input.deny.v4 = rules.v4;
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
  const auto report = build::build_image(input, image.memory.bytes());
  if (!report) return std::unexpected(report.error());
  image.build_ns = (cpu_ns() - start) / static_cast<double>(report->keys_verified);
  const auto view = image::attach(Bytes(image.memory.bytes()).first(bytes));
  if (!view) return std::unexpected(view.error());
  image.view = *view;
  // In a large table there is an entry below every /16: no question may end at the length map.
  const table::LengthMapV4 &map = image.view.lengths_v4[0];
  for (std::uint32_t cell = 0; cell < image::length_map_cells; ++cell)
    table::write_cell(const_cast<std::uint64_t *>(map.cells), const_cast<std::uint32_t *>(map.signs), cell,
                      map.cells[cell] | table::length_bit(32));
  return image;
}

// A question and where its figure goes.
struct Contender {
  std::function<double()> run;
  std::function<void(double)> take;
  std::vector<double> samples = {};
};

void compete(std::vector<Contender> &contenders, unsigned rounds) {
  for (unsigned round = 0; round <= rounds; ++round) // round 0 warms up
    for (Contender &c : contenders)
      if (const double ns = c.run(); round > 0) c.samples.push_back(ns);
  for (Contender &c : contenders) c.take(*std::ranges::min_element(c.samples));
}

Status measure_work(const MeasureOptions &options, Calibration &out) {
  std::mt19937_64 random(options.seed);
  const Rules rules = make_rules(random, image_keys);
  const Questions questions[3] = {make_questions(rules, 0, random), make_questions(rules, 0.5, random),
                                  make_questions(rules, 1, random)};
  std::vector<std::unique_ptr<SmallImage>> images;
  std::vector<Contender> contenders;
  Pipeline pipeline;
  for (const Option &option : all_options) {
    auto image = make_image(rules, option, true);
    if (!image) return std::unexpected(image.error());
    images.push_back(std::make_unique<SmallImage>(std::move(*image)));
    const image::ImageView &view = images.back()->view;
    for (std::size_t at = 0; at < 3; ++at)
      for (const Family family : {Family::ipv4, Family::ipv6}) {
        Work &work = out.work_of(family, option);
        double &figure = at == 0 ? work.absent : at == 1 ? work.even : work.hit;
        const Questions &asked = questions[at];
        contenders.push_back({.run =
                                  [&pipeline, &view, &asked, family] {
                                    return family == Family::ipv4 ? ask_v4(pipeline, view, asked.v4)
                                                                  : ask_v6(pipeline, view, asked.v6);
                                  },
                              .take = [&figure](double ns) { figure = ns; }});
      }
  }
  compete(contenders, options.rounds);
  return {};
}

Status measure_build(const MeasureOptions &options, Calibration &out) {
  std::mt19937_64 random(options.seed + 1);
  Rules rules = make_rules(random, build_keys);
  std::vector<double> samples;
  for (unsigned round = 0; round < 3; ++round) {
    const auto image = make_image(rules, {}, false);
    if (!image) return std::unexpected(image.error());
    samples.push_back(image->build_ns);
  }
  out.build_ns = quartile(std::move(samples));
  return {};
}

// A view whose tables, or front filter, are `bytes` of zeroes: empty lines and blocks.
image::ImageView over_zeroes(image::ImageView view, Path path, MutableBytes zeroes, MutableBytes bits,
                             std::uint64_t bytes) {
  static constexpr std::uint32_t exact = 1;
  image::SideView<table::LineV4> &side = view.v4[0];
  if (path == Path::block) {
    side.front = {reinterpret_cast<const filter::Block *>(zeroes.data()),
                  static_cast<std::uint32_t>(bytes / sizeof(filter::Block))};
    return view;
  }
  side.table.lines1 = reinterpret_cast<const table::LineV4 *>(zeroes.data());
  side.table.count1 = static_cast<std::uint32_t>(bytes / cache_line_bytes);
  constexpr std::uint32_t groups = build::chained_density<table::LineV4>.whole_groups;
  if (path == Path::chained)
    side.chain = {{reinterpret_cast<const std::uint32_t *>(bits.data()), side.table.count1,
                   static_cast<std::uint32_t>(std::countr_zero(groups)), groups - 1},
                  {},
                  &exact};
  return view;
}

// Questions that are never stored: each touches one line, or one block.
Status measure_touch(const MeasureOptions &options, Calibration &out) {
  constexpr std::uint64_t smallest = 16u << 10, first = 64u << 10, cached_bytes_max = 64u << 20;
  std::mt19937_64 random(options.seed + 2);
  const Rules rules = make_rules(random, 64);
  auto image = make_image(rules, {}, false);
  if (!image) return std::unexpected(image.error());
  std::uint64_t largest = std::bit_floor(std::max(options.memory_bytes_max, first));
  Region region;
  for (; largest >= first && region.bytes().empty(); largest /= 2) region = Region(largest, options.pages);
  const Region bits(region.bytes().size() / 64, options.pages); // up to eight bits a line
  if (region.bytes().empty() || bits.bytes().empty())
    return fail(Errc::no_memory, "no memory for a measurement");
  largest = std::min<std::uint64_t>(largest * 2, region.bytes().size());
  bits.touch(0, bits.bytes().size());

  Pipeline pipeline;
  const auto over = [&](std::uint64_t bytes) { // ns by path; the paths take turns
    std::array<std::vector<double>, all_paths.size()> samples;
    std::vector<std::uint32_t> fresh(question_count);
    for (unsigned round = 0; round <= options.rounds; ++round)
      for (const Path path : all_paths) {
        std::ranges::generate(fresh, [&] { return static_cast<std::uint32_t>(random()); });
        const image::ImageView view = over_zeroes(image->view, path, region.bytes(), bits.bytes(), bytes);
        if (const double ns = ask_v4(pipeline, view, fresh); round > 0)
          samples[static_cast<std::size_t>(path)].push_back(ns);
      }
    std::array<double, all_paths.size()> ns{};
    for (std::size_t i = 0; i < ns.size(); ++i) ns[i] = quartile(std::move(samples[i]));
    return ns;
  };
  region.touch(0, smallest);
  const auto base = over(smallest);
  std::array<double, all_paths.size()> highest{}; // more bytes are never faster but by noise
  for (std::uint64_t bytes = first; bytes <= largest; bytes *= 2) {
    region.touch(bytes > cached_bytes_max ? bytes / 2 : 0, bytes); // the lower half is there already
    const auto ns = over(bytes);
    for (std::size_t i = 0; i < ns.size(); ++i) {
      highest[i] = std::max(highest[i], ns[i] - base[i]);
      out.touch[i].push_back({bytes, highest[i]});
    }
  }
  return {};
}

} // namespace

Result<Calibration> measure(const MeasureOptions &options) {
  const double start = cpu_ns();
  const Machine machine = this_machine();
  Calibration c;
  c.processor = machine.processor;
  c.l2_bytes = machine.l2_bytes;
  c.l3_bytes = machine.l3_bytes;
  c.pages = options.pages;
  c.seed = options.seed;
  if (const Status ok = measure_work(options, c); !ok) return std::unexpected(ok.error());
  if (const Status ok = measure_build(options, c); !ok) return std::unexpected(ok.error());
  if (const Status ok = measure_touch(options, c); !ok) return std::unexpected(ok.error());
  c.measured = true;
  c.took_ms = (cpu_ns() - start) / 1e6;
  return c;
}

} // namespace weir::plan
