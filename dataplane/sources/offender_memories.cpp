#include "dataplane/sources/offender_memories.hpp"

#include "weir/base/owned_fd.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace weir::dataplane {
namespace {

constexpr auto save_every = std::chrono::minutes(1);
constexpr std::array<char, 8> file_magic{'W', 'E', 'I', 'R', 'O', 'F', 'M', '1'};

struct FileHeader {
  std::array<char, 8> magic;
  std::uint64_t words, checksum; // XXH3 of the words
};
static_assert(sizeof(FileHeader) == 24);

std::unexpected<Error> io_error(const std::filesystem::path &file, const char *what) {
  return fail(Errc::io, fmt::format("{}: {}: {}", file.string(), what, std::strerror(errno)));
}

bool put(int fd, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) errno = ENOSPC;
    if (done <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return true;
}

bool get(int fd, MutableBytes bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::read(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return true;
}

// Empty: not a file of ours, or a damaged one.
std::vector<std::uint64_t> words_in(int fd) {
  struct stat about{};
  FileHeader header{};
  if (fstat(fd, &about) != 0 || !get(fd, std::as_writable_bytes(std::span(&header, 1)))) return {};
  const auto rest = static_cast<std::uint64_t>(about.st_size) - sizeof header;
  if (header.magic != file_magic || rest / 8 != header.words || rest % 8 != 0) return {};
  std::vector<std::uint64_t> words(header.words);
  if (!get(fd, std::as_writable_bytes(std::span(words)))) return {};
  return XXH3_64bits(words.data(), rest) == header.checksum ? words : std::vector<std::uint64_t>();
}

} // namespace

OffenderMemories::OffenderMemories(std::filesystem::path folder, unsigned workers, bool keeps)
    : folder_(std::move(folder)), workers_(workers), keeps_(keeps) {}

Result<std::shared_ptr<OffenderMemory>> OffenderMemories::of(const image::OffendersView &view) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(alive_, [](const auto &one) { return one.expired(); });
    for (const auto &one : alive_)
      if (auto memory = one.lock(); memory && memory->shape_digest() == view.shape_digest()) return memory;
  }
  auto memory = TRY(OffenderMemory::make(view, workers_));
  load(*memory);
  const std::lock_guard lock(mutex_);
  alive_.push_back(memory);
  return memory;
}

void OffenderMemories::in_force(std::shared_ptr<OffenderMemory> memory) {
  if (memory == now_) return;
  if (now_ && now_->told() != 0) ++cleared_;
  if (now_ && memory) memory->adopt_marks(*now_);
  now_ = std::move(memory);
  save_due_ = std::chrono::steady_clock::now() + save_every;
}

std::shared_ptr<OffenderMemory> OffenderMemories::due_to_save() {
  if (!keeps_ || !now_ || std::chrono::steady_clock::now() < save_due_) return nullptr;
  save_due_ = std::chrono::steady_clock::now() + save_every;
  return now_;
}

Status OffenderMemories::write(const OffenderMemory &memory) {
  if (!keeps_) return {};
  const std::lock_guard writing(writing_);
  const auto words = memory.saved();
  const FileHeader header{file_magic, words.size(), XXH3_64bits(words.data(), words.size() * 8)};
  const std::filesystem::path whole = file(), part = whole.string() + ".part";
  const auto wrote = [&]() -> Status {
    const OwnedFd fd(open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (fd.get() < 0) return io_error(part, "cannot be opened");
    if (!put(fd.get(), std::as_bytes(std::span(&header, 1))) ||
        !put(fd.get(), std::as_bytes(std::span(words))))
      return io_error(part, "cannot be written");
    if (fsync(fd.get()) != 0) return io_error(part, "cannot be flushed to the disk");
    if (rename(part.c_str(), whole.c_str()) != 0) return io_error(part, "cannot be renamed");
    return {};
  };
  Status done = wrote();
  if (!done) unlink(part.c_str());
  warn(done ? ""
            : "the memory of offenders is not saved, a restart would begin with an older one: " +
                  done.error().message);
  return done;
}

// Another shape's file is no error: the model has changed since. What people marked holds all the same.
void OffenderMemories::load(OffenderMemory &memory) {
  if (!keeps_) return;
  const OwnedFd fd(open(file().c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) {
    if (errno != ENOENT) warn(io_error(file(), "the memory of offenders begins empty").error().message);
    return;
  }
  const auto words = words_in(fd.get());
  if (words.empty())
    warn(file().string() + ": damaged, so the memory of offenders begins empty");
  else if (!memory.restore(words))
    memory.restore_marks(words);
}

void OffenderMemories::warn(std::string what) {
  const std::lock_guard lock(mutex_);
  warning_ = std::move(what);
}

std::string OffenderMemories::warning() const {
  const std::lock_guard lock(mutex_);
  return warning_;
}

} // namespace weir::dataplane
