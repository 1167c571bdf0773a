#include "control/cli/top_readings.hpp"

#include "control/cli/fields.hpp"
#include "control/cli/text.hpp"
#include "weir/key/text.hpp"
#include "weir/wire/counters.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace weir::cli {

namespace {

const Json nothing;

Cell count_cell(double number) { return {.text = short_count(number), .value = number}; }

Cell total_cell(const Json &row, const char *name) {
  if (!has_number(row, name)) return {};
  return {.text = thousands(count_in(row, name)), .value = number_in(row, name)};
}

Cell share_cell(double part, double whole) {
  if (part < 0 || whole <= 0) return {};
  return {.text = fmt::format("{:.1f} %", 100 * part / whole), .value = part / whole};
}

Cell age_cell(const Json &row, const char *name, std::int64_t now) {
  const std::int64_t at = time_in(row, name);
  if (at <= 0) return {};
  const auto seconds = static_cast<std::uint64_t>(std::max<std::int64_t>(0, now - at));
  return {.text = duration_text(seconds), .value = static_cast<double>(seconds)};
}

// Rows of the earlier answer by what names them.
class Earlier {
public:
  Earlier(const Json &rows, std::vector<const char *> names) : names_(std::move(names)) {
    for (const Json &row : rows) rows_.emplace(name_of(row), &row);
  }
  [[nodiscard]] const Json &of(const Json &row) const {
    const auto found = rows_.find(name_of(row));
    return found == rows_.end() ? nothing : *found->second;
  }

private:
  [[nodiscard]] std::string name_of(const Json &row) const {
    std::string name;
    for (const char *part : names_) name += text_in(row, part, "") + '\n';
    return name;
  }
  std::vector<const char *> names_;
  std::map<std::string, const Json *> rows_;
};

double add(double sum, double rate) { return rate < 0 ? sum : std::max(sum, 0.0) + rate; }

double sum_of(const std::vector<double> &rates) {
  double sum = -1;
  for (const double rate : rates) sum = add(sum, rate);
  return sum;
}

} // namespace

std::string short_count(double number) {
  if (number < 0) return "-";
  constexpr std::string_view letters = " kMGTP";
  std::size_t letter = 0;
  for (; number >= 999.5 && letter + 1 < letters.size(); ++letter) number /= 1000;
  if (letter == 0) return fmt::format("{:.{}f}", number, number > 0 && number < 9.95 ? 1 : 0);
  return fmt::format("{:.{}f}{}", number, number < 9.995 ? 2 : number < 99.95 ? 1 : 0, letters[letter]);
}

const std::vector<Grid::Column> &columns_of(Part part) {
  static const std::vector<Grid::Column> ports{{"PORT"},
                                               {"RX/S", true, 0, 6},
                                               {"RX BIT/S", true, 2},
                                               {"TX/S", true, 0, 6},
                                               {"TX BIT/S", true, 2},
                                               {"MISSED/S", true, 0},
                                               {"REFUSED/S", true, 1},
                                               {"MISSED", true, 3},
                                               {"REFUSED", true, 4}};
  static const std::vector<Grid::Column> verdicts{{"VERDICT"},           {"REASON", false, 0, 10},
                                                  {"FAMILY", false, 2},  {"PACKETS/S", true, 0},
                                                  {"SHARE", true, 1, 7}, {"PACKETS", true, 3, 12}};
  static const std::vector<Grid::Column> lists{{"LIST"},
                                               {"ACTION", false, 2},
                                               {"ENTRIES", true, 1, 9},
                                               {"HITS/S", true, 0, 6},
                                               {"HITS", true, 3, 11},
                                               {"AGE", true, 0, 6}};
  static const std::vector<Grid::Column> sources{{"SOURCE", false, 0, 15},
                                                 {"VERDICT", false, 1},
                                                 {"LIST", false, 2, 8},
                                                 {"ABOUT/S", true, 0, 7},
                                                 {"SAMPLES", true, 0, 7}};
  static const std::vector<Grid::Column> swaps{{"GENERATION", true}, {"SWAP", true, 0, 8}};
  static const std::vector<Grid::Column> workers = [] {
    std::vector<Grid::Column> columns{{"WORKER", true},     {"LCORE", true, 4},    {"PACKETS/S", true, 0},
                                      {"BUSY", true, 0, 5}, {"EMPTY", true, 1, 5}, {"BURST", true, 3}};
    for (const wire::CounterId id : wire::stage_counters)
      columns.push_back({in_capitals(wire::stage_name(id)), true, 2});
    columns.push_back({"CYCLES", true, 0, 6});
    return columns;
  }();
  switch (part) {
  case Part::ports: return ports;
  case Part::verdicts: return verdicts;
  case Part::lists: return lists;
  case Part::sources: return sources;
  case Part::workers: return workers;
  default: return swaps;
  }
}

