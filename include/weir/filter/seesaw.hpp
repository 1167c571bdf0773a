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
    return sealed & !conflict_before;
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
    std::uint32_t seen = 0; // all cells before this one, or-ed
    bool vacant = false;
    for (unsigned i = 0; i < shape_.hashes; ++i)
      if (lost_at(load_cell(cells_, shape_.cells.place(positions.next())), seen, vacant)) return false;
    return settle(positions, shape_.sealed(seen), vacant);
  }

  // The first positions of all keys, then the rest of those that still may be present, then the
  // modulator for those that need it: each fetched for all lanes before it is looked at, and no branch
  // depends on a cell. `keys` holds at most batch_max.
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    Batch batch;
    unsigned live = 0;
    for (const KeyHash key : keys) {
      batch.lanes[live].positions = SeesawShape::positions(key);
      batch.lanes[live].seen = batch.lanes[live].vacant = 0;
      batch.live[live] = static_cast<std::uint8_t>(live);
      ++live;
    }
    for (unsigned i = 0; i < shape_.hashes && live != 0; i += stride) {
      const unsigned many = std::min(stride, shape_.hashes - i);
      fetch(batch, live, many);
      live = round_one(batch, live, many);
    }
    return round_two(batch, live);
  }

private:
  static constexpr unsigned stride = 2; // positions of a lane that are fetched at a time
  struct Lane {
    Positions positions;
    std::array<CellPlace, stride> places;
    std::uint32_t seen, vacant;
  };
  struct Batch {
    std::array<Lane, batch_max> lanes;
    std::array<std::uint8_t, batch_max + 1> live;
  };

  // Looks at one more position; true when the key cannot be present. The one branch on it is one that
  // present keys never take.
  [[nodiscard]] bool lost_at(std::uint32_t cell, std::uint32_t &seen, bool &vacant) const noexcept {
    const bool empty = !shape_.counted(cell);
    const bool lost = empty & !Rounds::may_be_vacant(shape_.sealed(cell), shape_.sealed(seen), vacant);
    vacant |= empty;
    seen |= cell;
    return lost;
  }

  // Round 2 for one key. Keys that need not ask the modulator do so too: what it costs is less than to
  // guess wrong who needs it.
  [[nodiscard]] bool settle(const Positions &positions, bool conflict, bool vacant) const noexcept {
    const std::uint32_t stored = load_cell(modulator_, shape_.modulator_place(positions));
    const CellPlace backup = shape_.backup_place(positions, shape_.index_of(stored));
    const bool kept = settle_at(backup, vacant) & (shape_.count_of(stored) != 0);
    return kept | !Rounds::asks(conflict, vacant);
  }
  // If there is a vacancy, it is in the old position.
  [[nodiscard]] bool settle_at(CellPlace backup, bool vacant) const noexcept {
    const std::uint32_t cell = load_cell(cells_, backup);
    const bool in_old = Rounds::old_may_count & !vacant, sealed = shape_.sealed(cell);
    return (sealed & in_old) | (!sealed & shape_.counted(cell));
  }

  void fetch(Batch &batch, unsigned live, unsigned many) const noexcept {
    for (unsigned j = 0; j < live; ++j) {
      Lane &lane = batch.lanes[batch.live[j]];
      for (unsigned i = 0; i < many; ++i) {
        lane.places[i] = shape_.cells.place(lane.positions.next());
        __builtin_prefetch(&cells_[lane.places[i].word]);
      }
    }
  }

  // Returns how many lanes stay alive.
  [[nodiscard]] unsigned round_one(Batch &batch, unsigned live, unsigned many) const noexcept {
    unsigned left = 0;
    for (unsigned j = 0; j < live; ++j) {
      const std::uint8_t number = batch.live[j];
      Lane &lane = batch.lanes[number];
      bool lost = false, vacant = lane.vacant != 0;
      std::uint32_t seen = lane.seen;
      for (unsigned i = 0; i < many; ++i) lost |= lost_at(load_cell(cells_, lane.places[i]), seen, vacant);
      lane.seen = seen;
      lane.vacant = vacant;
      batch.live[left] = number;
      left += !lost;
    }
    return left;
  }

  [[nodiscard]] HitMask round_two(Batch &batch, unsigned live) const noexcept {
    HitMask hits = 0;
    unsigned asking = 0;
    for (unsigned j = 0; j < live; ++j) {
      const std::uint8_t number = batch.live[j];
      Lane &lane = batch.lanes[number];
      const bool asks = Rounds::asks(shape_.sealed(lane.seen), lane.vacant != 0);
      lane.places[0] = shape_.modulator_place(lane.positions);
      __builtin_prefetch(&modulator_[lane.places[0].word]);
      hits |= HitMask{!asks} << number;
      batch.live[asking] = number;
      asking += asks;
    }
    unsigned settling = 0;
    for (unsigned j = 0; j < asking; ++j) {
      const std::uint8_t number = batch.live[j];
      Lane &lane = batch.lanes[number];
      const std::uint32_t stored = load_cell(modulator_, lane.places[0]);
      lane.places[0] = shape_.backup_place(lane.positions, shape_.index_of(stored));
      __builtin_prefetch(&cells_[lane.places[0].word]);
      batch.live[settling] = number;
      settling += shape_.count_of(stored) != 0;
    }
    for (unsigned j = 0; j < settling; ++j) {
      const Lane &lane = batch.lanes[batch.live[j]];
      hits |= HitMask{settle_at(lane.places[0], lane.vacant != 0)} << batch.live[j];
    }
    return hits;
  }

  SeesawShape shape_;
  const std::uint64_t *cells_ = nullptr;
  const std::uint64_t *modulator_ = nullptr;
};

using SeesawView = BasicSeesawView<AllDecisions>;

} // namespace weir::filter
