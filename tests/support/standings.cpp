#include "tests/support/standings.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace weir::bench {

Figure figure_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::ranges::sort(samples);
  const auto at = [&](double share) {
    return samples[static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1) + 0.5)];
  };
  const double median = at(0.5);
  return {median, median == 0 ? 0 : 50 * (at(0.75) - at(0.25)) / median};
}

Figure ratio_of(std::span<const double> numerator, std::span<const double> denominator) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(numerator.size(), denominator.size()); ++i)
    ratios.push_back(numerator[i] / denominator[i]);
  return figure_of(std::move(ratios));
}

Standing standing(std::string what, double floor, double aim, const Figure &figure, bool less_is_better) {
  return {std::move(what), floor, aim, figure.median, less_is_better, figure.spread_percent, {}};
}

Standing not_measured(std::string what, double floor, double aim, std::string left_out, bool less_is_better) {
  return {std::move(what), floor, aim, std::nullopt, less_is_better, 0, std::move(left_out)};
}

Mark mark_of(const Standing &s) {
  if (!s.measured) return s.left_out.empty() ? Mark::not_measured : Mark::left_out;
  const double sign = s.less_is_better ? -1 : 1;
  if (sign * *s.measured >= sign * s.aim) return Mark::aim;
  return sign * *s.measured >= sign * s.floor ? Mark::floor : Mark::below_floor;
}

std::string words_of(const Standing &s) {
  switch (mark_of(s)) {
  case Mark::aim: return "aim";
  case Mark::floor: return "floor";
  case Mark::below_floor: return "below floor";
  case Mark::not_measured: return "not measured";
  case Mark::left_out: return "left out: " + s.left_out;
  }
  return "";
}

bool misses_floor(const Standing &s) {
  const Mark mark = mark_of(s);
  return mark == Mark::below_floor || mark == Mark::not_measured;
}

std::size_t floors_missed(std::span<const Standing> standings) {
  return static_cast<std::size_t>(std::ranges::count_if(standings, misses_floor));
}

int exit_code(bool floors_asserted, std::span<const Standing> standings) {
  return floors_asserted && floors_missed(standings) > 0 ? 1 : 0;
}

namespace {

std::size_t characters(const std::string &utf8) { // a continuation byte is 10xxxxxx
  return static_cast<std::size_t>(
      std::ranges::count_if(utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

} // namespace

std::string Grid::text() const {
  std::vector<std::size_t> widths;
  for (const std::string &column : columns) widths.push_back(characters(column));
  for (const auto &row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], characters(row[i]));
  std::string out;
  const auto add = [&](const std::vector<std::string> &cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i)
      line +=
          i == 0 ? fmt::format("{:<{}}", cells[i], widths[i]) : fmt::format("  {:>{}}", cells[i], widths[i]);
    out += line + '\n';
  };
  add(columns);
  for (const auto &row : rows) add(row);
  return out;
}

std::string Grid::markdown() const {
  std::string out = "|";
  for (const std::string &column : columns) out += " " + column + " |";
  out += "\n|";
  for (std::size_t i = 0; i < columns.size(); ++i) out += i == 0 ? "---|" : "---:|";
  out += '\n';
  for (const auto &row : rows) {
    out += '|';
    for (const std::string &cell : row) out += " " + cell + " |";
    out += '\n';
  }
  return out;
}

Grid grid_of(std::span<const Standing> standings) {
  Grid grid{{"target", "floor", "aim", "reached", "spread", "standing"}, {}};
  for (const Standing &s : standings) {
    const bool known = s.measured.has_value();
    grid.rows.push_back(
        {s.what, short_number(s.floor), short_number(s.aim), known ? short_number(*s.measured) : "-",
         known && s.spread_percent > 0 ? fmt::format("{:.0f} %", s.spread_percent) : "-", words_of(s)});
  }
  return grid;
}

std::string count_words(std::uint64_t count) {
  if (count >= 1'000'000 && count % 100'000 == 0)
    return fmt::format("{:g}M", static_cast<double>(count) / 1e6);
  if (count >= 1'000 && count % 100 == 0) return fmt::format("{:g}k", static_cast<double>(count) / 1e3);
  return std::to_string(count);
}

std::string short_number(double value) {
  const double size = std::fabs(value);
  if (value == std::floor(value) && size < 1e15) return fmt::format("{:.0f}", value);
  int decimals = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  for (double rest = size; rest < 0.1 && decimals < 6; rest *= 10) ++decimals;
  return fmt::format("{:.{}f}", value, decimals);
}

bool is_named(const std::string &list, const std::string &name) {
  if (list.empty()) return true;
  std::istringstream names(list);
  for (std::string one; std::getline(names, one, ',');)
    if (one == name) return true;
  return false;
}

} // namespace weir::bench
