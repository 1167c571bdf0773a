// Seesaw counting filter, the reader's side: "is this key certainly absent?", with some absent keys,
// the vulnerable ones, answered far better than the rest, while keys come and go [SSCF].
//
// A counting Bloom filter of small cells whose cells also say whether a guarded negative maps there
// (nc, "sealed"). A key about to be counted in a sealed cell is moved, for its first such function
// only, to a backup function b that leads to an unsealed cell; the modulator, a table of small
// counts, remembers b under another hash of the key.
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
//             No sealed position: present. So far `hashes` words were read
//   round 2   no count in the modulator: absent. Else present if the cell which these decisions name
//             (b or old) has a count
//
// The printed Alg. 3 accepts what has no vacant position and asks the modulator about any single one:
// BasicSeesawView<AsPrinted>. That only the first sealed position may be vacant is VacanciesOnly; asking
// about every key with a sealed position, AllDecisions, rejects most and misses as little: nothing.
//
// Errors: accepts some absent keys, never misses a present one, also while the one writer works
// (order of its stores: filter/seesaw_writer.hpp). Cost: two or three functions share a line, backups lie
// in the first one, so two lines and the modulator's for up to six hashes. Broken by deleting a key that is
// not there, and by nothing else; full cells and full modulators stay where they are and only cost rate.
#pragma once

#include "weir/filter/batch.hpp"
#include "weir/filter/seesaw_shape.hpp"

#include <array>
#include <bit>
#include <span>

namespace weir::filter {

// Which keys are absent by their positions alone, and which are settled by the modulator. Sets of
// positions: `old` is the first sealed one, or none.
struct AllDecisions { // every key with a sealed position
  [[nodiscard]] static constexpr std::uint64_t barred(std::uint64_t vacant, std::uint64_t old) noexcept {
    return vacant & ~old;
  }
  [[nodiscard]] static constexpr std::uint64_t asks(std::uint64_t sealed, std::uint64_t) noexcept {
    return sealed;
  }
  static constexpr bool old_may_count = true; // the key may be in its old position, not in the backup
  static constexpr bool lean = true;          // has code of its own for the shapes planned most
};
struct VacanciesOnly : AllDecisions { // the vacant one of the positions alone
  [[nodiscard]] static constexpr std::uint64_t asks(std::uint64_t, std::uint64_t vacant) noexcept {
    return vacant;
  }
  static constexpr bool old_may_count = false; // it is vacant
  static constexpr bool lean = false;
};
struct AsPrinted : VacanciesOnly { // and any position may be the vacant one
  [[nodiscard]] static constexpr std::uint64_t barred(std::uint64_t vacant, std::uint64_t) noexcept {
    return vacant & (vacant - 1);
  }
};

template <class Rounds> class BasicSeesawView {
public:
  static constexpr FilterKind kind = FilterKind::seesaw;

  BasicSeesawView() = default;

  // Errors: see open_seesaw_section().
  [[nodiscard]] static Result<BasicSeesawView> attach(Bytes section) {
    const auto opened = TRY(open_seesaw_section(section));
    BasicSeesawView view;
    view.shape_ = opened.shape;
    view.cells_ = opened.cells;
    view.modulator_ = opened.modulator;
    view.contains_ = with_layout<Rounds::lean>(
        view.shape_, [](const auto &l) { return &contains_by<std::remove_cvref_t<decltype(l)>>; });
    return view;
  }

  [[nodiscard]] bool empty() const noexcept { return cells_ == nullptr; } // no filter: do not ask it
  [[nodiscard]] const SeesawShape &shape() const noexcept { return shape_; }
  [[nodiscard]] const std::uint64_t *cells() const noexcept { return cells_; }
  [[nodiscard]] const std::uint64_t *modulator() const noexcept { return modulator_; }

  // All that may be needed is read at once, and no branch depends on a cell: it would be guessed wrong for
  // every other key, which costs more than cells that were not needed.
  [[nodiscard]] bool contains(KeyHash key) const noexcept { return contains_(*this, key); }

  // The positions of all keys, each line prefetched some keys ahead; then the whole decision for those that
  // need the modulator. `keys` holds at most batch_max.
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return with_layout<Rounds::lean>(shape_, [&](const auto &l) { return batch_by(l, keys); });
  }

private:
  template <class Layout>
  [[nodiscard]] static bool contains_by(const BasicSeesawView &view, KeyHash key) noexcept {
    return view.answer(Layout(view.shape_), key);
  }
  template <class Layout>
  [[nodiscard, gnu::always_inline]] bool answer(const Layout &l, KeyHash key) const noexcept {
    SeesawWalk walk(key);
    typename Layout::Seen seen(shape_);
#pragma GCC unroll 6
    for (unsigned i = 0; i < l.hashes; ++i) seen.look(i, load_cell(cells_, walk.function(l, i)));
    const std::uint32_t stored = load_cell(modulator_, walk.modulator(l));
    // With one backup, its place does not wait for the modulator.
    const std::uint32_t index = l.index_mask == 0 ? 0 : stored >> l.count_bits & l.index_mask;
    return accepted(l, seen, stored, load_cell(cells_, walk.backup(l, index)));
  }

