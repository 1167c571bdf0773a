// The section of a range map (table/range_sections.hpp) from sorted prefixes.
//
//   const auto plan = TRY(RangePlanV4::make(entries));    // all work, in memory of about the section's size
//   plan.footprint().bytes                                // what the section takes
//   plan.write(section)                                   // of so many bytes, aligned to 64
//
// The image builder hands over prefixes, and hosts where they are to stand in the map: ranges of one address, or points.
// The same prefixes give the same bytes. One line in sixteen is added as a spare one, and a place for a value in
// eight, for changes in place.
#pragma once

#include "weir/build/range_sweep.hpp"
#include "weir/table/range_sections.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weir::build {

struct RangeFootprint {
  std::uint64_t prefixes = 0, ranges = 0;
  std::uint32_t values = 0, values_used = 0; // places of the dictionary
  std::uint32_t lines = 0, lines_used = 0;
  std::uint32_t array = 0, array_used = 0; // IPv6 alone
  std::uint32_t covering = 0;
  std::uint32_t host_marks = 0; // words, IPv6 alone
  std::uint64_t bytes = 0;      // of the whole section
};

// Which /16s, or /48s of IPv6, have hosts below them, and that the side has some, in a section that was written.
void mark_hosts(MutableBytes section, std::span<const EntryV4> entries);
void mark_hosts(MutableBytes section, std::span<const EntryV6> entries);

class RangePlanV4 {
public:
  // `points`: single addresses take one place of a line instead of two (table/range_line.hpp), and a step in a line
  // takes longer.
  [[nodiscard]] static Result<RangePlanV4> make(std::span<const EntryV4> entries, bool points = false);
  [[nodiscard]] const RangeFootprint &footprint() const noexcept { return footprint_; }
  [[nodiscard]] bool has_points() const noexcept { return points_; }
  void write(MutableBytes section) const;

private:
  RangeFootprint footprint_;
  bool points_ = false;
  std::vector<std::uint32_t> values_;
  std::vector<std::uint32_t> signs_;
  std::vector<std::uint64_t> cells_;
  std::vector<table::RangeLine> reversed_;
  std::vector<table::CoveringV4> covering_;
};

class RangePlanV6 {
public:
  // `host_nets`: so many /48s have hosts in the table.
  [[nodiscard]] static Result<RangePlanV6> make(std::span<const EntryV6> entries,
                                                std::uint64_t host_nets = 0);
  [[nodiscard]] const RangeFootprint &footprint() const noexcept { return footprint_; }
  void write(MutableBytes section) const;

private:
  RangeFootprint footprint_;
  bool wide_ = false;
  std::vector<std::uint32_t> values_, roots_, array_;
  std::vector<table::RangeLine> reversed_;
  std::vector<table::CoveringV6> covering_;
};

} // namespace weir::build
