#include "weir/build/range_builder.hpp"

#include "weir/table/range_cell.hpp"
#include "weir/table/range_map_v6.hpp"
#include "weir/table/range_windows.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weir::build {

using table::PackedCell, table::PackedPlace, table::PackedRoot, table::RangeLine, table::RangePacker,
    table::RangeStart, table::RangeTarget;

namespace {

constexpr std::uint32_t spare_lines_min = 256, spare_values_min = 64, spare_places_min = 256;

RangeFootprint footprint_of(std::uint64_t prefixes, std::uint64_t ranges, std::size_t values,
                            std::size_t lines) {
  RangeFootprint out{.prefixes = prefixes, .ranges = ranges};
  out.values_used = static_cast<std::uint32_t>(values);
  out.values =
      std::min(out.values_used + std::max(out.values_used / 8, spare_values_min), table::range_values_max);
  out.lines_used = static_cast<std::uint32_t>(lines);
  out.lines = out.lines_used + std::max(out.lines_used / 16, spare_lines_min);
  return out;
}

std::uint32_t in_use_of(const RangeFootprint &f) noexcept {
  return f.prefixes != 0 ? table::range_prefixes : 0;
}

// Zeros from the end of one part to the beginning of the next.
template <class T>
void write_part(MutableBytes section, std::uint64_t at, std::span<const T> part, std::uint64_t end) {
  if (!part.empty()) std::memcpy(section.data() + at, part.data(), part.size_bytes());
  std::memset(section.data() + at + part.size_bytes(), 0, end - at - part.size_bytes());
}

// From the last line to the first, and the spare ones behind.
void write_lines(MutableBytes section, std::uint64_t at, std::span<const RangeLine> reversed,
                 std::uint64_t end) {
  std::byte *out = section.data() + at;
  for (std::size_t i = reversed.size(); i-- > 0; out += sizeof(RangeLine))
    std::memcpy(out, &reversed[i], sizeof(RangeLine));
  std::memset(out, 0, static_cast<std::size_t>(section.data() + end - out));
}

// Cells one after the other; those of one answer share a line.
class CellPacking {
public:
  CellPacking(std::span<const RangeV4> ranges, bool points) : packer(points), points_(points) {
    std::vector<PackedCell> packed(table::range_cells);
    pack_all(ranges, packed);
    cells.reserve(packed.size());
    for (const PackedCell &cell : packed) cells.push_back(cell.cell(packer.lines() - 1));
  }

  RangePacker packer;
  std::vector<std::uint64_t> cells;
  std::vector<std::uint32_t> signs = std::vector<std::uint32_t>(table::range_sign_words);

private:
  void pack_all(std::span<const RangeV4> ranges, std::span<PackedCell> packed) {
    std::size_t next = 0;
    std::uint16_t value = 0;
    for (std::uint32_t c = 0; c < table::range_cells; ++c) {
      starts_.clear();
      if (next == ranges.size() || ranges[next].first != c << 16) starts_.push_back({0, value});
      for (; next < ranges.size() && ranges[next].first >> 16 == c; ++next)
        starts_.push_back({static_cast<std::uint16_t>(ranges[next].first), ranges[next].value});
      value = starts_.back().value;
      const bool one = starts_.size() == 1;
      if (points_) table::make_points(starts_);
      packed[c] = one ? one_answer(value) : table::pack_cell(packer, starts_);
      if (!one || value != 0)
        signs[c / table::range_signs_a_word] |= table::range_prefixes << 2 * (c % table::range_signs_a_word);
    }
  }

  PackedCell one_answer(std::uint16_t value) {
    PackedCell &known = one_answer_[value];
    if (!is_known_[value]) known = table::pack_cell(packer, starts_);
    is_known_[value] = true;
    return known;
  }

  bool points_;
  std::vector<RangeStart> starts_; // of a cell
  std::vector<PackedCell> one_answer_ = std::vector<PackedCell>(table::range_values_max);
  std::vector<bool> is_known_ = std::vector<bool>(table::range_values_max);
};

// Roots one after the other; those of one answer share a place.
class RootPacking {
public:
  explicit RootPacking(std::span<const RangeV6> ranges) {
    std::vector<PackedPlace> places;
    roots.reserve(table::range_cells);
    std::size_t next = 0;
    std::uint16_t value = 0;
    for (std::uint32_t r = 0; r < table::range_cells; ++r) {
      const std::size_t first = next;
      while (next < ranges.size() && ranges[next].first.high >> 48 == r) ++next;
      const auto below = ranges.subspan(first, next - first);
      const bool one =
          below.empty() || (below.size() == 1 && below[0].first == AddressV6{std::uint64_t{r} << 48, 0});
      if (one) {
        if (!below.empty()) value = below[0].value;
        roots.push_back(one_answer(value, places));
      } else {
        const PackedRoot packed = table::pack_root(packer, below, value);
        roots.push_back(
            table::RangeMapV6::make_root(static_cast<std::uint32_t>(places.size()), packed.shift));
        places.insert(places.end(), packed.places.begin(), packed.places.end());
        value = below.back().value;
      }
    }
    array.reserve(places.size());
    for (const PackedPlace &place : places)
      array.push_back(table::RangeMapV6::make_place(packer.lines() - 1 - place.first.number(), place.shift));
  }

  RangePacker packer;
  std::vector<std::uint32_t> roots, array;

private:
  std::uint32_t one_answer(std::uint16_t value, std::vector<PackedPlace> &places) {
    std::uint32_t &root = one_answer_[value];
    if (root != unknown) return root;
    root = table::RangeMapV6::make_root(static_cast<std::uint32_t>(places.size()), 0);
    places.push_back(table::pack_root(packer, {}, value).places[0]);
    return root;
  }

