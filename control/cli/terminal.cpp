#include "control/cli/terminal.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <term.h>

namespace weir::cli {

namespace {

volatile std::sig_atomic_t resized = 0, ended = 0;

// What the handler of a fatal signal needs, made before it can come.
termios before{};
std::array<char, 256> farewell{};
std::size_t farewell_bytes = 0;

constexpr std::array ending{SIGINT, SIGTERM, SIGHUP};
constexpr std::array killing{SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGXCPU};
std::array<struct sigaction, NSIG> actions_before{};
sigset_t mask_before{};

void add_farewell(const char *capability) {
  const char *text = tigetstr(const_cast<char *>(capability));
  if (text == nullptr || text == reinterpret_cast<const char *>(-1)) return;
  for (; *text != '\0' && farewell_bytes < farewell.size(); ++text) {
    if (text[0] == '$' && text[1] == '<') { // a delay for terminals of old
      while (*text != '\0' && *text != '>') ++text;
      if (*text == '\0') return;
      continue;
    }
    farewell[farewell_bytes++] = *text;
  }
}

void handle(int number, void (*handler)(int), int flags) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, &actions_before[static_cast<std::size_t>(number)]);
}

// Only what may be called in a handler.
void restore_and_die(int number) {
  (void)!write(STDOUT_FILENO, farewell.data(), farewell_bytes);
  tcsetattr(STDIN_FILENO, TCSANOW, &before);
  raise(number); // its default action, since the handler was for one time
}

void take_signals() {
  resized = 0;
  ended = 0;
  sigset_t held;
  sigemptyset(&held);
  for (const int number : ending) {
    sigaddset(&held, number);
    handle(number, [](int) { ended = 1; }, 0);
  }
  sigaddset(&held, SIGWINCH);
  sigaddset(&held, SIGCONT);
  handle(SIGWINCH, [](int) { resized = 1; }, 0);
  handle(SIGCONT, [](int) { resized = 1; }, 0);
  for (const int number : killing) handle(number, restore_and_die, static_cast<int>(SA_RESETHAND));
  // They come in wait() alone, so that none is missed between a look at its flag and the sleep.
  sigprocmask(SIG_BLOCK, &held, &mask_before);
}

void give_signals_back() {
  const auto give_back = [](int number) {
    sigaction(number, &actions_before[static_cast<std::size_t>(number)], nullptr);
  };
  std::ranges::for_each(ending, give_back);
  std::ranges::for_each(killing, give_back);
  give_back(SIGWINCH);
  give_back(SIGCONT);
  sigprocmask(SIG_SETMASK, &mask_before, nullptr);
}

enum Pair : short { green = 1, yellow, red, cyan };

void begin_colours() {
  const char *none = std::getenv("NO_COLOR"); // https://no-color.org
  if ((none != nullptr && *none != '\0') || !has_colors() || start_color() == ERR) return;
  use_default_colors();
  init_pair(green, COLOR_GREEN, -1);
  init_pair(yellow, COLOR_YELLOW, -1);
  init_pair(red, COLOR_RED, -1);
  init_pair(cyan, COLOR_CYAN, -1);
}

// Without colours pairs change nothing, and the attributes are left.
attr_t attributes_of(Style style) {
  switch (style) {
  case Style::plain: return A_NORMAL;
  case Style::strong: return A_BOLD;
  case Style::faint: return A_DIM;
  case Style::title: return COLOR_PAIR(cyan) | A_UNDERLINE;
  case Style::chosen: return A_REVERSE;
  case Style::good: return COLOR_PAIR(green);
  case Style::warning: return COLOR_PAIR(yellow) | A_BOLD;
  case Style::wrong: return COLOR_PAIR(red) | A_BOLD;
  }
  return A_NORMAL;
}