Readings::Readings(const Reading &reading, const Reading *before, std::int64_t now)
    : top_(*reading.top), earlier_(before == nullptr ? nothing : *before->top), now_(now) {
  if (before == nullptr || count_in(child(*reading.status, "dataplane"), "pid") !=
                               count_in(child(*before->status, "dataplane"), "pid"))
    return;
  const std::uint64_t to = count_in(top_, "at_ns"), from = count_in(earlier_, "at_ns");
  if (to > from && from != 0) seconds_ = static_cast<double>(to - from) / 1e9;
}

double Readings::rate(const Json &row, const Json &earlier, const char *counter) const {
  if (seconds_ <= 0 || !has_number(row, counter) || !earlier.is_object()) return -1;
  const double grown = number_in(row, counter) - number_in(earlier, counter);
  return grown < 0 ? -1 : grown / seconds_;
}

Grid Readings::grid(Part part) const {
  Grid made;
  switch (part) {
  case Part::ports: made = ports(); break;
  case Part::verdicts: made = verdicts(); break;
  case Part::lists: made = lists(); break;
  case Part::sources: made = sources(); break;
  case Part::workers: made = workers(); break;
  case Part::swaps: made = swaps(); break;
  }
  made.name = name_of(part);
  made.columns = columns_of(part);
  return made;
}

Readings::Sums Readings::sums() const {
  std::array<std::vector<double>, wire::port_counter_count> of_ports;
  const Earlier ports(child(earlier_, "ports"), {"name"});
  for (const Json &row : child(top_, "ports"))
    for (std::size_t i = 0; i < of_ports.size(); ++i)
      of_ports[i].push_back(rate(row, ports.of(row), std::string(wire::port_counters[i].name).c_str()));
  Sums sums;
  const auto of = [&](wire::PortCounterId id) { return sum_of(of_ports[static_cast<std::size_t>(id)]); };
  const auto bits = [&](wire::PortCounterId id) { return of(id) < 0 ? -1 : 8 * of(id); };
  using enum wire::PortCounterId;
  sums.rx_packets = of(rx_packets);
  sums.rx_bits = bits(rx_bytes);
  sums.tx_packets = of(tx_packets);
  sums.tx_bits = bits(tx_bytes);
  sums.missed = of(rx_missed);
  sums.refused = of(tx_refused);
  sums.pass = rate(top_, earlier_, "pass");
  sums.drop = rate(top_, earlier_, "drop");
  return sums;
}

Grid Readings::ports() const {
  Grid grid;
  const Earlier before(child(earlier_, "ports"), {"name"});
  for (const Json &row : child(top_, "ports")) {
    const Json &then = before.of(row);
    const auto bits = [&](const char *name) {
      const double bytes = rate(row, then, name);
      return count_cell(bytes < 0 ? bytes : 8 * bytes);
    };
    const double missed = rate(row, then, "rx_missed"), refused = rate(row, then, "tx_refused");
    grid.rows.push_back(
        {.cells = {Cell::word(text_in(row, "name")), count_cell(rate(row, then, "rx_packets")),
                   bits("rx_bytes"), count_cell(rate(row, then, "tx_packets")), bits("tx_bytes"),
                   count_cell(missed), count_cell(refused), total_cell(row, "rx_missed"),
                   total_cell(row, "tx_refused")},
         .style = missed > 0 || refused > 0 ? Style::warning : Style::plain});
  }
  return grid;
}

