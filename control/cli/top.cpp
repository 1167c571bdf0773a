#include "control/cli/top.hpp"

#include "control/cli/fields.hpp"
#include "control/cli/terminal.hpp"
#include "control/cli/top_screen.hpp"
#include "control/cli/top_session.hpp"
#include "weir/config/values.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <iostream>

#include <poll.h>

namespace weir::cli {

namespace {

using Clock = TopSession::Clock;

// What is known, and since when nothing new is.
class Watch {
public:
  Watch(const Options &options, std::size_t sources)
      : session_(options.socket, sources),
        screen_(options.top.interval.value_or(std::chrono::seconds(1)), options.top.filter) {}

  [[nodiscard]] TopScreen &screen() { return screen_; }
  [[nodiscard]] TopSession &session() { return session_; }
  [[nodiscard]] const Reading &latest() const { return now_; }

  // Whether there is something new to show: a reading, or that there is none.
  bool go_on() {
    auto reading = session_.go_on(Clock::now());
    if (!reading) {
      silence_ = Silence{.since = read_at_, .why = std::move(reading.error().message)};
      return true;
    }
    if (!*reading) return false;
    silence_.reset();
    if (screen_.paused()) return false;
    before_ = std::exchange(now_, std::move(**reading));
    read_at_ = std::time(nullptr);
    return true;
  }

  // The first one, without which there is nothing to show.
  Status begin() {
    session_.ask(Clock::now());
    while (session_.asking()) {
      auto reading = session_.go_on(Clock::now());
      if (!reading) return std::unexpected(std::move(reading.error()));
      if (*reading) now_ = std::move(**reading);
      if (session_.asking()) sleep_until(*session_.wake_at());
    }
    read_at_ = std::time(nullptr);
    return {};
  }

  // The next one, or why it does not come. Time goes by, and nothing else is done.
  void next(Clock::time_point at) {
    while (Clock::now() < at) sleep_until(at);
    session_.ask(Clock::now());
    while (!go_on()) sleep_until(*session_.wake_at());
  }

  [[nodiscard]] Frame frame(Size size) const {
    const std::int64_t wall = std::time(nullptr);
    const Readings readings(now_, before_.top == nullptr ? nullptr : &before_, wall);
    return screen_.frame({.readings = readings, .reading = now_, .silence = silence_, .now = wall}, size);
  }
  [[nodiscard]] bool silent() const { return silence_.has_value(); }

private:
  void sleep_until(Clock::time_point until) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd waiting{session_.asking() ? session_.fd() : -1, POLLIN, 0};
    (void)::poll(&waiting, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000)));
  }

  TopSession session_;
  TopScreen screen_;
  Reading now_, before_;
  std::int64_t read_at_ = 0;
  std::optional<Silence> silence_;
};

int complain(const Options &options, const Error &why, std::ostream &out, std::ostream &err) {
  if (options.json)
    out << json_line({{"ok", false}, {"code", name_of(why.code)}, {"message", why.message}}) << '\n';
  err << "weirctl: " << config::printable_lines(why.message) << '\n';
  if (why.code == Errc::usage) return exit_usage;
  return why.code == Errc::unreachable ? exit_unreachable : exit_refused;
}

// How many frames of text: as many as are wanted, without an end where an interval alone is.
std::uint64_t frames_of(const TopOptions &options) {
  if (options.once) return 1;
  return options.frames.value_or(options.interval ? ~std::uint64_t{0} : 1);
}

// One after the other, a blank line between them. Rates need two readings, answers as JSON do not.
int print(Watch &watch, const Options &options, std::ostream &out) {
  const std::size_t columns = &out == &std::cout ? terminal_size().columns : 0;
  auto at = Clock::now();
  for (std::uint64_t frame = 0; frame < frames_of(options.top) && out; ++frame) {
    at = std::max(at + watch.screen().interval(), Clock::now());
    if (!options.json || frame > 0) watch.next(at);
    if (options.json) {
      if (!watch.silent()) out << json_line(*watch.latest().top) << '\n';
    } else {
      if (frame > 0) out << '\n';
      for (const Line &line : watch.frame({.columns = columns, .rows = 0}))
        out << config::printable(line.text()) << '\n';
    }
    out.flush();
  }
  return exit_done;
}

void show(Watch &watch, const Terminal &terminal) {
  (void)terminal;                                                // it lives for as long as this runs
  auto next_ask = Clock::now() + std::chrono::milliseconds(300); // rates soon
  for (bool goes_on = true; goes_on;) {
    Terminal::draw(watch.frame(Terminal::size()));
    TopSession &session = watch.session();
    if (!watch.screen().paused() && !session.asking() && Clock::now() >= next_ask) {
      session.ask(Clock::now());
      next_ask = Clock::now() + watch.screen().interval();
    }
    (void)watch.go_on();
    auto until = Clock::now() + std::chrono::seconds(1); // the clock goes on
    if (session.asking() && session.wake_at()) until = std::min(until, *session.wake_at());
    if (!watch.screen().paused() && !session.asking()) until = std::min(until, next_ask);
    if (Terminal::wait(session.asking() ? session.fd() : -1, until) == Terminal::Event::ended) return;
    for (auto key = Terminal::key(); key && goes_on; key = Terminal::key())
      goes_on = watch.screen().press(*key);
    next_ask = std::min(next_ask, Clock::now() + watch.screen().interval());
  }
}

} // namespace

bool wants_screen(const Options &options, const std::ostream &out) {
  return !options.json && !options.top.once && !options.top.frames && &out == &std::cout && at_terminal();
}

int top(const Options &options, std::ostream &out, std::ostream &err) {
  const bool on_screen = wants_screen(options, out);
  Watch watch(options, on_screen ? TopScreen::sources_wanted : options.count.value_or(20));
  if (const Status begun = watch.begin(); !begun) return complain(options, begun.error(), out, err);
  if (!on_screen) return print(watch, options, out);
  const auto terminal = Terminal::open();
  if (!terminal) return complain(options, terminal.error(), out, err);
  show(watch, *terminal);
  return exit_done;
}

} // namespace weir::cli
