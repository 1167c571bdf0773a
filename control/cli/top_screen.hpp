// The screen of weirctl top without a terminal: what keys do to it, and what stands on it.
#pragma once

#include "control/cli/frame.hpp"
#include "control/cli/top_readings.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace weir::cli {

// A character that was typed, or one of these.
enum class Key : std::uint32_t {
  enter = '\n',
  escape = 0x1B,
  backspace = 0x7F,
  up = 0x110000, // beyond all characters
  down,
  left,
  right,
  page_up,
  page_down,
  home,
  other,
};
[[nodiscard]] constexpr Key key_of(char32_t character) { return static_cast<Key>(character); }

// Why nothing new comes.
struct Silence {
  std::int64_t since = 0; // wall clock, seconds
  std::string why;
};

class TopScreen {
public:
  static constexpr std::chrono::milliseconds interval_least{100}, interval_most{3'600'000};

  explicit TopScreen(std::chrono::milliseconds interval, std::string filter = {})
      : interval_(interval), filter_(std::move(filter)) {}

  // Whether it goes on: false when the key ends it.
  [[nodiscard]] bool press(Key key);

  struct Shown {
    const Readings &readings;
    const Reading &reading;
    const std::optional<Silence> &silence;
    std::int64_t now = 0; // wall clock, seconds
  };
  // No line is longer than the screen is wide, and there are no more of them than it has rows. Without a size all
  // there is, for a file: no help line then.
  [[nodiscard]] Frame frame(const Shown &shown, Size size) const;

  [[nodiscard]] bool paused() const { return paused_; }
  [[nodiscard]] std::chrono::milliseconds interval() const { return interval_; }
  // How many rows of sources are worth asking for.
  static constexpr std::size_t sources_wanted = 200;

private:
  struct OfPart {
    std::optional<Sorting> sorting; // none: as the part does it by itself
    std::size_t skip = 0;
  };

  void type(Key key); // into the filter
  void select(Part part);
  void sort_by(int step);
  void scroll(std::ptrdiff_t rows);
  void change_interval(bool longer);
  [[nodiscard]] OfPart &chosen() { return of_parts_[static_cast<std::size_t>(part_)]; }
  [[nodiscard]] Grid grid(const Readings &readings, Part part) const;
  [[nodiscard]] Sorting sorting(Part part) const;
  [[nodiscard]] Frame head(const Shown &shown, Size size) const;
  [[nodiscard]] Frame body(const Shown &shown, Size size) const;
  [[nodiscard]] Line last_line(std::size_t columns) const;

  std::chrono::milliseconds interval_;
  std::string filter_;
  std::string filter_before_; // while one is typed, for Escape
  bool typing_ = false, paused_ = false, helping_ = false;
  bool alone_ = false; // the chosen part has the screen for itself
  Part part_ = Part::lists;
  std::array<OfPart, parts.size()> of_parts_;
};

} // namespace weir::cli
