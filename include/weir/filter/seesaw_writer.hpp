// Seesaw counting filter, the writer's side: insertion, deletion and guarding, one writer at a time,
// readers at work all the while [SSCF Alg. 1 and 2; deletion and overflow are ours].
//
//   insert x   old = first i with h_i(x) sealed. Count x in every other position. With an old: if the
//              modulator cell has no count, store the first backup function that leads to an unsealed
//              cell, or function 0 if none does. Whatever is stored then, b: count x in b(x) if unsealed,
//              else in old. Raise the modulator's count in every case
//   erase x    the same decisions stand, because x itself keeps them: undo exactly what they name, lower
//              the modulator's count, then let waiting adaptive bits move
//   guard y    seal every position of y with pc = 0; where pc > 0, set the adaptive bit (if the cells
//              have one), which moves into nc in the store that follows the pc falling to 0
//
// Counts that reach their maximum stay there for ever. nc never falls. Keys inserted twice count twice.
// A key that is not present must not be erased: the exact set stands in front; what the filter itself
// knows to be absent is refused.
//
// Why readers never miss a present key y while x is changed. Each store replaces one word, in which a
// cell's nc, pc and adaptive bit, or a modulator cell's count and index, stand together.
//   - pc of a cell that y counts in: other keys take away only what they had added, so y's own share
//     remains in each intermediate value, and it is never 0.
//   - nc of such a cell: raised only in a store that saw pc = 0, so not while y counts there; the cell
//     that y was moved away from is sealed already and stays so.
//   - the modulator cell of y, if y has an old: its count holds y's share, so it is never 0, and the
//     index is replaced only when the count is 0. Count and index go in one store: written apart, a
//     reader could see the count without its index, or no count at all.
// Hence every value that a query of y depends on is constant while y is present, and the order between
// different words is free. It is fixed all the same: an insertion counts before it announces in the
// modulator, an erasure takes all counts away before any adaptive bit moves (moving earlier would change
// the decisions that the rest of the erasure rests on). A key is present for readers that learn of it
// after insert() returned, and until erase() is called.
#pragma once

#include "weir/filter/seesaw.hpp"

#include <array>
#include <span>

namespace weir::filter {

// The rules above as switches, so that tests can break each of them and see the damage. `stored` is
// called after every store that readers can see.
struct SeesawRules {
  static constexpr bool decides_first = true;       // before anything of an erasure is changed
  static constexpr bool moves_any_function = true;  // also the very first one
  static constexpr bool reuses_stored = true;       // a modulator cell in use serves further keys
  static constexpr bool counts_always = true;       // also when no backup helped
  static constexpr bool undoes_decisions = true;    // an erasure takes from where the key was counted
  static constexpr bool cells_stick = true;         // at their maximum
  static constexpr bool modulator_sticks = true;    // likewise
  static constexpr bool seals_empty_only = true;    // nc rises at pc = 0 alone
  static constexpr bool seals_for_ever = true;      // nc never falls
  static constexpr bool moves_adaptive_last = true; // after all counts of an erasure are undone
  static constexpr bool counts_duplicates = true;   // each insertion counts
  static constexpr bool stores_at_once = true;      // count and index of a modulator cell
  static void stored() noexcept {}
};

struct SeesawLoad {
  std::uint64_t planned_keys = 0, keys = 0;
  std::uint64_t guarded = 0;
  std::uint64_t cells = 0, cells_stuck = 0;
  std::uint64_t modulator_cells = 0, modulator_used = 0, modulator_stuck = 0;

