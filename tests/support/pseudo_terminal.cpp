#include "tests/support/pseudo_terminal.hpp"

#include "tests/support/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace weir::test {

namespace {

winsize size_of(unsigned rows, unsigned columns) {
  winsize size{};
  size.ws_row = static_cast<unsigned short>(rows);
  size.ws_col = static_cast<unsigned short>(columns);
  return size;
}

} // namespace

PseudoTerminal::PseudoTerminal(const Setup &setup)
    : screen_(setup.rows, std::string(setup.columns, ' ')), scrolls_to_(setup.rows) {
  master_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0)
    throw std::runtime_error("no pseudo terminal");
  const std::string name = ptsname(master_);
  slave_ = open(name.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  const winsize size = size_of(setup.rows, setup.columns);
  ioctl(slave_, TIOCSWINSZ, &size);
  std::vector<char *> arguments;
  for (const std::string &argument : setup.arguments)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL); // a test that crashes leaves nothing behind
  setsid();
  ioctl(slave_, TIOCSCTTY, 0);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(slave_, fd);
  for (const auto &[variable, value] : setup.environment) setenv(variable.c_str(), value.c_str(), 1);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

PseudoTerminal::~PseudoTerminal() {
  if (pid_ > 0 && !code_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(slave_);
  close(master_);
}

void PseudoTerminal::type(const std::string &keys) const { (void)!write(master_, keys.data(), keys.size()); }

void PseudoTerminal::resize(unsigned rows, unsigned columns) {
  read();
  screen_.assign(rows, std::string(columns, ' '));
  row_ = column_ = 0;
  scrolls_from_ = 0;
  scrolls_to_ = rows;
  at_end_ = cleared_ = false;
  const winsize size = size_of(rows, columns);
  ioctl(master_, TIOCSWINSZ, &size); // the kernel sends SIGWINCH
}

void PseudoTerminal::signal(int number) const { kill(pid_, number); }

std::vector<std::string> PseudoTerminal::lines() {
  read();
  std::vector<std::string> lines = screen_;
  for (std::string &line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
}

std::string PseudoTerminal::text() {
  std::string text;
  for (const std::string &line : lines()) text += line + '\n';
  return text;
}

bool PseudoTerminal::shows(const std::string &what, std::chrono::milliseconds limit) {
  return wait_until([&] { return text().find(what) != std::string::npos; }, limit);
}

bool PseudoTerminal::loses(const std::string &what, std::chrono::milliseconds limit) {
  return wait_until([&] { return text().find(what) == std::string::npos; }, limit);
}

const std::string &PseudoTerminal::written() {
  read();
  return written_;
}

termios PseudoTerminal::settings() const {
  termios settings{};
  tcgetattr(slave_, &settings);
  return settings;
}

std::optional<int> PseudoTerminal::wait(std::chrono::milliseconds limit) {
  (void)!wait_until(
      [this] {
        read(); // or it would wait for room to write into
        int status = 0;
        if (!code_ && waitpid(pid_, &status, WNOHANG) == pid_)
          code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return code_.has_value();
      },
      limit);
  read();
  return code_;
}

void PseudoTerminal::read() {
  for (pollfd waiting{master_, POLLIN, 0}; poll(&waiting, 1, 0) > 0 && (waiting.revents & POLLIN) != 0;) {
    char buffer[4096];
    const ssize_t got = ::read(master_, buffer, sizeof buffer);
    if (got <= 0) return;
    written_.append(buffer, static_cast<std::size_t>(got));
    for (ssize_t i = 0; i < got; ++i) take(buffer[i]);
  }
}

void PseudoTerminal::take(char byte) {
  if (!sequence_.empty()) {
    sequence_ += byte;
    if (sequence_.size() == 2 && byte == '[') return;
    if (sequence_.size() == 2 && (byte == '(' || byte == ')')) return; // and the character set's letter
    if (sequence_[1] == '[' && (byte < '@' || byte > '~')) return;
    if (sequence_[1] == '[') obey(byte);
    if (sequence_ == "\x1bM") step_up();
    sequence_.clear();
    return;
  }
  switch (byte) {
  case '\x1b': sequence_ = byte; return;
  case '\r': column_ = 0; break;
  case '\n': step_down(); break;
  case '\t': column_ = std::min((column_ / 8 + 1) * 8, screen_[row_].size() - 1); break;
  case '\b': column_ -= column_ > 0 ? 1 : 0; break;
  default:
    if (static_cast<unsigned char>(byte) >= ' ') put(byte);
    return;
  }
  at_end_ = false;
}

// At the end of the part that scrolls it scrolls.
void PseudoTerminal::step_down() {
  if (row_ != last_scrolling()) {
    row_ = std::min(row_ + 1, screen_.size() - 1);
    return;
  }
  screen_.erase(screen_.begin() + static_cast<std::ptrdiff_t>(scrolls_from_));
  screen_.insert(screen_.begin() + static_cast<std::ptrdiff_t>(row_), std::string(screen_[0].size(), ' '));
}

void PseudoTerminal::step_up() {
  if (row_ != scrolls_from_) {
    row_ -= row_ > 0 ? 1 : 0;
    return;
  }
  screen_.erase(screen_.begin() + static_cast<std::ptrdiff_t>(last_scrolling()));
  screen_.insert(screen_.begin() + static_cast<std::ptrdiff_t>(row_), std::string(screen_[0].size(), ' '));
}

std::size_t PseudoTerminal::last_scrolling() const { return std::min(scrolls_to_, screen_.size()) - 1; }

void PseudoTerminal::put(char byte) {
  if (at_end_) {
    wrapped_ |= cleared_;
    column_ = 0;
    step_down();
  }
  screen_[row_][column_] = byte;
  at_end_ = column_ + 1 == screen_[row_].size();
  if (!at_end_) ++column_;
}

std::size_t PseudoTerminal::number(std::size_t index, std::size_t fallback) const {
  std::size_t at = 2;
  for (; index > 0 && at < sequence_.size(); ++at)
    if (sequence_[at] == ';') --index;
  const std::size_t value = std::strtoul(sequence_.c_str() + at, nullptr, 10);
  return value == 0 ? fallback : value;
}

// Cursor and erasing; colours and modes change nothing here.
void PseudoTerminal::obey(char command) {
  if (command != 'm') at_end_ = false;
  const std::size_t last_row = screen_.size() - 1, last_column = screen_[0].size() - 1;
  switch (command) {
  case 'A': row_ -= std::min(row_, number(0, 1)); break;
  case 'B': row_ = std::min(row_ + number(0, 1), last_row); break;
  case 'C': column_ = std::min(column_ + number(0, 1), last_column); break;
  case 'D': column_ -= std::min(column_, number(0, 1)); break;
  case 'H':
    row_ = std::min(number(0, 1) - 1, last_row);
    column_ = std::min(number(1, 1) - 1, last_column);
    break;
  case 'r':
    scrolls_from_ = std::min(number(0, 1) - 1, last_row);
    scrolls_to_ = std::min(number(1, last_row + 1), last_row + 1);
    row_ = column_ = 0;
    break;
  case 'J':
    cleared_ |= row_ == 0 && column_ == 0;
    screen_[row_].replace(column_, std::string::npos, last_column + 1 - column_, ' ');
    for (std::size_t row = row_ + 1; row <= last_row; ++row) screen_[row].assign(last_column + 1, ' ');
    break;
  case 'K':
    if (number(0, 0) == 1)
      screen_[row_].replace(0, column_ + 1, column_ + 1, ' ');
    else
      screen_[row_].replace(column_, std::string::npos, last_column + 1 - column_, ' ');
    break;
  default: break;
  }
}

} // namespace weir::test
