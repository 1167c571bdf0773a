// A terminal for programs under test: keys go in, and what the program draws stands on a screen that a test reads.
// It obeys what ncurses says to a vt100, and lets the sequences of other terminals pass without effect.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>
#include <termios.h>

namespace weir::test {

class PseudoTerminal {
public:
  struct Setup {
    std::vector<std::string> arguments; // the program first
    unsigned rows = 24, columns = 80;
    std::vector<std::pair<std::string, std::string>> environment = {{"TERM", "vt100"}};
  };
  explicit PseudoTerminal(const Setup &setup); // the program is started on it
  ~PseudoTerminal();                           // kills it
  PseudoTerminal(const PseudoTerminal &) = delete;
  PseudoTerminal &operator=(const PseudoTerminal &) = delete;

  void type(const std::string &keys) const;
  void resize(unsigned rows, unsigned columns); // the program is told; the screen is empty until it draws
  void signal(int number) const;

  // What stands there now, a line each, without blanks at their ends.
  [[nodiscard]] std::vector<std::string> lines();
  [[nodiscard]] std::string text(); // joined by newlines
  // Until the text stands somewhere; false when time is up.
  [[nodiscard]] bool shows(const std::string &what,
                           std::chrono::milliseconds limit = std::chrono::seconds(20));
  [[nodiscard]] bool loses(const std::string &what,
                           std::chrono::milliseconds limit = std::chrono::seconds(20));
  // All that was written so far, and the columns that the longest line would have taken.
  [[nodiscard]] const std::string &written();
  // Since resize(), from the first column of the first row on.
  [[nodiscard]] bool cleared() const { return cleared_; }
  // Something was written beyond the last column, where that was known: what was on its way when the size changed, until the
  // program clears the screen, does not count.
  [[nodiscard]] bool wrapped() const { return wrapped_; }

  [[nodiscard]] termios settings() const;
  // Exit status, 128 + signal number when it was killed; nothing when time is up.
  [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds limit = std::chrono::seconds(20));

private:
  void read();
  void take(char byte);
  void obey(char command);
  void put(char byte);
  void step_down();
  void step_up();
  [[nodiscard]] std::size_t last_scrolling() const;
  [[nodiscard]] std::size_t number(std::size_t index, std::size_t fallback) const;

  int master_ = -1, slave_ = -1; // the latter stays open: settings outlive the program
  pid_t pid_ = -1;
  std::optional<int> code_;
  std::string written_;
  std::vector<std::string> screen_;
  std::size_t scrolls_from_ = 0, scrolls_to_ = 0; // the rows that scroll; the second is behind the last
  std::size_t row_ = 0, column_ = 0;
  bool at_end_ = false; // the last column was written: the next character would go to the next line
  bool wrapped_ = false, cleared_ = true;
  std::string sequence_; // after an escape, as far as it has come
};

} // namespace weir::test
