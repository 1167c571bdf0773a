// Counting quotient filter: "how often is this key in the multiset?" for sets that change (Bender et al.
// 2012; counters and rank-and-select after Pandey, Bender, Johnson, Patro 2017, in an encoding of our own).
//
// A key's fingerprint, a number below slots * 2^r, is split into a quotient, which names a slot, and a
// remainder of r bits, which stands there or as near behind as its neighbours allow: quotient_table.hpp.
// Fingerprints are stored whole, so they can be listed, and the table be doubled or halved without its
// keys: a bit moves from the remainders to the quotients or back.
//
//   errors    accepts an absent key with 1 - (1 - 1/(slots 2^r))^n, n different keys; never misses a
//             present one; count() is never too small
//   bits      (r + 2.125) / 0.95 a key, and up to 320 slots behind the last quotient
//   cost      two or three lines that follow one another. Insertions move what stands behind: 10 slots on
//             the way to a load of 95 %, 200 at it
//   limits    as many slots as quotients; of keys that come again and again only the count grows, by one
//             slot for every r bits. A refused insertion leaves the filter as it was
//   erase     only of keys that are present: an absent key may take a stranger's fingerprint with it
//
// One thread at a time.
#pragma once

#include "weir/filter/quotient_writer.hpp"

namespace weir::filter {

class QuotientView {
public:
  using Shape = QuotientShape;

  QuotientView() = default;
  QuotientView(const Shape &shape, const FilterHeader &header, const std::byte *cells) noexcept
      : shape_(shape), universe_(shape.universe()), family_(hash_family(own_view, header.layer)),
        table_(shape, cells) {}
  [[nodiscard]] static Result<QuotientView> attach(Bytes section) {
    return attach_view<QuotientView>(section);
  }

  [[nodiscard]] const Shape &shape() const noexcept { return shape_; }

  [[nodiscard]] bool contains(KeyHash key) const noexcept { return contains(place_of(key)); }

  // How often the key was inserted and not deleted, and others of the same fingerprint with it.
  [[nodiscard]] std::uint64_t count(KeyHash key) const noexcept {
    const QuotientPlace place = place_of(key);
    if (!table_.is_occupied(place.quotient)) return 0;
    for (std::uint64_t slot = table_.run_start(place.quotient); slot < table_.slots();) {
      const QuotientGroup group = table_.group_at(slot);
      if (group.remainder == place.remainder) return group.count;
      if (group.last) break;
      slot = group.end;
    }
    return 0;
  }

  // Prefetches the block and the slot that the key would like best, where they are far; then looks which
  // quotients have a run, then where the runs begin, and into them: steps of their own, since each waits for
  // the one before.
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    struct Lane {
      std::uint64_t quotient, remainder; // later the slot where the run begins
    };
    std::array<Lane, batch_max> places;
    std::array<std::uint8_t, batch_max + 1> number; // one put down may stand behind the last
    const bool far = shape_.bits() > near_bits;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const QuotientPlace place = place_of(keys[i]);
      places[i] = {place.quotient, place.remainder};
      if (!far) continue;
      const std::byte *block = table_.block(places[i].quotient / 64);
      __builtin_prefetch(block, 0, into_l2);
      __builtin_prefetch(
          QuotientTable::remainders(block) + places[i].quotient % 64 * shape_.remainder_bits / 8, 0, into_l2);
    }
    unsigned count = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      number[count] = static_cast<std::uint8_t>(i);
      count += table_.is_occupied(places[i].quotient) ? 1 : 0;
    }
    for (unsigned j = 0; j < count; ++j) {
      Lane &lane = places[number[j]];
      lane.quotient = table_.run_start(lane.quotient);
    }
    HitMask hits = 0;
    for (unsigned j = 0; j < count; ++j) {
      const Lane &lane = places[number[j]];
      hits |= HitMask{run_holds(lane.quotient, static_cast<std::uint32_t>(lane.remainder))} << number[j];
    }
    return hits;
  }

