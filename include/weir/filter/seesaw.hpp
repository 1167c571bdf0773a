// Seesaw counting filter, the reader's side: "is this key certainly absent?", with some absent keys,
// the vulnerable ones, answered far better than the rest, while keys come and go [SSCF].
//
// A counting Bloom filter of small cells whose cells also say whether a guarded negative maps there
// (nc, "sealed"). A key about to be counted in a sealed cell is moved, for its first such function
// only, to a backup function b that leads to an unsealed cell; the modulator, a table of small counts,
// remembers b under another hash of the key.
//
//   cells      [pc nc] [pc nc] [pc nc] ...      modulator   [count index] [count index] ...
//                 ^       ^       ^                                ^
//   key          h_1     h_2     h_3 ... b_index                  h_0
//
// A present key is counted in every h_i but the first sealed one (call it old). If it has an old, its
// modulator cell has a count, and with b the function stored there it is counted in b if b is unsealed,
// else in old. Nothing of this can change while the key is present: an unsealed cell that counts a key
// stays unsealed (nc rises only at pc = 0), a sealed one stays sealed, and the key's own share of the
// modulator count keeps the index. So a query takes the same decisions as the insertion did:
//
//   round 1   pc = 0 at an unsealed position: absent. pc = 0 at a second sealed one: absent.
//             No sealed position: present. So far at most `hashes` words were read
//   round 2   no count in the modulator: absent. Else present if the cell which these decisions name
//             (b or old) has a count
//
// The printed Alg. 3 accepts what has no vacant position and asks the modulator about any single one:
// BasicSeesawView<AsPrinted>. That only the first sealed position may be vacant is VacanciesOnly; asking
// about every key with a sealed position, AllDecisions, rejects most and misses as little: nothing.
//
// Errors: accepts some absent keys, never misses a present one, also while the one writer works
// (order of its stores: filter/seesaw_writer.hpp). Cost: up to `hashes` lines, about two for an absent
// key, one or two more in round 2. Broken by deleting a key that is not there, and by nothing else;
// full cells and full modulators stay where they are and only cost rate.
#pragma once

#include "weir/filter/batch.hpp"
#include "weir/filter/seesaw_shape.hpp"

#include <array>
#include <span>

namespace weir::filter {

struct AllDecisions { // every key with a sealed position is settled by the modulator
  // May a key be present of which this position has no count?
  [[nodiscard]] static constexpr bool may_be_vacant(bool sealed, bool conflict_before, bool) noexcept {
    return sealed && !conflict_before;
  }
  [[nodiscard]] static constexpr bool asks(bool conflict, bool) noexcept { return conflict; }
  static constexpr bool old_may_count = true; // the key may be in its old position, not in the backup
};
struct VacanciesOnly : AllDecisions { // the modulator is asked about the vacant one of the positions alone
  [[nodiscard]] static constexpr bool asks(bool, bool vacant) noexcept { return vacant; }
  static constexpr bool old_may_count = false; // it is vacant
};
struct AsPrinted : VacanciesOnly { // and any position may be the vacant one
  [[nodiscard]] static constexpr bool may_be_vacant(bool, bool, bool vacant_before) noexcept {
    return !vacant_before;
  }
};

template <class Rounds> class BasicSeesawView {
public:
  BasicSeesawView() = default;

  // Errors: see open_seesaw_section().
  [[nodiscard]] static Result<BasicSeesawView> attach(Bytes section) {
    const auto opened = open_seesaw_section(section);
    if (!opened) return std::unexpected(opened.error());
    BasicSeesawView view;
    view.shape_ = opened->shape;
    view.cells_ = opened->cells;
    view.modulator_ = opened->modulator;
    return view;
  }

  [[nodiscard]] bool empty() const noexcept { return cells_ == nullptr; } // no filter: do not ask it
  [[nodiscard]] const SeesawShape &shape() const noexcept { return shape_; }

  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    Positions positions = SeesawShape::positions(key);
    CellPlace old;
    bool conflict = false, vacant = false;
    for (unsigned i = 0; i < shape_.hashes; ++i) {
      const CellPlace place = shape_.cells.place(positions.next());
      const std::uint32_t cell = load_cell(cells_, place);
      if (!shape_.counted(cell)) {
        if (!Rounds::may_be_vacant(shape_.sealed(cell), conflict, vacant)) return false;
        vacant = true;
      }
      if (shape_.sealed(cell) && !conflict) conflict = true, old = place;
    }
    return Rounds::asks(conflict, vacant) ? settle(positions, old) : !vacant;
  }

