#include "tests/faults/power_cut.hpp"

#include "tests/support/process.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

namespace weir::fault {

namespace fs = std::filesystem;

namespace {

struct Change { // of one file's content: a write, or a new size
  bool truncates = false;
  std::uint64_t at = 0;
  std::string data = {};
};

struct File {
  std::vector<Change> changes;
  std::size_t synced = 0; // as many of them are on the disk for sure
};

using Names = std::map<std::string, std::shared_ptr<File>>;

void lay_on(std::string &content, const Change &change) {
  if (change.truncates) {
    content.resize(change.at);
    return;
  }
  if (content.size() < change.at + change.data.size()) content.resize(change.at + change.data.size());
  content.replace(change.at, change.data.size(), change.data);
}

std::string content_of(const File &file, std::size_t changes) {
  std::string content;
  for (std::size_t i = 0; i < changes; ++i) lay_on(content, file.changes[i]);
  return content;
}

class Disk {
public:
  explicit Disk(bool remember) : remember_(remember) {}

  void take(const Event &event) {
    const Record &record = event.record;
    switch (record.op) {
    case Op::open: open(event); break;
    case Op::close: open_.erase(record.fd); break;
    case Op::write: change(record.fd, Change{false, record.offset, event.data}); break;
    case Op::truncate: change(record.fd, Change{true, record.offset}); break;
    case Op::sync:
      if (const auto at = open_.find(record.fd); at != open_.end())
        at->second->synced = at->second->changes.size();
      break;
    case Op::sync_folder:
      synced_names = names;
      since_.clear();
      break;
    case Op::rename:
      if (const auto from = names.find(event.path); from != names.end()) {
        names[event.other] = from->second;
        names.erase(event.path);
      }
      break;
    case Op::link:
      if (const auto from = names.find(event.path); from != names.end()) names[event.other] = from->second;
      break;
    case Op::unlink: names.erase(event.path); break;
    case Op::mkdir: folders.push_back(event.path); break;
    }
    if (remember_ && record.op != Op::write && record.op != Op::sync) since_.push_back(names);
  }

  [[nodiscard]] const Names &some_names(std::mt19937_64 &random) const {
    const std::size_t pick = random() % (since_.size() + 1);
    return pick == since_.size() ? synced_names : since_[pick];
  }

  Names names, synced_names;
  std::vector<std::string> folders;
  std::shared_ptr<File> last_written;

private:
  void open(const Event &event) {
    const unsigned flags = event.record.flags;
    auto &file = names[event.path];
    if (!file && (flags & O_CREAT) == 0) { // a folder, or older than the record
      names.erase(event.path);
      open_.erase(event.record.fd);
      return;
    }
    if (!file) file = std::make_shared<File>();
    open_[event.record.fd] = file;
    if ((flags & O_TRUNC) != 0 && !file->changes.empty()) file->changes.push_back(Change{true, 0});
  }

  void change(int fd, Change what) {
    const auto at = open_.find(fd);
    if (at == open_.end()) return;
    if (!what.truncates) last_written = at->second;
    at->second->changes.push_back(std::move(what));
  }

  bool remember_;
  std::map<int, std::shared_ptr<File>> open_;
  std::vector<Names> since_; // the last sync of a folder
};

std::string kept_of(const File &file, bool last, Kept kept, std::mt19937_64 &random) {
  switch (kept) {
  case Kept::whole: return content_of(file, file.changes.size());
  case Kept::torn: {
    if (!last || file.synced == file.changes.size()) return content_of(file, file.changes.size());
    std::string content = content_of(file, file.changes.size() - 1);
    Change half = file.changes.back();
    half.data.resize(half.data.size() / 2);
    if (!half.truncates) lay_on(content, half);
    return content;
  }
  case Kept::unsynced:
  case Kept::names_too: return content_of(file, file.synced);
  case Kept::zeros: {
    std::string content = content_of(file, file.synced);
    content.resize(content_of(file, file.changes.size()).size());
    return content;
  }
  case Kept::some: {
    std::string content = content_of(file, file.synced);
    for (std::size_t i = file.synced; i < file.changes.size(); ++i)
      if (random() % 2 == 0) lay_on(content, file.changes[i]);
    return content;
  }
  }
  return {};
}

} // namespace

std::vector<Event> read_record(const fs::path &file) {
  const std::string text = test::read_text(file);
  std::vector<Event> events;
  std::size_t at = 0;
  const auto take = [&](std::size_t bytes) {
    const std::string part = text.substr(at, bytes);
    at += bytes;
    return part;
  };
  while (at + sizeof(Record) <= text.size()) {
    Event event{};
    std::memcpy(&event.record, text.data() + at, sizeof(Record));
    at += sizeof(Record);
    event.path = take(event.record.path_bytes);
    event.other = take(event.record.other_bytes);
    event.data = take(event.record.length);
    events.push_back(std::move(event));
  }
  return events;
}

void lay_out(const std::vector<Event> &events, std::size_t count, Kept kept, std::mt19937_64 &random,
             const fs::path &folder) {
  Disk disk(kept == Kept::some);
  for (std::size_t i = 0; i < count; ++i) disk.take(events[i]);
  fs::remove_all(folder);
  fs::create_directories(folder);
  const Names &names = kept == Kept::names_too ? disk.synced_names
                       : kept == Kept::some    ? disk.some_names(random)
                                               : disk.names;
  for (const std::string &made : disk.folders)
    if (made.starts_with(folder.native())) fs::create_directories(made);
  for (const auto &[path, file] : names) {
    if (!path.starts_with(folder.native())) continue;
    fs::create_directories(fs::path(path).parent_path());
    test::write_text(path, kept_of(*file, file == disk.last_written, kept, random));
  }
}

} // namespace weir::fault
