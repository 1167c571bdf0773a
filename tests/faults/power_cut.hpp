// What a file system may have kept when the power went: made from a record of the calls that changed files
// (preload/weirfault.cpp), for a cut before any of them.
//
//   whole        everything up to the cut, as after a kill
//   torn         the same, but half of the last write
//   unsynced     names as they were, of contents only what was synced
//   zeros        the same, but sizes as they were: blocks that were never written
//   names_too    names, too, as at the last sync of their folder
//   some         names as at some moment since then, and of each file some of what was not synced
#pragma once

#include "tests/faults/preload/block.hpp"

#include <array>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace weir::fault {

enum class Kept : std::uint8_t { whole, torn, unsynced, zeros, names_too, some };
inline constexpr std::array<const char *, 6> kept_names{"whole", "torn",      "unsynced",
                                                        "zeros", "names_too", "some"};

struct Event {
  Record record;
  std::string path, other, data;
};

[[nodiscard]] std::vector<Event> read_record(const std::filesystem::path &file);

// Below `folder`, which the record's paths begin with, stands afterwards what was kept of the first `count`
// events.
void lay_out(const std::vector<Event> &events, std::size_t count, Kept kept, std::mt19937_64 &random,
             const std::filesystem::path &folder);

} // namespace weir::fault
