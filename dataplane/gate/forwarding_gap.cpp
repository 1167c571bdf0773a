#include "dataplane/gate/forwarding_gap.hpp"

#include "weir/base/owned_fd.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <type_traits>
#include <utility>

namespace weir::dataplane {

struct ForwardingGap::Mark {
  std::array<char, 40> boot; // the kernel's name for it
  std::atomic<std::uint64_t> at_ns;
};

namespace {

std::array<char, 40> this_boot() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  std::array<char, 40> boot{};
  id.copy(boot.data(), boot.size() - 1);
  return boot;
}

std::unexpected<Error> cannot(const std::filesystem::path &file, const char *what) {
  return fail(Errc::io, fmt::format("{}: cannot be {}: {}; for how long packets are not forwarded over a "
                                    "restart will not be known",
                                    file.string(), what, std::strerror(errno)));
}

// Nobody else may cut the file, for who writes to a mapping beyond its end is killed.
bool is_our_own(int fd, std::size_t bytes) {
  struct stat about{};
  return fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
         (about.st_mode & 0777) == 0600 && about.st_nlink == 1 && std::cmp_equal(about.st_size, bytes);
}

} // namespace

ForwardingGap::~ForwardingGap() {
  if (mark_ != nullptr) munmap(mark_, sizeof *mark_);
}

Status ForwardingGap::open(const std::filesystem::path &file) {
  static_assert(std::is_trivially_copyable_v<std::array<char, 40>> &&
                std::atomic<std::uint64_t>::is_always_lock_free);
  OwnedFd fd(::open(file.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (fd.get() < 0 || !is_our_own(fd.get(), sizeof(Mark))) {
    if (unlink(file.c_str()) != 0 && errno != ENOENT) return cannot(file, "removed");
    fd = OwnedFd(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd.get() < 0) return cannot(file, "made");
    if (const int code = posix_fallocate(fd.get(), 0, sizeof(Mark)); code != 0) {
      errno = code;
      (void)unlink(file.c_str());
      return cannot(file, "filled");
    }
  }
  void *const data = mmap(nullptr, sizeof(Mark), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return cannot(file, "mapped");
  mark_ = static_cast<Mark *>(data);
  const std::uint64_t at = mark_->at_ns.load(std::memory_order_relaxed);
  if (mark_->boot == this_boot()) before_ns_ = at;
  return {};
}

void ForwardingGap::begin(Nanoseconds now) {
  if (mark_ == nullptr) return;
  const auto now_ns = static_cast<std::uint64_t>(now.count());
  if (before_ns_ != 0 && before_ns_ <= now_ns) gap_ = static_cast<std::int64_t>(now_ns - before_ns_);
  mark_->at_ns.store(0, std::memory_order_relaxed); // whoever ends in between leaves nothing that is wrong
  mark_->boot = this_boot();
  note(now);
}

void ForwardingGap::note(Nanoseconds now) noexcept {
  if (mark_ != nullptr)
    mark_->at_ns.store(static_cast<std::uint64_t>(now.count()), std::memory_order_release);
}

std::optional<ForwardingGap::Nanoseconds> ForwardingGap::gap() const noexcept {
  const std::int64_t gap = gap_.load();
  return gap < 0 ? std::nullopt : std::optional(Nanoseconds(gap));
}

ForwardingGap::Nanoseconds ForwardingGap::boot_clock() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + Nanoseconds(now.tv_nsec);
}

} // namespace weir::dataplane
