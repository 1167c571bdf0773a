// Seesaw counting filter, the writer's side: insertion, deletion and guarding, one writer at a time,
// readers at work all the while [SSCF Alg. 1 and 2; deletion and overflow are ours].
//
//   insert x   old = first i with h_i(x) sealed. Count x in every other position. With an old: if the
//              modulator cell has no count, store the first backup function that leads to an
//              unsealed cell, or function 0 if none does. Whatever is stored then, b: count x in b(x) if
//              unsealed, else in old. Raise the modulator's count in every case
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

#include "weir/filter/loads.hpp"
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
  static constexpr bool lean = true;                // has code of its own for the shapes planned most
  static void stored() noexcept {}
};

template <class Rules> class BasicSeesawWriter {
public:
  // Errors: see open_seesaw_section().
  [[nodiscard]] static Result<BasicSeesawWriter> attach(MutableBytes section) {
    const auto opened = TRY(open_seesaw_section(section));
    BasicSeesawWriter writer;
    writer.header_ = reinterpret_cast<SeesawHeader *>(section.data());
    writer.shape_ = opened.shape;
    writer.cells_ = opened.cells;
    writer.modulator_ = opened.modulator;
    writer.view_ = SeesawView::attach(section).value();
    with_layout<Rules::lean>(writer.shape_, [&writer](const auto &l) {
      using Layout = std::remove_cvref_t<decltype(l)>;
      writer.insert_ = insert_by<Layout>;
      writer.erase_ = erase_by<Layout>;
    });
    return writer;
  }

  // No branch depends on a cell, the rare search aside: keys without a conflict take part in all of it and
  // add nothing to their backup and their modulator cell.
  void insert(KeyHash key) noexcept {
    if (!Rules::counts_duplicates && view_.contains(key)) return;
    insert_(*this, key);
  }

  // False when the key is not present; a key that merely is accepted must not be erased either.
  bool erase(KeyHash key) noexcept { return erase_(*this, key); }

  // A negative whose acceptance costs more than others'. Best before any key is inserted.
  Learned learn(KeyHash negative) noexcept {
    const Learned result = shape_.family == HashFamily::jhash
                               ? guard_as(AnyLayoutOf<HashFamily::jhash>(shape_), negative)
                               : guard_as(AnyLayout(shape_), negative);
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
  template <class Layout> struct Decision {
    std::array<CellPlace, seesaw_hashes_max> places;
    CellPlace modulator, backup;
    std::uint64_t vacant, old; // sets of positions, see Layout::Seen; old: the first sealed one, or none
    std::uint32_t stored;      // the modulator's cell
    std::uint32_t found;       // a function for a modulator cell without a count
    unsigned conflict;         // 1: there is a sealed position
    unsigned helped;           // 1: the backup counts the key, not the old position

    // 1 if function i counts the key where it leads.
    [[nodiscard]] unsigned stays(unsigned i) const noexcept {
      return 1 - (helped & unsigned{(old & Layout::Seen::bit(i)) != 0});
    }
    // Where function i counts the key.
    [[nodiscard]] CellPlace counting(unsigned i) const noexcept { return stays(i) != 0 ? places[i] : backup; }
  };

  // Of a key that is present; and of one that is not, as long as function 0 suits a free modulator cell.
  template <class Layout>
  [[nodiscard, gnu::always_inline]] Decision<Layout> decided(const Layout &l,
                                                             SeesawWalk &walk) const noexcept {
    Decision<Layout> d;
    typename Layout::Seen seen(shape_);
#pragma GCC unroll 6
    for (unsigned i = 0; i < l.hashes; ++i) {
      d.places[i] = walk.function(l, i);
      seen.look(i, load_cell(cells_, d.places[i]));
    }
    d.modulator = walk.modulator(l);
    d.stored = load_cell(modulator_, d.modulator);
    const std::uint64_t sealed = seen.sealed();
    d.vacant = seen.vacant();
    d.old = sealed & (0 - sealed);
    d.conflict = sealed != 0;
    d.found = 0;
    std::uint32_t index = 0;
    if (l.index_mask != 0)
      index = (d.stored & l.count_mask) != 0 ? d.stored >> l.count_bits & l.index_mask : 0;
    d.backup = walk.backup(l, index);
    d.helped = d.conflict & unsigned{(load_cell(cells_, d.backup) & l.negative_mask) == 0};
    return d;
  }
  [[nodiscard]] Decision<AnyLayout> decided(KeyHash key) const noexcept {
    SeesawWalk walk(key);
    return decided(AnyLayout(shape_), walk);
  }

  template <class Layout> static void insert_by(BasicSeesawWriter &writer, KeyHash key) noexcept {
    writer.insert_as(Layout(writer.shape_), key);
  }
  template <class Layout> [[gnu::always_inline]] void insert_as(const Layout &l, KeyHash key) noexcept {
    SeesawWalk walk(key);
    Decision<Layout> d = decided(l, walk);
    const bool free = (d.stored & l.count_mask) == 0;
    if (l.backups > 1 && free && d.conflict > d.helped) search(l, walk, d);
    if (!free && !Rules::reuses_stored) d.helped = 0;
    const unsigned lost = !Rules::moves_any_function && (d.old & 1) != 0;
    std::uint64_t *const cells = cells_;
    std::uint32_t stuck = 0;
#pragma GCC unroll 6
    for (unsigned i = 0; i < l.hashes; ++i)
      stuck += raise(l, cells, d.places[i], d.stays(i) & ~(lost & unsigned{i == 0}));
    stuck += raise(l, cells, d.backup, d.helped & ~lost);
    SeesawHeader &header = *header_;
    if (Rules::counts_always || d.helped != 0) raise_modulator(l, d, header);
    add(header.cells_stuck, stuck);
    add(header.keys, 1);
  }

  template <class Layout> static bool erase_by(BasicSeesawWriter &writer, KeyHash key) noexcept {
    return writer.erase_as(Layout(writer.shape_), key);
  }
  template <class Layout> [[gnu::always_inline]] bool erase_as(const Layout &l, KeyHash key) noexcept {
    SeesawWalk walk(key);
    Decision<Layout> d = decided(l, walk);
    if (!may_be_present(l, d)) return false;
    if constexpr (!Rules::decides_first) return erase_as_it_goes(key);
    if constexpr (!Rules::moves_adaptive_last) return erase_in_two_steps(key);
    if (!Rules::undoes_decisions) d.helped = 0;
    std::uint64_t *const cells = cells_;
#pragma GCC unroll 6
    for (unsigned i = 0; i < l.hashes; ++i) lower(l, cells, d.places[i], d.stays(i));
    lower(l, cells, d.backup, d.helped);
    lower_modulator(l, d);
    if (l.adaptive_mask != 0) {
      for (unsigned i = 0; i < l.hashes; ++i) move_adaptive(d.places[i]);
      move_adaptive(d.backup);
    }
    add(header_->keys, 0u - 1);
    return true;
  }

  // What a query would say.
  template <class Layout>
  [[nodiscard, gnu::always_inline]] bool may_be_present(const Layout &l,
                                                        const Decision<Layout> &d) const noexcept {
    const unsigned elsewhere = (d.vacant & ~d.old) != 0;
    const unsigned unused = d.conflict & unsigned{(d.stored & l.count_mask) == 0};
    const unsigned in_backup = (load_cell(cells_, d.backup) & l.positive_mask) == 0;
    const unsigned missing = d.helped != 0 ? in_backup : unsigned{d.vacant != 0};
    return (elsewhere | unused | missing) == 0;
  }

  // A modulator cell without a count takes the first function that leads to an unsealed cell; the
  // one with index 0 does not.
  template <class Layout>
  void search(const Layout &l, const SeesawWalk &walk, Decision<Layout> &d) const noexcept {
    for (std::uint32_t b = 1; b < l.backups; ++b) {
      const CellPlace backup = walk.backup(l, b);
      if ((load_cell(cells_, backup) & l.negative_mask) != 0) continue;
      d.found = b;
      d.backup = backup;
      d.helped = 1;
      return;
    }
  }

  // By 0 or 1. Returns 1 when the cell is stuck from now on.
  template <class Layout>
  [[gnu::always_inline]] static std::uint32_t raise(const Layout &l, std::uint64_t *cells, CellPlace place,
                                                    std::uint32_t by) noexcept {
    const std::uint64_t word = load_word(cells, place);
    const std::uint32_t sum = (static_cast<std::uint32_t>(word >> place.shift) & l.positive_mask) + by;
    const std::uint32_t raised = by - (sum >> l.positive_bits); // not beyond the maximum
    store(cells, place, word, raised);
    return (sum + 1) >> l.positive_bits & raised;
  }
  template <class Layout>
  [[gnu::always_inline]] static void lower(const Layout &l, std::uint64_t *cells, CellPlace place,
                                           std::uint32_t by) noexcept {
    const std::uint64_t word = load_word(cells, place);
    const std::uint32_t count = static_cast<std::uint32_t>(word >> place.shift) & l.positive_mask;
    const unsigned stuck = Rules::cells_stick && count == l.positive_mask;
    store(cells, place, word, 0 - (by & std::uint32_t{count != 0} & ~stuck));
  }

  // Counts a key with a conflict in its modulator cell; a cell without a count takes its function.
  template <class Layout>
  [[gnu::always_inline]] void raise_modulator(const Layout &l, const Decision<Layout> &d,
                                              SeesawHeader &header) noexcept {
    const std::uint32_t count = d.stored & l.count_mask;
    const unsigned conflict = d.conflict, free = count == 0, full = count == l.count_mask;
    // A cell without a count takes the index found; one with a count keeps its own.
    const std::uint32_t index =
        l.index_mask == 0 ? 0 : free * ((d.found << l.count_bits) - (d.stored & modulator_mask()));
    if constexpr (!Rules::stores_at_once) {
      store(modulator_, d.modulator, conflict * (index - count));
      store(modulator_, d.modulator, conflict * (count + (1 - full)));
    } else
      store(modulator_, d.modulator, conflict * (index + (1 - full)));
    add(header.modulator_used, conflict & free);
    add(header.modulator_stuck, conflict & unsigned{count + 1 == l.count_mask});
  }
  template <class Layout>
  [[gnu::always_inline]] void lower_modulator(const Layout &l, const Decision<Layout> &d) noexcept {
    const std::uint32_t count = d.stored & l.count_mask;
    const unsigned stuck = Rules::modulator_sticks && count == l.count_mask;
    const unsigned by = d.conflict & unsigned{count != 0} & ~stuck;
    store(modulator_, d.modulator, 0 - by);
    add(header_->modulator_used, 0 - (by & unsigned{count == 1}));
  }
  [[nodiscard]] std::uint32_t modulator_mask() const noexcept {
    return shape_.count_mask | shape_.index_mask << shape_.count_bits;
  }

  template <class Layout> Learned guard_as(const Layout &layout, KeyHash negative) noexcept {
    Learned result;
    SeesawWalk walk(negative);
    for (unsigned i = 0; i < shape_.hashes; ++i) guard_cell(walk.function(layout, i), result);
    return result;
  }
  void guard_cell(CellPlace place, Learned &result) noexcept {
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

  void move_adaptive(CellPlace place) noexcept {
    const std::uint32_t cell = load_cell(cells_, place);
    if (shape_.counted(cell) || (cell & shape_.adaptive_mask) == 0) return;
    store(cells_, place, shape_.positive_mask + 1 - shape_.adaptive_mask);
  }

  // How not to do it: what is decided at a position depends on what was changed at those before it.
  bool erase_as_it_goes(KeyHash key) noexcept {
    const AnyLayout l(shape_);
    for (unsigned i = 0; i < l.hashes; ++i) {
      const auto now = decided(key);
      lower(l, cells_, now.counting(i), 1);
      if (now.old == AnySeen::bit(i)) lower_modulator(l, now);
      move_adaptive(now.counting(i));
    }
    add(header_->keys, 0u - 1);
    return true;
  }
  // Nor so: what is decided last depends on adaptive bits that have moved.
  bool erase_in_two_steps(KeyHash key) noexcept {
    const AnyLayout l(shape_);
    const auto before = decided(key);
    unsigned old = l.hashes;
    for (unsigned i = 0; i < l.hashes; ++i)
      if (before.old == AnySeen::bit(i))
        old = i;
      else
        lower(l, cells_, before.places[i], 1), move_adaptive(before.places[i]);
    const auto now = decided(key);
    if (now.conflict != 0) lower(l, cells_, now.helped != 0 ? now.backup : now.places[old], 1);
    lower_modulator(l, now);
    add(header_->keys, 0u - 1);
    return true;
  }

  [[nodiscard]] static std::uint64_t load_word(const std::uint64_t *words, CellPlace place) noexcept {
    return __atomic_load_n(&words[place.word], __ATOMIC_RELAXED);
  }
  // The one writer's store: `change` to the cell, which stays within its bits; 32 bits, two's complement.
  static void store(std::uint64_t *words, CellPlace place, std::uint32_t change) noexcept {
    store(words, place, load_word(words, place), change);
  }
  static void store(std::uint64_t *words, CellPlace place, std::uint64_t word,
                    std::uint32_t change) noexcept {
    const auto wide = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(change)});
    __atomic_store_n(&words[place.word], word + (wide << place.shift), __ATOMIC_RELEASE);
    Rules::stored();
  }
  template <class Count> static void add(Count &count, std::uint32_t by) noexcept {
    const auto wide = static_cast<Count>(std::int64_t{static_cast<std::int32_t>(by)});
    __atomic_store_n(&count, count + wide, __ATOMIC_RELAXED);
  }

  SeesawHeader *header_ = nullptr;
  SeesawShape shape_;
  std::uint64_t *cells_ = nullptr, *modulator_ = nullptr;
  SeesawView view_;
  void (*insert_)(BasicSeesawWriter &, KeyHash) noexcept = nullptr; // for the layout of the shape
  bool (*erase_)(BasicSeesawWriter &, KeyHash) noexcept = nullptr;
};

using SeesawWriter = BasicSeesawWriter<SeesawRules>;

} // namespace weir::filter
