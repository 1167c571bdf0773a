#include "control/plan/host_home.hpp"

#include "control/plan/cost.hpp"
#include "weir/build/word_size.hpp"
#include "weir/table/range_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <cstddef>
#include <optional>

namespace weir::plan {
namespace {

using build::EntryV4;
using build::HostHome;

constexpr std::uint64_t hosts_worth_weighing = 4096; // fewer are in cache wherever they stand
constexpr std::uint64_t prefixes_worth_weighing = 256;

constexpr double cells_in_l1 = 4096; // of eight bytes

bool is_host(const EntryV4 &e) noexcept { return e.length == 32; }
std::uint64_t hosts_of(std::span<const EntryV4> entries) {
  return static_cast<std::uint64_t>(std::ranges::count_if(entries, is_host));
}

// Counts what begins in each /21 of a /16, one /16 after the other, and from that which /21s share lines and what stands
// behind another line (table/range_grouping.hpp, range_packer.hpp). A prefix that does not end inside its /16 ends where one begins.
class Shape {
public:
  Shape(std::span<const EntryV4> entries, bool points) : points_(points) {
    std::uint64_t begun = none; // the last address that something begins at
    for (std::size_t i = 0, end; i < entries.size(); i = end) {
      end = i + 1;
      const EntryV4 &e = entries[i];
      const std::uint64_t first = e.host;
      std::uint64_t behind = first + (std::uint64_t{1} << (32 - e.length));
      if (first != begun) begin(first);
      if (is_host(e)) {
        ++of(first).hosts;
        for (; end < entries.size() && is_host(entries[end]) && entries[end].host == behind &&
               entries[end].list == e.list;
             ++end, ++behind)
          ++of(behind).hosts;
      }
      if (points && is_host(e) && behind == first + 1) continue;
      begin(behind);
      begun = behind;
    }
    close_cell();
  }

  [[nodiscard]] MapShape result() const {
    MapShape shape{.lines = lines_};
    shape.bytes = table::range_layout_v4(1, static_cast<std::uint32_t>(lines_ + lines_ / 16), 0).bytes;
    if (hosts_ != 0) shape.lines_hit = 1 + hosts_asked_again_ / static_cast<double>(hosts_);
    shape.lines_absent = 1 + asked_again_ / static_cast<double>(std::uint64_t{1} << 32);
    return shape;
  }

private:
  static constexpr unsigned part_bits = 11, parts_a_cell = 32, slots = table::RangeLine::slots;
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  struct Part {
    unsigned items = 0, hosts = 0, first = 0, last = 0; // the last two: where something begins
  };
  struct Group {
    unsigned items = 0, hosts = 0, span = 0;
  };

  [[nodiscard]] Part &of(std::uint64_t address) {
    if (address >> 16 != cell_) {
      close_cell();
      cell_ = address >> 16;
    }
    return parts_[address >> part_bits & (parts_a_cell - 1)];
  }
  void begin(std::uint64_t address) {
    if ((address & 0xFFFF) == 0) return; // each /16 has something there
    Part &part = of(address);
    const auto key = static_cast<unsigned>(address & ((1u << part_bits) - 1));
    part.first = part.items == 0 ? key : std::min(part.first, key);
    part.last = std::max(part.last, key);
    ++part.items;
  }

  void close_cell() {
    Group group;
    for (const Part &part : parts_) {
      if (group.items != 0 && part.items != 0 && group.items + part.items > slots) {
        close(group);
        group = {};
      }
      if (group.items == 0) group.items = 1; // what goes on where it begins
      group.items += part.items;
      group.hosts += part.hosts;
      if (part.items != 0) group.span += part.last - part.first + 1;
    }
    if (group.items > 1 || group.hosts != 0) close(group); // /16s of one answer share a line
    parts_ = {};
  }
  void close(const Group &group) {
    ++lines_;
    hosts_ += group.hosts;
    if (group.items <= slots) return;
    const unsigned items = group.items + (points_ ? 1 : 0), fold = points_ ? slots - 1 : slots;
    const unsigned below = (items - slots + fold - 2) / (fold - 1);
    lines_ += below;
    const double behind = std::min(1.0, (items - slots + below) / double{1} / items);
    const double deeper = items > slots * slots ? 1 - double{slots} * slots / items : 0;
    hosts_asked_again_ += group.hosts * (behind + deeper);
    asked_again_ += group.span * (behind + deeper);
  }

