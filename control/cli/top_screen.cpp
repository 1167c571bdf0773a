#include "control/cli/top_screen.hpp"

#include "control/base/health.hpp"
#include "control/cli/fields.hpp"
#include "control/cli/progress_text.hpp"
#include "control/cli/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

namespace weir::cli {

namespace {

constexpr std::size_t filter_characters_max = 64;

constexpr std::array<std::pair<std::string_view, std::string_view>, 13> key_help{{
    {"q", "quit"},
    {"p, space", "pause, and go on"},
    {"1 to 6", "ports, verdicts, lists, sources, workers or swaps alone"},
    {"Tab, Backspace", "choose the next part of the screen, the one before"},
    {"Enter", "the chosen part alone, and all again"},
    {"s, right; S, left", "sort it by the next column; by the one before"},
    {"r", "sort it the other way round"},
    {"arrows, PgUp, PgDn", "scroll it; Home: to its first row"},
    {"/", "filter: rows with this word, or sources in this prefix"},
    {"", "Enter keeps the filter, Escape does not"},
    {"0, Escape", "all parts; Escape takes the filter off as well"},
    {"+, -", "look less often, more often"},
    {"?, h", "this help; any key leaves it"},
}};

// By which column a part is sorted until somebody says otherwise; beyond all of them: as the answer has it.
constexpr std::size_t as_it_comes = ~std::size_t{0};

Sorting first_sorting(Part part) {
  switch (part) {
  case Part::ports:
  case Part::workers:
  case Part::swaps: return {.column = as_it_comes};
  case Part::verdicts: return {.column = 3};
  case Part::lists: return {.column = 3};
  case Part::sources: return {.column = 4};
  }
  return {};
}

std::string interval_text(std::chrono::milliseconds interval) {
  return milliseconds_text(static_cast<double>(interval.count()));
}

std::string of_rate(const char *what, double packets, double bits) {
  if (packets < 0) return fmt::format("{} -", what);
  std::string text = fmt::format("{} {}pps", what, short_count(packets));
  if (bits >= 0) text += fmt::format(" {}bit/s", short_count(bits));
  return text;
}

// Only what is not zero stands out.
void add_trouble(PartsLine &line, const char *what, double rate) {
  line.add(fmt::format("{} {}/s", what, short_count(rate)), rate > 0 ? Style::warning : Style::plain);
}

Line rates_line(const Readings &readings, std::size_t columns) {
  const Readings::Sums sums = readings.sums();
  PartsLine line(columns);
  line.add(of_rate("in", sums.rx_packets, sums.rx_bits), Style::strong);
  line.add(of_rate("drop", sums.drop, -1), Style::strong);
  line.add(of_rate("out", sums.tx_packets, sums.tx_bits), Style::strong);
  line.add(of_rate("pass", sums.pass, -1));
  return line.take();
}

Line trouble_line(const Readings &readings, const Reading &reading, std::size_t columns) {
  const Readings::Sums sums = readings.sums();
  PartsLine line(columns);
  add_trouble(line, "missed", sums.missed);
  add_trouble(line, "refused", sums.refused);
  line.add("lost " + thousands_in(*reading.top, "lost"));
  const Grid swaps = readings.grid(Part::swaps);
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, swaps.rows.size()); ++i)
    text += fmt::format("{} {}", i == 0 ? "last swaps" : ",", swaps.rows[i].cells[1].text);
  line.add(text);
  if (const auto dropped = count_in(*reading.top, "samples_dropped"); dropped > 0)
    line.add("samples dropped " + thousands(dropped));
  return line.take();
}

// Each sentence begins a line of its own; of a small screen they take a third.
void add_sentences(Frame &frame, const std::vector<std::string> &sentences, const char *before, Style style,
                   std::size_t columns, std::size_t &room) {
  for (const std::string &sentence : sentences)
    for (const std::string &line : wrapped(before + sentence, columns)) {
      if (room == 0) return;
      --room;
      frame.emplace_back(line, style);
    }
}

void add_health(Frame &frame, const Reading &reading, Size size) {
  const control::Health health = control::health_of(*reading.status);
  std::size_t room = size.rows == 0 ? 1000 : std::max<std::size_t>(1, size.rows / 3);
  add_sentences(frame, health.faults, "WRONG: ", Style::wrong, size.columns, room);
  add_sentences(frame, health.warnings, "warning: ", Style::warning, size.columns, room);
  if (const auto doing = text_in(*reading.status, "doing", ""); !doing.empty())
    add_sentences(frame, {doing + "  " + progress_text(work_part(child(*reading.status, "progress")))},
                  "at work: ", Style::strong, size.columns, room);
}

