// `weirctl doctor`: looks at the machine and says a remedy for whatever stands in weir's way. Reads
// only; needs no daemon.
#pragma once

#include "weir/base/memlock.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weir::cli {

enum class Level : std::uint8_t {
  good,
  note,  // weir works, but not as well as it could
  wrong, // weir does not work until this is mended
};

[[nodiscard]] constexpr std::string_view name_of(Level level) noexcept {
  return level == Level::good ? "ok" : level == Level::note ? "note" : "WRONG";
}

struct Finding {
  Level level = Level::good;
  std::string topic;   // "hugepages"
  std::string finding; // what is so
  std::string remedy;  // what to do; empty when good
};

struct Patient {
  std::filesystem::path config;     // may be missing
  std::filesystem::path socket;     // of weir-control
  std::filesystem::path root = "/"; // where proc, sys, dev and tmp are; another folder in tests
  std::uint64_t memlock_bytes = weir::memlock_bytes(); // that whoever asks may lock
};

[[nodiscard]] std::vector<Finding> examine(const Patient &patient);

} // namespace weir::cli