  bool points_;
  std::uint64_t cell_ = none;
  std::array<Part, parts_a_cell> parts_{};
  std::uint64_t lines_ = 0, hosts_ = 0;
  double hosts_asked_again_ = 0, asked_again_ = 0; // of hosts, and of all addresses
};

// Which /16s have hosts, and which prefixes say something about.
class Cells {
public:
  explicit Cells(std::span<const EntryV4> entries) {
    std::uint64_t hosts = 0, beside = 0;
    for (const EntryV4 &e : entries) {
      if (is_host(e) || e.length == 0) continue;
      const std::uint32_t first = e.host >> 16;
      const std::uint32_t count = e.length >= 16 ? 1 : 1u << (16 - e.length);
      for (std::uint32_t c = first; c < first + count; ++c) prefixes_.set(c);
    }
    for (const EntryV4 &e : entries) {
      if (!is_host(e)) continue;
      hosts_.set(e.host >> 16);
      ++hosts;
      beside += prefixes_.test(e.host >> 16) ? 1 : 0;
    }
    if (hosts != 0) hosts_beside_prefixes_ = static_cast<double>(beside) / static_cast<double>(hosts);
  }

  [[nodiscard]] std::size_t with_hosts() const { return hosts_.count(); }
  // Of the questions, how many ask a table of hosts; the map of prefixes.
  [[nodiscard]] double ask_table(double h) const { return h + (1 - h) * share(hosts_); }
  [[nodiscard]] double ask_map(double h) const {
    return h * hosts_beside_prefixes_ + (1 - h) * share(prefixes_);
  }

private:
  using Set = std::bitset<table::range_cells>;
  [[nodiscard]] static double share(const Set &set) {
    return static_cast<double>(set.count()) / static_cast<double>(set.size());
  }