  static constexpr std::uint32_t unknown = ~0u;
  std::vector<std::uint32_t> one_answer_ = std::vector<std::uint32_t>(table::range_values_max, unknown);
};

} // namespace

Result<RangePlanV4> RangePlanV4::make(std::span<const EntryV4> entries, bool points) {
  auto swept = TRY(sweep(entries));
  CellPacking packing(swept.ranges, points);
  RangePlanV4 plan;
  plan.points_ = points;
  plan.footprint_ =
      footprint_of(entries.size(), swept.ranges.size(), swept.values.size(), packing.packer.lines());
  RangeFootprint &f = plan.footprint_;
  f.covering = static_cast<std::uint32_t>(swept.covering.size());
  f.bytes = table::range_layout_v4(f.values, f.lines, f.covering).bytes;
  plan.values_ = std::move(swept.values);
  plan.signs_ = std::move(packing.signs);
  plan.covering_ = std::move(swept.covering);
  plan.cells_ = std::move(packing.cells);
  plan.reversed_ = std::move(packing.packer).take_reversed();
  return plan;
}

void RangePlanV4::write(MutableBytes section) const {
  const RangeFootprint &f = footprint_;
  const table::RangeHeaderV4 header{f.values, f.values_used, f.lines,      f.lines_used,      f.prefixes,
                                    f.ranges, f.covering,    in_use_of(f), points_ ? 1u : 0u, {}};
  const table::RangeLayoutV4 at = table::range_layout_v4(f.values, f.lines, f.covering);
  std::memcpy(section.data(), &header, sizeof header);
  write_part(section, at.values, std::span<const std::uint32_t>(values_), at.signs);
  write_part(section, at.signs, std::span<const std::uint32_t>(signs_), at.cells);
  write_part(section, at.cells, std::span<const std::uint64_t>(cells_), at.lines);
  write_lines(section, at.lines, reversed_, at.covering);
  write_part(section, at.covering, std::span<const table::CoveringV4>(covering_), at.bytes);
}

Result<RangePlanV6> RangePlanV6::make(std::span<const EntryV6> entries, std::uint64_t host_nets) {
  auto swept = TRY(sweep(entries));
  RootPacking packing(swept.ranges);
  RangePlanV6 plan;
  RangeFootprint &f = plan.footprint_;
  f = footprint_of(entries.size(), swept.ranges.size(), swept.values.size(), packing.packer.lines());
  f.array_used = static_cast<std::uint32_t>(packing.array.size());
  f.array = f.array_used + std::max(f.array_used / 16, spare_places_min);
  f.covering = static_cast<std::uint32_t>(swept.covering.size());
  f.host_marks = table::HostMarks::words_for(host_nets);
  f.bytes = table::range_layout_v6(f.values, f.array, f.lines, f.covering, f.host_marks).bytes;
  plan.covering_ = std::move(swept.covering);
  plan.values_ = std::move(swept.values);
  plan.wide_ = packing.packer.has_wide_lines();
  plan.roots_ = std::move(packing.roots);
  plan.array_ = std::move(packing.array);
  plan.array_.resize(f.array, plan.array_[0]); // spare ones lead somewhere too
  plan.reversed_ = std::move(packing.packer).take_reversed();
  return plan;
}

void RangePlanV6::write(MutableBytes section) const {
  const RangeFootprint &f = footprint_;
  const table::RangeHeaderV6 header{
      f.values,     f.values_used, f.lines,      f.lines_used, f.prefixes,      f.ranges, f.array,
      f.array_used, f.covering,    in_use_of(f), f.host_marks, wide_ ? 1u : 0u, {}};
  const table::RangeLayoutV6 at =
      table::range_layout_v6(f.values, f.array, f.lines, f.covering, f.host_marks);
  std::memcpy(section.data(), &header, sizeof header);
  write_part(section, at.values, std::span<const std::uint32_t>(values_), at.roots); // no mark is set
  write_part(section, at.roots, std::span<const std::uint32_t>(roots_), at.array);
  write_part(section, at.array, std::span<const std::uint32_t>(array_), at.lines);
  write_lines(section, at.lines, reversed_, at.covering);
  write_part(section, at.covering, std::span<const table::CoveringV6>(covering_), at.bytes);
}

void mark_hosts(MutableBytes section, std::span<const EntryV4> entries) {
  auto *h = reinterpret_cast<table::RangeHeaderV4 *>(section.data());
  const table::RangeLayoutV4 at = table::range_layout_v4(h->values, h->lines, h->covering);
  auto *signs = reinterpret_cast<std::uint32_t *>(section.data() + at.signs);
  for (const EntryV4 &e : entries) {
    if (e.length != 32) continue;
    const std::uint32_t c = e.host >> 16;
    signs[c / table::range_signs_a_word] |= table::range_hosts << 2 * (c % table::range_signs_a_word);
    h->in_use |= table::range_hosts;
  }
}

void mark_hosts(MutableBytes section, std::span<const EntryV6> entries) {
  auto *h = reinterpret_cast<table::RangeHeaderV6 *>(section.data());
  const table::RangeLayoutV6 at =
      table::range_layout_v6(h->values, h->array, h->lines, h->covering, h->host_marks);
  auto *words = reinterpret_cast<std::uint32_t *>(section.data() + at.host_marks);
  const table::HostMarks marks(words, h->host_marks);
  for (const EntryV6 &e : entries) {
    if (e.length != 128) continue;
    h->in_use |= table::range_hosts;
    if (h->host_marks == 0) return;
    table::mark_host(words, marks, table::KeyV6::load(e.address.data()));
  }
}

} // namespace weir::build