private:
  friend class QuotientFilter;
  static constexpr std::uint64_t own_view = 0x900713E27F117E25ull;

  [[nodiscard]] QuotientPlace place_of(KeyHash key) const noexcept {
    __extension__ using Wide = unsigned __int128;
    const auto fingerprint = static_cast<std::uint64_t>(Wide{remix(key, family_)} * universe_ >> 64);
    const std::uint64_t quotient = fingerprint >> shape_.remainder_bits;
    return {quotient, static_cast<std::uint32_t>(fingerprint - (quotient << shape_.remainder_bits))};
  }
  [[nodiscard]] bool contains(QuotientPlace place) const noexcept {
    return table_.is_occupied(place.quotient) && run_holds(table_.run_start(place.quotient), place.remainder);
  }
  [[nodiscard]] bool run_holds(std::uint64_t start, std::uint32_t remainder) const noexcept {
    return start < table_.slots() && table_.run_holds(start, remainder);
  }

  Shape shape_;
  std::uint64_t universe_ = 0, family_ = 0;
  QuotientTable table_;
};

class QuotientFilter : public OwnedFilter<QuotientView> {
public:
  static constexpr double load_max = 0.95; // that shapes are made for
  static constexpr unsigned remainder_bits_max = QuotientShape::remainder_bits_max;

  // For different keys.
  [[nodiscard]] static double rate(const Shape &shape, double keys) noexcept {
    return -std::expm1(keys * std::log1p(-1 / static_cast<double>(shape.universe())));
  }
  [[nodiscard]] static std::optional<Shape> shape_for(double keys, std::uint64_t bits) noexcept;
  [[nodiscard]] static std::optional<Shape> shape_for_rate(double keys, double rate) noexcept;

  // Errors: usage.
  [[nodiscard]] static Result<QuotientFilter> make(const Shape &shape, std::uint64_t layer = 0) {
    TRY(check(shape));
    return QuotientFilter(shape, layer);
  }
  // To go on with a section in place. Errors: as View::attach().
  [[nodiscard]] static Result<QuotientFilter> adopt(MutableBytes section) {
    const auto opened = TRY(open_section<Shape>(section));
    QuotientFilter filter(opened, section);
    const QuotientTable &table = filter.view_.table_;
    for (std::uint64_t slot = 0; slot < table.slots(); ++slot)
      filter.slots_used_ += table.end_through(slot) > slot ? 1 : 0;
    return filter;
  }

  // Errors: needs_rebuild when there is no room; nothing has changed then.
  [[nodiscard]] Status insert(KeyHash key) {
    if (!add(view_.place_of(key), 1))
      return fail(Errc::needs_rebuild, "the quotient filter is full at " + std::to_string(slots_used_) +
                                           " of " + std::to_string(shape().slots) +
                                           " slots: double it or build a larger one");
    memory_.set_keys(keys() + 1);
    return {};
  }
  // False, and nothing changed, when no such fingerprint is there.
  bool erase(KeyHash key);

  [[nodiscard]] std::uint64_t count(KeyHash key) const noexcept { return view_.count(key); }
  [[nodiscard]] std::uint64_t slots_used() const noexcept { return slots_used_; }
  [[nodiscard]] double load() const noexcept { return static_cast<double>(slots_used_) / shape().slots; }

  // The same multiset of fingerprints in 2^doublings as many slots, with remainders so many bits shorter;
  // halved when negative. The rate does not change, but there is room. Errors: usage, where no such shape
  // exists; needs_rebuild, when the fingerprints do not fit.
  [[nodiscard]] Result<QuotientFilter> resized(int doublings) const;

private:
  using OwnedFilter::OwnedFilter;

  [[nodiscard]] const QuotientTable &table() const noexcept { return view_.table_; }
  [[nodiscard]] QuotientWriter writer() noexcept { return {shape(), memory_.cells()}; }
  [[nodiscard]] static std::optional<Shape> largest(unsigned remainder_bits, std::uint64_t bits) noexcept;

  // What one remainder's group holds, were it there so many times.
  [[nodiscard]] std::vector<std::uint32_t> group_of(std::uint32_t remainder, std::uint64_t count) const;
  [[nodiscard]] std::uint64_t first_empty(std::uint64_t slot) const noexcept;
  // Can a run take so many slots more at `slot`?
  [[nodiscard]] bool has_room(std::uint64_t slot, std::uint64_t more) const noexcept;
  [[nodiscard]] bool add(QuotientPlace place, std::uint64_t times);
  // One slot more at `slot` in the run of `quotient`, of which it is the last if `ends`; one slot less.
  void widen(std::uint64_t quotient, std::uint64_t slot, std::uint64_t empty, bool ends) noexcept;
  void narrow(std::uint64_t quotient, std::uint64_t slot) noexcept;
  template <class Visit> void for_each(Visit visit) const; // place and count, ascending

  std::uint64_t slots_used_ = 0;
};

