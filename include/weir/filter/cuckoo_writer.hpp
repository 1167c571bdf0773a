// Cuckoo filter, the writer's side: insertion and deletion, one writer at a time, readers at work all the
// while.
//
// Writing into an empty slot needs no care. Moving does: a reader could look into each bucket just before
// and just after a fingerprint has moved from the one to the other. So a fingerprint is copied, and its old
// slot stays as it is - it is leaving - until every reader has passed a quiescent state; only then it is
// emptied, and free.
//
//   insert x   a free slot in either bucket: written, done. Else the nearest free slot is looked for, breadth
//              first over the fingerprints in the way, and the last one on that way takes it: this brings a
//              free slot one step nearer to x. The caller asks again after a grace period (Put::waits)
//   erase x    empties a slot with its fingerprint. Only of keys that are present, since an absent key may
//              take a stranger's; and only right after a grace period, since it may take the slot of another
//              key of equal fingerprint and buckets, which then rests on the slot of x: readers must have
//              begun after that was written
//
// Why readers never miss a present key y. At each moment there are slots with its fingerprint that are not
// leaving, one at least for each such key. Each is emptied only after a grace period that began when the
// ones that are left to y had been written: its copy, or those of its equals. So a reader that is at work
// when a slot is emptied finds one of these. A slot that straddles words is changed by two stores; between
// them only a slot is damaged that nobody relies on: it was free, or has left, or is not yet announced. Its
// neighbours in both words stay as they are.
//
// While nobody reads, insert() moves the whole way at once, and erase() is free. A refused insertion leaves
// the filter as it was.
#pragma once

#include "weir/filter/cuckoo.hpp"
#include "weir/filter/loads.hpp"

#include <unordered_set>
#include <utility>
#include <vector>

