#include "dataplane/image/kept_images.hpp"

#include "dataplane/port/memory.hpp"
#include "weir/base/say.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace weir::dataplane {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::size_t write_bytes_max = 1 << 20; // after each of them somebody may have lost interest
constexpr auto retry_first = 250ms;
constexpr auto retry_most = 30s;

std::unexpected<Error> io_error(const fs::path &file, const char *what) {
  return fail(Errc::io, fmt::format("{}: {}: {}", file.string(), what, std::strerror(errno)));
}

// What a copy leaves free of memory.
bool has_room_for(std::uint64_t bytes) {
  return memory_available_bytes() >= bytes + bytes / 4 + (std::uint64_t{64} << 20);
}

Status flush_folder(const fs::path &folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return io_error(folder, "cannot be opened");
  const bool flushed = fsync(fd) == 0;
  Status done = flushed ? Status() : io_error(folder, "cannot be flushed to the disk");
  close(fd);
  return done;
}

// Gives 0 once the bytes are on the disk, else what failed.
int put(int fd, Bytes bytes, const std::atomic<bool> &unwanted) {
  while (!bytes.empty()) {
    if (unwanted.load(std::memory_order_relaxed)) return ECANCELED;
    const ssize_t done = ::write(fd, bytes.data(), std::min(bytes.size(), write_bytes_max));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    if (done == 0) return ENOSPC;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return fsync(fd) == 0 ? 0 : errno;
}

} // namespace

struct KeptImages::Saving {
  enum class State : std::uint8_t { to_write, written, renamed };

  ~Saving() {
    std::error_code ignored;
    if (state != State::renamed) fs::remove(file, ignored);
  }

  fs::path file;
  Generation generation;
  Mapping copy; // empty once it is written
  Bytes bytes;  // to be written: the copy's
  State state = State::to_write;
  std::atomic<bool> unwanted{false};
  bool hopeless = false; // the bytes are gone
  std::string error;     // of the last try
  Clock::time_point due{};
  Clock::duration wait = retry_first;
};

KeptImages::KeptImages(fs::path folder, bool keeps)
    : folder_(std::move(folder)), keeps_(keeps), thread_([this] { loop(); }) {}

KeptImages::~KeptImages() {
  {
    const std::lock_guard lock(mutex_);
    drop(std::exchange(staged_, nullptr));
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Status KeptImages::restore(const std::function<Status(const fs::path &)> &accept,
                           const std::function<Generation()> &generation) {
  std::error_code ignored;
  const bool has_last = fs::exists(last_file(), ignored), has_previous = fs::exists(previous_file(), ignored);
  if (!has_last && !has_previous) return fail(Errc::not_found, "no image is kept in " + folder_.string());
  Status last = has_last ? accept(last_file())
                         : Status(fail(Errc::not_found, last_file().string() + ": there is none"));
  Status taken = last;
  if (!last && has_previous) taken = accept(previous_file());
  if (!last && has_previous && taken)
    say("weir-dataplane", "the image of the last run is refused, the one before is taken: {}",
        last.error().message);
  const std::lock_guard lock(mutex_);
  last_is_good_ = last.has_value();
  if (taken) kept_generation_ = generation();
  if (!last && has_last)
    refused_ = fmt::format("the image of the last run was refused at the start ({}); {}",
                           last.error().message, taken ? "the one before it is kept" : "no image is kept");
  return taken ? taken : last;
}

// ---- what others ask for -----------------------------------------------------------------------------

KeptImages::Handle KeptImages::prepare(const AttachedImage &image) {
  if (!keeps_) return nullptr;
  std::call_once(tidied_, [this] { remove_leftovers(); });
  auto saving = std::make_shared<Saving>();
  {
    const std::lock_guard lock(mutex_);
    saving->file = folder_ / fmt::format("staged.{}.image", ++made_);
  }
  saving->generation = image.generation;
  const Bytes bytes = Bytes(image.mapping.bytes()).first(image.image_bytes);
  if (has_room_for(bytes.size())) {
    void *memory = mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) {
      std::memcpy(memory, bytes.data(), bytes.size());
      saving->copy = Mapping(static_cast<std::byte *>(memory), bytes.size());
      saving->bytes = saving->copy.bytes();
      return saving;
    }
  }
  saving->bytes = bytes;
  const Status written = write(*saving);
  saving->bytes = {};
  saving->hopeless = !written;
  if (!written) {
    saving->error = written.error().message + "; there was no memory for a copy, so it is not tried again";
    say("weir-dataplane", "generation {} is not kept for a restart: {}", saving->generation, saving->error);
  }
  return saving;
}

void KeptImages::stage(Handle saving) {
  {
    const std::lock_guard lock(mutex_);
    drop(std::exchange(staged_, std::move(saving)));
  }
  changed_.notify_all();
}

void KeptImages::discard() { stage(nullptr); }

void KeptImages::commit() {
  {
    const std::lock_guard lock(mutex_);
    if (!staged_) return;
    drop(std::exchange(live_, std::exchange(staged_, nullptr))); // a later image is in force
    live_->due = {};
  }
  changed_.notify_all();
}

KeptImages::About KeptImages::about() const {
  const std::lock_guard lock(mutex_);
  About about{.generation = kept_generation_, .waiting = live_ ? live_->generation : 0, .warning = refused_};
  if (live_ && !live_->error.empty())
    about.warning = fmt::format(
        "generation {} is not kept for a restart: {}; a restart would begin with {}", live_->generation,
        live_->error, kept_generation_ == 0 ? "no image" : fmt::format("generation {}", kept_generation_));
  return about;
}

void KeptImages::settle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !busy_ && (!live_ || !live_->error.empty()); });
}

