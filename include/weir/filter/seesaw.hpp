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
#include <bit>
#include <span>

namespace weir::filter {

// What has been seen of a key, in a form that needs no branches. `vacant` words have the top bit set for
// "no count here" and none of the bits that a cell's nc could have unless it is set: pc - 1.
struct SeesawTrace {
  std::uint32_t seen;   // cells or-ed: sealed if one of them is
  std::uint32_t vacant; // or-ed
  std::uint32_t barred; // or-ed: bits of nc set when no present key looks like this
};

struct AllDecisions { // every key with a sealed position is settled by the modulator
  // May a key be present that has no count in an unsealed position?
  static constexpr bool unsealed_may_be_vacant = false;
  // What a vacant word at one position bars, after `before`: all but the first sealed position.
  [[nodiscard]] static constexpr std::uint32_t bars(std::uint32_t vacant, SeesawTrace before) noexcept {
    return vacant & before.seen;
  }
  // Has a bit of nc set when the modulator is asked.
  [[nodiscard]] static constexpr std::uint32_t asks(SeesawTrace t) noexcept { return t.seen; }
  static constexpr bool old_may_count = true; // the key may be in its old position, not in the backup
};
struct VacanciesOnly : AllDecisions { // the modulator is asked about the vacant one of the positions alone
  [[nodiscard]] static constexpr std::uint32_t asks(SeesawTrace t) noexcept { return t.vacant; }
  static constexpr bool old_may_count = false; // it is vacant
};
struct AsPrinted : VacanciesOnly { // and any position may be the vacant one
  static constexpr bool unsealed_may_be_vacant = true;
  [[nodiscard]] static constexpr std::uint32_t bars(std::uint32_t vacant, SeesawTrace before) noexcept {
    return vacant & before.vacant;
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
    return with_hashes(shape_.hashes, [&](auto hashes) { return contains_by<hashes()>(key); });
  }

  // The first positions of all keys, then the rest of those that still may be present, then the
  // modulator for those that need it: each fetched for all lanes before it is looked at, and no branch
  // depends on a cell. `keys` holds at most batch_max.
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return with_hashes(shape_.hashes, [&](auto hashes) { return batch_by<hashes()>(keys); });
  }

private:
  static constexpr unsigned stride_max = 3; // positions of a lane that are fetched at a time
  struct alignas(64) Lane {
    Positions positions;
    std::array<std::uint64_t, stride_max> places; // packed
    SeesawTrace trace;
    std::uint32_t stored;
  };
  struct Batch {
    std::array<Lane, batch_max> lanes;
    std::array<std::uint8_t, batch_max + 1> live; // lanes that may be present
  };

  // With Hashes functions; 0: as many as the shape says.
  template <unsigned Hashes> [[nodiscard]] bool contains_by(KeyHash key) const noexcept {
    Positions positions = SeesawShape::positions(key);
    SeesawTrace trace{};
    const unsigned hashes = Hashes != 0 ? Hashes : shape_.hashes;
#pragma GCC unroll 6
    for (unsigned i = 0; i < hashes; ++i)
      if (lost_at(load_cell(cells_, shape_.cells.place(positions.next())), trace)) return false;
    if (!allowed(trace)) return false;
    // Keys that need not ask the modulator do so too: it costs less than to guess wrong who needs it.
    const std::uint32_t stored = load_cell(modulator_, shape_.modulator.place(positions.next()));
    return kept(trace, stored, load_cell(cells_, backup_place(positions, stored)));
  }

  // Looks at one more position; true when the key is known to be absent.
  [[nodiscard]] bool lost_at(std::uint32_t cell, SeesawTrace &trace) const noexcept {
    const std::uint32_t vacant = (cell & shape_.positive_mask) - 1;
    trace.barred |= Rounds::bars(vacant, trace);
    trace.seen |= cell;
    trace.vacant |= vacant;
    return !Rounds::unsealed_may_be_vacant && (cell & (shape_.positive_mask | shape_.negative_mask)) == 0;
  }
  [[nodiscard]] bool allowed(SeesawTrace trace) const noexcept {
    return (trace.barred & shape_.negative_mask) == 0;
  }
  [[nodiscard]] bool asking(SeesawTrace trace) const noexcept {
    return (Rounds::asks(trace) & shape_.negative_mask) != 0;
  }
  // With one backup, its place does not wait for the modulator.
  [[nodiscard]] CellPlace backup_place(const Positions &positions, std::uint32_t stored) const noexcept {
    return shape_.backup_place(positions, shape_.index_mask == 0 ? 0 : shape_.index_of(stored));
  }
  // Round 2 from the modulator's cell and the backup's. If there is a vacancy, it is in the old position.
  [[nodiscard]] bool kept(SeesawTrace trace, std::uint32_t stored, std::uint32_t backup) const noexcept {
    const std::uint32_t in_backup = (backup & shape_.positive_mask) - 1;
    const std::uint32_t in_old = Rounds::old_may_count ? trace.vacant : ~0u;
    const std::uint64_t vacant = pick(mask_if(shape_.sealed(backup)), in_old, in_backup);
    const std::uint32_t unused = shape_.count_of(stored) - 1;
    const std::uint64_t missing = (vacant | unused) & mask_if(asking(trace));
    return (missing >> 31) == 0;
  }

