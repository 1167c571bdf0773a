#include "weir/config/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace weir::config {
namespace {

constexpr std::array<std::pair<char, std::int64_t>, 5> units{
    {{'w', 604'800}, {'d', 86'400}, {'h', 3'600}, {'m', 60}, {'s', 1}}};
constexpr std::int64_t duration_s_max = 100ll * 365 * 86'400;

bool is_alnum(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

} // namespace

std::optional<std::uint64_t> parse_number(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  return value;
}

Result<std::chrono::seconds> parse_duration(std::string_view text) {
  const auto bad = [&] {
    return fail(Errc::parse, fmt::format("\"{}\" is not a duration; write 60s, 10m, 1h or 7d", shown(text)));
  };
  std::string_view rest = text;
  std::int64_t total = 0;
  std::size_t unit_from = 0;
  if (rest.empty()) return bad();
  while (!rest.empty()) {
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    const auto number = parse_number(rest.substr(0, digits));
    if (!number || digits == rest.size() || *number > std::uint64_t{duration_s_max}) return bad();
    const auto unit = std::find_if(units.begin() + static_cast<std::ptrdiff_t>(unit_from), units.end(),
                                   [&](const auto &u) { return u.first == rest[digits]; });
    if (unit == units.end()) return bad();
    unit_from = static_cast<std::size_t>(unit - units.begin()) + 1;
    if (static_cast<std::int64_t>(*number) > (duration_s_max - total) / unit->second)
      return fail(Errc::parse, fmt::format("\"{}\" is longer than a hundred years", shown(text)));
    total += static_cast<std::int64_t>(*number) * unit->second;
    rest.remove_prefix(digits + 1);
  }
  if (total == 0)
    return fail(Errc::parse, fmt::format("\"{}\" is no time at all; leave the key out instead", shown(text)));
  return std::chrono::seconds(total);
}

std::string to_string(std::chrono::seconds duration) {
  std::int64_t rest = duration.count();
  if (rest <= 0) return "0s";
  std::string text;
  for (const auto &[letter, seconds] : units) {
    if (letter == 'w' || rest < seconds) continue;
    text += fmt::format("{}{}", rest / seconds, letter);
    rest %= seconds;
  }
  return text;
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_number(text.substr(0, digits));
  std::string_view unit = text.substr(digits);
  if (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  constexpr std::array<std::string_view, 5> names{"", "KiB", "MiB", "GiB", "TiB"};
  const auto found = std::ranges::find(names, unit);
  if (!number || *number == 0 || found == names.end())
    return fail(Errc::parse, fmt::format("\"{}\" is not a size; write 512KiB, 64MiB or 1GiB", shown(text)));
  const auto shift = 10 * static_cast<unsigned>(found - names.begin());
  if (*number > (std::numeric_limits<std::uint64_t>::max() >> shift))
    return fail(Errc::parse, fmt::format("\"{}\" is more memory than there is", shown(text)));
  return *number << shift;
}

Result<double> parse_share(std::string_view text) {
  const bool percent = !text.empty() && text.back() == '%';
  const std::string_view number = percent ? text.substr(0, text.size() - 1) : text;
  double value = 0;
  const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), value);
  const double limit = percent ? 100 : 1;
  if (number.empty() || fault != std::errc{} || end != number.data() + number.size() ||
      !std::isfinite(value) || value < 0 || value > limit)
    return fail(Errc::parse,
                fmt::format("\"{}\" is not a share; write 30% or 0.3, from 0% to 100%", shown(text)));
  return percent ? value / 100 : value;
}

Result<unsigned> parse_length(std::string_view text, unsigned bits) {
  const auto length = parse_number(text.starts_with('/') ? text.substr(1) : text);
  if (!length || *length > bits)
    return fail(Errc::parse,
                fmt::format("\"{}\" is not the length of a prefix; write /0 to /{}", shown(text), bits));
  return static_cast<unsigned>(*length);
}

Result<unsigned> parse_count(std::string_view text, unsigned bits) {
  const auto count = parse_number(text);
  if (!count || *count == 0 || *count > bits)
    return fail(Errc::parse,
                fmt::format("\"{}\" is not a number of prefixes; write 1 to {}", shown(text), bits));
  return static_cast<unsigned>(*count);
}

Result<double> parse_covered(std::string_view text, unsigned bits) {
  if (text.starts_with('/')) {
    const auto length = TRY(parse_length(text, bits));
    return std::ldexp(1.0, -static_cast<int>(length));
  }
  const auto share = parse_share(text);
  if (share) return share;
  return fail(Errc::parse,
              fmt::format("\"{}\" is neither a share nor the length of a prefix; write 25%, 0.25, or "
                          "/2 for as much as one prefix of that length covers",
                          shown(text)));
}

std::optional<std::string> name_fault(std::string_view name, std::size_t bytes_max) {
  if (name.empty()) return "a name has at least one letter or digit";
  if (name.size() > bytes_max) return fmt::format("a name has at most {} bytes", bytes_max);
  if (!is_alnum(name.front())) return "a name starts with a letter or digit";
  for (const char c : name)
    if (!is_alnum(c) && c != '_' && c != '-' && c != '.')
      return "a name has letters, digits, '_', '-' and '.' only";
  return std::nullopt;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  std::string_view best;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(word.substr(0, 200), candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  const std::string_view meant = nearest(word, known);
  if (meant.empty() || edit_distance(word.substr(0, 200), meant) > std::max<std::size_t>(1, meant.size() / 2))
    return {};
  return fmt::format("; did you mean \"{}\"?", meant);
}

std::size_t utf8_length(std::string_view s) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char first = at(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || length > s.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((at(i) & 0xC0) != 0x80) return 0;
  if ((first == 0xE0 && at(1) < 0xA0) || (first == 0xED && at(1) > 0x9F)) return 0;
  if ((first == 0xF0 && at(1) < 0x90) || (first == 0xF4 && at(1) > 0x8F)) return 0;
  return length;
}

std::size_t control_length(std::string_view text) noexcept {
  const std::size_t length = utf8_length(text);
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (length == 1) return at(0) < 0x20 || at(0) == 0x7F ? 1 : 0;
  if (length == 2) return at(0) == 0xC2 && at(1) < 0xA0 ? 2 : 0;
  if (length != 3 || at(0) != 0xE2) return 0;
  const bool separates = at(1) == 0x80 && at(2) >= 0xA8 && at(2) <= 0xAE; // U+2028 to U+202E
  const bool isolates = at(1) == 0x81 && at(2) >= 0xA6 && at(2) <= 0xA9;  // U+2066 to U+2069
  return separates || isolates ? 3 : 0;
}

namespace {

std::string escaped(std::string_view text, bool controls, bool line_ends) {
  std::string out;
  while (!text.empty()) {
    std::size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    const bool kept = length != 0 && (!controls || control_length(text) == 0 || (line_ends && first == '\n'));
    length = std::max<std::size_t>(length, 1);
    if (kept)
      out += text.substr(0, length);
    else if (first == '\t')
      out += "\\t";
    else
      for (const char c : text.substr(0, length))
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    text.remove_prefix(length);
  }
  return out;
}

} // namespace

std::string printable(std::string_view text, std::size_t bytes_max) {
  std::string out = escaped(text.substr(0, bytes_max), true, false);
  if (text.size() > bytes_max) out += fmt::format("... ({} bytes)", text.size());
  return out;
}

std::string printable_lines(std::string_view text) { return escaped(text, true, true); }

std::string utf8_of(std::string_view text) { return escaped(text, false, false); }

} // namespace weir::config
