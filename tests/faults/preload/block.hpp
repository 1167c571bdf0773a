// What a test and the library inside a weir process share: a mapped file. The test arms one fault; the
// library counts calls, lets the chosen ones fail, and says what it did.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace weir::fault {

enum class Kind : std::uint32_t {
  open,
  read,
  write,
  fsync,
  truncate,
  allocate, // of disk blocks
  rename,
  link,
  unlink,
  mmap,
  memfd,
  socket, // socket, bind, listen, accept, connect
  send,
  receive,
  poll, // epoll_create, epoll_ctl, epoll_wait, poll
  memory,
};
inline constexpr std::uint32_t kinds = 16;
inline constexpr std::array<const char *, kinds> kind_names{
    "open",   "read", "write", "fsync",  "truncate", "allocate", "rename", "link",
    "unlink", "mmap", "memfd", "socket", "send",     "receive",  "poll",   "memory"};

enum class Action : std::uint32_t {
  none,
  fail,        // with `error`
  cut,         // half of the bytes; otherwise as `fail`
  kill_before, // the call
  kill_after,
};

inline constexpr std::uint32_t block_magic = 0x57464c54;

struct Block {
  std::uint32_t magic;
  std::atomic<std::uint32_t> action; // Action; none: only count
  std::atomic<std::uint32_t> kind;
  std::atomic<std::uint32_t> error;   // errno
  std::atomic<std::uint32_t> lasting; // from the chosen call on, until it is 0
  std::atomic<std::uint64_t> chosen;  // the first call is 1
  std::atomic<std::uint64_t> seen;    // calls of `kind` since the fault was armed
  std::atomic<std::uint64_t> given;   // faults
  std::atomic<std::uint32_t> step;    // of the test, copied into records
  std::array<std::atomic<std::uint64_t>, kinds> calls;
  std::array<char, 256> what; // the call that was hit first
};

// One call that changed files, as the library records it; paths and data follow.
enum class Op : std::uint32_t {
  open,
  close,
  write,
  truncate,
  sync,
  sync_folder,
  rename,
  link,
  unlink,
  mkdir
};

struct Record {
  Op op;
  std::uint32_t step;
  std::int32_t fd;
  std::uint32_t flags;          // of open
  std::uint64_t offset, length; // `length` bytes of data for write; the new size in `offset` for truncate
  std::uint32_t path_bytes, other_bytes;
};

} // namespace weir::fault
