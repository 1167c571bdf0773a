// Feeds: the text of a list to its entries.
//
//   plain          one address or prefix a line; '#' and ';' start a comment, alone or trailing.
//                  firehol .ipset and .netset are this
//   spamhaus_text  1.10.16.0/20 ; SBL256894
//   spamhaus_json  {"cidr":"1.10.16.0/20","sblid":"SBL256894",...} a line; lines without "cidr" but
//                  with "type":"metadata" are skipped
//   ipset_save     create NAME hash:net family inet ..., add NAME 1.2.3.0/24 timeout 600 comment "x"
//
// Line ends are LF or CRLF, a byte order mark is skipped, the last line may lack its end, blank
// lines are nothing. Everything else that is not an entry is a fault. Faults do not stop the
// parser: an error (on_error: refuse) lists the bad lines of the whole file, as FILE:LINE: "text":
// reason, and nothing of the file is used; with on_error: skip they are left out, counted and kept
// in `skipped`. What cannot be a list at all - an HTML page, binary data, a file without one good
// line - is an error in both cases. An empty file is a list without entries; whether that may be
// applied is the guard's question (guard.hpp).
//
// A prefix with address bits beyond its length is a fault and never becomes another prefix.
// Duplicates are counted and dropped; the first one's comment stays, cleaned and cut at 255 bytes
// (comment.hpp). `parse_feed` is a pure
// function of its arguments, never throws and takes any bytes: it is what the fuzzer calls.
#pragma once

#include "control/rules/entry.hpp"
#include "weir/base/result.hpp"
#include "weir/config/format.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {
struct List;
}
namespace weir::control {
class Progress; // control/base/progress.hpp
}

namespace weir::rules {

// A line that is not an entry. `text` is shortened and printable.
struct Fault {
  std::uint64_t line = 0; // from 1
  std::string text;
  std::string reason;
};

// What a line said beside the prefix. Kept only for entries that have something to say.
template <class Entry> struct Note {
  Entry entry;
  std::uint32_t ttl_s = 0;         // 0: none given
  std::uint32_t comment_place = 0; // where the text starts in ListContent::comments; ends at a zero byte
};
static_assert(sizeof(Note<EntryV4>) == 16 && sizeof(Note<EntryV6>) == 28);

struct EntryNote {
  std::string_view comment;
  std::optional<std::chrono::seconds> ttl;
};

// One list's entries: sorted, unique, `list` = 0, with their notes in the same order.
struct ListContent {
  std::vector<EntryV4> v4;
  std::vector<EntryV6> v6;
  std::vector<Note<EntryV4>> notes_v4;
  std::vector<Note<EntryV6>> notes_v6;
  std::string comments = std::string(1, '\0'); // place 0 is the empty comment

  config::Format format = config::Format::plain; // as found; never automatic
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t skipped_count = 0; // bad lines left out under on_error: skip
  std::uint64_t comments_cut = 0;  // longer than comment_bytes_max (comment.hpp)
  std::vector<Fault> skipped;      // the first faults_listed_max of them

  [[nodiscard]] std::uint64_t size() const noexcept { return v4.size() + v6.size(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] bool contains(const Prefix &prefix) const noexcept;
  [[nodiscard]] EntryNote note_of(const Prefix &prefix) const noexcept; // empty when there is none
};

inline constexpr std::size_t faults_listed_max = 1000; // an error lists these and counts the rest

struct FeedOptions {
  config::Format format = config::Format::automatic;
  config::OnError on_error = config::OnError::refuse;
  unsigned threads = 0; // for plain text, 0: two where there are two processors; the result is the same
  control::Progress *progress = nullptr; // is told of bytes and entries that were read
};

[[nodiscard]] Result<ListContent> parse_feed(std::string_view text, std::string_view file_name,
                                             const FeedOptions &options = {});

struct FeedLine {
  std::uint64_t line = 0; // from 1
  Prefix prefix;
};

// The first line of each of a few prefixes, in the order of the text; those that it does not have are left
// out.
[[nodiscard]] std::vector<FeedLine> lines_of(std::string_view text, config::Format format,
                                             std::span<const Prefix> prefixes);

// Maps the file and parses it. Anything but a regular file is refused.
[[nodiscard]] Result<ListContent> load_feed(const std::filesystem::path &file,
                                            const FeedOptions &options = {});

// A list of the configuration: its file and its inline entries together. A dynamic list without
// either is empty.
[[nodiscard]] Result<ListContent> load_list(const config::List &list);

// Several contents as one, for a list with both file and entries; the first one's notes win.
[[nodiscard]] ListContent join(ListContent first, const ListContent &second);

// The format that the content shows by itself: looks at the first line that is not a comment.
[[nodiscard]] config::Format detect_format(std::string_view text) noexcept;

} // namespace weir::rules
