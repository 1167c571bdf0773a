#include "weir/build/range_sweep.hpp"

#include <algorithm>
#include <bit>
#include <compare>
#include <string>

namespace weir::build {
namespace {

// Numbers for table values: open addressing, four places for each number that can be given.
class Dictionary {
public:
  explicit Dictionary(std::vector<std::uint32_t> &values) : values_(values), places_(places) {}

  // 0: there is no number left.
  [[nodiscard]] std::uint16_t number_of(std::uint32_t value) {
    for (std::uint32_t at = value * 0x9E37'79B1u >> (32 - place_bits);; at = (at + 1) % places) {
      Place &place = places_[at];
      if (place.value == value) return place.number;
      if (place.value != 0) continue;
      if (values_.size() == table::range_values_max) return 0;
      place = {value, static_cast<std::uint16_t>(values_.size())};
      values_.push_back(value);
      return place.number;
    }
  }

private:
  static constexpr unsigned place_bits = 16;
  static constexpr std::uint32_t places = 1u << place_bits;
  static_assert(places == 4 * table::range_values_max);
  struct Place {
    std::uint32_t value = 0; // no list with a length is 0
    std::uint16_t number = 0;
  };
  std::vector<std::uint32_t> &values_;
  std::vector<Place> places_;
};

// ---- what differs between the families ---------------------------------------------------------

std::uint32_t first_of(const EntryV4 &e) noexcept { return e.host; }
std::uint32_t bits_behind(const EntryV4 &e) noexcept {
  return e.length == 0 ? ~std::uint32_t{0} : ~std::uint32_t{0} >> (e.length - 1) >> 1;
}
std::uint32_t last_of(const EntryV4 &e) noexcept { return e.host | bits_behind(e); }
bool is_last(std::uint32_t address) noexcept { return address == ~std::uint32_t{0}; }
std::uint32_t next(std::uint32_t address) noexcept { return address + 1; }
bool is_masked(const EntryV4 &e) noexcept { return e.length <= 32 && (e.host & bits_behind(e)) == 0; }

AddressV6 first_of(const EntryV6 &e) noexcept {
  return {std::byteswap(load_unaligned<std::uint64_t>(e.address.data())),
          std::byteswap(load_unaligned<std::uint64_t>(e.address.data() + 8))};
}
AddressV6 bits_behind(const EntryV6 &e) noexcept {
  constexpr std::uint64_t all = ~std::uint64_t{0};
  if (e.length == 0) return {all, all};
  if (e.length <= 64) return {all >> (e.length - 1) >> 1, all};
  return {0, all >> (e.length - 65) >> 1};
}
AddressV6 last_of(const EntryV6 &e) noexcept {
  const AddressV6 first = first_of(e), behind = bits_behind(e);
  return {first.high | behind.high, first.low | behind.low};
}
bool is_last(const AddressV6 &a) noexcept { return a == AddressV6{~std::uint64_t{0}, ~std::uint64_t{0}}; }
AddressV6 next(const AddressV6 &a) noexcept { return {a.high + (a.low == ~std::uint64_t{0}), a.low + 1}; }
bool is_masked(const EntryV6 &e) noexcept {
  if (e.length > 128) return false;
  const AddressV6 first = first_of(e), behind = bits_behind(e);
  return (first.high & behind.high) == 0 && (first.low & behind.low) == 0;
}

// ---- the sweep ---------------------------------------------------------------------------------

template <class Entry, class Range, class Covering> class Sweep {
public:
  using Point = decltype(Range::first);
  using Swept = Ranges<Range, Covering>;

  Result<Swept> run(std::span<const Entry> entries) {
    out_.ranges.reserve(entries.size() + entries.size() / 2 + 1);
    out_.ranges.push_back({Point{}, 0});
    Point before{};
    unsigned length_before = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Entry &e = entries[i];
      const Point first = first_of(e);
      if (!is_masked(e)) return not_masked(e, i);
      if (first < before || (first == before && e.length < length_before)) return not_sorted(i);
      if (i > 0 && first == before && e.length == length_before) continue;
      before = first;
      length_before = e.length;
      if (e.length == 0) {
        out_.values[0] = table::value::make(e.list, 0);
        continue;
      }
      while (!open_.empty() && open_.back().last < first) leave();
      note_covering();
      open_.push_back({first, last_of(e), table::value::make(e.list, e.length), 0, false});
      answer_from(first, number_of(open_.back()));
      if (full_) break;
    }
    while (!open_.empty() && !full_) leave();
    if (full_)
      return fail(Errc::refused,
                  "a range map holds " + std::to_string(table::range_values_max - 1) +
                      " different pairs of list and prefix length, and these prefixes need more: "
                      "use fewer lists, or fewer prefix lengths");
    return std::move(out_);
  }

private:
  struct Open {
    Point first, last;
    std::uint32_t value;
    std::uint16_t number; // 0: not known yet
    bool covers;          // a longer one
  };

  // One that is open has the next one inside.
  void note_covering() {
    if (open_.empty() || open_.back().covers) return;
    open_.back().covers = true;
    Covering &covering = out_.covering.emplace_back();
    covering.first = open_.back().first;
    covering.value = open_.back().value;
  }

  static std::unexpected<Error> not_masked(const Entry &e, std::size_t at) {
    return fail(Errc::usage, "prefix number " + std::to_string(at) + " has length " +
                                 std::to_string(e.length) + ", and its address has bits beyond it");
  }
  static std::unexpected<Error> not_sorted(std::size_t at) {
    return fail(Errc::usage, "prefix number " + std::to_string(at) +
                                 " belongs before the one before it: sort prefixes by address and length");
  }

  std::uint16_t number_of(Open &open) {
    if (open.number == 0) open.number = dictionary_.number_of(open.value);
    full_ = full_ || open.number == 0;
    return open.number;
  }

  // The innermost open prefix ends. What is around it answers from there on.
  void leave() {
    const Point last = open_.back().last;
    open_.pop_back();
    if (is_last(last)) return;
    if (!open_.empty() && open_.back().last == last) return; // ends there as well
    answer_from(next(last), open_.empty() ? std::uint16_t{0} : number_of(open_.back()));
  }

  void answer_from(const Point &first, std::uint16_t number) {
    auto &ranges = out_.ranges;
    if (ranges.back().first == first) ranges.pop_back();
    if (ranges.empty() || ranges.back().value != number) ranges.push_back({first, number});
  }

  Swept out_;
  Dictionary dictionary_{out_.values};
  std::vector<Open> open_;
  bool full_ = false;
};

} // namespace

Result<RangesV4> sweep(std::span<const EntryV4> entries) {
  return Sweep<EntryV4, RangeV4, table::CoveringV4>().run(entries);
}
Result<RangesV6> sweep(std::span<const EntryV6> entries) {
  return Sweep<EntryV6, RangeV6, table::CoveringV6>().run(entries);
}

} // namespace weir::build