  template <unsigned Hashes> [[nodiscard]] HitMask batch_by(std::span<const KeyHash> keys) const noexcept {
    constexpr unsigned stride = Hashes == 0 ? 1 : Hashes <= stride_max ? Hashes : (Hashes + 1) / 2;
    const unsigned hashes = Hashes != 0 ? Hashes : shape_.hashes;
    Batch batch;
    auto live = static_cast<unsigned>(keys.size());
    for (unsigned j = 0; j < live; ++j) {
      Lane &lane = batch.lanes[j];
      lane.positions = SeesawShape::positions(keys[j]);
      lane.trace = {};
      fetch<stride>(lane);
      batch.live[j] = static_cast<std::uint8_t>(j);
    }
    live = round_one<stride>(batch, live);
#pragma GCC unroll 2
    for (unsigned i = stride; i < hashes; i += stride) {
      constexpr unsigned rest = Hashes == 0 || Hashes == stride ? 1 : Hashes - stride;
      for (unsigned j = 0; j < live; ++j) fetch<rest>(batch.lanes[batch.live[j]]);
      live = round_one<rest>(batch, live);
    }
    return round_two(batch, live);
  }

  template <unsigned Many> void fetch(Lane &lane) const noexcept {
#pragma GCC unroll 3
    for (unsigned i = 0; i < Many; ++i) {
      const CellPlace place = shape_.cells.place(lane.positions.next());
      __builtin_prefetch(&cells_[place.word]);
      lane.places[i] = place.packed();
    }
  }

  // Returns how many lanes stay alive.
  template <unsigned Many> [[nodiscard]] unsigned round_one(Batch &batch, unsigned live) const noexcept {
    unsigned left = 0;
    for (unsigned j = 0; j < live; ++j) {
      const std::uint8_t number = batch.live[j];
      Lane &lane = batch.lanes[number];
      SeesawTrace trace = lane.trace;
      unsigned lost = 0;
#pragma GCC unroll 3
      for (unsigned i = 0; i < Many; ++i)
        lost |= lost_at(load_cell(cells_, CellPlace::unpacked(lane.places[i])), trace);
      lane.trace = trace;
      batch.live[left] = number;
      left += 1 - lost;
    }
    return left;
  }

  [[nodiscard]] HitMask round_two(Batch &batch, unsigned live) const noexcept {
    HitMask hits = 0;
    unsigned asking_now = 0;
    for (unsigned j = 0; j < live; ++j) {
      const std::uint8_t number = batch.live[j];
      Lane &lane = batch.lanes[number];
      const unsigned good = allowed(lane.trace), asks = asking(lane.trace);
      const CellPlace modulator = shape_.modulator.place(lane.positions.next());
      __builtin_prefetch(&modulator_[modulator.word]);
      lane.places[0] = modulator.packed();
      hits |= HitMask{good & ~asks} << number;
      batch.live[asking_now] = number;
      asking_now += good & asks;
    }
    for (unsigned j = 0; j < asking_now; ++j) {
      Lane &lane = batch.lanes[batch.live[j]];
      lane.stored = load_cell(modulator_, CellPlace::unpacked(lane.places[0]));
      const CellPlace backup = backup_place(lane.positions, lane.stored);
      __builtin_prefetch(&cells_[backup.word]);
      lane.places[0] = backup.packed();
    }
    for (unsigned j = 0; j < asking_now; ++j) {
      const Lane &lane = batch.lanes[batch.live[j]];
      const std::uint32_t backup = load_cell(cells_, CellPlace::unpacked(lane.places[0]));
      hits |= HitMask{kept(lane.trace, lane.stored, backup)} << batch.live[j];
    }
    return hits;
  }

  SeesawShape shape_;
  const std::uint64_t *cells_ = nullptr;
  const std::uint64_t *modulator_ = nullptr;
};

using SeesawView = BasicSeesawView<AllDecisions>;

} // namespace weir::filter