// ---- the thread --------------------------------------------------------------------------------------

// What nobody waits for goes away on this thread, since unmapping takes its time.
void KeptImages::drop(Handle saving) {
  if (!saving) return;
  saving->unwanted = true;
  dropped_.push_back(std::move(saving));
}

// The one in force first; one that is staged is only written.
KeptImages::Handle KeptImages::next() const {
  if (live_ && !live_->hopeless) return live_;
  if (staged_ && !staged_->hopeless && staged_->state == Saving::State::to_write) return staged_;
  return nullptr;
}

void KeptImages::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    Handle one = next();
    auto dropped = std::exchange(dropped_, {});
    if (!one && stop_) return;
    if (!dropped.empty()) {
      lock.unlock();
      dropped.clear();
      lock.lock();
    } else if (!one) {
      changed_.wait(lock);
    } else if (!stop_ && Clock::now() < one->due) {
      changed_.wait_until(lock, one->due);
    } else {
      const bool done = advance(*one, lock);
      lock.unlock();
      one.reset();
      lock.lock();
      if (stop_ && !done) return;
    }
  }
}

// One image a step further: on the disk, or, once it is live, under its name.
bool KeptImages::advance(Saving &saving, std::unique_lock<std::mutex> &lock) {
  busy_ = true;
  const bool to_write = saving.state == Saving::State::to_write;
  lock.unlock();
  Status done = to_write ? write(saving) : promote(saving);
  if (to_write && done) saving.copy = Mapping();
  lock.lock();
  busy_ = false;
  if (done) {
    if (!saving.error.empty() && !to_write)
      say("weir-dataplane", "generation {} is kept for a restart now", saving.generation);
    saving.wait = retry_first;
    saving.due = {};
    if (!to_write && &saving == live_.get()) live_ = nullptr;
  } else if (!saving.unwanted) {
    if (saving.error.empty())
      say("weir-dataplane", "generation {} is not kept for a restart: {}; {}", saving.generation,
          done.error().message,
          saving.hopeless ? "the one before stays" : "the one before stays, and it is tried again");
    saving.error = done.error().message;
    saving.due = Clock::now() + saving.wait;
    saving.wait = std::min<Clock::duration>(saving.wait * 2, retry_most);
  }
  changed_.notify_all();
  return done.has_value();
}

Status KeptImages::write(Saving &saving) {
  Status done;
  for (int attempt = 0; attempt < 2; ++attempt) {
    unlink(saving.file.c_str());
    const int fd = open(saving.file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const int failed = fd < 0 ? errno : put(fd, saving.bytes, saving.unwanted);
    if (fd >= 0) close(fd);
    if (failed == 0) {
      saving.state = Saving::State::written;
      return {};
    }
    unlink(saving.file.c_str()); // it takes room of others, and is nothing
    done = fail(Errc::io, fmt::format("{}: {}", saving.file.string(), std::strerror(failed)));
    if (failed != ENOSPC && failed != EDQUOT) break;
    make_room();
  }
  return done;
}

Status KeptImages::promote(Saving &saving) {
  if (saving.state == Saving::State::written) {
    const fs::path part = folder_ / "previous.image.part";
    unlink(part.c_str());
    if (last_is_good_ && link(last_file().c_str(), part.c_str()) == 0) {
      (void)!rename(part.c_str(), previous_file().c_str());
      unlink(part.c_str()); // both were names of one file already
    }
    if (rename(saving.file.c_str(), last_file().c_str()) != 0) {
      saving.hopeless = errno == ENOENT;
      return io_error(saving.file, "cannot be renamed to last.image");
    }
    saving.state = Saving::State::renamed;
    const std::lock_guard lock(mutex_);
    last_is_good_ = true;
    refused_.clear();
    kept_generation_ = saving.generation;
  }
  return flush_folder(folder_);
}

// The one before the last is worth less than the one in force; a last one that was refused, nothing.
void KeptImages::make_room() {
  const std::lock_guard lock(mutex_);
  std::error_code ignored;
  fs::remove(last_is_good_ ? previous_file() : last_file(), ignored);
}

void KeptImages::remove_leftovers() {
  std::error_code ignored;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("staged.") && name.ends_with("image")) fs::remove(entry.path(), ignored);
  }
}

} // namespace weir::dataplane
