// Changes an IPv6 range map in place, beside readers: one writer gives a place of the array new ranges, by the rules
// of range_writer_v4.hpp. The switch is the place's four bytes:
//
//   array      ... | first lines of place p | ...      2^s places to a /16: each stands for the /(16 + s) at its number
//
// Several places may have shared lines that are replaced; they stay until the last has let go of them. Where roots
// share a place, since all of them have one answer, a /16 gets a place of its own, and its root is the switch.
//
// A /16 keeps the number of its places; one that has grown much is served by a rebuild, which is asked for when
// lines, places or numbers of the dictionary run out.
#pragma once

#include "weir/base/result.hpp"
#include "weir/table/range_map_v6.hpp"
#include "weir/table/range_store.hpp"
#include "weir/table/range_windows.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace weir::table {

struct PlaceRange { // of a place; ends where the next one begins
  AddressV6 first;
  std::uint32_t value; // a table value; 0 where no prefix of one bit and more answers
  friend constexpr bool operator==(const PlaceRange &, const PlaceRange &) = default;
};

template <class Protocol = SafeRanges> class RangeWriterV6 {
public:
  enum class Put : std::uint8_t { changed, needs_rebuild };

  // The section of a map as attach() takes it.
  [[nodiscard]] static Result<RangeWriterV6> adopt(MutableBytes section) {
    TRY(RangeMapV6::attach(section));
    RangeWriterV6 writer(section);
    TRY(writer.count_places());
    return writer;
  }

  // So many places has the /16, 2^shift; place p holds the addresses whose next `shift` bits are p.
  [[nodiscard]] unsigned shift(std::uint32_t root) const noexcept {
    return RangeMapV6::root_shift(roots_[root]);
  }

  // All ranges of a place: they ascend strictly, and the first begins where the place does.
  [[nodiscard]] Put put(std::uint32_t root, std::uint32_t place, std::span<const PlaceRange> ranges) {
    const unsigned shift = this->shift(root);
    const std::uint32_t index = RangeMapV6::first_place(roots_[root]) + place;
    const bool shared = roots_of_[index] > 1;
    if (shared && shift != 0) return Put::needs_rebuild; // no builder makes that
    if (!number(ranges)) return Put::needs_rebuild;
    const auto own_place = shared ? places_.take(1) : index;
    if (!own_place) return Put::needs_rebuild;
    PackedPlace packed = pack(place, 0x10000u >> shift, kinds_);
    auto first = store_.take(packer_);
    if (!first && packed.shift != 0) { // as few lines as can be
      packed = pack(place, 0x10000u >> shift, {kinds_.wide, 0});
      first = store_.take(packer_);
    }
    if (!first) {
      if (shared) places_.add(*own_place);
      return Put::needs_rebuild;
    }
    const std::uint32_t line = *first + packer_.lines() - 1 - packed.first.number();
    const std::uint32_t before = array_[index], after = RangeMapV6::make_place(line, packed.shift);
    if constexpr (Protocol::stores_lines_first) store_.write(*first, packer_);
    write_release(array_[*own_place], after);
    if (shared) write_release(roots_[root], RangeMapV6::make_root(*own_place, 0));
    if constexpr (!Protocol::stores_lines_first) store_.write(*first, packer_);
    hold(after);
    if (shared) {
      roots_of_[*own_place] = 1;
      --roots_of_[index]; // others are left: its line stays
    } else {
      release(before);
    }
    if constexpr (!Protocol::waits_before_reuse) store_.grace_passed();
    return Put::changed;
  }

  // No reader holds a place any more that was replaced before.
  void grace_passed() { store_.grace_passed(); }
  [[nodiscard]] std::uint32_t free_lines() const noexcept { return store_.free(); }
  [[nodiscard]] std::size_t retired_lines() const noexcept { return store_.retired(); }
  [[nodiscard]] std::uint32_t free_places() const noexcept { return places_.free(); }

private:
  explicit RangeWriterV6(MutableBytes section) {
    auto *header = reinterpret_cast<RangeHeaderV6 *>(section.data());
    const RangeLayoutV6 at =
        range_layout_v6(header->values, header->array, header->lines, header->covering, header->host_marks);
    numbers_ = RangeNumbers({reinterpret_cast<std::uint32_t *>(section.data() + at.values), header->values},
                            header->values_used);
    roots_ = reinterpret_cast<std::uint32_t *>(section.data() + at.roots);
    array_ = reinterpret_cast<std::uint32_t *>(section.data() + at.array);
    store_ =
        RangeStore({reinterpret_cast<RangeLine *>(section.data() + at.lines), header->lines}, Family::ipv6);
    kinds_.wide = header->wide != 0;
    roots_of_.resize(header->array);
  }

  // The ranges that number() has left.
  [[nodiscard]] PackedPlace pack(std::uint32_t place, std::uint32_t keys, RangeLineKinds kinds) {
    packer_.clear();
    return pack_place(packer_, std::span<const RangeV6>(starts_).subspan(1), starts_[0].value, place * keys,
                      (place + 1) * keys, kinds);
  }
  // The first line of a place counts places, the others are there as long as that one.
  void hold(std::uint32_t place) {
    const std::uint32_t first = RangeMapV6::first_of_place(place);
    if (!store_.hold(first)) return;
    for (std::uint32_t l = 1; l < 1u << RangeMapV6::place_shift(place); ++l) store_.hold(first + l);
  }
  void release(std::uint32_t place) {
    const std::uint32_t first = RangeMapV6::first_of_place(place);
    if (!store_.release(first)) return;
    for (std::uint32_t l = 1; l < 1u << RangeMapV6::place_shift(place); ++l) store_.release(first + l);
  }

  // A map that was built shares places of one answer alone.
  Status count_places() {
    std::uint64_t counted = 0;
    for (std::uint32_t r = 0; r < range_cells; ++r) {
      const std::uint32_t count = 1u << shift(r), first = RangeMapV6::first_place(roots_[r]);
      counted += count;
      if (counted > roots_of_.size() + std::uint64_t{range_cells})
        return fail(Errc::bad_image, "range map refused: its roots share more than a place each");
      for (std::uint32_t i = first; i < first + count; ++i) ++roots_of_[i];
    }
    for (std::uint32_t i = 0; i < roots_of_.size(); ++i) {
      if (roots_of_[i] != 0)
        hold(array_[i]);
      else
        places_.add(i);
    }
    store_.find_free_lines();
    return {};
  }

  // The ranges with numbers of the dictionary, neighbours of one answer as one. False: there is none left.
  bool number(std::span<const PlaceRange> ranges) {
    starts_.clear();
    for (const PlaceRange &range : ranges) {
      const auto number = numbers_.of(range.value);
      if (!number) return false;
      if (starts_.empty() || starts_.back().value != *number) starts_.push_back({range.first, *number});
    }
    return true;
  }

  std::uint32_t *roots_ = nullptr, *array_ = nullptr;
  RangeLineKinds kinds_; // wide ones where readers know them in this map
  RangeStore store_;
  RangeSpace places_;
  RangeNumbers numbers_;
  std::vector<std::uint32_t> roots_of_; // of a place

  RangePacker packer_;
  std::vector<RangeV6> starts_;
};

} // namespace weir::table
