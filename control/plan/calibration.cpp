#include "control/plan/calibration.hpp"

#include "control/plan/measure.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

namespace weir::plan {
namespace {

namespace fs = std::filesystem;

constexpr const char *first_line = "weir-calibration 5";
constexpr const char *remedy = "delete the file, it is measured again";

std::size_t index_of(Family family) noexcept { return family == Family::ipv6 ? 1 : 0; }

const char *name_of_family(std::size_t index) { return index == 0 ? "ipv4" : "ipv6"; }

// One `key values...` line after the other.
class Reader {
public:
  Reader(const std::string &text, const fs::path &file) : in_(text), file_(file) {}

  Result<Calibration> read() {
    std::string line;
    if (!std::getline(in_, line) || line != first_line)
      return fail(Errc::parse, fmt::format("{}:1: \"{}\" is not \"{}\"; {}", file_.string(),
                                           line.substr(0, 40), first_line, remedy));
    for (number_ = 2; std::getline(in_, line); ++number_)
      if (!line.empty() && !take(line))
        return fail(Errc::parse, fmt::format("{}:{}: \"{}\" has no meaning here; {}", file_.string(), number_,
                                             line.substr(0, 80), remedy));
    constexpr std::size_t works =
        2 * all_options.size() + 3; // tables of each family, words, two kinds of map
    if (works_.size() != works ||
        std::ranges::any_of(calibration_.touch, [](const auto &t) { return t.size() < 2; }) ||
        calibration_.processor.empty())
      return fail(Errc::parse,
                  fmt::format("{}:{}: the file is cut short; {}", file_.string(), number_, remedy));
    return std::move(calibration_);
  }

private:
  [[nodiscard]] static bool sound(double ns) { return std::isfinite(ns) && ns >= 0 && ns < 1e7; }

  bool take(const std::string &line) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    Calibration &c = calibration_;
    if (key == "processor") {
      std::getline(words >> std::ws, c.processor);
      return !c.processor.empty();
    }
    if (key == "pages") {
      std::string kind;
      words >> kind;
      c.pages = kind == name_of(Pages::huge) ? Pages::huge : Pages::ordinary;
      return kind == name_of(c.pages);
    }
    if (key == "seed") return static_cast<bool>(words >> c.seed);
    if (key == "l2_bytes") return static_cast<bool>(words >> c.l2_bytes);
    if (key == "l3_bytes") return static_cast<bool>(words >> c.l3_bytes);
    if (key == "build_ns") return words >> c.build_ns && sound(c.build_ns);
    if (key == "took_ms") return words >> c.took_ms && sound(c.took_ms);
    if (key == "touch") return take_touch(words);
    if (key == "work") return take_work(words);
    if (key == "words") return take(words, c.in_words) && works_.insert(key).second;
    return key == "map" && take_map(words);
  }

  bool take_touch(std::istream &words) {
    TouchPoint point;
    std::string path;
    if (!(words >> path >> point.bytes >> point.ns) || !sound(point.ns)) return false;
    const auto known = std::ranges::find(all_paths, path, [](Path p) { return std::string(name_of(p)); });
    if (known == all_paths.end()) return false;
    auto &touch = calibration_.touch[static_cast<std::size_t>(*known)];
    if (!touch.empty() && (touch.back().bytes >= point.bytes || touch.back().ns > point.ns)) return false;
    touch.push_back(point);
    return true;
  }

  static bool take(std::istream &words, Work &work) {
    words >> work.absent >> work.few >> work.even >> work.hit;
    return words && std::ranges::all_of(std::array{work.absent, work.few, work.even, work.hit}, sound);
  }

  bool take_map(std::istream &words) {
    std::string hosts;
    words >> hosts;
    MapWork &map = hosts == "points" ? calibration_.in_points : calibration_.in_ranges;
    return (hosts == "ranges" || hosts == "points") && words >> map.near >> map.far && sound(map.near) &&
           sound(map.far) && works_.insert(hosts).second;
  }

  bool take_work(std::istream &words) {
    std::string family, front, predictor;
    Work work;
    if (!(words >> family >> front >> predictor) || !take(words, work)) return false;
    for (const Option &option : all_options)
      for (const Family f : {Family::ipv4, Family::ipv6})
        if (family == name_of_family(index_of(f)) && front == name_of(option.front_filter) &&
            predictor == name_of(option.predictor)) {
          calibration_.work_of(f, option) = work;
          return works_.insert(fmt::format("{} {} {}", family, front, predictor)).second;
        }
    return false;
  }

  std::istringstream in_;
  fs::path file_;
  Calibration calibration_;
  unsigned number_ = 1;
  std::set<std::string> works_; // that have been told, each once
};

std::string first_field(const fs::path &file, const std::string &name) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    if (line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1) != name) continue;
    const std::size_t from = line.find_first_not_of(' ', colon + 1);
    return from == std::string::npos ? "" : line.substr(from);
  }
  return {};
}