// As wide characters for this locale, and no more of them than fit.
std::wstring wide(const std::string &text, int room) {
  std::wstring out;
  std::mbstate_t state{};
  for (std::size_t at = 0; at < text.size();) {
    wchar_t character = L'?';
    const std::size_t bytes = std::mbrtowc(&character, text.data() + at, text.size() - at, &state);
    const bool bad = bytes == 0 || bytes > text.size() - at;
    if (bad) {
      state = {};
      character = L'?';
    }
    const int width = std::max(wcwidth(character), 0);
    if ((room -= width) < 0) break;
    out += character;
    at += bad ? 1 : bytes;
  }
  return out;
}

} // namespace

bool at_terminal() { return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1; }

Size terminal_size() {
  winsize window{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0) return {};
  return {window.ws_col, window.ws_row};
}

Result<Terminal> Terminal::open() {
  std::setlocale(LC_CTYPE, "");
  tcgetattr(STDIN_FILENO, &before);
  const char *name = std::getenv("TERM");
  int fault = 0;
  if (setupterm(nullptr, STDOUT_FILENO, &fault) == ERR || tigetstr(const_cast<char *>("cup")) == nullptr ||
      newterm(nullptr, stdout, stdin) == nullptr)
    return fail(Errc::usage, std::string("TERM=") + (name == nullptr ? "" : name) +
                                 " names no terminal with a screen; --once prints text.");
  farewell_bytes = 0;
  for (const char *capability : {"sgr0", "cnorm", "rmkx", "rmcup"}) add_farewell(capability);
  begin_colours();
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  leaveok(stdscr, TRUE);
  set_escdelay(50);
  curs_set(0);
  take_signals();
  return Terminal();
}

Terminal::~Terminal() {
  if (!open_) return;
  endwin();
  give_signals_back();
}

Size Terminal::size() {
  winsize window{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 0 &&
      (window.ws_col != COLS || window.ws_row != LINES))
    resizeterm(window.ws_row, window.ws_col);
  return {static_cast<std::size_t>(std::max(1, COLS)), static_cast<std::size_t>(std::max(1, LINES))};
}

void Terminal::draw(const Frame &frame) {
  erase();
  for (std::size_t row = 0; row < frame.size() && row < static_cast<std::size_t>(LINES); ++row) {
    move(static_cast<int>(row), 0);
    for (const Span &span : frame[row].spans()) {
      attrset(attributes_of(span.style));
      const std::wstring text = wide(span.text, COLS - getcurx(stdscr));
      addnwstr(text.data(), static_cast<int>(text.size()));
      if (getcury(stdscr) != static_cast<int>(row)) break; // the last column is full
    }
  }
  attrset(A_NORMAL);
  refresh();
}

std::optional<Key> Terminal::key() {
  wint_t typed = 0;
  switch (get_wch(&typed)) {
  case OK: return typed == 0x08 ? Key::backspace : static_cast<Key>(typed);
  case KEY_CODE_YES: break;
  default: return std::nullopt;
  }
  switch (typed) {
  case KEY_UP: return Key::up;
  case KEY_DOWN: return Key::down;
  case KEY_LEFT: return Key::left;
  case KEY_RIGHT: return Key::right;
  case KEY_PPAGE: return Key::page_up;
  case KEY_NPAGE: return Key::page_down;
  case KEY_HOME: return Key::home;
  case KEY_ENTER: return Key::enter;
  case KEY_BACKSPACE: return Key::backspace;
  default: return Key::other;
  }
}

Terminal::Event Terminal::wait(int fd, std::chrono::steady_clock::time_point until) {
  using std::chrono::nanoseconds;
  const auto left = std::max<std::int64_t>(
      0, std::chrono::duration_cast<nanoseconds>(until - std::chrono::steady_clock::now()).count());
  const timespec time{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  std::array<pollfd, 2> waiting{{{STDIN_FILENO, POLLIN, 0}, {fd, POLLIN, 0}}};
  const int got = ppoll(waiting.data(), waiting.size(), &time, &mask_before);
  if (ended != 0 || (waiting[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return Event::ended;
  if (resized != 0) {
    resized = 0;
    clearok(curscr, TRUE); // whatever was there meanwhile
    return Event::resized;
  }
  return got > 0 ? Event::input : Event::time;
}

} // namespace weir::cli
