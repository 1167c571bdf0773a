#include "control/rules/sink.hpp"

#include "control/base/progress.hpp"
#include "control/rules/comment.hpp"
#include "weir/base/parallel.hpp"
#include "weir/config/values.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace weir::rules {
namespace {

constexpr std::size_t text_bytes_max = 60;
constexpr std::size_t radix_from = 4096; // below, comparing is faster

constexpr unsigned digit_bits = 11;

template <class Digit>
void counting_pass(std::vector<EntryV4> &entries, std::vector<EntryV4> &other, Digit digit) {
  std::array<std::size_t, 1u << digit_bits> places{};
  for (const EntryV4 &e : entries) ++places[digit(e)];
  std::size_t sum = 0;
  for (std::size_t &place : places) sum += std::exchange(place, sum);
  for (const EntryV4 &e : entries) other[places[digit(e)]++] = e;
  entries.swap(other);
}

// Least significant digit first: the length when lengths differ, then the host in three digits.
void radix_sort(std::vector<EntryV4> &entries) {
  constexpr std::uint32_t digit_mask = (1u << digit_bits) - 1;
  std::vector<EntryV4> other(entries.size());
  const std::uint8_t length = entries.front().length;
  if (std::ranges::any_of(entries, [length](const EntryV4 &e) { return e.length != length; }))
    counting_pass(entries, other, [](const EntryV4 &e) { return e.length; });
  counting_pass(entries, other, [](const EntryV4 &e) { return e.host & digit_mask; });
  counting_pass(entries, other, [](const EntryV4 &e) { return e.host >> digit_bits & digit_mask; });
  counting_pass(entries, other, [](const EntryV4 &e) { return e.host >> 2 * digit_bits; });
}

template <class Entry> bool in_order(const std::vector<Entry> &entries) {
  return std::ranges::is_sorted(entries, [](const Entry &a, const Entry &b) { return before(a, b); });
}

template <class Entry> std::uint64_t drop_duplicates(std::vector<Entry> &entries) {
  const auto rest =
      std::ranges::unique(entries, [](const Entry &a, const Entry &b) { return same_prefix(a, b); });
  const auto dropped = static_cast<std::uint64_t>(rest.size());
  entries.erase(rest.begin(), rest.end());
  return dropped;
}

// Of equal ones those of `a` come first. Written without branches: which one is next cannot be foreseen.
template <class Entry>
void merge_into(Entry *out, std::span<const Entry> a, std::span<const Entry> b) noexcept {
  const Entry *x = a.data(), *const x_end = x + a.size();
  const Entry *y = b.data(), *const y_end = y + b.size();
  while (x != x_end && y != y_end) {
    const bool second = before(*y, *x);
    *out++ = *(second ? y : x);
    x += !second;
    y += second;
  }
  std::copy(y, y_end, std::copy(x, x_end, out));
}

// Each thread merges what lies on its side of the entry in the middle of `a`.
template <class Entry>
std::vector<Entry> merged(const std::vector<Entry> &a, const std::vector<Entry> &b, unsigned threads) {
  std::vector<Entry> out(a.size() + b.size());
  const std::size_t half = a.size() / 2;
  const auto at =
      half == a.size()
          ? b.end()
          : std::ranges::lower_bound(b, a[half], [](const Entry &x, const Entry &y) { return before(x, y); });
  const auto cut = static_cast<std::size_t>(at - b.begin());
  const std::span<const Entry> all_a(a), all_b(b);
  const auto merge_part = [&](unsigned part) {
    if (part == 0)
      merge_into(out.data(), all_a.first(half), all_b.first(cut));
    else
      merge_into(out.data() + half + cut, all_a.subspan(half), all_b.subspan(cut));
  };
  if (threads > 1) {
    in_parallel(2, merge_part);
  } else {
    merge_part(0);
    merge_part(1);
  }
  return out;
}

template <class Entry> void unite(std::vector<Entry> &first, std::vector<Entry> &rest, unsigned threads) {
  if (rest.empty()) return;
  if (first.empty() || before(first.back(), rest.front()))
    first.insert(first.end(), rest.begin(), rest.end());
  else
    first = merged(first, rest, rest.size() >= entries_worth_a_thread ? threads : 1);
  std::vector<Entry>().swap(rest);
}

template <class Entry> void sort_notes(std::vector<Note<Entry>> &notes) {
  std::ranges::stable_sort(notes, [](const auto &a, const auto &b) { return before(a.entry, b.entry); });
  const auto rest =
      std::ranges::unique(notes, [](const auto &a, const auto &b) { return same_prefix(a.entry, b.entry); });
  notes.erase(rest.begin(), rest.end());
}

} // namespace

void sort_entries(std::vector<EntryV4> &entries) {
  if (in_order(entries)) return;
  if (entries.size() >= radix_from) return radix_sort(entries);
  std::ranges::stable_sort(entries, [](const EntryV4 &a, const EntryV4 &b) { return before(a, b); });
}

void sort_entries(std::vector<EntryV6> &entries) {
  if (in_order(entries)) return;
  std::ranges::stable_sort(entries, [](const EntryV6 &a, const EntryV6 &b) { return before(a, b); });
}

template <class Entry>
void LineSearch::see(const Entry &entry, std::uint64_t line, std::vector<Entry> &wanted,
                     std::vector<FeedLine> &found) {
  const auto at =
      std::ranges::lower_bound(wanted, entry, [](const Entry &a, const Entry &b) { return before(a, b); });
  if (at == wanted.end() || !same_prefix(*at, entry)) return;
  found.push_back({line, to_prefix(entry)});
  wanted.erase(at);
}
template void LineSearch::see(const EntryV4 &, std::uint64_t, std::vector<EntryV4> &,
                              std::vector<FeedLine> &);
