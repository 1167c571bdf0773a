#include "control/rules/feed.hpp"

#include "control/rules/bundled_feed.hpp"
#include "control/rules/embedded.hpp"
#include "control/rules/sink.hpp"
#include "weir/base/parallel.hpp"
#include "weir/config/config.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <new>

namespace weir::rules {
namespace {

using config::Format;
using config::OnError;

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::string_view without_mark(std::string_view text) noexcept {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  return text;
}

// What the whole file is when it cannot be a list; null otherwise.
const char *not_a_list(std::string_view text) noexcept {
  using namespace std::string_view_literals;
  if (text.starts_with("\x1F\x8B"sv)) return "gzip data; unpack it first";
  if (text.starts_with("PK\x03\x04"sv)) return "a zip archive; unpack it first";
  if (text.starts_with("\xFD"
                       "7zXZ\0"sv) ||
      text.starts_with("\x28\xB5\x2F\xFD"sv) || text.starts_with("BZh"sv))
    return "compressed data; unpack it first";
  if (text.starts_with("\xFF\xFE"sv) || text.starts_with("\xFE\xFF"sv))
    return "UTF-16 text; save it as UTF-8";
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return nullptr;
  if (text[first] == '<') return "an HTML or XML page, not a list; did the download fail?";
  if (text[first] == '[') return "a JSON array; a list has one object a line";
  return nullptr;
}

std::string listing(std::string_view file, const std::vector<Fault> &faults, std::uint64_t count) {
  std::string text;
  for (const Fault &f : faults) text += fmt::format("{}:{}: \"{}\": {}\n", file, f.line, f.text, f.reason);
  if (count > faults.size()) text += fmt::format("{}: and {} more bad lines\n", file, count - faults.size());
  return text;
}

std::string plural(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// The text of a file in pages of its own, so that they can go while it is read (Sink::text_may_go).
class FileText {
public:
  FileText() = default;
  explicit FileText(std::size_t capacity) : capacity_(capacity) {
    void *memory = ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<char *>(memory);
  }
  FileText(const FileText &) = delete;
  FileText &operator=(FileText &&other) noexcept {
    std::swap(data_, other.data_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~FileText() {
    if (data_ != nullptr) ::munmap(data_, capacity_);
  }
  [[nodiscard]] char *data() const noexcept { return data_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

private:
  char *data_ = nullptr;
  std::size_t capacity_ = 0;
};

// Reads rather than maps: a feed that is rewritten in place meanwhile must not kill the reader.
Result<std::size_t> read_all(int fd, FileText &text, std::size_t expected) {
  std::size_t size = 0;
  text = FileText(expected + 1);
  for (;;) {
    if (size == text.capacity()) {
      FileText larger(text.capacity() * 2);
      std::copy_n(text.data(), size, larger.data());
      text = std::move(larger);
    }
    const ssize_t got =
        ::read(fd, text.data() + size, std::min<std::size_t>(text.capacity() - size, 1u << 30));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Errc::io, std::strerror(errno));
    if (got == 0) return size;
    size += static_cast<std::size_t>(got);
  }
}

template <class Entry>
EntryNote find_note(const std::vector<Note<Entry>> &notes, const std::string &comments, const Entry &wanted) {
  const auto at = std::lower_bound(notes.begin(), notes.end(), wanted,
                                   [](const Note<Entry> &n, const Entry &e) { return before(n.entry, e); });
  if (at == notes.end() || !same_prefix(at->entry, wanted)) return {};
  EntryNote note{.comment = comments.c_str() + at->comment_place, .ttl = {}};
  if (at->ttl_s != 0) note.ttl = std::chrono::seconds(at->ttl_s);
  return note;
}

template <class Entry> std::vector<Entry> united(const std::vector<Entry> &a, const std::vector<Entry> &b) {
  std::vector<Entry> all;
  all.reserve(a.size() + b.size());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all),
                 [](const Entry &x, const Entry &y) { return before(x, y); });
  return all;
}

} // namespace

Format detect_format(std::string_view text) noexcept {
  Lines lines(without_mark(text));
  std::string_view line;
  bool semicolons = false;
  while (lines.next(line)) {
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == ';') {
      semicolons = true;
      continue;
    }
    if (line.front() == '{') return Format::spamhaus_json;
    if (line.starts_with("create ") || line.starts_with("add ")) return Format::ipset_save;
    semicolons |= line.find(';') != std::string_view::npos;
    break;
  }
  return semicolons ? Format::spamhaus_text : Format::plain;
}

namespace {

void parse_as(Format format, std::string_view text, Sink &sink, unsigned threads) {
  switch (format) {
  case Format::automatic:
  case Format::plain:
  case Format::spamhaus_text: return parse_plain(text, sink, threads);
  case Format::spamhaus_json: return parse_spamhaus_json(text, sink);
  case Format::ipset_save: return parse_ipset_save(text, sink);
  }
}

// `text_may_go`: see Sink.
Result<ListContent> parse_text(std::string_view text, std::string_view file_name, const FeedOptions &options,
                               bool text_may_go) {
  const std::size_t bytes = text.size();
  text = without_mark(text);
  if (const char *reason = not_a_list(text))
    return fail(Errc::parse, fmt::format("{}: {}; nothing of it was used", file_name, reason));
  Sink sink;
  sink.text_may_go = text_may_go;
  sink.progress = options.progress;
  const Format format = options.format == Format::automatic ? detect_format(text) : options.format;
  parse_as(format, text, sink, threads_for(options.threads));
  const std::uint64_t lines = sink.content.lines;
  if (sink.fault_count != 0 && options.on_error == OnError::refuse)
    return fail(Errc::parse, fmt::format("{}{}: {} of {}; nothing of it was used. Correct the file, or write "
                                         "on_error: skip to leave such lines out",
                                         listing(file_name, sink.faults, sink.fault_count), file_name,
                                         plural(sink.fault_count, "bad line"), lines));
  if (sink.fault_count != 0 && sink.content.empty())
    return fail(Errc::parse, fmt::format("{}{}: not one good line of {} (read as {}); nothing of it was used",
                                         listing(file_name, sink.faults, sink.fault_count), file_name, lines,
                                         name_of(format)));
  sink.finish();
  sink.content.format = format;
  sink.content.bytes = bytes;
  sink.content.skipped_count = sink.fault_count;
  sink.content.skipped = std::move(sink.faults);
  return std::move(sink.content);
}

} // namespace

Result<ListContent> parse_feed(std::string_view text, std::string_view file_name,
                               const FeedOptions &options) {
  return parse_text(text, file_name, options, false);
}

namespace {

std::unexpected<Error> unreadable(const std::filesystem::path &file, std::string_view why) {
  return fail(Errc::io, fmt::format("{}: cannot read the list: {}", file.string(), why));
}

} // namespace

Result<OwnedFd> open_feed(const std::filesystem::path &file) {
  OwnedFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return unreadable(file, std::strerror(errno));
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return unreadable(file, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return unreadable(file, "it is a folder; name a file");
  if (!S_ISREG(status.st_mode))
    return unreadable(file, "it is not a regular file; save the list to one first");
  return fd;
}

namespace {

// Calls `use` with what the file says, whether it came with the request or is read here.
template <class Use>
auto with_text(const std::filesystem::path &file, const Bundle *files, Use use)
    -> decltype(use(std::string_view())) {
  struct stat status{};
  try {
    if (files != nullptr) {
      const auto text = files->find(file);
      if (!text) return unreadable(file, "it did not come with the request");
      status.st_size = static_cast<off_t>(text->size());
      return use(*text);
    }
    const auto fd = TRY(open_feed(file));
    if (::fstat(fd.get(), &status) != 0) return unreadable(file, std::strerror(errno));
    FileText text;
    const auto size = read_all(fd.get(), text, static_cast<std::size_t>(status.st_size));
    if (!size) return unreadable(file, size.error().message);
    return use({text.data(), *size});
  } catch (const std::bad_alloc &) {
    return fail(Errc::no_memory,
                fmt::format("{}: no memory to read {} bytes", file.string(), status.st_size));
  }
}

} // namespace

Status with_feed(const std::filesystem::path &file, const Bundle *files,
                 const std::function<Status(std::string_view)> &use) {
  return with_text(file, files, use);
}

Result<ListContent> load_feed(const std::filesystem::path &file, const FeedOptions &options,
                              const Bundle *files) {
  const bool is_our_copy = files == nullptr;
  return with_text(file, files, [&](std::string_view text) {
    return parse_text(text, file.string(), options, is_our_copy);
  });
}

std::vector<FeedLine> lines_of(std::string_view text, Format format, std::span<const Prefix> prefixes) {
  LineSearch search{.wanted_v4 = {}, .wanted_v6 = {}};
  for (const Prefix &p : prefixes) {
    if (p.family() == Family::ipv4)
      search.wanted_v4.push_back(to_entry_v4(p));
    else
      search.wanted_v6.push_back(to_entry_v6(p));
  }
  sort_entries(search.wanted_v4);
  sort_entries(search.wanted_v6);
  text = without_mark(text);
  Sink sink;
  sink.search = &search;
  parse_as(format == Format::automatic ? detect_format(text) : format, text, sink, 1);
  return std::move(search.found);
}

std::vector<FeedLine> lines_of(const std::filesystem::path &file, Format format,
                               std::span<const Prefix> prefixes, const Bundle *files) {
  auto found = with_text(file, files, [&](std::string_view text) -> Result<std::vector<FeedLine>> {
    return lines_of(text, format, prefixes);
  });
  return found ? std::move(*found) : std::vector<FeedLine>{};
}

Result<ListContent> load_feed(const std::filesystem::path &file, const FeedOptions &options) {
  return load_feed(file, options, nullptr);
}

Result<ListContent> load_list(const config::List &list) { return load_list(list, nullptr); }

namespace {

Result<ListContent> load_as_written(const config::List &list, const Bundle *files,
                                    control::Progress *progress) {
  ListContent content;
  if (!list.file.empty()) {
    auto from_file =
        load_feed(list.file, {.format = list.format, .on_error = list.on_error, .progress = progress}, files);
    if (!from_file) return from_file;
    content = std::move(*from_file);
  }
  if (list.entries.empty()) return content;
  std::string text;
  for (const std::string &entry : list.entries) text += entry + '\n';
  auto inline_content =
      parse_feed(text, fmt::format("entries of list {}", list.name), {.format = Format::plain});
  if (!inline_content) return inline_content;
  return list.file.empty() ? std::move(inline_content) : join(std::move(content), *inline_content);
}

} // namespace

Result<ListContent> load_list(const config::List &list, const Bundle *files, control::Progress *progress) {
  auto content = load_as_written(list, files, progress);
  if (content && list.mapped_both) expand_embedded(*content);
  return content;
}

std::uint64_t bytes_of(const config::List &list, const Bundle *files) {
  if (list.file.empty()) return 0;
  if (files != nullptr) {
    const auto text = files->find(list.file);
    return text ? text->size() : 0;
  }
  struct stat status{};
  return ::stat(list.file.c_str(), &status) == 0 && S_ISREG(status.st_mode)
             ? static_cast<std::uint64_t>(status.st_size)
             : 0;
}

ListContent join(ListContent first, const ListContent &second) {
  const std::uint64_t both = first.size() + second.size();
  const auto base = static_cast<std::uint32_t>(first.comments.size());
  const auto append = [&](auto &notes, const auto &more) {
    for (auto note : more) {
      if (note.comment_place != 0) note.comment_place += base;
      notes.push_back(note);
    }
  };
  append(first.notes_v4, second.notes_v4);
  append(first.notes_v6, second.notes_v6);
  first.comments += second.comments;
  first.v4 = united(first.v4, second.v4);
  first.v6 = united(first.v6, second.v6);
  Sink sink;
  sink.content = std::move(first);
  const std::uint64_t duplicates = sink.content.duplicates + second.duplicates + both - sink.content.size();
  sink.finish();
  sink.content.duplicates = duplicates;
  sink.content.lines += second.lines;
  sink.content.bytes += second.bytes;
  sink.content.skipped_count += second.skipped_count;
  sink.content.comments_cut += second.comments_cut;
  return std::move(sink.content);
}

bool ListContent::contains(const Prefix &prefix) const noexcept {
  return prefix.family() == Family::ipv4 ? rules::contains<EntryV4>(v4, to_entry_v4(prefix))
                                         : rules::contains<EntryV6>(v6, to_entry_v6(prefix));
}

EntryNote ListContent::note_of(const Prefix &prefix) const noexcept {
  return prefix.family() == Family::ipv4 ? find_note(notes_v4, comments, to_entry_v4(prefix))
                                         : find_note(notes_v6, comments, to_entry_v6(prefix));
}

} // namespace weir::rules
