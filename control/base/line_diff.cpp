#include "control/base/line_diff.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace weir::control {

namespace {

using Lines = std::span<const std::string_view>;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

void put(std::vector<std::string> &into, char sign, Lines lines) {
  for (const std::string_view line : lines) into.push_back(sign + std::string(line));
}

// The longest common subsequence by a table of the lengths that are left from each pair of places on.
void put_changed(std::vector<std::string> &into, Lines before, Lines after) {
  const std::size_t columns = after.size() + 1;
  std::vector<std::uint32_t> left((before.size() + 1) * columns);
  for (std::size_t i = before.size(); i-- > 0;)
    for (std::size_t j = after.size(); j-- > 0;)
      left[i * columns + j] = before[i] == after[j]
                                  ? left[(i + 1) * columns + j + 1] + 1
                                  : std::max(left[(i + 1) * columns + j], left[i * columns + j + 1]);
  std::size_t i = 0, j = 0;
  while (i < before.size() || j < after.size()) {
    if (i < before.size() && j < after.size() && before[i] == after[j]) {
      ++i;
      ++j;
    } else if (j == after.size() ||
               (i < before.size() && left[(i + 1) * columns + j] >= left[i * columns + j + 1])) {
      put(into, '-', before.subspan(i++, 1));
    } else {
      put(into, '+', after.subspan(j++, 1));
    }
  }
}

} // namespace

std::vector<std::string> line_diff(std::string_view before, std::string_view after) {
  const std::vector<std::string_view> lines_before = lines_of(before), lines_after = lines_of(after);
  const auto [b, a] = std::ranges::mismatch(lines_before, lines_after);
  Lines was(b, lines_before.end()), is(a, lines_after.end());
  while (!was.empty() && !is.empty() && was.back() == is.back()) {
    was = was.first(was.size() - 1);
    is = is.first(is.size() - 1);
  }
  std::vector<std::string> changed;
  if ((was.size() + 1) * (is.size() + 1) <= line_diff_cells_max) {
    put_changed(changed, was, is);
  } else {
    put(changed, '-', was);
    put(changed, '+', is);
  }
  return changed;
}

} // namespace weir::control
