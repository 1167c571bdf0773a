// One address or prefix a line, with comments: plain lists, firehol's, and Spamhaus DROP text.
#include "control/rules/sink.hpp"
#include "weir/base/parallel.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

namespace weir::rules {
namespace {

// The common line, "203.0.113.9" or "203.0.113.0/24" and nothing else. False leaves the decision to
// the careful path, which also finds the reason.
bool take_ipv4(std::string_view line, EntryV4 &out) noexcept {
  const char *at = line.data();
  const char *const end = at + line.size();
  std::uint32_t host = 0;
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && (at == end || *at++ != '.')) return false;
    if (at == end) return false;
    std::uint32_t number = static_cast<unsigned char>(*at) - unsigned{'0'};
    if (number > 9) return false;
    const bool leading_zero = number == 0;
    ++at;
    for (int more = 0; more < 2 && at != end; ++more) {
      const std::uint32_t digit = static_cast<unsigned char>(*at) - unsigned{'0'};
      if (digit > 9) break;
      if (leading_zero) return false;
      number = number * 10 + digit;
      ++at;
    }
    if (number > 255) return false;
    host = host << 8 | number;
  }
  std::uint32_t length = 32;
  if (at != end) {
    if (*at++ != '/' || at == end || end - at > 2) return false;
    length = static_cast<unsigned char>(*at++) - unsigned{'0'};
    if (length > 9) return false;
    if (at != end) {
      const std::uint32_t digit = static_cast<unsigned char>(*at) - unsigned{'0'};
      if (digit > 9 || length == 0) return false;
      length = length * 10 + digit;
    }
    if (length > 32) return false;
    if (length < 32 && (host << length) != 0) return false;
  }
  out = {.host = host, .length = static_cast<std::uint8_t>(length)};
  return true;
}

void take_line(std::uint64_t number, std::string_view line, Sink &sink) {
  const std::size_t mark = line.find_first_of("#;");
  const std::string_view rule = trim(line.substr(0, mark));
  if (rule.empty()) return;
  Prefix prefix;
  if (!sink.take(number, trim(line), rule, prefix)) return;
  sink.add(prefix, number);
  if (mark == std::string_view::npos) return;
  std::string_view comment = line.substr(mark);
  comment.remove_prefix(std::min(comment.find_first_not_of("#; \t"), comment.size()));
  if (!comment.empty()) sink.note(prefix, trim(comment), 0);
}

} // namespace

namespace {

// Gives pages of text that was read back to the kernel, so that a file and its entries are not in memory
// together. What a page shares with text around it stays.
class ReadPages {
public:
  ReadPages(std::string_view text, bool may_go) noexcept
      : given_back_(reinterpret_cast<std::uintptr_t>(text.data())), may_go_(may_go) {}

  void read_up_to(const char *at) noexcept {
    const auto end = reinterpret_cast<std::uintptr_t>(at);
    if (!may_go_ || end - given_back_ < bytes_at_once) return;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::uintptr_t first = (given_back_ + page - 1) / page * page, last = end / page * page;
    (void)::madvise(reinterpret_cast<void *>(first), last - first, MADV_DONTNEED); // else it stays
    given_back_ = last;
  }

private:
  static constexpr std::uintptr_t bytes_at_once = 4u << 20;
  std::uintptr_t given_back_;
  bool may_go_;
};

void parse_lines(std::string_view text, Sink &sink) {
  constexpr std::size_t usual_line_bytes = 14;
  if (sink.search == nullptr) sink.content.v4.reserve(text.size() / usual_line_bytes + 1);
  Lines lines(text);
  ReadPages pages(text, sink.text_may_go);
  ReadSoFar so_far(text, sink);
  std::string_view line;
  EntryV4 entry;
  while (lines.next(line)) {
    pages.read_up_to(line.data());
    so_far.up_to(line.data());
    if (line.empty()) continue;
    if (take_ipv4(line, entry))
      sink.add(entry, lines.number());
    else
      take_line(lines.number(), line, sink);
  }
  sink.content.lines = lines.number();
}

constexpr std::size_t bytes_worth_a_thread = 1u << 20; // below, starting it costs more

} // namespace

// The lines behind the middle may go to a second thread; all comes out as from one.
void parse_plain(std::string_view text, Sink &sink, unsigned threads) {
  const bool small = text.size() < bytes_worth_a_thread;
  const bool one_blob = text.size() < std::numeric_limits<std::uint32_t>::max(); // of comments
  const std::size_t cut = threads > 1 && !small && one_blob ? text.find('\n', text.size() / 2) : text.npos;
  if (cut == text.npos) return parse_lines(text, sink);
  Sink rest;
  rest.text_may_go = sink.text_may_go;
  rest.progress = sink.progress;
  bool no_memory[2] = {};
  in_parallel(2, [&](unsigned part) {
    Sink &own = part == 0 ? sink : rest;
    try {
      parse_lines(part == 0 ? text.substr(0, cut + 1) : text.substr(cut + 1), own);
      own.sort();
    } catch (const std::bad_alloc &) {
      no_memory[part] = true;
    }
  });
  if (no_memory[0] || no_memory[1]) throw std::bad_alloc(); // load_feed() makes an error of it
  sink.append(std::move(rest), threads);
}

} // namespace weir::rules
