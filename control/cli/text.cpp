#include "control/cli/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <limits>

namespace weir::cli {

namespace {

// "2.1" or "21" or "210": one decimal below ten, none from there on, never "10.0".
std::string short_number(double value) {
  const double rounded = std::round(value * 10) / 10;
  if (rounded < 10 && rounded != std::floor(rounded)) return fmt::format("{:.1f}", rounded);
  return fmt::format("{:.0f}", value);
}

// Insertions, deletions, substitutions and exchanges of neighbours ("lsit") count one each.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> rows(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        rows[i][j] = i + j;
        continue;
      }
      const std::size_t substituted = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[i][j] = std::min({substituted, rows[i - 1][j] + 1, rows[i][j - 1] + 1});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  return rows[a.size()][b.size()];
}

constexpr std::array<std::pair<std::uint64_t, char>, 4> duration_units{
    {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}}};

} // namespace

std::string thousands(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{} {}", short_number(value), units[unit]);
}

std::string nanoseconds_text(double nanoseconds) {
  if (nanoseconds < 1000) return fmt::format("{:.0f} ns", nanoseconds);
  if (nanoseconds < 1e6) return short_number(nanoseconds / 1e3) + " us";
  return milliseconds_text(nanoseconds / 1e6);
}

std::string milliseconds_text(double milliseconds) {
  if (milliseconds < 1000) return short_number(milliseconds) + " ms";
  return short_number(milliseconds / 1000) + " s";
}

std::string duration_text(std::uint64_t seconds) {
  for (std::size_t i = 0; i < duration_units.size(); ++i) {
    const auto [size, letter] = duration_units[i];
    if (seconds < size) continue;
    std::string text = fmt::format("{}{}", seconds / size, letter);
    if (i + 1 < duration_units.size()) {
      const auto [next_size, next_letter] = duration_units[i + 1];
      if (const auto rest = seconds % size / next_size; rest > 0)
        text += fmt::format(" {}{}", rest, next_letter);
    }
    return text;
  }
  return "0s";
}

std::string when_text(std::int64_t epoch_seconds, std::int64_t now) {
  if (epoch_seconds <= 0) return "-";
  const std::int64_t distance = epoch_seconds > now ? epoch_seconds - now : now - epoch_seconds;
  if (distance == 0) return "now";
  for (const auto &[size, letter] : duration_units) {
    const auto count = static_cast<std::uint64_t>(distance) / size;
    if (count == 0) continue;
    return epoch_seconds > now ? fmt::format("in {}{}", count, letter)
                               : fmt::format("{}{} ago", count, letter);
  }
  return "now";
}

std::string clock_text(std::int64_t epoch_seconds, std::int64_t now) {
  const std::time_t when = epoch_seconds;
  const std::time_t today = now;
  std::tm then{};
  std::tm present{};
  localtime_r(&when, &then);
  localtime_r(&today, &present);
  const bool same_day = then.tm_year == present.tm_year && then.tm_yday == present.tm_yday;
  std::array<char, 32> buffer{};
  const std::size_t used =
      std::strftime(buffer.data(), buffer.size(), same_day ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &then);
  return {buffer.data(), used};
}

std::optional<std::chrono::seconds> parse_duration(std::string_view text) {
  constexpr std::uint64_t limit = 100ull * 365 * 86400;
  std::uint64_t total = 0;
  std::uint64_t last_unit = std::numeric_limits<std::uint64_t>::max();
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    std::uint64_t number = 0;
    std::size_t digits = 0;
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
      number = number * 10 + static_cast<std::uint64_t>(text[digits] - '0');
      if (number > limit) return std::nullopt;
    }
    if (digits == 0) return std::nullopt;
    text.remove_prefix(digits);
    std::uint64_t unit = 1;
    if (!text.empty()) {
      switch (text.front()) {
      case 's': unit = 1; break;
      case 'm': unit = 60; break;
      case 'h': unit = 3600; break;
      case 'd': unit = 86400; break;
      case 'w': unit = 7 * 86400; break;
      default: return std::nullopt;
      }
      text.remove_prefix(1);
    } else if (last_unit != std::numeric_limits<std::uint64_t>::max()) {
      return std::nullopt; // "1h30" leaves open what the 30 are
    }
    if (unit >= last_unit) return std::nullopt;
    last_unit = unit;
    total += number * unit;
    if (total > limit) return std::nullopt;
  }
  if (total == 0) return std::nullopt;
  return std::chrono::seconds(total);
}

std::string rate_text(double packets_per_second) {
  if (packets_per_second >= 1e6) return short_number(packets_per_second / 1e6) + " Mpps";
  if (packets_per_second >= 1e3) return short_number(packets_per_second / 1e3) + " kpps";
  return short_number(packets_per_second) + " pps";
}

std::string nearest(std::string_view word, const std::vector<std::string> &candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string &candidate : candidates) {
    std::size_t distance = edit_distance(word, candidate);
    // "gen" means "generations" however many letters are missing
    if (word.size() >= 2 && candidate.starts_with(word)) distance = std::min<std::size_t>(distance, 1);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const Column &column : columns_) widths.push_back(width_of(column.title));
  for (const auto &row : rows_)
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], width_of(row[i]));

  std::string out;
  const auto line = [&](const auto &cell_of) {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string &cell = cell_of(i);
      const std::string padding(widths[i] - width_of(cell), ' ');
      if (i > 0) text += "  ";
      text += columns_[i].align == Align::right ? padding + cell : cell + padding;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  };
  line([&](std::size_t i) -> const std::string & { return columns_[i].title; });
  const std::string nothing;
  for (const auto &row : rows_)
    line([&](std::size_t i) -> const std::string & { return i < row.size() ? row[i] : nothing; });
  return out;
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string in_capitals(std::string_view text) {
  std::string out(text);
  for (char &c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

} // namespace weir::cli
