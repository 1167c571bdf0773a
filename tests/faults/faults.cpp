#include "tests/faults/faults.hpp"

#include "tests/support/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <stdexcept>

namespace weir::fault {

std::string to_string(const Fault &fault) {
  std::string does;
  switch (fault.action) {
  case Action::none: does = "nothing"; break;
  case Action::fail: does = strerrorname_np(fault.error); break;
  case Action::cut: does = fmt::format("cut, {}", strerrorname_np(fault.error)); break;
  case Action::kill_before: does = "kill before"; break;
  case Action::kill_after: does = "kill after"; break;
  }
  return fmt::format("{}: {} {}: {}{}", name_of(fault.process),
                     kind_names[static_cast<std::size_t>(fault.kind)], fault.chosen, does,
                     fault.lasting ? ", until freed" : "");
}

FaultBlock::FaultBlock(const std::filesystem::path &file) : file_(file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  void *at = MAP_FAILED;
  if (fd >= 0 && ::ftruncate(fd, sizeof(Block)) == 0)
    at = ::mmap(nullptr, sizeof(Block), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (at == MAP_FAILED) throw std::runtime_error(fmt::format("{}: {}", file.string(), std::strerror(errno)));
  block_ = new (at) Block{};
  block_->magic = block_magic;
}

FaultBlock::~FaultBlock() { ::munmap(block_, sizeof(Block)); }

void FaultBlock::arm(const Fault &fault) {
  disarm();
  block_->kind = static_cast<std::uint32_t>(fault.kind);
  block_->error = static_cast<std::uint32_t>(fault.error);
  block_->lasting = fault.lasting ? 1 : 0;
  block_->chosen = fault.chosen;
  block_->seen = 0;
  block_->given = 0;
  block_->what[0] = 0;
  block_->action.store(static_cast<std::uint32_t>(fault.action), std::memory_order_release);
}

void FaultBlock::disarm() { block_->action = static_cast<std::uint32_t>(Action::none); }

void FaultBlock::clear() {
  disarm();
  block_->given = 0;
  for (auto &calls : block_->calls) calls = 0;
}

std::array<std::uint64_t, kinds> FaultBlock::calls() const {
  std::array<std::uint64_t, kinds> all{};
  for (std::size_t i = 0; i < kinds; ++i) all[i] = block_->calls[i];
  return all;
}

std::vector<std::pair<std::string, std::string>>
FaultBlock::environment(const std::filesystem::path &folder, const std::filesystem::path &record) const {
  std::vector<std::pair<std::string, std::string>> all{
      {"LD_PRELOAD", test::program("tests") / "libweirfault.so"},
      {"WEIR_FAULT", file_},
      {"WEIR_FAULT_FOLDER", folder}};
  if (!record.empty()) all.emplace_back("WEIR_FAULT_RECORD", record);
  return all;
}

} // namespace weir::fault