namespace weir::filter {

// The rules above as switches, so that tests can break each of them and see the damage. `stored` is
// called after every store that readers can see.
struct CuckooRules {
  static constexpr bool copies_first = true;   // a fingerprint is in its new slot before it leaves the old
  static constexpr bool waits_to_empty = true; // the old slot stays for a grace period
  static constexpr bool moves_staying = true;  // what is leaving is not moved once more
  static void stored() noexcept {}
};

template <class Rules> class BasicCuckooWriter {
public:
  using Put = filter::Put; // full: no slot can be freed

  // Errors: see open_section().
  [[nodiscard]] static Result<BasicCuckooWriter> attach(MutableBytes section) {
    const auto opened = TRY(open_section<CuckooShape>(section));
    auto *header = reinterpret_cast<FilterHeader *>(section.data());
    BasicCuckooWriter writer(opened.shape, reinterpret_cast<std::uint64_t *>(header + 1), &header->keys,
                             hash_family(CuckooShape::own_view, opened.header.layer));
    writer.planned_keys_ = header->planned_keys;
    return writer;
  }
  // Over shape.words() words, all zero, and a count of keys.
  BasicCuckooWriter(CuckooShape shape, std::uint64_t *words, std::uint64_t *keys,
                    std::uint64_t family = CuckooShape::own_view)
      : view_(shape, words, family), words_(words), keys_(keys) {}

  // Nobody reads: never `waits`.
  [[nodiscard]] Put insert(KeyHash key) {
    const CuckooPlace place = view_.place_of(key);
    const std::uint32_t other = shape().partner(place.bucket, place.fingerprint);
    if (put_directly(place, other)) return Put::in;
    const auto way = find_way(place.bucket, other);
    if (!way) return Put::full;
    move_up(*way, place.fingerprint);
    count(1);
    return Put::in;
  }

  [[nodiscard]] Put insert_beside_readers(KeyHash key) {
    const CuckooPlace place = view_.place_of(key);
    const std::uint32_t other = shape().partner(place.bucket, place.fingerprint);
    if (put_directly(place, other)) return Put::in;
    if (any_leaving(place.bucket) || any_leaving(other)) return Put::waits;
    const auto way = find_way(place.bucket, other);
    if (!way) return Put::full;
    if (const unsigned free = view_.find(steps_[*way].bucket, 0); free < cuckoo_slots)
      move_last(steps_[*way], free);
    return Put::waits;
  }

  // False, and nothing changed, when no such fingerprint stands in either bucket. Beside readers: right
  // after grace_passed() alone.
  bool erase(KeyHash key) noexcept {
    const CuckooPlace place = view_.place_of(key);
    for (const std::uint32_t bucket : {place.bucket, shape().partner(place.bucket, place.fingerprint)})
      if (const unsigned slot = view_.find(bucket, place.fingerprint); slot < cuckoo_slots) {
        set(bucket, slot, 0);
        count(-1);
        return true;
      }
    return false;
  }

  // No reader is left that began before the last change.
  void grace_passed() noexcept {
    for (const std::uint64_t number : std::exchange(leaving_, {}))
      set(static_cast<std::uint32_t>(number / cuckoo_slots), number % cuckoo_slots, 0);
  }
  [[nodiscard]] std::size_t leaving() const noexcept { return leaving_.size(); } // slots

  [[nodiscard]] const CuckooView &view() const noexcept { return view_; }
  // Any thread may ask.
  [[nodiscard]] CuckooLoad load() const noexcept {
    return {planned_keys_, __atomic_load_n(keys_, __ATOMIC_RELAXED), shape().slots()};
  }

private:
  struct Step {
    std::uint32_t bucket, parent;
    unsigned parent_slot; // whose fingerprint would move into `bucket`
  };
  static constexpr std::uint32_t no_parent = UINT32_MAX;

  [[nodiscard]] const CuckooShape &shape() const noexcept { return view_.shape(); }
  [[nodiscard]] static std::uint64_t number_of(std::uint32_t bucket, unsigned slot) noexcept {
    return std::uint64_t{bucket} * cuckoo_slots + slot;
  }
  [[nodiscard]] bool is_leaving(std::uint32_t bucket, unsigned slot) const noexcept {
    return !leaving_.empty() && leaving_.contains(number_of(bucket, slot));
  }
  [[nodiscard]] bool any_leaving(std::uint32_t bucket) const noexcept {
    if (leaving_.empty()) return false;
    for (unsigned slot = 0; slot < cuckoo_slots; ++slot)
      if (is_leaving(bucket, slot)) return true;
    return false;
  }

  [[nodiscard]] bool put_directly(CuckooPlace place, std::uint32_t other) noexcept {
    for (const std::uint32_t bucket : {place.bucket, other})
      if (const unsigned slot = view_.find(bucket, 0); slot < cuckoo_slots) {
        set(bucket, slot, place.fingerprint);
        count(1);
        return true;
      }
    return false;
  }

  // Breadth first from both buckets, which are full, to the nearest one with a slot that is free, or will be.
  // The way found is a shortest one, so it takes no slot twice.
  [[nodiscard]] std::optional<std::size_t> find_way(std::uint32_t first, std::uint32_t second) {
    constexpr std::size_t open_max = 8192; // enough for 96 % of a table of a million
    steps_.assign(1, {first, no_parent, 0});
    if (second != first) steps_.push_back({second, no_parent, 0});
    for (std::size_t at = 0; at < steps_.size(); ++at)
      for (unsigned slot = 0; slot < cuckoo_slots && steps_.size() < open_max; ++slot) {
        const std::uint32_t from = steps_[at].bucket;
        if (Rules::moves_staying && is_leaving(from, slot)) continue;
        const std::uint32_t next = shape().partner(from, view_.get(from, slot));
        steps_.push_back({next, static_cast<std::uint32_t>(at), slot});
        if (view_.find(next, 0) < cuckoo_slots || (Rules::moves_staying && any_leaving(next)))
          return steps_.size() - 1;
      }
    return std::nullopt;
  }

  // Into `free` of the last bucket on the way, out of the one before it.
  void move_last(const Step &last, unsigned free) {
    const std::uint32_t from = steps_[last.parent].bucket;
    const std::uint32_t fingerprint = view_.get(from, last.parent_slot);
    if (!Rules::copies_first) set(from, last.parent_slot, 0);
    set(last.bucket, free, fingerprint);
    if (!Rules::copies_first) return;
    if (Rules::waits_to_empty)
      leaving_.insert(number_of(from, last.parent_slot));
    else
      set(from, last.parent_slot, 0);
  }

  // The fingerprints on the way move up, the last one first, and `fingerprint` takes the first one's slot.
  void move_up(std::size_t at, std::uint32_t fingerprint) noexcept {
    unsigned slot = view_.find(steps_[at].bucket, 0);
    for (; steps_[at].parent != no_parent; at = steps_[at].parent) {
      const Step &step = steps_[at];
      set(step.bucket, slot, view_.get(steps_[step.parent].bucket, step.parent_slot));
      slot = step.parent_slot;
    }
    set(steps_[at].bucket, slot, fingerprint);
  }

  void set(std::uint32_t bucket, unsigned slot, std::uint32_t fingerprint) noexcept {
    const std::uint64_t bit = view_.bit_of(bucket, slot), mask = shape().fingerprint_mask();
    const unsigned shift = bit % 64;
    replace(bit / 64, mask << shift, std::uint64_t{fingerprint} << shift);
    // Whether a slot straddles words is as good as random, and a branch on it would be guessed wrong: the
    // next word is stored in any case, if only with what it held.
    replace(bit / 64 + 1, mask >> 1 >> (63 - shift), std::uint64_t{fingerprint} >> 1 >> (63 - shift));
  }
  void replace(std::uint64_t word, std::uint64_t mask, std::uint64_t bits) noexcept {
    const std::uint64_t now = __atomic_load_n(&words_[word], __ATOMIC_RELAXED);
    __atomic_store_n(&words_[word], (now & ~mask) | bits, __ATOMIC_RELEASE);
    Rules::stored();
  }
  void count(int by) noexcept {
    __atomic_store_n(keys_, *keys_ + static_cast<std::uint64_t>(by), __ATOMIC_RELAXED);
  }

  CuckooView view_;
  std::uint64_t *words_ = nullptr, *keys_ = nullptr;
  std::uint64_t planned_keys_ = 0;
  std::unordered_set<std::uint64_t> leaving_; // slots, by number
  std::vector<Step> steps_;                   // of the last search
};

using CuckooWriter = BasicCuckooWriter<CuckooRules>;

} // namespace weir::filter