std::uint64_t cache_bytes(const fs::path &root, unsigned level) {
  for (unsigned index = 0; index < 8; ++index) {
    const fs::path cache = root / "sys/devices/system/cpu/cpu0/cache" / fmt::format("index{}", index);
    std::ifstream level_file(cache / "level"), type_file(cache / "type"), size_file(cache / "size");
    unsigned found = 0;
    std::string type, unit;
    std::uint64_t size = 0;
    if (!(level_file >> found) || !(type_file >> type) || !(size_file >> size)) continue;
    if (found != level || type == "Instruction") continue;
    size_file >> unit;
    return size * (unit == "M" ? 1u << 20 : 1u << 10);
  }
  return 0;
}

Result<Calibration> load(const fs::path &file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return fail(Errc::not_found, "");
  return parse_calibration(std::string(std::istreambuf_iterator<char>(in), {}), file);
}

// By another name first, so that a reader never sees half of it.
bool keep(const Calibration &calibration, const fs::path &file) {
  const fs::path fresh = fmt::format("{}.{}", file.string(), getpid());
  std::error_code failed;
  {
    std::ofstream out(fresh, std::ios::binary);
    out << to_text(calibration);
    out.close();
    if (!out) failed = std::make_error_code(std::errc::io_error);
  }
  if (!failed) fs::rename(fresh, file, failed);
  if (failed) {
    std::error_code ignored;
    fs::remove(fresh, ignored);
  }
  return !failed;
}

// Of bursts, those with any of such a share of questions.
double any_of_burst(double share) noexcept { return 1 - std::pow(1 - share, 1 / Work::few_hits); }

} // namespace

double Work::at(double hit_ratio) const noexcept {
  const auto parabola = [this](double h) {
    return absent + (hit - absent) * h + 4 * h * (1 - h) * (even - (absent + hit) / 2);
  };
  // Less the parabola through it where nothing hits, half and all.
  const auto any_hit = [](double h) { return any_of_burst(h) - h - 2 * h * (1 - h); };
  const double h = std::clamp(hit_ratio, 0.0, 1.0);
  return parabola(h) + (few - parabola(few_hits)) * any_hit(h) / any_hit(few_hits);
}

const Work &Calibration::work_of(Family family, Option option) const noexcept {
  return work[index_of(family)][static_cast<std::size_t>(option.front_filter)]
             [static_cast<std::size_t>(option.predictor)];
}
Work &Calibration::work_of(Family family, Option option) noexcept {
  return work[index_of(family)][static_cast<std::size_t>(option.front_filter)]
             [static_cast<std::size_t>(option.predictor)];
}

double Calibration::some_touch_ns(double share, Path path, std::uint64_t bytes) const noexcept {
  const double filter = touch_ns(Path::block, bytes / few_filter_part);
  const double few = std::max(touch_ns(Path::few, bytes) - filter, 0.0),
               several = std::max(touch_ns(Path::several, bytes) - filter, few),
               each = std::max(touch_ns(path, bytes), several);
  const auto between = [share](double from, double from_ns, double to, double to_ns) {
    return from_ns + (share - from) / (to - from) * (to_ns - from_ns);
  };
  if (share >= several_share) return between(several_share, several, 1, each);
  if (share >= Work::few_hits) return between(Work::few_hits, few, several_share, several);
  return few * any_of_burst(share) / any_of_burst(Work::few_hits);
}

double Calibration::layer_ns(Family family, double hit_ratio) const noexcept {
  const double plain = work_of(family, {}).at(hit_ratio);
  const double filtered = work_of(family, {.front_filter = FrontFilter::split_block_bloom}).at(hit_ratio);
  return std::max(filtered - plain, plain / 2);
}

// Straight between two points on a scale of doublings. A table of 64 million hosts is larger than what a measurement takes: beyond
// the last point it goes on as through the last few, since of two neighbours noise makes equals.
double Calibration::touch_ns(Path path, std::uint64_t bytes) const noexcept {
  constexpr std::size_t few = 3;
  const std::vector<TouchPoint> &points = touch[static_cast<std::size_t>(path)];
  if (points.empty()) return 0;
  const std::size_t last = points.size() - 1;
  if (bytes <= points.front().bytes || last == 0) return points.front().ns;
  std::size_t to = 1;
  while (to < last && bytes > points[to].bytes) ++to;
  const std::size_t from = bytes > points[last].bytes ? last - std::min(last, few) : to - 1;
  const auto scale = [](std::uint64_t of) { return std::log2(static_cast<double>(of)); };
  const double share =
      (scale(bytes) - scale(points[from].bytes)) / (scale(points[to].bytes) - scale(points[from].bytes));
  return points[from].ns + share * (points[to].ns - points[from].ns);
}

