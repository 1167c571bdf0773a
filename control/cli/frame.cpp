#include "control/cli/frame.hpp"

#include "control/cli/text.hpp"

#include <string_view>

namespace weir::cli {

namespace {

// The bytes of as many characters.
std::size_t bytes_of(std::string_view text, std::size_t characters) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (begins && characters-- == 0) break;
  }
  return at;
}

} // namespace

void Line::add(std::string text, Style style) {
  if (!text.empty()) spans_.push_back({std::move(text), style});
}

void Line::paint(Style to) {
  for (Span &span : spans_) span.style = to;
}

void Line::cut(std::size_t columns) {
  if (columns == 0) return;
  std::size_t room = columns;
  std::vector<Span> kept;
  for (Span &span : spans_) {
    const std::size_t width = width_of(span.text);
    if (width > room) span.text.resize(bytes_of(span.text, room));
    room -= width > room ? room : width;
    if (!span.text.empty()) kept.push_back(std::move(span));
  }
  spans_ = std::move(kept);
}

std::size_t Line::columns() const {
  std::size_t sum = 0;
  for (const Span &span : spans_) sum += width_of(span.text);
  return sum;
}

std::string Line::text() const {
  std::string text;
  for (const Span &span : spans_) text += span.text;
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

void PartsLine::add(const std::string &text, Style style) {
  const bool first = line_.spans().empty();
  const std::size_t needed = line_.columns() + width_of(text) + (first ? 0 : 3);
  if (text.empty() || (room_ != 0 && needed > room_)) return;
  if (!first) line_.add("   ");
  line_.add(text, style);
}

std::vector<std::string> wrapped(const std::string &text, std::size_t columns) {
  std::vector<std::string> lines;
  std::string_view rest = text;
  while (columns != 0 && width_of(rest) > columns) {
    const std::string_view fits = rest.substr(0, bytes_of(rest, columns + 1));
    std::size_t end = fits.rfind(' ');
    if (end == std::string_view::npos || end == 0) end = bytes_of(rest, columns);
    lines.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  }
  lines.emplace_back(rest);
  return lines;
}

} // namespace weir::cli