  [[nodiscard]] double modulator_share() const noexcept {
    return static_cast<double>(modulator_used) / static_cast<double>(modulator_cells);
  }
  [[nodiscard]] double stuck_share() const noexcept {
    return static_cast<double>(cells_stuck) / static_cast<double>(cells);
  }
};

// What guard() could do at the positions of a negative.
struct SeesawGuarded {
  unsigned sealed = 0;  // now or before
  unsigned waiting = 0; // for their keys to go
  unsigned refused = 0; // in use, and there is no adaptive bit
};

template <class Rules> class BasicSeesawWriter {
public:
  // Errors: see open_seesaw_section().
  [[nodiscard]] static Result<BasicSeesawWriter> attach(MutableBytes section) {
    const auto opened = open_seesaw_section(section);
    if (!opened) return std::unexpected(opened.error());
    BasicSeesawWriter writer;
    writer.header_ = reinterpret_cast<image::SeesawHeader *>(section.data());
    writer.shape_ = opened->shape;
    writer.cells_ = opened->cells;
    writer.modulator_ = opened->modulator;
    writer.view_ = SeesawView::attach(section).value();
    return writer;
  }

  // No branch depends on a cell, the rare search aside: keys without a conflict take part in all of it and
  // change nothing in the modulator.
  void insert(KeyHash key) noexcept {
    if (!Rules::counts_duplicates && view_.contains(key)) return;
    with_hashes(shape_.hashes, [&](auto hashes) { insert_by<hashes()>(key); });
  }

  // False when the key is not present; a key that merely is accepted must not be erased either.
  bool erase(KeyHash key) noexcept {
    return with_hashes(shape_.hashes, [&](auto hashes) { return erase_by<hashes()>(key); });
  }

  // A negative whose acceptance costs more than others'. Best before any key is inserted.
  SeesawGuarded guard(KeyHash negative) noexcept {
    SeesawGuarded result;
    Positions positions = SeesawShape::positions(negative);
    for (unsigned i = 0; i < shape_.hashes; ++i) guard_cell(shape_.cells.place(positions.next()), result);
    add(header_->guarded, 1);
    return result;
  }

  // Takes every guard away, which only an empty filter can bear: false while a key is present.
  bool drop_guards() noexcept {
    if (Rules::seals_for_ever && header_->keys != 0) return false;
    const std::uint64_t cell = shape_.negative_mask | shape_.adaptive_mask;
    std::uint64_t word = 0;
    for (unsigned i = 0; i < shape_.cells.per_word; ++i) word |= cell << i * shape_.cells.width;
    for (std::uint32_t i = 0; i < shape_.cells.words; ++i) {
      __atomic_store_n(&cells_[i], cells_[i] & ~word, __ATOMIC_RELEASE);
      Rules::stored();
    }
    __atomic_store_n(&header_->guarded, 0, __ATOMIC_RELAXED);
    return true;
  }

  // Any thread may ask.
  [[nodiscard]] SeesawLoad load() const noexcept {
    SeesawLoad l;
    l.planned_keys = header_->planned_keys;
    l.keys = __atomic_load_n(&header_->keys, __ATOMIC_RELAXED);
    l.guarded = __atomic_load_n(&header_->guarded, __ATOMIC_RELAXED);
    l.cells = shape_.cells.cells();
    l.cells_stuck = __atomic_load_n(&header_->cells_stuck, __ATOMIC_RELAXED);
    l.modulator_cells = shape_.modulator.cells();
    l.modulator_used = __atomic_load_n(&header_->modulator_used, __ATOMIC_RELAXED);
    l.modulator_stuck = __atomic_load_n(&header_->modulator_stuck, __ATOMIC_RELAXED);
    return l;
  }

private:
  using Packed = std::uint64_t; // a CellPlace
  struct Decision {
    std::array<Packed, seesaw_hashes_max> places;
    std::array<std::uint64_t, seesaw_hashes_max> is_old; // all bits set at `old`, else none
    Positions backups;
    unsigned old;           // the first sealed position, or one past the last
    std::uint32_t vacant;   // bit i: places[i] has no count
    std::uint32_t conflict; // 1: there is a sealed position
    CellPlace modulator;
    std::uint32_t stored;        // the modulator's cell
    std::uint32_t found;         // a function for a modulator cell without a count
    std::uint32_t backup_sealed; // 1: the stored function leads to a sealed cell
    Packed old_place;            // places[old], with a conflict
    Packed target;               // counts the key instead of old_place, or is it

    // Where function i counts the key.
    [[nodiscard]] Packed counting(unsigned i) const noexcept { return pick(is_old[i], target, places[i]); }
  };

  // Of a key that is present; and of one that is not, as long as function 0 suits a free modulator cell.
  template <unsigned Hashes = 0>
  [[nodiscard, gnu::always_inline]] Decision decided(KeyHash key) const noexcept {
    Decision d;
    Positions walk = SeesawShape::positions(key);
    const unsigned hashes = Hashes != 0 ? Hashes : shape_.hashes;
    std::uint32_t sealed = std::uint32_t{1} << hashes, vacant = 0;
#pragma GCC unroll 6
    for (unsigned i = 0; i < hashes; ++i) {
      const CellPlace place = shape_.cells.place(walk.next());
      const std::uint32_t cell = load_cell(cells_, place);
      d.places[i] = place.packed();
      sealed |= std::uint32_t{shape_.sealed(cell)} << i;
      vacant |= std::uint32_t{!shape_.counted(cell)} << i;
    }
    d.old = static_cast<unsigned>(__builtin_ctz(sealed));
    d.conflict = d.old != hashes;
    d.old_place = 0;
#pragma GCC unroll 6
    for (unsigned i = 0; i < hashes; ++i) {
      d.is_old[i] = mask_if(i == d.old);
      d.old_place |= d.places[i] & d.is_old[i];
    }
    d.vacant = vacant;
    d.found = 0;
    d.modulator = shape_.modulator.place(walk.next());
    d.stored = load_cell(modulator_, d.modulator) & modulator_mask();
    d.backups = walk;
    const std::uint32_t used = shape_.count_of(d.stored) != 0;
    const std::uint32_t index = shape_.index_mask == 0 ? 0 : shape_.index_of(d.stored) & (0 - used);
    const CellPlace backup = shape_.backup_place(walk, index);
    d.backup_sealed = shape_.sealed(load_cell(cells_, backup));
    d.target = pick(mask_if(d.backup_sealed != 0), d.old_place, backup.packed());
    return d;
  }

  template <unsigned Hashes> [[gnu::always_inline]] void insert_by(KeyHash key) noexcept {
    Decision d = decided<Hashes>(key);
    const unsigned free = shape_.count_of(d.stored) == 0;
    if (shape_.backups > 1 && (free & d.backup_sealed & d.conflict) != 0) search(d);
    if (free == 0 && !Rules::reuses_stored) d.target = d.old_place;
    const unsigned hashes = Hashes != 0 ? Hashes : shape_.hashes;
    unsigned stuck = 0;
#pragma GCC unroll 6
    for (unsigned i = 0; i < hashes; ++i)
      if (Rules::moves_any_function || i != 0 || d.old != 0) stuck += raise(d.counting(i));
    if (Rules::counts_always || d.target != d.old_place) raise_modulator(d);
    add(header_->cells_stuck, stuck);
    add(header_->keys, 1);
  }

  template <unsigned Hashes> [[gnu::always_inline]] bool erase_by(KeyHash key) noexcept {
    Decision d = decided<Hashes>(key);
    if (!may_be_present(d)) return false;
    if constexpr (!Rules::decides_first) return erase_as_it_goes(key);
    if constexpr (!Rules::moves_adaptive_last) return erase_in_two_steps(key, d);
    if (!Rules::undoes_decisions) d.target = d.old_place;
    const unsigned hashes = Hashes != 0 ? Hashes : shape_.hashes;
#pragma GCC unroll 6
    for (unsigned i = 0; i < hashes; ++i) lower(d.counting(i));
    lower_modulator(d);
    if (shape_.adaptive_mask != 0)
      for (unsigned i = 0; i < hashes; ++i) move_adaptive(d.counting(i));
    add(header_->keys, 0u - 1);
    return true;
  }

  // What a query would say. Without a conflict `target` may be anything: places[0] speaks for itself.
  [[nodiscard]] bool may_be_present(const Decision &d) const noexcept {
    const std::uint32_t elsewhere = d.vacant & ~(std::uint32_t{1} << d.old);
    const std::uint32_t unused = d.conflict & unsigned{shape_.count_of(d.stored) == 0};
    const Packed counts = pick(mask_if(d.conflict != 0), d.target, d.places[0]);
    const std::uint32_t missing = !shape_.counted(load_cell(cells_, CellPlace::unpacked(counts)));
    return (elsewhere | unused | missing) == 0;
  }

  // A modulator cell without a count takes the first function that leads to an unsealed cell; the one with
  // index 0 does not.
  void search(Decision &d) const noexcept {
    for (std::uint32_t b = 1; b < shape_.backups; ++b) {
      const CellPlace backup = shape_.backup_place(d.backups, b);
      if (shape_.sealed(load_cell(cells_, backup))) continue;
      d.found = b;
      d.target = backup.packed();
      return;
    }
  }

  // 1 when the cell is stuck from now on.
  unsigned raise(Packed packed) noexcept {
    const CellPlace place = CellPlace::unpacked(packed);
    const std::uint64_t word = load_word(cells_, place);
    const std::uint32_t count = static_cast<std::uint32_t>(word >> place.shift) & shape_.positive_mask;
    store(cells_, place, word, unsigned{count != shape_.positive_mask});
    return count + 1 == shape_.positive_mask;
  }
  void lower(Packed packed) noexcept {
    const CellPlace place = CellPlace::unpacked(packed);
    const std::uint64_t word = load_word(cells_, place);
    const std::uint32_t count = static_cast<std::uint32_t>(word >> place.shift) & shape_.positive_mask;
    const unsigned stuck = Rules::cells_stick && count == shape_.positive_mask;
    store(cells_, place, word, 0 - (unsigned{count != 0} & ~stuck));
  }

  // Counts a key with a conflict in its modulator cell; a cell without a count takes its function.
  void raise_modulator(const Decision &d) noexcept {
    const std::uint32_t count = shape_.count_of(d.stored);
    const unsigned conflict = d.conflict, free = count == 0, full = count == shape_.count_mask;
    // A cell without a count takes the index found; one with a count keeps its own.
    const std::uint32_t index =
        shape_.index_mask == 0 ? 0 : free * ((d.found << shape_.count_bits) - d.stored);
    if constexpr (!Rules::stores_at_once) {
      store(modulator_, d.modulator, conflict * (index - count));
      store(modulator_, d.modulator, conflict * (count + (1 - full)));
    } else
      store(modulator_, d.modulator, conflict * (index + (1 - full)));
    add(header_->modulator_used, conflict & free);
    add(header_->modulator_stuck, conflict & unsigned{count + 1 == shape_.count_mask});
  }
  void lower_modulator(const Decision &d) noexcept {
    const std::uint32_t count = shape_.count_of(d.stored);
    const unsigned stuck = Rules::modulator_sticks && count == shape_.count_mask;
    const unsigned by = d.conflict & unsigned{count != 0} & ~stuck;
    store(modulator_, d.modulator, 0 - by);
    add(header_->modulator_used, 0 - (by & unsigned{count == 1}));
  }
  [[nodiscard]] std::uint32_t modulator_mask() const noexcept {
    return shape_.count_mask | shape_.index_mask << shape_.count_bits;
  }

  void guard_cell(CellPlace place, SeesawGuarded &result) noexcept {
    const std::uint32_t cell = load_cell(cells_, place);
    const std::uint32_t negatives = cell & shape_.negative_mask, one = shape_.positive_mask + 1;
    if (negatives != 0 || !shape_.counted(cell) || !Rules::seals_empty_only) {
      ++result.sealed;
      if (negatives != shape_.negative_mask) store(cells_, place, one);
    } else if (shape_.adaptive_mask != 0) {
      ++result.waiting;
      if ((cell & shape_.adaptive_mask) == 0) store(cells_, place, shape_.adaptive_mask);
    } else
      ++result.refused;
  }

  void move_adaptive(Packed packed) noexcept {
    const CellPlace place = CellPlace::unpacked(packed);
    const std::uint32_t cell = load_cell(cells_, place);
    if (shape_.counted(cell) || (cell & shape_.adaptive_mask) == 0) return;
    store(cells_, place, shape_.positive_mask + 1 - shape_.adaptive_mask);
  }

  // How not to do it: what is decided at a position depends on what was changed at those before it.
  bool erase_as_it_goes(KeyHash key) noexcept {
    for (unsigned i = 0; i < shape_.hashes; ++i) {
      const Decision now = decided(key);
      lower(now.counting(i));
      if (i == now.old) lower_modulator(now);
      move_adaptive(now.counting(i));
    }
    add(header_->keys, 0u - 1);
    return true;
  }
  // Nor so: what is decided last depends on adaptive bits that have moved.
  bool erase_in_two_steps(KeyHash key, const Decision &d) noexcept {
    for (unsigned i = 0; i < shape_.hashes; ++i)
      if (i != d.old) lower(d.places[i]), move_adaptive(d.places[i]);
    const Decision now = decided(key);
    if (now.conflict != 0) lower(now.target);
    lower_modulator(now);
    add(header_->keys, 0u - 1);
    return true;
  }

  [[nodiscard]] static std::uint64_t load_word(const std::uint64_t *words, CellPlace place) noexcept {
    return __atomic_load_n(&words[place.word], __ATOMIC_RELAXED);
  }
  // The one writer's store: `change` to the cell, which stays within its bits; 32 bits, two's complement.
  void store(std::uint64_t *words, CellPlace place, std::uint32_t change) noexcept {
    store(words, place, load_word(words, place), change);
  }
  void store(std::uint64_t *words, CellPlace place, std::uint64_t word, std::uint32_t change) noexcept {
    const auto wide = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(change)});
    __atomic_store_n(&words[place.word], word + (wide << place.shift), __ATOMIC_RELEASE);
    Rules::stored();
  }
  template <class Count> static void add(Count &count, std::uint32_t by) noexcept {
    const auto wide = static_cast<Count>(std::int64_t{static_cast<std::int32_t>(by)});
    __atomic_store_n(&count, count + wide, __ATOMIC_RELAXED);
  }

  image::SeesawHeader *header_ = nullptr;
  SeesawShape shape_;
  std::uint64_t *cells_ = nullptr, *modulator_ = nullptr;
  SeesawView view_;
};

using SeesawWriter = BasicSeesawWriter<SeesawRules>;

} // namespace weir::filter
