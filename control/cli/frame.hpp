// What stands on a screen: lines of text in a few styles, made without knowing of any terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weir::cli {

enum class Style : std::uint8_t {
  plain,
  strong,
  faint,
  title,  // of a table
  chosen, // the title of the table that keys are about
  good,
  warning,
  wrong,
};

struct Span {
  std::string text; // ASCII or UTF-8 without control characters
  Style style = Style::plain;
};

struct Size {
  std::size_t columns = 0, rows = 0; // 0: as many as there are
};

class Line {
public:
  Line() = default;
  explicit Line(std::string text, Style style = Style::plain) { add(std::move(text), style); }

  void add(std::string text, Style style = Style::plain);
  void paint(Style to); // all of it
  // Nothing beyond so many columns is left; 0 leaves all.
  void cut(std::size_t columns);

  [[nodiscard]] const std::vector<Span> &spans() const { return spans_; }
  [[nodiscard]] std::size_t columns() const;
  [[nodiscard]] std::string text() const; // without styles and blanks at its end

private:
  std::vector<Span> spans_;
};

using Frame = std::vector<Line>;

// A line of parts that are whole or not there, the first ones first, three blanks between them.
class PartsLine {
public:
  explicit PartsLine(std::size_t columns) : room_(columns) {}
  void add(const std::string &text, Style style = Style::plain);
  [[nodiscard]] Line take() { return std::move(line_); }

private:
  std::size_t room_ = 0;
  Line line_;
};

// Sentences broken at blanks into lines of at most so many columns; 0: one line.
[[nodiscard]] std::vector<std::string> wrapped(const std::string &text, std::size_t columns);

} // namespace weir::cli