Frame help_page(Size size) {
  Frame frame{Line("weirctl top: keys", Style::strong), Line()};
  for (const auto &[keys, meaning] : key_help) {
    Line line(fmt::format("  {:<20}", keys), Style::strong);
    line.add(std::string(meaning));
    frame.push_back(std::move(line));
  }
  frame.emplace_back();
  for (const char *note :
       {"ABOUT/S   estimated from samples of packets", "AGE       since the list last changed",
        "EMPTY     polls that brought nothing", "RECEIVE to CYCLES   TSC cycles a packet"})
    frame.emplace_back(std::string("  ") + note);
  for (Line &line : frame) line.cut(size.columns);
  if (size.rows != 0 && frame.size() > size.rows) frame.resize(size.rows);
  return frame;
}

} // namespace

bool TopScreen::press(Key key) {
  if (typing_) {
    type(key);
    return true;
  }
  if (std::exchange(helping_, false)) return true;
  const auto number = static_cast<std::uint32_t>(key);
  if (number >= '1' && number < '1' + parts.size()) {
    const Part wanted = parts[number - '1'];
    alone_ = !(alone_ && part_ == wanted);
    part_ = wanted;
    return true;
  }
  switch (number) {
  case 'q':
  case 'Q': return false;
  case 'p':
  case ' ': paused_ = !paused_; break;
  case '\t': part_ = parts[(static_cast<std::size_t>(part_) + 1) % parts.size()]; break;
  case static_cast<std::uint32_t>(Key::backspace):
    part_ = parts[(static_cast<std::size_t>(part_) + parts.size() - 1) % parts.size()];
    break;
  case '\r':
  case '\n': alone_ = !alone_; break;
  case '0': alone_ = false; break;
  case static_cast<std::uint32_t>(Key::escape):
    alone_ = false;
    filter_.clear();
    break;
  case 's':
  case static_cast<std::uint32_t>(Key::right): sort_by(1); break;
  case 'S':
  case static_cast<std::uint32_t>(Key::left): sort_by(-1); break;
  case 'r': {
    Sorting other = sorting(part_);
    if (other.column >= columns_of(part_).size()) other.column = 0;
    other.reversed = !other.reversed;
    chosen().sorting = other;
    break;
  }
  case '/':
    typing_ = true;
    filter_before_ = filter_;
    break;
  case '+': change_interval(true); break;
  case '-': change_interval(false); break;
  case '?':
  case 'h': helping_ = true; break;
  case static_cast<std::uint32_t>(Key::up): scroll(-1); break;
  case static_cast<std::uint32_t>(Key::down): scroll(1); break;
  case static_cast<std::uint32_t>(Key::page_up): scroll(-10); break;
  case static_cast<std::uint32_t>(Key::page_down): scroll(10); break;
  case static_cast<std::uint32_t>(Key::home): chosen().skip = 0; break;
  default: break;
  }
  return true;
}

void TopScreen::type(Key key) {
  const auto number = static_cast<std::uint32_t>(key);
  if (key == Key::escape) {
    filter_ = filter_before_;
    typing_ = false;
  } else if (number == '\n' || number == '\r') {
    typing_ = false;
  } else if (key == Key::backspace || number == '\b') {
    if (!filter_.empty()) filter_.pop_back();
  } else if (number > ' ' && number < 0x7F && filter_.size() < filter_characters_max) {
    filter_ += static_cast<char>(number); // names and addresses are ASCII
  }
  for (OfPart &of : of_parts_) of.skip = 0;
}

Sorting TopScreen::sorting(Part part) const {
  return of_parts_[static_cast<std::size_t>(part)].sorting.value_or(first_sorting(part));
}

// Columns are counted by what a part has; those that there is no room for can be sorted by, too.
void TopScreen::sort_by(int step) {
  const std::size_t count = columns_of(part_).size();
  const std::size_t now =
      std::min(sorting(part_).column, count); // as it comes, between the last and the first
  chosen().sorting = {.column = step > 0 ? (now + 1) % (count + 1) : (now + count) % (count + 1)};
}