  // Position by position for all lanes that still may be present, each fetched a pass ahead; then the
  // modulator for those that need it. `keys` holds at most batch_max.
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    Batch batch;
    unsigned live = 0;
    for (const KeyHash key : keys) {
      Lane &lane = batch.lanes[live];
      lane.positions = SeesawShape::positions(key);
      lane.place = shape_.cells.place(lane.positions.next());
      lane.conflict = lane.vacant = 0;
      __builtin_prefetch(&cells_[lane.place.word]);
      batch.live[live] = static_cast<std::uint8_t>(live);
      ++live;
    }
    for (unsigned i = 0; i < shape_.hashes && live != 0; ++i) live = round_one(batch, live);
    return round_two(batch, live);
  }

private:
  struct Lane {
    Positions positions;
    CellPlace place, old;
    std::uint32_t conflict, vacant;
  };
  struct Batch {
    std::array<Lane, batch_max> lanes;
    std::array<std::uint8_t, batch_max + 1> live;
  };

  // Round 2 for one key whose first sealed position is `old`.
  [[nodiscard]] bool settle(const Positions &positions, CellPlace old) const noexcept {
    const std::uint32_t stored = load_cell(modulator_, shape_.modulator_place(positions));
    if (shape_.count_of(stored) == 0) return false;
    return settle_at(shape_.backup_place(positions, shape_.index_of(stored)), old);
  }
  [[nodiscard]] bool settle_at(CellPlace backup, CellPlace old) const noexcept {
    const std::uint32_t cell = load_cell(cells_, backup);
    if (!shape_.sealed(cell)) return shape_.counted(cell);
    return Rounds::old_may_count && shape_.counted(load_cell(cells_, old));
  }

  // One position of each live lane; returns how many stay alive. No branch depends on a cell.
  [[nodiscard]] unsigned round_one(Batch &batch, unsigned live) const noexcept {
    unsigned left = 0;
    for (unsigned j = 0; j < live; ++j) {
      const std::uint8_t number = batch.live[j];
      Lane &lane = batch.lanes[number];
      const std::uint32_t cell = load_cell(cells_, lane.place);
      const std::uint32_t sealed = shape_.sealed(cell), vacant = !shape_.counted(cell);
      const std::uint32_t lost =
          vacant & (Rounds::may_be_vacant(sealed, lane.conflict, lane.vacant) ? 0u : 1u);
      const bool first = (sealed & ~lane.conflict) != 0;
      lane.old.word = first ? lane.place.word : lane.old.word;
      lane.old.shift = first ? lane.place.shift : lane.old.shift;
      lane.conflict |= sealed;
      lane.vacant |= vacant;
      lane.place = shape_.cells.place(lane.positions.next());
      __builtin_prefetch(&cells_[lane.place.word]);
      batch.live[left] = number;
      left += 1 - lost;
    }
    return left;
  }

  [[nodiscard]] HitMask round_two(Batch &batch, unsigned live) const noexcept {
    HitMask hits = 0;
    unsigned asking = 0;
    for (unsigned j = 0; j < live; ++j) {
      const std::uint8_t number = batch.live[j];
      Lane &lane = batch.lanes[number];
      if (!Rounds::asks(lane.conflict, lane.vacant)) {
        hits |= HitMask{1} << number;
        continue;
      }
      lane.place = shape_.modulator_place(lane.positions);
      __builtin_prefetch(&modulator_[lane.place.word]);
      batch.live[asking++] = number;
    }
    unsigned settling = 0;
    for (unsigned j = 0; j < asking; ++j) {
      const std::uint8_t number = batch.live[j];
      Lane &lane = batch.lanes[number];
      const std::uint32_t stored = load_cell(modulator_, lane.place);
      lane.place = shape_.backup_place(lane.positions, shape_.index_of(stored));
      __builtin_prefetch(&cells_[lane.place.word]);
      batch.live[settling] = number;
      settling += shape_.count_of(stored) != 0;
    }
    for (unsigned j = 0; j < settling; ++j) {
      const Lane &lane = batch.lanes[batch.live[j]];
      hits |= HitMask{settle_at(lane.place, lane.old)} << batch.live[j];
    }
    return hits;
  }

  SeesawShape shape_;
  const std::uint64_t *cells_ = nullptr;
  const std::uint64_t *modulator_ = nullptr;
};

using SeesawView = BasicSeesawView<AllDecisions>;

} // namespace weir::filter
