// Where the feed parsers put what they find. Private to control/rules.
#pragma once

#include "control/rules/feed.hpp"

#include <cstring>
#include <limits>
#include <string_view>

namespace weir::rules {

// Cuts text into lines without their LF or CRLF; a last line without an end counts.
class Lines {
public:
  explicit Lines(std::string_view text) noexcept : at_(text.data()), end_(text.data() + text.size()) {}

  [[nodiscard]] bool next(std::string_view &line) noexcept {
    if (at_ == end_) return false;
    const auto *stop =
        static_cast<const char *>(std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_)));
    const char *after = stop == nullptr ? end_ : stop + 1;
    if (stop == nullptr) stop = end_;
    if (stop != at_ && stop[-1] == '\r') --stop;
    line = {at_, static_cast<std::size_t>(stop - at_)};
    at_ = after;
    ++number_;
    return true;
  }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; } // of the line given last, from 1

private:
  const char *at_;
  const char *end_;
  std::uint64_t number_ = 0;
};

[[nodiscard]] constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

[[nodiscard]] constexpr std::string_view trim(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Looks for the lines of a few prefixes instead of taking entries.
struct LineSearch {
  std::vector<FeedLine> found{};  // in the order of the file
  std::vector<EntryV4> wanted_v4; // sorted; what was found leaves
  std::vector<EntryV6> wanted_v6;

  template <class Entry>
  static void see(const Entry &, std::uint64_t, std::vector<Entry> &, std::vector<FeedLine> &);
};

class Sink {
public:
  ListContent content;
  LineSearch *search = nullptr; // none: entries are taken
  bool text_may_go = false;     // pages of plain text are given back once they were read: a private copy that
                                // nobody looks at again
  control::Progress *progress = nullptr; // may be null
  std::vector<Fault> faults;             // the first faults_listed_max
  std::uint64_t fault_count = 0;

  void add(const EntryV4 &entry, std::uint64_t line) {
    if (search != nullptr) [[unlikely]]
      return search->see(entry, line, search->wanted_v4, search->found);
    content.v4.push_back(entry);
  }
  void add(const Prefix &prefix, std::uint64_t line) {
    if (prefix.family() == Family::ipv4) return add(to_entry_v4(prefix), line);
    if (search != nullptr) return search->see(to_entry_v6(prefix), line, search->wanted_v6, search->found);
    content.v6.push_back(to_entry_v6(prefix));
  }
  // Of the entry added last.
  void note(const Prefix &prefix, std::string_view comment, std::uint64_t ttl_s);

  void fault(std::uint64_t line, std::string_view text, std::string_view reason);
  void unlisted_fault() noexcept { ++fault_count; } // a consequence of one that is listed

  // Parses the prefix; a fault when it is none.
  [[nodiscard]] bool take(std::uint64_t line, std::string_view text, std::string_view prefix_text,
                          Prefix &out);

  // So many bytes of the text more have been read.
  void read(std::uint64_t bytes) noexcept;

  // What a sink took from the lines behind this one's, as if this one had taken it. Both must be sorted.
  void append(Sink &&rest, unsigned threads);
  void sort();   // for append()
  void finish(); // sorts, drops duplicates

private:
  [[nodiscard]] std::uint32_t keep(std::string_view comment);
  void append_notes(ListContent &rest, std::uint32_t rest_last_place);
  std::uint64_t entries_told_ = 0; // to progress
  std::uint32_t last_place_ = 0;   // feeds repeat themselves: "abuse", "abuse", ...
};

// Tells the sink now and then how far a parser has read, and of the rest when it ends.
class ReadSoFar {
public:
  ReadSoFar(std::string_view text, Sink &sink) noexcept
      : told_(text.data()), end_(text.data() + text.size()), sink_(sink) {}
  ~ReadSoFar() { sink_.read(static_cast<std::uint64_t>(end_ - told_)); }
  ReadSoFar(const ReadSoFar &) = delete;
  ReadSoFar &operator=(const ReadSoFar &) = delete;

  void up_to(const char *at) noexcept {
    constexpr std::ptrdiff_t bytes_at_once = 1 << 20;
    if (at - told_ < bytes_at_once) return;
    sink_.read(static_cast<std::uint64_t>(at - told_));
    told_ = at;
  }

private:
  const char *told_, *end_;
  Sink &sink_;
};

void parse_plain(std::string_view text, Sink &sink, unsigned threads);
void parse_spamhaus_json(std::string_view text, Sink &sink);
void parse_ipset_save(std::string_view text, Sink &sink);

// Ascending by (host, length); stable, linear.
void sort_entries(std::vector<EntryV4> &entries);
void sort_entries(std::vector<EntryV6> &entries);

} // namespace weir::rules