inline std::optional<QuotientShape> QuotientFilter::largest(unsigned remainder_bits,
                                                            std::uint64_t bits) noexcept {
  Shape shape{1, remainder_bits};
  if (shape.bits() > bits) return std::nullopt;
  const std::uint64_t blocks = (bits / 64 * 8 - 7) / shape.block_bytes();
  const double all = std::min(static_cast<double>(blocks) * 64, double{UINT32_MAX});
  shape.slots = static_cast<std::uint32_t>(all - std::min(Shape::spill_max, 4 * std::sqrt(all)));
  while (shape.slots < UINT32_MAX && Shape{shape.slots + 1, remainder_bits}.blocks() <= blocks) ++shape.slots;
  return shape;
}
// The longest remainders for which there is room.
inline std::optional<QuotientShape> QuotientFilter::shape_for(double keys, std::uint64_t bits) noexcept {
  for (unsigned r = remainder_bits_max; r > 0; --r)
    if (const auto shape = largest(r, bits); shape && keys <= load_max * shape->slots) return shape;
  return std::nullopt;
}
inline std::optional<QuotientShape> QuotientFilter::shape_for_rate(double keys, double rate) noexcept {
  if (!(rate > 0)) return std::nullopt;
  const double universe = rate < 1 ? -1 / std::expm1(std::log1p(-rate) / std::max(keys, 1.0)) : 1;
  std::optional<Shape> best;
  for (unsigned r = 1; r <= remainder_bits_max; ++r) {
    const double slots = std::ceil(std::max(keys / load_max, std::floor(universe / std::exp2(r)) + 1));
    if (slots > UINT32_MAX) continue;
    const Shape shape{static_cast<std::uint32_t>(std::max(slots, 1.0)), r};
    if (!best || shape.bits() < best->bits()) best = shape;
  }
  return best;
}

inline std::uint64_t QuotientFilter::first_empty(std::uint64_t slot) const noexcept {
  while (slot < table().slots()) {
    const std::uint64_t end = table().end_through(slot);
    if (end <= slot) return slot;
    slot = end;
  }
  return table().slots();
}

inline bool QuotientFilter::has_room(std::uint64_t slot, std::uint64_t more) const noexcept {
  if (slots_used_ + more > shape().slots) return false;
  for (std::uint64_t i = 0; i < more; ++i, ++slot)
    if ((slot = first_empty(slot)) >= table().slots()) return false;
  return true;
}

inline std::vector<std::uint32_t> QuotientFilter::group_of(std::uint32_t remainder,
                                                           std::uint64_t count) const {
  if (count == 0) return {};
  std::vector<std::uint32_t> slots{remainder};
  if (remainder == 0 && count == 1) return slots;
  if (remainder == 0) slots.push_back(0);
  const std::uint64_t base = remainder == 0 ? (1u << shape().remainder_bits) - 1 : remainder + 1;
  const std::uint32_t least = remainder == 0 ? 1 : 0;
  for (std::uint64_t rest = remainder == 0 ? count - 2 : count - 1; rest > 0; rest = (rest - 1) / base)
    slots.push_back(static_cast<std::uint32_t>((rest - 1) % base) + least);
  if (remainder == 0) slots.push_back(0);
  return slots;
}

inline bool QuotientFilter::add(QuotientPlace place, std::uint64_t times) {
  std::uint64_t slot = table().run_start(place.quotient), had = 0, count = 0;
  bool ends = true; // is the group the last one of its run?
  for (bool more = table().is_occupied(place.quotient); more;) {
    const QuotientGroup group = table().group_at(slot);
    if (group.remainder >= place.remainder) {
      ends = false;
      if (group.remainder > place.remainder) break;
      had = group.end - slot, count = group.count, ends = group.last;
      break;
    }
    slot = group.end;
    more = !group.last;
  }
  if (count + times == 1) { // as nearly always
    const std::uint64_t empty = first_empty(slot);
    if (slots_used_ >= shape().slots || empty >= table().slots()) return false;
    widen(place.quotient, slot, empty, ends);
    writer().set_remainder(slot, place.remainder);
    return true;
  }
  const std::vector<std::uint32_t> want = group_of(place.remainder, count + times);
  if (!has_room(slot + had, want.size() - had)) return false;
  for (std::uint64_t i = had; i < want.size(); ++i)
    widen(place.quotient, slot + had, first_empty(slot + had), ends && i == had);
  for (std::size_t i = 0; i < want.size(); ++i) writer().set_remainder(slot + i, want[i]);
  return true;
}