  Set hosts_, prefixes_;
  double hosts_beside_prefixes_ = 0;
};

HomeCost table_cost(std::uint64_t hosts, double hit_ratio, const Calibration &calibration) {
  const Answer answer =
      choose({.family = Family::ipv4, .keys = hosts, .hit_ratio = hit_ratio, .candidates = all_options},
             calibration);
  return {.ns = answer.best().ns, .filtered = answer.chosen.front_filter != FrontFilter::none};
}

std::string why(const HomeChoice &choice, bool prefixes) {
  const auto cost = [&](HostHome home) { return *std::ranges::find(choice.costs, home, &HomeCost::home); };
  const char *const filtered = cost(HostHome::table).filtered ? " behind a filter" : "";
  if (choice.home == HostHome::table) {
    const HomeCost &other =
        *std::ranges::min_element(choice.costs.begin() + 1, choice.costs.end(), {}, &HomeCost::ns);
    return fmt::format("a table{} takes {:.1f} ns, {} {:.1f}", filtered, cost(HostHome::table).ns,
                       other.home == HostHome::words ? "words" : "a range map", other.ns);
  }
  const bool less = cost(HostHome::table).ns < cost(choice.home).ns;
  return fmt::format("that takes {:.1f} ns, a table{}{} {:.1f}{}", cost(choice.home).ns, filtered,
                     prefixes ? " and the map of the prefixes" : "", cost(HostHome::table).ns,
                     less ? fmt::format(", not {:.0f} % less", table_saving_min * 100) : "");
}

// Nothing: too many of the hosts are on lists that words cannot name.
std::optional<HomeCost> words_cost(std::span<const EntryV4> entries, std::uint64_t hosts, double hit_ratio,
                                   const Calibration &calibration) {
  const build::WordSize size = build::word_size(entries);
  if (size.keys_behind > hosts / 16) return std::nullopt;
  const std::uint64_t bytes = build::word_bytes(size.lines);
  return HomeCost{.home = HostHome::words,
                  .ns = calibration.in_words.at(hit_ratio) + calibration.touch_ns(Path::line, bytes),
                  .bytes = bytes};
}

} // namespace

MapShape map_shape(std::span<const EntryV4> entries, bool points) { return Shape(entries, points).result(); }

HomeChoice weigh_homes(std::span<const EntryV4> entries, double hit_ratio, const Calibration &calibration,
                       bool has_dynamic, bool words_may_be) {
  const double h = std::clamp(hit_ratio, 0.0, 1.0);
  const std::uint64_t hosts = hosts_of(entries);
  const bool prefixes = hosts != entries.size();
  const double work = calibration.work_of(Family::ipv4, {}).at(h);
  const auto touch = [&](std::uint64_t bytes) { return calibration.touch_ns(Path::line, bytes); };

  const Cells cells(entries);
  // Of hosts that stand beside the map of the prefixes, if there are any, and take `alone` where they are asked.
  const auto beside_prefixes = [&](double alone) {
    if (!prefixes) return alone;
    constexpr std::uint64_t bytes_a_prefix = 8;
    const double asked = cells.ask_table(h), map_asked = cells.ask_map(h);
    const auto of_bursts = [](double share) { return 1 - std::pow(1 - share, 64); };
    const double ns = work + asked * (alone - 0.6 * work) +
                      map_asked * (0.6 * work + touch((entries.size() - hosts) * bytes_a_prefix)) +
                      work * (0.45 * of_bursts(asked) * of_bursts(map_asked) + 2 * asked * (1 - asked));
    return ns + 0.35 * (of_bursts(asked) - asked) * std::max(0.0, alone - work);
  };
  HomeChoice choice;
  choice.costs.push_back(table_cost(hosts, h, calibration));
  choice.costs[0].ns = beside_prefixes(choice.costs[0].ns);
  const double cells_asked = 1 - h + h * std::min(1.0, static_cast<double>(cells.with_hosts()) / cells_in_l1);
  for (const HostHome home : {HostHome::ranges, HostHome::points}) {
    const bool points = home == HostHome::points;
    const MapShape shape = map_shape(entries, points);
    const double again = h * (shape.lines_hit - 1) + (1 - h) * (shape.lines_absent - 1);
    const MapWork &of = points ? calibration.in_points : calibration.in_ranges;
    const double ns = of.near + cells_asked * (of.far - of.near) + 1.4 * work * again +
                      (1 + again) * touch(shape.lines * cache_line_bytes);
    choice.costs.push_back(
        {.home = home,
         .ns = ns,
         .bytes = shape.bytes,
         .lines_a_cell = static_cast<double>(shape.lines) / static_cast<double>(cells.with_hosts())});
  }
  // What words have to stay below, and then what maps have.
  const double beside_words = choice.costs[0].ns / (1 - table_saving_min);
  double beside_maps = choice.costs[0].filtered ? beside_words : choice.costs[0].ns;
  if (words_may_be)
    if (auto words = words_cost(entries, hosts, h, calibration)) {
      words->ns = beside_prefixes(words->ns);
      if (words->ns < beside_words) {
        choice.home = HostHome::words;
        beside_maps = words->ns;
      }
      choice.costs.push_back(*words);
    }
  double least = beside_maps * (1 - map_saving_min);
  bool held_back = false; // a map that a dynamic list would change slowly
  for (const HomeCost &map : choice.costs) {
    const bool in_map = map.home == HostHome::ranges || map.home == HostHome::points;
    if (!in_map || map.ns >= least) continue;
    if (has_dynamic && !prefixes && map.lines_a_cell > lines_a_cell_max) {
      held_back = true;
      continue;
    }
    least = map.ns;
    choice.home = map.home;
  }
  choice.why = why(choice, prefixes);
  if (held_back) choice.why += "; a range map is faster, but a dynamic list changes slowly there";
  return choice;
}

HomeChoice choose_home(const build::BuildInput &input, const config::Config &config, double hit_ratio,
                       const Calibration &calibration) {
  const bool filter_asked_for = config.front_filter != config::FrontFilter::automatic &&
                                config.front_filter != config::FrontFilter::none;
  if (config.compact || filter_asked_for || config.predictor != config::Predictor::automatic)
    return {}; // these are about tables
  if (input.family == HashFamily::jhash) return {};
  const std::uint64_t hosts = hosts_of(input.deny.v4);
  if (hosts == 0) return {};
  if (hosts < hosts_worth_weighing && input.deny.v4.size() - hosts < prefixes_worth_weighing) return {};
  const bool has_dynamic = std::ranges::any_of(
      config.lists, [](const config::List &list) { return list.dynamic && list.action == Side::deny; });
  // The IPv6 table of a side with words has neither predictor nor filter: not where that has most of the keys.
  const bool words_may_be = input.deny.v6.size() < hosts;
  return weigh_homes(input.deny.v4, hit_ratio, calibration, has_dynamic, words_may_be);
}

} // namespace weir::plan
