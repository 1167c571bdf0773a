// The trust border of range maps.
#include "weir/table/range_map_v4.hpp"
#include "weir/table/range_map_v6.hpp"
#include "weir/table/range_windows.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace weir::table {
namespace {

[[nodiscard]] std::unexpected<Error> bad(std::string what) {
  return fail(Errc::bad_image, "range map refused: " + std::move(what));
}
[[nodiscard]] std::string number(std::uint64_t v) { return std::to_string(v); }

[[nodiscard]] bool all_zero(Bytes bytes) noexcept {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

template <class Header> [[nodiscard]] Result<const Header *> header_of(Bytes section) {
  if (reinterpret_cast<std::uintptr_t>(section.data()) % cache_line_bytes != 0)
    return bad("the section is not aligned to 64 bytes");
  if (section.size() < sizeof(Header)) return bad("cut short: " + number(section.size()) + " bytes");
  const auto *h = reinterpret_cast<const Header *>(section.data());
  if (!all_zero(std::as_bytes(std::span(h->reserved)))) return bad("reserved bytes are not zero");
  if (h->values == 0 || h->values > range_values_max)
    return bad("a dictionary of " + number(h->values) + " values, from 1 to " + number(range_values_max) +
               " can be");
  if (h->values_used == 0 || h->values_used > h->values)
    return bad(number(h->values_used) + " of " + number(h->values) + " values are said to be in use");
  if (h->lines == 0 || h->lines_used > h->lines)
    return bad(number(h->lines_used) + " of " + number(h->lines) + " lines are said to be in use");
  return h;
}

[[nodiscard]] Status check_size(Bytes section, std::uint64_t bytes) {
  if (section.size() == bytes) return {};
  return bad(number(section.size()) + " bytes, its header says " + number(bytes));
}

[[nodiscard]] Status check_values(std::span<const std::uint32_t> values, std::uint32_t used, Family family) {
  if (values[0] != 0 && (!value::is_set(values[0]) || (values[0] & ~value::list_mask) != 0))
    return bad("value 0 is neither \"no match\" nor of length 0");
  for (std::size_t i = 1; i < used; ++i)
    if (!value::is_set(values[i]) || (values[i] & ~value::match_mask) != 0 ||
        value::length_of(values[i]) > address_bits(family))
      return bad("value " + number(i) + " is no list with a length");
  if (!all_zero(std::as_bytes(values.subspan(used)))) return bad("a value that is not in use is not zero");
  return {};
}

// Every value of every line is a number of the dictionary, or leads on to a line of the section. Lines are
// looked at from the last to the first, so that the steps from a line are known before those to it.
[[nodiscard]] Status check_lines(std::span<const RangeLine> lines, std::uint32_t values, Family family,
                                 bool points, bool wide_too) {
  const bool v6 = family == Family::ipv6;
  std::vector<std::uint8_t> steps(lines.size());
  for (std::size_t i = lines.size(); i-- > 0;) {
    const RangeLine &line = lines[i];
    const bool wide = v6 && wide_too && is_wide(line);
    const unsigned window = wide ? line.key[0] & ~unsigned{range_wide} : line.key[0];
    if (v6 && !is_first(line) && window >= (wide ? range_wide_window_max + 1 : range_windows))
      return bad("line " + number(i) + " has window " + number(window) + (wide ? ", and is wide" : ""));
    const std::span<const std::uint16_t> said =
        v6 ? values_of_v6(line) : std::span<const std::uint16_t>(line.value);
    std::uint16_t highest = 0; // of unsigned words, so that one that leads on stands out
    for (const std::uint16_t v : said) highest = std::max(highest, v);
    steps[i] = 1;
    if (points && is_point(line.value[0])) return bad("line " + number(i) + " begins with a point");
    if (highest < values) continue;
    for (const std::uint16_t v : said) {
      if (!leads_on(v)) {
        const std::uint16_t answer = points ? without_point(v) : v;
        if (answer >= values)
          return bad("line " + number(i) + " has value " + number(v) + " of " + number(values));
        continue;
      }
      const std::size_t ahead = lines_ahead(v);
      if (points && ahead > range_ahead_max_beside_points)
        return bad("line " + number(i) + " leads on by " + number(ahead) + " lines, beside points at most " +
                   number(range_ahead_max_beside_points));
      if (ahead == 0) return bad("line " + number(i) + " leads to itself");
      if (ahead >= lines.size() - i)
        return bad("line " + number(i) + " leads to line " + number(i + ahead) + " of " +
                   number(lines.size()));
      if (v6 && is_first(lines[i + ahead]))
        return bad("line " + number(i) + " leads to line " + number(i + ahead) +
                   ", which places alone may lead to");
      if (steps[i + ahead] == range_steps_max)
        return bad("from line " + number(i) + " there are more than " + number(range_steps_max) + " steps");
      steps[i] = std::max<std::uint8_t>(steps[i], steps[i + ahead] + 1);
    }
  }
  return {};
}

// Prefixes in order, so that a search finds them, with nothing but a list, a length and an address of it.
template <class Covering>
[[nodiscard]] Status check_covering(std::span<const Covering> covering, Family family) {
  const auto order = [](const Covering &c) { return std::pair(c.first, value::length_of(c.value)); };
  for (std::size_t i = 0; i < covering.size(); ++i) {
    const std::uint32_t v = covering[i].value;
    if (!value::is_set(v) || (v & ~value::match_mask) != 0 || value::length_of(v) == 0 ||
        value::length_of(v) >= address_bits(family))
      return bad("covering prefix " + number(i) + " is no list with a length");
    if (i > 0 && !(order(covering[i - 1]) < order(covering[i])))
      return bad("covering prefix " + number(i) + " is out of order");
  }
  return {};
}

template <class T> [[nodiscard]] std::span<const T> part(Bytes section, std::uint64_t at, std::size_t count) {
  return {reinterpret_cast<const T *>(section.data() + at), count};
}

// Each place of IPv6 leads to first lines of the section, which it shares with others as a whole or not at all.
[[nodiscard]] Status check_places(std::span<const std::uint32_t> array, std::span<const RangeLine> lines) {
  constexpr std::uint8_t behind = 0xFF; // the first line of a place has its shift + 1, those behind it this
  std::vector<std::uint8_t> known(lines.size());
  for (std::size_t i = 0; i < array.size(); ++i) {
    const std::uint32_t first = RangeMapV6::first_of_place(array[i]);
    const unsigned shift = RangeMapV6::place_shift(array[i]);
    const std::uint64_t end = first + (std::uint64_t{1} << shift);
    if (shift > range_first_shift_max || end > lines.size())
      return bad("place " + number(i) + " leads to line " + number(first) + " and so on, 2^" + number(shift) +
                 " lines, of " + number(lines.size()) + "; 2^" + number(range_first_shift_max) + " can be");
    if (known[first] == shift + 1) continue;
    for (std::uint64_t l = first; l < end; ++l) {
      if (!is_first(lines[l]))
        return bad("place " + number(i) + " leads to line " + number(l) + " of window " +
                   number(lines[l].key[0]) + ", where a first line must be");
      if (known[l] != 0) return bad("place " + number(i) + " shares some of its lines with another place");
      known[l] = l == first ? static_cast<std::uint8_t>(shift + 1) : behind;
    }
  }
  return {};
}

} // namespace

Result<RangeMapV4> RangeMapV4::attach(Bytes section) {
  const auto *h = TRY(header_of<RangeHeaderV4>(section));
  const std::uint32_t value_count = h->values, line_count = h->lines;
  const RangeLayoutV4 at = range_layout_v4(value_count, line_count, h->covering);
  TRY(check_size(section, at.bytes));
  const auto values = part<std::uint32_t>(section, at.values, value_count);
  TRY(check_values(values, h->values_used, Family::ipv4));
  const auto cells = part<std::uint64_t>(section, at.cells, range_cells);
  for (const std::uint64_t &cell : cells) {
    const std::uint64_t last =
        (cell & 0xFFFF'FFFF) + static_cast<unsigned>(std::popcount(static_cast<std::uint32_t>(cell >> 32)));
    if (last >= line_count)
      return bad("cell " + number(static_cast<std::uint64_t>(&cell - cells.data())) + " leads to line " +
                 number(last) + " of " + number(line_count));
  }
  const auto lines = part<RangeLine>(section, at.lines, line_count);
  if (h->points > 1) return bad("points are neither there nor not: " + number(h->points));
  TRY(check_lines(lines, value_count, Family::ipv4, h->points != 0, false));
  const auto covering = part<CoveringV4>(section, at.covering, h->covering);
  TRY(check_covering(covering, Family::ipv4));
  RangeMapV4 map;
  map.header_ = h;
  map.covering_ = covering;
  map.signs_ = part<std::uint32_t>(section, at.signs, range_sign_words).data();
  map.values_ = values.data();
  map.cells_ = cells.data();
  map.lines_ = lines.data();
  return map;
}

Result<RangeMapV6> RangeMapV6::attach(Bytes section) {
  const auto *h = TRY(header_of<RangeHeaderV6>(section));
  const std::uint32_t value_count = h->values, line_count = h->lines, place_count = h->array;
  if (place_count == 0 || h->array_used > place_count)
    return bad(number(h->array_used) + " of " + number(place_count) + " places are said to be in use");
  if (h->wide > 1) return bad("wide lines are neither there nor not: " + number(h->wide));
  const std::uint32_t mark_words = h->host_marks;
  if (!HostMarks::is_size(mark_words)) return bad("marks of hosts of " + number(mark_words) + " words");
  const RangeLayoutV6 at = range_layout_v6(value_count, place_count, line_count, h->covering, mark_words);
  TRY(check_size(section, at.bytes));
  const auto values = part<std::uint32_t>(section, at.values, value_count);
  TRY(check_values(values, h->values_used, Family::ipv6));
  const auto roots = part<std::uint32_t>(section, at.roots, range_cells);
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const unsigned shift = root_shift(roots[i]);
    if (shift > 16 || first_place(roots[i]) + (std::uint64_t{1} << shift) > place_count)
      return bad("root " + number(i) + " has places beyond the " + number(place_count) + " that there are");
  }
  const auto array = part<std::uint32_t>(section, at.array, place_count);
  const auto lines = part<RangeLine>(section, at.lines, line_count);
  TRY(check_lines(lines, value_count, Family::ipv6, false, h->wide != 0));
  TRY(check_places(array, lines));
  const auto covering = part<CoveringV6>(section, at.covering, h->covering);
  TRY(check_covering(covering, Family::ipv6));
  RangeMapV6 map;
  map.header_ = h;
  map.covering_ = covering;
  map.values_ = values.data();
  map.host_marks_ = HostMarks(part<std::uint32_t>(section, at.host_marks, mark_words).data(), mark_words);
  map.roots_ = roots.data();
  map.array_ = array.data();
  map.lines_ = lines.data();
  return map;
}

} // namespace weir::table
