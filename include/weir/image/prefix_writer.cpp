#include "weir/image/prefix_writer.hpp"

namespace weir::image {
namespace {

// A map out of room may have some after a grace period.
template <class Writer> [[nodiscard]] Change change_of(typename Writer::Put put, const Writer &writer) {
  if (put == Writer::Put::changed) return Change::in_place;
  return writer.retired_lines() != 0 ? Change::waits : Change::needs_rebuild;
}

void set_in_use(const std::uint32_t &in_use, std::uint32_t what) noexcept {
  table::write_release(const_cast<std::uint32_t &>(in_use), in_use | what);
}

} // namespace

void CellsV4::mark(Address address, std::uint32_t what) noexcept {
  const std::uint32_t cell = address >> 16;
  auto &word = const_cast<std::uint32_t &>(map_.signs()[cell / table::range_signs_a_word]);
  table::write_release(word, word | what << 2 * (cell % table::range_signs_a_word));
  set_in_use(map_.header().in_use, what);
}

bool CellsV4::has_room_for_host(Address host) {
  constexpr std::size_t ranges_max = 1024;
  const table::RangeHeaderV4 &header = map_.header();
  const std::uint32_t for_prefixes = (header.lines - header.lines_used) / 2;
  if (writer_.free_lines() + writer_.retired_lines() <= for_prefixes) return false;
  table::read_cell(map_, host >> 16, before_);
  return before_.size() <= ranges_max;
}

Change CellsV4::each_part(Address first, Address last, PrefixChange &change) {
  const std::uint32_t first_cell = first >> 16, last_cell = last >> 16;
  for (std::uint32_t cell = last_cell + 1; cell-- > first_cell;) {
    table::read_cell(map_, cell, before_);
    after_.clear();
    const auto add = [&](std::uint32_t key, std::uint32_t value) {
      if (after_.empty() || after_.back().value != value)
        after_.push_back({static_cast<std::uint16_t>(key), value});
    };
    change_ranges(
        before_, std::uint32_t{0xFFFF}, cell == first_cell ? first & 0xFFFF : 0,
        cell == last_cell ? last & 0xFFFF : 0xFFFF, change,
        [](const Range &range) { return std::uint32_t{range.key}; }, add);
    if (after_ == before_) continue;
    mark(cell << 16, table::range_prefixes);
    if (const Change done = change_of(writer_.put(cell, after_), writer_); done != Change::in_place)
      return done;
  }
  return Change::in_place;
}

void PlacesV6::mark(const Address &address, std::uint32_t what) noexcept {
  const table::HostMarks &marks = map_.host_marks();
  if ((what & table::range_hosts) != 0 && marks.words() != nullptr)
    table::mark_host(const_cast<std::uint32_t *>(marks.words()), marks, table::question_of(address));
  set_in_use(map_.header().in_use, what);
}

std::pair<std::uint32_t, std::uint32_t> PlacesV6::places(std::uint32_t root, const Address &first,
                                                         const Address &last) const noexcept {
  const unsigned unused = 16 - Map::root_shift(map_.root(root));
  const auto key = [](const Address &a) { return static_cast<std::uint32_t>(a.high >> 32) & 0xFFFF; };
  const std::uint32_t from = first.high >> 48 == root ? key(first) : 0;
  const std::uint32_t to = last.high >> 48 == root ? key(last) : 0xFFFF;
  return {from >> unused, to >> unused};
}

std::uint64_t PlacesV6::parts(const Address &first, const Address &last) const noexcept {
  std::uint64_t parts = 0;
  for (std::uint64_t root = first.high >> 48; root <= last.high >> 48; ++root) {
    const auto [from, to] = places(static_cast<std::uint32_t>(root), first, last);
    parts += to - from + 1;
  }
  return parts;
}

Change PlacesV6::each_part(const Address &first, const Address &last, PrefixChange &change) {
  const auto first_root = static_cast<std::uint32_t>(first.high >> 48);
  for (auto root = static_cast<std::uint32_t>(last.high >> 48) + 1; root-- > first_root;) {
    const auto [from, to] = places(root, first, last);
    const std::uint32_t keys = 0x10000u >> Map::root_shift(map_.root(root));
    for (std::uint32_t place = to + 1; place-- > from;) {
      const Address begin{std::uint64_t{root} << 48 | std::uint64_t{place * keys} << 32, 0};
      const Address end{begin.high + (std::uint64_t{keys} << 32) - 1, ~std::uint64_t{0}};
      table::read_place(map_, root, place, before_);
      after_.clear();
      const auto add = [&](const Address &address, std::uint32_t value) {
        if (after_.empty() || after_.back().value != value) after_.push_back({address, value});
      };
      change_ranges(
          before_, end, std::max(begin, first), std::min(end, last), change,
          [](const Range &range) { return range.first; }, add);
      if (after_ == before_) continue;
      mark(begin, table::range_prefixes);
      if (const Change done = change_of(writer_.put(root, place, after_), writer_); done != Change::in_place)
        return done;
    }
  }
  return Change::in_place;
}

} // namespace weir::image