Grid Readings::verdicts() const {
  Grid grid;
  const Earlier before(child(earlier_, "verdicts"), {"verdict", "reason", "family"});
  const Json counted_from_0{{"packets", 0}}; // a row appears with its first packet
  std::vector<double> rates;
  for (const Json &row : child(top_, "verdicts")) {
    const Json &then = before.of(row);
    rates.push_back(rate(row, then.is_object() ? then : counted_from_0, "packets"));
  }
  const double all = sum_of(rates);
  std::size_t at = 0;
  for (const Json &row : child(top_, "verdicts")) {
    const double packets = rates[at++];
    const bool drops = text_in(row, "verdict") == "drop";
    grid.rows.push_back({.cells = {Cell::word(text_in(row, "verdict")), Cell::word(text_in(row, "reason")),
                                   Cell::word(text_in(row, "family")), count_cell(packets),
                                   share_cell(packets, all), total_cell(row, "packets")},
                         .style = drops ? Style::plain : Style::good});
  }
  return grid;
}

Grid Readings::lists() const {
  Grid grid;
  const Earlier before(child(earlier_, "lists"), {"name"});
  for (const Json &row : child(top_, "lists"))
    grid.rows.push_back({.cells = {Cell::word(text_in(row, "name")), Cell::word(action_text(row)),
                                   total_cell(row, "entries"), count_cell(rate(row, before.of(row), "hits")),
                                   total_cell(row, "hits"), age_cell(row, "updated_at", now_)}});
  return grid;
}

// What a source sends is estimated from its samples, since the dataplane tells of one packet in so many.
Grid Readings::sources() const {
  Grid grid;
  const Earlier before(child(earlier_, "addresses"), {"address", "verdict", "list"});
  const double one_in = number_in(top_, "sample_one_in");
  for (const Json &row : child(top_, "addresses")) {
    const double sampled = rate(row, before.of(row), "packets_at_most");
    const std::string text = text_in(row, "address");
    const auto address = parse_address(text);
    const bool drops = text_in(row, "verdict") == "drop";
    grid.rows.push_back(
        {.cells = {Cell::word(text), Cell::word(text_in(row, "verdict")), Cell::word(text_in(row, "list")),
                   sampled < 0 || one_in <= 0 ? Cell() : count_cell(sampled * one_in),
                   total_cell(row, "packets")},
         .style = drops ? Style::plain : Style::good,
         .address = address ? std::optional(*address) : std::nullopt});
  }
  return grid;
}

Grid Readings::workers() const {
  Grid grid;
  const Earlier before(child(earlier_, "workers"), {"id"});
  for (const Json &row : child(top_, "workers")) {
    const Json &then = before.of(row);
    const auto grown = [&](const char *name) { return rate(row, then, name); };
    const double packets = grown("packets"), bursts = grown("bursts"), empty = grown("empty_polls");
    const double busy = grown("busy_cycles"), idle = grown("idle_cycles"), timed = grown("timed_packets");
    Grid::Row made{
        .cells = {{.text = text_in(row, "id"), .value = number_in(row, "id")},
                  {.text = text_in(row, "lcore"), .value = number_in(row, "lcore")},
                  count_cell(packets),
                  share_cell(busy, busy + idle),
                  share_cell(empty, empty + bursts),
                  bursts > 0 ? Cell{fmt::format("{:.1f}", packets / bursts), packets / bursts} : Cell()}};
    const double timed_ever = number_in(row, "timed_packets");
    double all = 0;
    for (const wire::CounterId id : wire::stage_counters) {
      const std::string name(wire::counters[static_cast<std::size_t>(id)].name);
      // Light traffic may have none that was timed lately: then since the dataplane began.
      const double cycles = timed > 0        ? grown(name.c_str()) / timed
                            : timed_ever > 0 ? number_in(row, name.c_str()) / timed_ever
                                             : -1;
      all += cycles;
      made.cells.push_back(cycles < 0 ? Cell() : Cell{fmt::format("{:.1f}", cycles), cycles});
    }
    made.cells.push_back(timed_ever > 0 ? Cell{fmt::format("{:.0f}", all), all} : Cell());
    grid.rows.push_back(std::move(made));
  }
  return grid;
}

Grid Readings::swaps() const {
  Grid grid;
  for (const Json &row : child(top_, "swaps"))
    grid.rows.insert(grid.rows.begin(),
                     {.cells = {{.text = text_in(row, "generation"), .value = number_in(row, "generation")},
                                {.text = nanoseconds_text(number_in(row, "swap_ns")),
                                 .value = number_in(row, "swap_ns")}}});
  return grid;
}

} // namespace weir::cli