inline bool QuotientFilter::erase(KeyHash key) {
  const QuotientPlace place = view_.place_of(key);
  if (!table().is_occupied(place.quotient)) return false;
  std::uint64_t slot = table().run_start(place.quotient);
  QuotientGroup group = table().group_at(slot);
  for (; group.remainder != place.remainder; group = table().group_at(slot)) {
    if (group.last || group.remainder > place.remainder) return false;
    slot = group.end;
  }
  const std::vector<std::uint32_t> want = group_of(place.remainder, group.count - 1);
  for (std::uint64_t end = group.end; end > slot + want.size(); --end) narrow(place.quotient, end - 1);
  for (std::size_t i = 0; i < want.size(); ++i) writer().set_remainder(slot + i, want[i]);
  memory_.set_keys(keys() - 1);
  return true;
}

// All runs from `slot` to `empty`, the next slot that is, move on by one.
inline void QuotientFilter::widen(std::uint64_t quotient, std::uint64_t slot, std::uint64_t empty,
                                  bool ends) noexcept {
  writer().move_up(slot, empty);
  writer().set_runend(slot, ends);
  if (ends && table().is_occupied(quotient)) writer().set_runend(slot - 1, false);
  writer().set_occupied(quotient, true);
  for (std::uint64_t block = quotient / 64 + 1; block * 64 <= empty; ++block)
    writer().set_offset(block, table().said_offset(block) + 1);
  ++slots_used_;
}

// Runs behind that are not at their own quotients' slots move back by one.
inline void QuotientFilter::narrow(std::uint64_t quotient, std::uint64_t slot) noexcept {
  const bool ended = table().is_runend(slot), alone = ended && table().run_start(quotient) == slot;
  std::uint64_t end = table().end_through(quotient);
  for (std::uint64_t next = end; (next = table().end_through(end - 1)) > end;) end = next;
  writer().move_down(slot, end);
  if (alone)
    writer().set_occupied(quotient, false);
  else if (ended)
    writer().set_runend(slot - 1, true);
  for (std::uint64_t block = quotient / 64 + 1; block * 64 < end; ++block) {
    const unsigned said = table().said_offset(block);
    writer().set_offset(block,
                        said != QuotientTable::offset_unsaid ? said - 1 : table().offset_by_runs(block));
  }
  --slots_used_;
}

template <class Visit> void QuotientFilter::for_each(Visit visit) const {
  std::uint64_t slot = 0;
  for (std::uint64_t quotient = 0; quotient < shape().slots; ++quotient) {
    if (!table().is_occupied(quotient)) continue;
    slot = std::max(slot, quotient);
    for (bool more = true; more && slot < table().slots();) {
      const QuotientGroup group = table().group_at(slot);
      visit(QuotientPlace{quotient, group.remainder}, group.count);
      slot = group.end;
      more = !group.last;
    }
  }
}

inline Result<QuotientFilter> QuotientFilter::resized(int doublings) const {
  const int bits = static_cast<int>(shape().remainder_bits) - doublings;
  const std::uint64_t slots =
      doublings >= 0 ? std::uint64_t{shape().slots} << std::min(doublings, 31) : shape().slots >> -doublings;
  if (bits < 1 || bits > static_cast<int>(remainder_bits_max) || slots > UINT32_MAX ||
      slots << bits != shape().universe())
    return fail(Errc::usage, "a quotient filter of " + std::to_string(shape().slots) + " slots and " +
                                 std::to_string(shape().remainder_bits) + " bits cannot be doubled " +
                                 std::to_string(doublings) + " times, build another one");
  QuotientFilter other({static_cast<std::uint32_t>(slots), static_cast<std::uint32_t>(bits)}, layer());
  bool fits = true;
  for_each([&](QuotientPlace place, std::uint64_t count) {
    const std::uint64_t fingerprint = place.quotient << shape().remainder_bits | place.remainder;
    const std::uint64_t quotient = fingerprint >> bits;
    fits = fits && other.add({quotient, static_cast<std::uint32_t>(fingerprint - (quotient << bits))}, count);
  });
  if (!fits)
    return fail(Errc::needs_rebuild, std::to_string(slots_used_) + " slots in use do not fit into " +
                                         std::to_string(slots) + ", keep the filter larger");
  other.memory_.set_keys(keys());
  return other;
}

} // namespace weir::filter