template void LineSearch::see(const EntryV6 &, std::uint64_t, std::vector<EntryV6> &,
                              std::vector<FeedLine> &);

std::uint32_t Sink::keep(std::string_view comment) {
  if (comment.empty()) return 0;
  std::string &blob = content.comments;
  const std::string text = short_comment(comment);
  if (comment.size() > comment_bytes_max && clean_comment(comment).size() > comment_bytes_max)
    ++content.comments_cut;
  if (last_place_ != 0 && text == blob.c_str() + last_place_) return last_place_;
  if (blob.size() + text.size() + 1 > std::numeric_limits<std::uint32_t>::max()) return 0;
  last_place_ = static_cast<std::uint32_t>(blob.size());
  blob.append(text).push_back('\0');
  return last_place_;
}

void Sink::read(std::uint64_t bytes) noexcept {
  if (progress == nullptr) return;
  progress->add(bytes, content.size() - entries_told_);
  entries_told_ = content.size();
}

void Sink::note(const Prefix &prefix, std::string_view comment, std::uint64_t ttl_s) {
  if (search != nullptr) return;
  const std::uint32_t place = keep(comment);
  if (place == 0 && ttl_s == 0) return;
  const auto ttl =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(ttl_s, std::numeric_limits<std::uint32_t>::max()));
  if (prefix.family() == Family::ipv4)
    content.notes_v4.push_back({to_entry_v4(prefix), ttl, place});
  else
    content.notes_v6.push_back({to_entry_v6(prefix), ttl, place});
}

void Sink::fault(std::uint64_t line, std::string_view text, std::string_view reason) {
  if (fault_count++ < faults_listed_max)
    faults.push_back({line, config::printable(text, text_bytes_max), config::printable(reason)});
}

bool Sink::take(std::uint64_t line, std::string_view text, std::string_view prefix_text, Prefix &out) {
  const auto prefix = parse_prefix(prefix_text);
  if (prefix) {
    out = *prefix;
    return true;
  }
  std::string reason = prefix.error();
  if (text.find('\0') != std::string_view::npos) {
    reason = "a zero byte: this line is not text";
  } else if (const std::size_t slash = prefix_text.find('/'); slash != std::string_view::npos) {
    const auto address = parse_address(prefix_text.substr(0, slash));
    if (address && parse_prefix(prefix_text.substr(0, slash))) {
      for (unsigned length = 0; length <= address_bits(address->family); ++length) {
        if (prefix_text.substr(slash + 1) != std::to_string(length)) continue;
        const Prefix meant{masked(*address, length), static_cast<std::uint8_t>(length)};
        reason += fmt::format("; the network would be {}", to_string(meant));
      }
    }
  } else if (prefix_text.find_first_of(" \t") != std::string_view::npos) {
    reason = "more than one word; an address or prefix stands alone on its line";
  } else if (const std::size_t dash = prefix_text.find('-');
             dash != std::string_view::npos && parse_address(prefix_text.substr(0, dash))) {
    reason = "a range; write it as prefixes";
  }
  fault(line, text, reason);
  return false;
}

// The first comment of the rest may repeat the last one here, which is kept once.
void Sink::append_notes(ListContent &rest, std::uint32_t rest_last_place) {
  std::string &blob = content.comments;
  const char *const first = rest.comments.c_str() + 1;
  const std::size_t first_bytes = rest.comments.size() > 1 ? std::strlen(first) + 1 : 0;
  const bool repeats = first_bytes != 0 && last_place_ != 0 && first == std::string_view(&blob[last_place_]);
  const std::size_t dropped =
      1 + (repeats ? first_bytes : 0); // and the empty comment that a blob begins with
  const auto place = [&](std::uint32_t old) {
    if (old == 0) return old;
    return old < dropped ? last_place_ : static_cast<std::uint32_t>(old - dropped + blob.size());
  };
  for (auto &note : rest.notes_v4) note.comment_place = place(note.comment_place);
  for (auto &note : rest.notes_v6) note.comment_place = place(note.comment_place);
  const std::uint32_t last = place(rest_last_place);
  blob.append(rest.comments, dropped);
  if (last != 0) last_place_ = last;
  content.notes_v4.insert(content.notes_v4.end(), rest.notes_v4.begin(), rest.notes_v4.end());
  content.notes_v6.insert(content.notes_v6.end(), rest.notes_v6.begin(), rest.notes_v6.end());
}

void Sink::append(Sink &&rest, unsigned threads) {
  unite(content.v4, rest.content.v4, threads);
  unite(content.v6, rest.content.v6, threads);
  append_notes(rest.content, rest.last_place_);
  for (Fault &f : rest.faults) {
    if (faults.size() == faults_listed_max) break;
    f.line += content.lines;
    faults.push_back(std::move(f));
  }
  fault_count += rest.fault_count;
  content.comments_cut += rest.content.comments_cut;
  content.lines += rest.content.lines;
}

void Sink::sort() {
  sort_entries(content.v4);
  sort_entries(content.v6);
}

void Sink::finish() {
  sort();
  content.duplicates = drop_duplicates(content.v4) + drop_duplicates(content.v6);
  sort_notes(content.notes_v4);
  sort_notes(content.notes_v6);
}

} // namespace weir::rules