void TopScreen::scroll(std::ptrdiff_t rows) {
  const auto now = static_cast<std::ptrdiff_t>(chosen().skip);
  chosen().skip = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(now + rows, 0, 100'000));
}

void TopScreen::change_interval(bool longer) {
  interval_ = std::clamp(longer ? interval_ * 2 : interval_ / 2, interval_least, interval_most);
}

Grid TopScreen::grid(const Readings &readings, Part part) const {
  Grid made = readings.grid(part);
  filter_rows(made, filter_);
  sort_rows(made, sorting(part));
  return made;
}

Frame TopScreen::head(const Shown &shown, Size size) const {
  Frame frame;
  PartsLine first(size.columns);
  first.add("weirctl top " + clock_text(shown.now, shown.now), Style::strong);
  if (shown.silence)
    first.add(fmt::format("no answer since {}", clock_text(shown.silence->since, shown.now)), Style::wrong);
  if (paused_) first.add("PAUSED", Style::warning);
  if (!filter_.empty()) first.add("filter " + filter_, Style::warning);
  const Json &status = *shown.reading.status;
  first.add("generation " + text_in(status, "generation"));
  first.add("every " + interval_text(interval_));
  if (alone_) first.add(std::string(name_of(part_)));
  frame.push_back(first.take());
  if (shown.silence) {
    std::size_t room = 3;
    add_sentences(frame, {shown.silence->why}, "", Style::wrong, size.columns, room);
  } else {
    add_health(frame, shown.reading, size);
  }
  for (Line line : {rates_line(shown.readings, size.columns),
                    trouble_line(shown.readings, shown.reading, size.columns)}) {
    if (shown.silence) line.paint(Style::faint); // it is not of now
    frame.push_back(std::move(line));
  }
  return frame;
}

Frame TopScreen::body(const Shown &shown, Size size) const {
  std::vector<Grid> grids;
  std::vector<Part> which;
  for (const Part part : parts)
    if (alone_ ? part == part_ : part != Part::swaps || size.rows == 0) {
      which.push_back(part);
      grids.push_back(grid(shown.readings, part));
    }
  std::vector<std::size_t> needed;
  for (const Grid &grid : grids) needed.push_back(grid.rows.empty() ? 0 : grid.rows.size() + 1);
  const std::vector<std::size_t> shares =
      size.rows == 0 ? std::vector<std::size_t>(grids.size(), 0) : share_rows(needed, size.rows);
  Frame frame;
  for (std::size_t i = 0; i < grids.size(); ++i) {
    if (size.rows != 0 && shares[i] == 0) continue;
    const bool on_screen = size.rows != 0;
    const bool chosen = on_screen && which[i] == part_;
    Frame part = lay_out(grids[i], {.columns = size.columns,
                                    .rows = shares[i],
                                    .skip = of_parts_[static_cast<std::size_t>(which[i])].skip,
                                    .sorted = chosen ? std::optional(sorting(which[i]).column) : std::nullopt,
                                    .chosen = chosen});
    if (!on_screen && !part.empty()) frame.emplace_back();
    if (shown.silence)
      for (Line &line : part | std::views::drop(1)) line.paint(Style::faint);
    std::ranges::move(part, std::back_inserter(frame));
  }
  if (frame.empty() && size.rows > 0)
    frame.emplace_back(filter_.empty() ? "nothing to show yet" : fmt::format("nothing has \"{}\"", filter_),
                       Style::faint);
  return frame;
}

Line TopScreen::last_line(std::size_t columns) const {
  if (typing_) {
    Line line("filter: ", Style::strong);
    line.add(filter_ + "_");
    line.cut(columns);
    return line;
  }
  PartsLine line(columns);
  for (const char *keys : {"q quit", "p pause", "/ filter", "s sort", "r reverse", "Tab part", "1-6 alone",
                           "+- interval", "? help"})
    line.add(keys, Style::faint);
  return line.take();
}

Frame TopScreen::frame(const Shown &shown, Size size) const {
  if (helping_) return help_page(size);
  Frame frame = head(shown, size);
  if (size.rows == 0) {
    std::ranges::move(body(shown, size), std::back_inserter(frame));
    return frame;
  }
  const std::size_t used = frame.size() + 1; // and the last line
  if (size.rows > used) {
    Frame parts_shown = body(shown, {size.columns, size.rows - used});
    std::ranges::move(parts_shown, std::back_inserter(frame));
  }
  frame.resize(size.rows - 1);
  frame.push_back(last_line(size.columns));
  for (Line &line : frame) line.cut(size.columns);
  return frame;
}

} // namespace weir::cli