std::string to_text(const Calibration &c) {
  std::string text = fmt::format("{}\nprocessor {}\npages {}\nseed {}\nl2_bytes {}\nl3_bytes {}\n",
                                 first_line, c.processor, name_of(c.pages), c.seed, c.l2_bytes, c.l3_bytes);
  for (const Family family : {Family::ipv4, Family::ipv6})
    for (const Option &option : all_options) {
      const Work &w = c.work_of(family, option);
      text += fmt::format("work {} {} {} {:.3f} {:.3f} {:.3f} {:.3f}\n", name_of_family(index_of(family)),
                          name_of(option.front_filter), name_of(option.predictor), w.absent, w.few, w.even,
                          w.hit);
    }
  text += fmt::format("words {:.3f} {:.3f} {:.3f} {:.3f}\n", c.in_words.absent, c.in_words.few,
                      c.in_words.even, c.in_words.hit);
  text += fmt::format("map ranges {:.3f} {:.3f}\nmap points {:.3f} {:.3f}\n", c.in_ranges.near,
                      c.in_ranges.far, c.in_points.near, c.in_points.far);
  for (const Path path : all_paths)
    for (const TouchPoint &point : c.touch[static_cast<std::size_t>(path)])
      text += fmt::format("touch {} {} {:.3f}\n", name_of(path), point.bytes, point.ns);
  return text + fmt::format("build_ns {:.2f}\ntook_ms {:.0f}\n", c.build_ns, c.took_ms);
}

Result<Calibration> parse_calibration(const std::string &text, const fs::path &file) {
  auto read = Reader(text, file).read();
  if (read) read->measured = true;
  return read;
}

Machine this_machine(const fs::path &root) {
  const fs::path cpuinfo = root / "proc/cpuinfo";
  Machine machine;
  machine.processor = fmt::format("{}, family {}, model {}, stepping {}", first_field(cpuinfo, "model name"),
                                  first_field(cpuinfo, "cpu family"), first_field(cpuinfo, "model"),
                                  first_field(cpuinfo, "stepping"));
  machine.l2_bytes = cache_bytes(root, 2);
  machine.l3_bytes = cache_bytes(root, 3);
  if (root != "/") return machine;
  // In a virtual machine the kernel may know of no caches where the processor does.
  const auto ask_processor = [](std::uint64_t &bytes, int name) {
    if (const long told = sysconf(name); bytes == 0 && told > 0) bytes = static_cast<std::uint64_t>(told);
  };
  ask_processor(machine.l2_bytes, _SC_LEVEL2_CACHE_SIZE);
  ask_processor(machine.l3_bytes, _SC_LEVEL3_CACHE_SIZE);
  return machine;
}

void fill_in_caches(Calibration &calibration, const Machine &machine) {
  const Calibration built_in = built_in_calibration();
  const auto fill_in = [&](std::uint64_t Calibration::*bytes, std::uint64_t told) {
    if (calibration.*bytes == 0) calibration.*bytes = told != 0 ? told : built_in.*bytes;
  };
  fill_in(&Calibration::l2_bytes, machine.l2_bytes);
  fill_in(&Calibration::l3_bytes, machine.l3_bytes);
}

fs::path calibration_file(const fs::path &state, Pages pages) {
  return state / fmt::format("calibration.{}", name_of(pages));
}

Calibration calibration_for(const Wanted &wanted) {
  if (wanted.state.empty()) return built_in_calibration(); // nowhere to keep figures
  static std::mutex one_at_a_time;                         // two plans at once would measure each other
  const std::lock_guard lock(one_at_a_time);
  const fs::path file = calibration_file(wanted.state, wanted.pages);
  const Machine machine = this_machine();
  auto kept = load(file);
  if (kept && kept->processor == machine.processor) {
    fill_in_caches(*kept, machine);
    kept->note = fmt::format("measured on this processor, kept in {}", file.string());
    return std::move(*kept);
  }
  std::string why;
  if (!kept && kept.error().code != Errc::not_found) why = "; " + kept.error().message;
  if (kept) why = fmt::format("; {} was of another processor", file.string());
  if (wanted.keys < keys_worth_measuring) {
    Calibration c = built_in_calibration();
    c.l2_bytes = c.l3_bytes = 0;
    fill_in_caches(c, machine);
    c.note = fmt::format("built-in figures; this machine is measured from {} keys on", keys_worth_measuring);
    return c;
  }
  auto measured = measure({.pages = wanted.pages, .memory_bytes_max = wanted.memory_bytes_max});
  if (!measured) {
    Calibration c = built_in_calibration();
    c.note = fmt::format("built-in figures: {}", measured.error().message);
    return c;
  }
  measured->note = fmt::format("measured just now in {:.0f} ms{}", measured->took_ms, why);
  if (!keep(*measured, file))
    measured->note += fmt::format("; {} cannot be written, so it will be measured again", file.string());
  return std::move(*measured);
}

} // namespace weir::plan
