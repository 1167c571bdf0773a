#include "control/rules/bundle.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace weir::rules {
namespace {

constexpr std::array<char, 8> magic{'w', 'e', 'i', 'r', 'f', 'l', 's', '1'};

struct Header {
  std::array<char, 8> magic;
  std::uint64_t files = 0, table_place = 0, table_bytes = 0;
};
static_assert(sizeof(Header) == 32);

struct TableEntry {
  std::uint64_t place = 0, bytes = 0, name_bytes = 0; // the name follows
};

constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
constexpr std::size_t copied_bytes = 1u << 20; // at once

std::unexpected<Error> no_room(const char *step) {
  return fail(
      errno == ENOMEM || errno == ENOSPC ? Errc::no_memory : Errc::io,
      fmt::format("the files of the request cannot be put together: {}: {}", step, std::strerror(errno)));
}

std::unexpected<Error> no_bundle(std::string_view why) {
  return fail(Errc::usage, fmt::format("the files of the request cannot be taken: {}; use the weirctl of the "
                                       "same build as weir-control",
                                       why));
}

} // namespace

// ---- writing -----------------------------------------------------------------------------------

Result<BundleWriter> BundleWriter::make() {
  BundleWriter writer;
  writer.fd_ = OwnedFd(memfd_create("weir-files", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (writer.fd_.get() < 0) return no_room("memfd_create");
  const std::array<char, sizeof(Header)> unwritten{};
  if (auto begun = writer.append({unwritten.data(), unwritten.size()}); !begun)
    return std::unexpected(std::move(begun.error()));
  return writer;
}

Status BundleWriter::append(std::string_view bytes) {
  if (size_ + bytes.size() > bundle_bytes_max)
    return fail(Errc::refused,
                fmt::format("the files of one request have at most {} bytes together; divide the "
                            "lists among several requests",
                            bundle_bytes_max));
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return no_room("write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
    size_ += static_cast<std::uint64_t>(written);
  }
  return {};
}

void BundleWriter::enter(const std::string &name, std::uint64_t place) {
  known_.emplace(name, files_.size());
  files_.push_back({place, size_ - place, name});
}

Status BundleWriter::add(const std::string &name, std::string_view text) {
  if (has(name)) return {};
  const std::uint64_t place = size_;
  TRY(append(text));
  enter(name, place);
  return {};
}

Status BundleWriter::add(const std::string &name, int regular_file) {
  if (has(name)) return {};
  const std::uint64_t place = size_;
  std::vector<char> buffer(copied_bytes);
  for (;;) {
    const ssize_t got = ::read(regular_file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Errc::io, fmt::format("{}: cannot be read: {}", name, std::strerror(errno)));
    if (got == 0) break;
    if (auto added = append({buffer.data(), static_cast<std::size_t>(got)}); !added) return added;
  }
  enter(name, place);
  return {};
}

Result<OwnedFd> BundleWriter::seal() && {
  Header header{.magic = magic, .files = files_.size(), .table_place = size_};
  std::string table;
  for (const BundledFile &file : files_) {
    const TableEntry entry{file.place, file.bytes, file.name.size()};
    table.append(reinterpret_cast<const char *>(&entry), sizeof entry).append(file.name);
  }
  header.table_bytes = table.size();
  if (auto added = append(table); !added) return std::unexpected(std::move(added.error()));
  if (::pwrite(fd_.get(), &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header))
    return no_room("pwrite");
  if (fcntl(fd_.get(), F_ADD_SEALS, seals) != 0) return no_room("F_ADD_SEALS");
  return std::move(fd_);
}

// ---- reading -----------------------------------------------------------------------------------

Result<Bundle> Bundle::open(int fd) {
  const int held = fcntl(fd, F_GET_SEALS);
  if (held < 0 || (held & seals) != seals) return no_bundle("they are not in a sealed memory file");
  struct stat status{};
  struct statfs system{};
  if (fstat(fd, &status) != 0 || fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC)
    return no_bundle("they are not in ordinary memory");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < sizeof(Header) || size > bundle_bytes_max)
    return no_bundle(fmt::format("{} bytes are too few or more than {}", size, bundle_bytes_max));
  constexpr std::uint64_t block_bytes = 512;
  if (static_cast<std::uint64_t>(status.st_blocks) * block_bytes < size)
    return no_bundle("the memory file has holes");
  Bundle bundle;
  // Private, since kernels before 6.7 refuse shared mappings of what is sealed against writing.
  void *memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (memory == MAP_FAILED)
    return fail(Errc::no_memory,
                fmt::format("the files of the request cannot be mapped: {}", std::strerror(errno)));
  bundle.memory_ = static_cast<const char *>(memory);
  bundle.bytes_ = size;
  if (auto read = bundle.read_table(); !read) return std::unexpected(std::move(read.error()));
  return bundle;
}

Status Bundle::read_table() {
  Header header;
  std::memcpy(&header, memory_, sizeof header);
  if (header.magic != magic) return no_bundle("they have another form");
  const auto inside = [this](std::uint64_t place, std::uint64_t bytes) {
    return place <= bytes_ && bytes <= bytes_ - place;
  };
  if (!inside(header.table_place, header.table_bytes) || header.table_place + header.table_bytes != bytes_)
    return no_bundle("their table is broken");
  std::string_view table(memory_ + header.table_place, header.table_bytes);
  while (!table.empty()) {
    TableEntry entry;
    if (table.size() < sizeof entry) return no_bundle("their table is broken");
    std::memcpy(&entry, table.data(), sizeof entry);
    table.remove_prefix(sizeof entry);
    if (entry.name_bytes > table.size() || !inside(entry.place, entry.bytes))
      return no_bundle("their table is broken");
    files_.emplace(table.substr(0, entry.name_bytes), std::string_view(memory_ + entry.place, entry.bytes));
    table.remove_prefix(entry.name_bytes);
  }
  if (files_.size() != header.files) return no_bundle("their table is broken");
  return {};
}

std::optional<std::string_view> Bundle::find(const std::filesystem::path &name) const {
  const auto at = files_.find(std::string_view(name.native()));
  if (at == files_.end()) return std::nullopt;
  return at->second;
}

Bundle::Bundle(Bundle &&other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)),
      files_(std::move(other.files_)) {}

Bundle &Bundle::operator=(Bundle &&other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  std::swap(files_, other.files_);
  return *this;
}

Bundle::~Bundle() {
  if (memory_ != nullptr) munmap(const_cast<char *>(memory_), bytes_);
}

} // namespace weir::rules
