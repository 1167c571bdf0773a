// libweirfault.so: stands between a weir process and libc (LD_PRELOAD). Counts calls that touch the folder
// under test, sockets, memory files and larger pieces of memory, and lets one fail, cuts it short, or ends
// the process there. It can also record what changes files, for power cuts.
//
//   WEIR_FAULT=FILE         the shared block (block.hpp)
//   WEIR_FAULT_FOLDER=DIR   files outside of it are left alone
//   WEIR_FAULT_RECORD=FILE  where to record
//
// Calls go to the kernel directly, so that nothing has to be looked up and nothing here is counted itself.
#include "tests/faults/preload/block.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using weir::fault::Action;
using weir::fault::Block;
using weir::fault::Kind;
using weir::fault::Op;
using weir::fault::Record;

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
}

namespace {

constexpr int fds_max = 1 << 16;
constexpr size_t memory_bytes_min = 4096;

enum Watched : unsigned char { nothing, file, folder, other };

Block *block = nullptr;
char under[PATH_MAX];
size_t under_bytes = 0;
int record_fd = -1;
pthread_mutex_t recording = PTHREAD_MUTEX_INITIALIZER;
Watched watched[fds_max];

__attribute__((constructor)) void begin() {
  const char *name = getenv("WEIR_FAULT");
  if (name == nullptr) return;
  const long fd = syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  auto *const at = reinterpret_cast<Block *>(
      syscall(SYS_mmap, nullptr, sizeof(Block), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  syscall(SYS_close, fd);
  if (at == MAP_FAILED || at->magic != weir::fault::block_magic) return;
  if (const char *where = getenv("WEIR_FAULT_FOLDER"); where != nullptr && strlen(where) < sizeof under) {
    strcpy(under, where);
    under_bytes = strlen(where);
  }
  if (const char *to = getenv("WEIR_FAULT_RECORD"); to != nullptr)
    record_fd =
        static_cast<int>(syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  block = at;
}

bool is_watched(int fd) { return fd >= 0 && fd < fds_max && watched[fd] != nothing; }
bool is_file(int fd) { return fd >= 0 && fd < fds_max && (watched[fd] == file || watched[fd] == folder); }
void watch(long fd, Watched as) {
  if (fd >= 0 && fd < fds_max) watched[fd] = as;
}
bool below(const char *path) {
  return path != nullptr && under_bytes > 0 && strncmp(path, under, under_bytes) == 0;
}

bool is_folder(long fd) {
  struct stat about{};
  return syscall(SYS_newfstatat, fd, "", &about, AT_EMPTY_PATH) == 0 && S_ISDIR(about.st_mode);
}

void end_here() {
  syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
  for (;;) pause();
}

// What to do about this call.
Action decide(Kind kind, const char *call, const char *path) {
  if (block == nullptr) return Action::none;
  const auto index = static_cast<uint32_t>(kind);
  block->calls[index].fetch_add(1, std::memory_order_relaxed);
  const auto action = static_cast<Action>(block->action.load(std::memory_order_acquire));
  if (action == Action::none || block->kind.load(std::memory_order_relaxed) != index) return Action::none;
  const uint64_t number = block->seen.fetch_add(1) + 1;
  const uint64_t chosen = block->chosen.load();
  if (number < chosen || (number > chosen && block->lasting.load() == 0)) return Action::none;
  if (block->given.fetch_add(1) == 0) {
    const int saved = errno;
    snprintf(block->what.data(), block->what.size(), "%s %s", call, path != nullptr ? path : "");
    errno = saved;
  }
  if (action == Action::kill_before) end_here();
  return action;
}

long failed() {
  errno = static_cast<int>(block->error.load());
  return -1;
}

// ---- records ----------------------------------------------------------------------------------

void raw(const void *bytes, size_t count) {
  const char *at = static_cast<const char *>(bytes);
  while (count > 0) {
    const long wrote = syscall(SYS_write, record_fd, at, count);
    if (wrote <= 0) return;
    at += wrote;
    count -= static_cast<size_t>(wrote);
  }
}

void note(Op op, int fd, uint32_t flags, uint64_t offset, const void *data, uint64_t length, const char *path,
          const char *to) {
  const int saved = errno;
  Record record{op,
                block->step.load(),
                fd,
                flags,
                offset,
                data != nullptr ? length : 0,
                path != nullptr ? static_cast<uint32_t>(strlen(path)) : 0,
                to != nullptr ? static_cast<uint32_t>(strlen(to)) : 0};
  raw(&record, sizeof record);
  raw(path, record.path_bytes);
  raw(to, record.other_bytes);
  raw(data, record.length);
  errno = saved;
}

// While a call is made and recorded nobody else may: the order of records is that of the calls.
struct Recorded {
  bool on = record_fd >= 0 && block != nullptr;
  Recorded() {
    if (on) pthread_mutex_lock(&recording);
  }
  ~Recorded() {
    if (on) pthread_mutex_unlock(&recording);
  }
  Recorded(const Recorded &) = delete;
  Recorded &operator=(const Recorded &) = delete;
};

// A call that blocks is where libc lets a thread be cancelled; DPDK ends its own so.
template <class Call> long cancellable(Call call) {
  int before = 0;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
  const long got = call();
  pthread_setcanceltype(before, nullptr);
  return got;
}

bool is_ours(const sockaddr *address, socklen_t bytes) { // a socket with a name below the folder
  if (address == nullptr || address->sa_family != AF_UNIX || bytes <= sizeof(sa_family_t)) return false;
  return below(reinterpret_cast<const sockaddr_un *>(address)->sun_path);
}

// A call without further ceremony.
template <class Call> long guarded(Kind kind, bool counted, const char *name, const char *path, Call call) {
  const Action action = counted ? decide(kind, name, path) : Action::none;
  if (action == Action::fail || action == Action::cut) return failed();
  const long got = call();
  if (action == Action::kill_after) end_here();
  return got;
}

long open_any(int at, const char *path, int flags, mode_t mode) {
  const bool mine = below(path);
  return guarded(Kind::open, mine, "open", path, [&] {
    const Recorded recorded;
    const long fd = syscall(SYS_openat, at, path, flags, mode);
    if (fd < 0) return fd;
    watch(fd, !mine ? nothing : is_folder(fd) ? folder : file);
    if (mine && recorded.on)
      note(Op::open, static_cast<int>(fd), static_cast<uint32_t>(flags), 0, nullptr, 0, path, nullptr);
    return fd;
  });
}

template <class Write> ssize_t write_any(int fd, const char *name, size_t count, Write write_some) {
  const bool mine = is_watched(fd);
  const Action action =
      mine ? decide(watched[fd] == other ? Kind::send : Kind::write, name, nullptr) : Action::none;
  if (action == Action::fail) return failed();
  if (action == Action::cut && count < 2) return failed();
  const ssize_t got = write_some(action == Action::cut ? count / 2 : count);
  if (action == Action::kill_after) end_here();
  return got;
}

} // namespace

extern "C" {

// ---- files -------------------------------------------------------------------------------------

int openat(int at, const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
  va_end(list);
  return static_cast<int>(open_any(at, path, flags, mode));
}
int openat64(int at, const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
  va_end(list);
  return static_cast<int>(open_any(at, path, flags, mode));
}
int open(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
  va_end(list);
  return static_cast<int>(open_any(AT_FDCWD, path, flags, mode));
}
int open64(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
  va_end(list);
  return static_cast<int>(open_any(AT_FDCWD, path, flags, mode));
}
int __open_2(const char *path, int flags) { return static_cast<int>(open_any(AT_FDCWD, path, flags, 0)); }
int __open64_2(const char *path, int flags) { return static_cast<int>(open_any(AT_FDCWD, path, flags, 0)); }
int creat(const char *path, mode_t mode) {
  return static_cast<int>(open_any(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode));
}

FILE *fopen64(const char *path, const char *mode) {
  using Opener = FILE *(*)(const char *, const char *);
  static const auto real = reinterpret_cast<Opener>(dlsym(RTLD_NEXT, "fopen64"));
  if (!below(path)) return real(path, mode);
  const Action action = decide(Kind::open, "fopen", path);
  if (action == Action::fail || action == Action::cut) {
    failed();
    return nullptr;
  }
  const Recorded recorded;
  FILE *const stream = real(path, mode);
  if (stream != nullptr) {
    watch(fileno(stream), file);
    const uint32_t flags = mode[0] == 'w'   ? O_WRONLY | O_CREAT | O_TRUNC
                           : mode[0] == 'a' ? O_WRONLY | O_CREAT
                                            : 0;
    if (recorded.on) note(Op::open, fileno(stream), flags, 0, nullptr, 0, path, nullptr);
  }
  if (action == Action::kill_after) end_here();
  return stream;
}
FILE *fopen(const char *path, const char *mode) { return fopen64(path, mode); }

int close(int fd) {
  const Recorded recorded;
  if (is_file(fd) && recorded.on) note(Op::close, fd, 0, 0, nullptr, 0, nullptr, nullptr);
  watch(fd, nothing);
  return static_cast<int>(syscall(SYS_close, fd));
}

ssize_t write(int fd, const void *data, size_t count) {
  return write_any(fd, "write", count, [&](size_t some) {
    const Recorded recorded;
    const bool kept = recorded.on && is_file(fd);
    const ssize_t got = syscall(SYS_write, fd, data, some);
    if (kept && got > 0)
      note(Op::write, fd, 0, static_cast<uint64_t>(syscall(SYS_lseek, fd, 0, SEEK_CUR) - got), data,
           static_cast<uint64_t>(got), nullptr, nullptr);
    return got;
  });
}
ssize_t pwrite64(int fd, const void *data, size_t count, off64_t at) {
  return write_any(fd, "pwrite", count, [&](size_t some) {
    const Recorded recorded;
    const ssize_t got = syscall(SYS_pwrite64, fd, data, some, at);
    if (recorded.on && is_file(fd) && got > 0)
      note(Op::write, fd, 0, static_cast<uint64_t>(at), data, static_cast<uint64_t>(got), nullptr, nullptr);
    return got;
  });
}
ssize_t pwrite(int fd, const void *data, size_t count, off_t at) { return pwrite64(fd, data, count, at); }
ssize_t writev(int fd, const iovec *parts, int count) {
  if (!is_watched(fd)) return syscall(SYS_writev, fd, parts, count);
  size_t total = 0;
  for (int i = 0; i < count; ++i) total += parts[i].iov_len;
  return write_any(fd, "writev", total, [&](size_t some) {
    const Recorded recorded;
    const bool kept = recorded.on && is_file(fd);
    const long at = syscall(SYS_lseek, fd, 0, SEEK_CUR);
    ssize_t got = 0;
    if (some < total) {
      const size_t first = parts[0].iov_len < some ? parts[0].iov_len : some;
      got = syscall(SYS_write, fd, parts[0].iov_base, first);
    } else {
      got = syscall(SYS_writev, fd, parts, count);
    }
    for (ssize_t left = got, i = 0, offset = at; kept && left > 0; ++i) {
      const auto part = static_cast<ssize_t>(parts[i].iov_len);
      const ssize_t here = left < part ? left : part;
      note(Op::write, fd, 0, static_cast<uint64_t>(offset), parts[i].iov_base, static_cast<uint64_t>(here),
           nullptr, nullptr);
      left -= here;
      offset += here;
    }
    return got;
  });
}

ssize_t read(int fd, void *data, size_t count) {
  const bool mine = is_watched(fd);
  const Kind kind = mine && watched[fd] == other ? Kind::receive : Kind::read;
  const Action action = mine ? decide(kind, "read", nullptr) : Action::none;
  if (action == Action::fail) return failed();
  const ssize_t got = cancellable(
      [&] { return syscall(SYS_read, fd, data, action == Action::cut && count > 1 ? count / 2 : count); });
  if (action == Action::kill_after) end_here();
  return got;
}
ssize_t __read_chk(int fd, void *data, size_t count, size_t) { return read(fd, data, count); }
ssize_t pread64(int fd, void *data, size_t count, off64_t at) {
  const Action action = is_watched(fd) ? decide(Kind::read, "pread", nullptr) : Action::none;
  if (action == Action::fail) return failed();
  const ssize_t got =
      syscall(SYS_pread64, fd, data, action == Action::cut && count > 1 ? count / 2 : count, at);
  if (action == Action::kill_after) end_here();
  return got;
}
ssize_t pread(int fd, void *data, size_t count, off_t at) { return pread64(fd, data, count, at); }

static int sync_any(int fd, long number, const char *name) {
  const bool mine = is_file(fd);
  return static_cast<int>(guarded(Kind::fsync, mine, name, nullptr, [&] {
    const Recorded recorded;
    const long got = syscall(number, fd);
    if (recorded.on && mine && got == 0)
      note(watched[fd] == folder ? Op::sync_folder : Op::sync, fd, 0, 0, nullptr, 0, nullptr, nullptr);
    return got;
  }));
}
int fsync(int fd) { return sync_any(fd, SYS_fsync, "fsync"); }
int fdatasync(int fd) { return sync_any(fd, SYS_fdatasync, "fdatasync"); }
int sync_file_range(int fd, off64_t from, off64_t count, unsigned flags) {
  // Without flags it only asks whether there is such a call, and no disk can make it fail.
  return static_cast<int>(guarded(Kind::fsync, is_file(fd) && flags != 0, "sync_file_range", nullptr,
                                  [&] { return syscall(SYS_sync_file_range, fd, from, count, flags); }));
}
int ftruncate64(int fd, off64_t size) {
  const bool mine = is_watched(fd);
  return static_cast<int>(guarded(Kind::truncate, mine, "ftruncate", nullptr, [&] {
    const Recorded recorded;
    const long got = syscall(SYS_ftruncate, fd, size);
    if (recorded.on && is_file(fd) && got == 0)
      note(Op::truncate, fd, 0, static_cast<uint64_t>(size), nullptr, 0, nullptr, nullptr);
    return got;
  }));
}
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }
int fallocate64(int fd, int mode, off64_t from, off64_t count) {
  return static_cast<int>(guarded(Kind::allocate, is_watched(fd), "fallocate", nullptr,
                                  [&] { return syscall(SYS_fallocate, fd, mode, from, count); }));
}
int fallocate(int fd, int mode, off_t from, off_t count) { return fallocate64(fd, mode, from, count); }
int posix_fallocate64(int fd, off64_t from, off64_t count) { // says the error instead of -1
  return fallocate64(fd, 0, from, count) == 0 ? 0 : errno;
}
int posix_fallocate(int fd, off_t from, off_t count) { return posix_fallocate64(fd, from, count); }

int renameat(int from_at, const char *from, int to_at, const char *to) {
  const bool mine = below(from) || below(to);
  return static_cast<int>(guarded(Kind::rename, mine, "rename", from, [&] {
    const Recorded recorded;
    const long got = syscall(SYS_renameat, from_at, from, to_at, to);
    if (recorded.on && mine && got == 0) note(Op::rename, -1, 0, 0, nullptr, 0, from, to);
    return got;
  }));
}
int rename(const char *from, const char *to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }
int linkat(int from_at, const char *from, int to_at, const char *to, int flags) {
  const bool mine = below(from) || below(to);
  return static_cast<int>(guarded(Kind::link, mine, "link", from, [&] {
    const Recorded recorded;
    const long got = syscall(SYS_linkat, from_at, from, to_at, to, flags);
    if (recorded.on && mine && got == 0) note(Op::link, -1, 0, 0, nullptr, 0, from, to);
    return got;
  }));
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }
int unlink(const char *path) {
  const bool mine = below(path);
  return static_cast<int>(guarded(Kind::unlink, mine, "unlink", path, [&] {
    const Recorded recorded;
    const long got = syscall(SYS_unlink, path);
    if (recorded.on && mine && got == 0) note(Op::unlink, -1, 0, 0, nullptr, 0, path, nullptr);
    return got;
  }));
}
int unlinkat(int at, const char *path, int flags) {
  char full[PATH_MAX] = {};
  if (at != AT_FDCWD && path[0] != '/') {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", at);
    const long bytes = syscall(SYS_readlinkat, AT_FDCWD, link, full, sizeof full - 1);
    if (bytes > 0) snprintf(full + bytes, sizeof full - static_cast<size_t>(bytes), "/%s", path);
  }
  const char *const name = full[0] != 0 ? full : path;
  const bool mine = below(name) && (flags & AT_REMOVEDIR) == 0;
  return static_cast<int>(guarded(Kind::unlink, mine, "unlink", name, [&] {
    const Recorded recorded;
    const long got = syscall(SYS_unlinkat, at, path, flags);
    if (recorded.on && mine && got == 0) note(Op::unlink, -1, 0, 0, nullptr, 0, name, nullptr);
    return got;
  }));
}
int remove(const char *path) {
  const int got = unlink(path);
  return got != 0 && (errno == EISDIR || errno == EPERM) ? static_cast<int>(syscall(SYS_rmdir, path)) : got;
}
int mkdir(const char *path, mode_t mode) {
  const Recorded recorded;
  const long got = syscall(SYS_mkdir, path, mode);
  if (recorded.on && below(path) && got == 0) note(Op::mkdir, -1, 0, 0, nullptr, 0, path, nullptr);
  return static_cast<int>(got);
}

// ---- memory ------------------------------------------------------------------------------------

void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off64_t offset) {
  return reinterpret_cast<void *>(guarded(Kind::mmap, is_watched(fd), "mmap", nullptr, [&] {
    return syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
  })); // MAP_FAILED is -1
}
void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
  return mmap64(at, bytes, protection, flags, fd, offset);
}
int memfd_create(const char *name, unsigned flags) {
  return static_cast<int>(guarded(Kind::memfd, true, "memfd_create", name, [&] {
    const long fd = syscall(SYS_memfd_create, name, flags);
    watch(fd, file);
    return fd;
  }));
}

static bool no_memory(size_t bytes) {
  if (bytes <= memory_bytes_min) return false;
  const Action action = decide(Kind::memory, "malloc", nullptr);
  if (action == Action::kill_after) end_here();
  if (action == Action::none) return false;
  errno = ENOMEM;
  return true;
}
void *malloc(size_t bytes) { return no_memory(bytes) ? nullptr : __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) {
  size_t total = 0;
  if (__builtin_mul_overflow(count, bytes, &total) || no_memory(total)) return nullptr;
  return __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes) { return no_memory(bytes) ? nullptr : __libc_realloc(old, bytes); }
void *memalign(size_t alignment, size_t bytes) {
  return no_memory(bytes) ? nullptr : __libc_memalign(alignment, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void **out, size_t alignment, size_t bytes) {
  void *const got = memalign(alignment, bytes);
  if (got == nullptr) return ENOMEM;
  *out = got;
  return 0;
}

// ---- sockets -----------------------------------------------------------------------------------

int socket(int domain, int type, int protocol) {
  const bool mine = domain == AF_UNIX;
  return static_cast<int>(guarded(Kind::socket, mine, "socket", nullptr,
                                  [&] { return syscall(SYS_socket, domain, type, protocol); }));
}
int bind(int fd, const sockaddr *address, socklen_t bytes) {
  if (is_ours(address, bytes)) watch(fd, other);
  return static_cast<int>(guarded(Kind::socket, is_watched(fd), "bind", nullptr,
                                  [&] { return syscall(SYS_bind, fd, address, bytes); }));
}
int listen(int fd, int backlog) {
  return static_cast<int>(guarded(Kind::socket, is_watched(fd), "listen", nullptr,
                                  [&] { return syscall(SYS_listen, fd, backlog); }));
}
int connect(int fd, const sockaddr *address, socklen_t bytes) {
  if (is_ours(address, bytes)) watch(fd, other);
  return static_cast<int>(guarded(Kind::socket, is_watched(fd), "connect", nullptr,
                                  [&] { return syscall(SYS_connect, fd, address, bytes); }));
}
int accept4(int fd, sockaddr *address, socklen_t *bytes, int flags) {
  return static_cast<int>(guarded(Kind::socket, is_watched(fd), "accept", nullptr, [&] {
    const long got = cancellable([&] { return syscall(SYS_accept4, fd, address, bytes, flags); });
    if (got >= 0) watch(got, other);
    return got;
  }));
}
int accept(int fd, sockaddr *address, socklen_t *bytes) { return accept4(fd, address, bytes, 0); }

ssize_t sendto(int fd, const void *data, size_t bytes, int flags, const sockaddr *to, socklen_t to_bytes) {
  return write_any(fd, "send", bytes,
                   [&](size_t some) { return syscall(SYS_sendto, fd, data, some, flags, to, to_bytes); });
}
ssize_t send(int fd, const void *data, size_t bytes, int flags) {
  return sendto(fd, data, bytes, flags, nullptr, 0);
}
ssize_t sendmsg(int fd, const msghdr *message, int flags) {
  return guarded(Kind::send, is_watched(fd), "sendmsg", nullptr,
                 [&] { return syscall(SYS_sendmsg, fd, message, flags); });
}
ssize_t recvfrom(int fd, void *data, size_t bytes, int flags, sockaddr *from, socklen_t *from_bytes) {
  return guarded(Kind::receive, is_watched(fd), "recv", nullptr, [&] {
    return cancellable([&] { return syscall(SYS_recvfrom, fd, data, bytes, flags, from, from_bytes); });
  });
}
ssize_t recv(int fd, void *data, size_t bytes, int flags) {
  return recvfrom(fd, data, bytes, flags, nullptr, nullptr);
}
ssize_t __recv_chk(int fd, void *data, size_t bytes, size_t, int flags) {
  return recv(fd, data, bytes, flags);
}
ssize_t recvmsg(int fd, msghdr *message, int flags) {
  return guarded(Kind::receive, is_watched(fd), "recvmsg", nullptr, [&] {
    const long got = cancellable([&] { return syscall(SYS_recvmsg, fd, message, flags); });
    if (got >= 0)
      for (cmsghdr *c = CMSG_FIRSTHDR(message); c != nullptr; c = CMSG_NXTHDR(message, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
          for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
            int fd_inside = -1;
            memcpy(&fd_inside, CMSG_DATA(c) + i * sizeof(int), sizeof fd_inside);
            watch(fd_inside, file);
          }
    return got;
  });
}

int epoll_create1(int flags) {
  return static_cast<int>(
      guarded(Kind::poll, true, "epoll_create1", nullptr, [&] { return syscall(SYS_epoll_create1, flags); }));
}
int epoll_ctl(int fd, int op, int at, epoll_event *event) {
  return static_cast<int>(guarded(Kind::poll, is_watched(at), "epoll_ctl", nullptr,
                                  [&] { return syscall(SYS_epoll_ctl, fd, op, at, event); }));
}
int epoll_wait(int fd, epoll_event *events, int count, int wait_ms) {
  return static_cast<int>(guarded(Kind::poll, true, "epoll_wait", nullptr, [&] {
    return cancellable([&] { return syscall(SYS_epoll_wait, fd, events, count, wait_ms); });
  }));
}
int poll(pollfd *fds, nfds_t count, int wait_ms) {
  return static_cast<int>(guarded(Kind::poll, true, "poll", nullptr, [&] {
    return cancellable([&] { return syscall(SYS_poll, fds, count, wait_ms); });
  }));
}

} // extern "C"