  // From all that was read. If there is a vacancy that is not barred, it is in the old position.
  template <class Layout, class Seen>
  [[nodiscard, gnu::always_inline]] static bool
  accepted(const Layout &l, const Seen &seen, std::uint32_t stored, std::uint32_t backup) noexcept {
    const std::uint64_t sealed = seen.sealed(), vacant = seen.vacant();
    const std::uint64_t asks = Rounds::asks(sealed, vacant);
    const std::uint64_t in_old = mask_if((backup & l.negative_mask) != 0); // if anywhere
    const std::uint64_t unused = mask_if(l.missing(stored, backup));
    const std::uint64_t lost = Rounds::barred(vacant, sealed & (0 - sealed)) | (asks & unused) |
                               (in_old & (Rounds::old_may_count ? vacant : asks));
    return lost == 0;
  }

  template <class Layout>
  [[nodiscard, gnu::always_inline]] HitMask batch_by(const Layout &l,
                                                     std::span<const KeyHash> keys) const noexcept {
    std::array<std::uint8_t, batch_max + 1> asking; // a lane put down may stand behind the last
    unsigned asked = 0;
    HitMask hits = 0;
    const std::size_t count = keys.size();
    for (std::size_t i = 0; i < std::min(count, lanes_ahead); ++i) prefetch_lines(l, keys[i]);
    for (std::size_t i = 0; i < count; ++i) {
      if (i + lanes_ahead < count) prefetch_lines(l, keys[i + lanes_ahead]);
      SeesawWalk walk(keys[i]);
      typename Layout::Seen seen(shape_);
#pragma GCC unroll 6
      for (unsigned j = 0; j < l.hashes; ++j) seen.look(j, load_cell(cells_, walk.function(l, j)));
      const std::uint64_t sealed = seen.sealed(), vacant = seen.vacant();
      const unsigned barred = Rounds::barred(vacant, sealed & (0 - sealed)) != 0;
      const unsigned asks = Rounds::asks(sealed, vacant) != 0;
      hits |= HitMask{(barred | asks) ^ 1} << i;
      asking[asked] = static_cast<std::uint8_t>(i);
      asked += asks & ~barred;
    }
    for (unsigned j = 0; j < asked; ++j) hits |= HitMask{answer(l, keys[asking[j]])} << asking[j];
    return hits;
  }
  template <class Layout>
  [[gnu::always_inline]] void prefetch_lines(const Layout &l, KeyHash key) const noexcept {
    SeesawWalk walk(key);
    for (unsigned i = 0; i < l.hashes; ++i) {
      const CellPlace place = walk.function(l, i);
      if (i % functions_a_line(l.hashes) == 0) __builtin_prefetch(&cells_[place.word]);
    }
  }
  static constexpr std::size_t lanes_ahead = 12;

  SeesawShape shape_;
  const std::uint64_t *cells_ = nullptr;
  const std::uint64_t *modulator_ = nullptr;
  bool (*contains_)(const BasicSeesawView &, KeyHash) noexcept = nullptr;
};

using SeesawView = BasicSeesawView<AllDecisions>;

} // namespace weir::filter
