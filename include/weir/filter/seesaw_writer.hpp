// Seesaw counting filter, the writer's side: insertion, deletion and guarding, one writer at a time,
// readers at work all the while [SSCF Alg. 1 and 2; deletion and overflow are ours].
//
//   insert x   old = first i with h_i(x) sealed. Count x in every other position. With an old: if the
//              modulator cell has no count, store the first backup function that leads to an unsealed
//              cell, if any. Whatever is stored then, b: count x in b(x) if unsealed, else in old. Raise
//              the modulator's count in every case
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

  void insert(KeyHash key) noexcept {
    if (!Rules::counts_duplicates && view_.contains(key)) return;
    Decision d = positions_of(key);
    if (d.old != none) choose(d);
    for (unsigned i = 0; i < shape_.hashes; ++i)
      if (i != d.old) raise(d.places[i]);
    if (d.old != none) {
      if (Rules::moves_any_function || d.old != 0) raise(d.target);
      if (Rules::counts_always || !(d.target == d.places[d.old])) raise_modulator(d);
    }
    add(header_->keys, 1);
  }

  // False when the key is not present; a key that merely is accepted must not be erased either.
  bool erase(KeyHash key) noexcept {
    Decision d = decided(key);
    if (!may_be_present(d)) return false;
    if constexpr (!Rules::decides_first) return erase_as_it_goes(key);
    for (unsigned i = 0; i < shape_.hashes; ++i)
      if (i != d.old) lower(d.places[i]);
    if constexpr (!Rules::moves_adaptive_last) {
      move_adaptive(d);
      d = decided(key);
    }
    if (d.old != none) {
      lower(Rules::undoes_decisions ? d.target : d.places[d.old]);
      lower_modulator(d);
    }
    move_adaptive(d);
    add(header_->keys, -1);
    return true;
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
  static constexpr unsigned none = ~0u;

  struct Decision {
    Positions positions;
    std::array<CellPlace, seesaw_hashes_max> places;
    std::uint32_t counted = 0; // bit i: places[i] has a count
    unsigned old = none;
    CellPlace modulator; // the rest only with an old
    std::uint32_t stored = 0;
    CellPlace target; // counts the key instead of places[old], or is it
  };

  [[nodiscard]] Decision positions_of(KeyHash key) const noexcept {
    Decision d;
    d.positions = SeesawShape::positions(key);
    Positions walk = d.positions;
    std::uint32_t sealed = 0;
    for (unsigned i = 0; i < shape_.hashes; ++i) {
      d.places[i] = shape_.cells.place(walk.next());
      const std::uint32_t cell = load_cell(cells_, d.places[i]);
      sealed |= std::uint32_t{shape_.sealed(cell)} << i;
      d.counted |= std::uint32_t{shape_.counted(cell)} << i;
    }
    if (sealed != 0) d.old = static_cast<unsigned>(std::countr_zero(sealed));
    return d;
  }

  // The function stored for a present key, and where it leads.
  void find_stored(Decision &d) const noexcept {
    d.modulator = shape_.modulator_place(d.positions);
    d.stored =
        load_cell(modulator_, d.modulator) & (shape_.count_mask | shape_.index_mask << shape_.count_bits);
    const CellPlace backup = shape_.backup_place(d.positions, shape_.index_of(d.stored));
    d.target = shape_.sealed(load_cell(cells_, backup)) ? d.places[d.old] : backup;
  }

  [[nodiscard]] Decision decided(KeyHash key) const noexcept {
    Decision d = positions_of(key);
    if (d.old != none) find_stored(d);
    return d;
  }

  // What a query would say.
  [[nodiscard]] bool may_be_present(const Decision &d) const noexcept {
    const std::uint32_t all = (std::uint32_t{1} << shape_.hashes) - 1;
    if (d.old == none) return d.counted == all;
    return (d.counted | std::uint32_t{1} << d.old) == all && shape_.count_of(d.stored) != 0 &&
           shape_.counted(load_cell(cells_, d.target));
  }

  // As find_stored() for a key about to be inserted: a modulator cell without a count is free for a new
  // index.
  void choose(Decision &d) const noexcept {
    find_stored(d);
    const bool free = shape_.count_of(d.stored) == 0;
    if (!free && !Rules::reuses_stored) d.target = d.places[d.old];
    if (!free) return;
    for (unsigned b = 0; b < shape_.backups; ++b) {
      const CellPlace backup = shape_.backup_place(d.positions, b);
      if (shape_.sealed(load_cell(cells_, backup))) continue;
      d.stored = b << shape_.count_bits;
      d.target = backup;
      return;
    }
  }

  void raise(CellPlace place) noexcept {
    const std::uint32_t cell = load_cell(cells_, place), count = cell & shape_.positive_mask;
    if (count == shape_.positive_mask) return;
    if (Rules::cells_stick && count + 1 == shape_.positive_mask) add(header_->cells_stuck, 1);
    store(cells_, place, shape_.positive_mask, count + 1);
  }
  void lower(CellPlace place) noexcept {
    const std::uint32_t count = load_cell(cells_, place) & shape_.positive_mask;
    if (count == 0 || (Rules::cells_stick && count == shape_.positive_mask)) return;
    store(cells_, place, shape_.positive_mask, count - 1);
  }

  void raise_modulator(const Decision &d) noexcept {
    const std::uint32_t count = shape_.count_of(d.stored);
    if (count == shape_.count_mask) return;
    if (count == 0) add(header_->modulator_used, 1);
    if (Rules::modulator_sticks && count + 1 == shape_.count_mask) add(header_->modulator_stuck, 1);
    if constexpr (!Rules::stores_at_once)
      store(modulator_, d.modulator, modulator_mask(), d.stored & ~shape_.count_mask);
    store(modulator_, d.modulator, modulator_mask(), d.stored + 1);
  }
  void lower_modulator(const Decision &d) noexcept {
    const std::uint32_t count = shape_.count_of(d.stored);
    if (count == 0 || (Rules::modulator_sticks && count == shape_.count_mask)) return;
    if (count == 1) add(header_->modulator_used, -1);
    store(modulator_, d.modulator, modulator_mask(), d.stored - 1);
  }
  [[nodiscard]] std::uint32_t modulator_mask() const noexcept {
    return shape_.count_mask | shape_.index_mask << shape_.count_bits;
  }

  void guard_cell(CellPlace place, SeesawGuarded &result) noexcept {
    const std::uint32_t cell = load_cell(cells_, place);
    const std::uint32_t negatives = cell & shape_.negative_mask, one = shape_.positive_mask + 1;
    if (negatives != 0 || !shape_.counted(cell) || !Rules::seals_empty_only) {
      ++result.sealed;
      if (negatives != shape_.negative_mask) store(cells_, place, shape_.negative_mask, negatives + one);
    } else if (shape_.adaptive_mask != 0) {
      ++result.waiting;
      if ((cell & shape_.adaptive_mask) == 0)
        store(cells_, place, shape_.adaptive_mask, shape_.adaptive_mask);
    } else
      ++result.refused;
  }

  void move_adaptive(const Decision &d) noexcept {
    if (shape_.adaptive_mask == 0) return;
    for (unsigned i = 0; i < shape_.hashes; ++i) move_adaptive(d.places[i]);
    if (d.old != none) move_adaptive(d.target);
  }
  void move_adaptive(CellPlace place) noexcept {
    const std::uint32_t cell = load_cell(cells_, place);
    if (shape_.counted(cell) || (cell & shape_.adaptive_mask) == 0) return;
    const std::uint32_t one = shape_.positive_mask + 1;
    store(cells_, place, shape_.negative_mask | shape_.adaptive_mask, one);
  }

  // How not to do it: what is decided at a position depends on what was changed at those before it.
  bool erase_as_it_goes(KeyHash key) noexcept {
    for (unsigned i = 0; i < shape_.hashes; ++i) {
      const Decision now = decided(key);
      if (i != now.old)
        lower(now.places[i]);
      else {
        lower(now.target);
        lower_modulator(now);
      }
      move_adaptive(now);
    }
    add(header_->keys, -1);
    return true;
  }

  void store(std::uint64_t *words, CellPlace place, std::uint32_t mask, std::uint32_t value) noexcept {
    store_cell(words, place, mask, value);
    Rules::stored();
  }
  template <class Count> static void add(Count &count, int by) noexcept {
    __atomic_store_n(&count, count + static_cast<Count>(by), __ATOMIC_RELAXED);
  }

  image::SeesawHeader *header_ = nullptr;
  SeesawShape shape_;
  std::uint64_t *cells_ = nullptr, *modulator_ = nullptr;
  SeesawView view_;
};

using SeesawWriter = BasicSeesawWriter<SeesawRules>;

} // namespace weir::filter
