// The memory of a counting quotient filter: blocks of 64 slots, and how runs are found in them.
//
//   block   | offset 8 bits | occupieds 64 | runends 64 | 64 remainders of r bits |
//
// A key is a quotient and a remainder. All remainders of one quotient stand in a run of neighbouring
// slots; runs stand in the order of their quotients, none before its quotient's own slot, each as early
// as those before it allow. So two bits a slot suffice to find a run:
//
//   occupieds   bit q: there is a run for quotient q
//   runends     bit s: slot s is the last one of a run; the n-th run has the n-th runend
//   offset      slots of this block and later ones that runs of earlier blocks' quotients take; from 255 on
//               it is found out from the blocks before
//
// A run is a row of groups, one for each of its remainders, ascending. A remainder x that is there c times
// is x and then the number c - 1 in digits 0 ... x, each worth one more than it says (bijective base x + 1):
// whatever exceeds x begins the next group. Remainder 0 leaves no digits: it is [0] once, and from twice on
// [0 0 digits 0] with the number c - 2 in digits 1 ... 2^r - 1.
//
//   slots   | 3 | 5 2 | 9 |      remainder 3 once, 5 four times, 9 once
//
// Nothing that stands in memory leads a reader out of it.
#pragma once

#include "weir/filter/base_filter.hpp"
#include "weir/filter/packed_cells.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace weir::filter {

struct QuotientShape {
  static constexpr FilterKind kind = FilterKind::quotient;
  static constexpr unsigned remainder_bits_max = 20;
  static constexpr std::uint64_t block_slots = 64;
  static constexpr std::uint64_t block_header_bytes = 17;

  std::uint32_t slots = 0; // quotients, any number of them
  std::uint32_t remainder_bits = 0;

  // Runs are pushed past the last quotient by as many slots as this only once in 10^10 tables at 95 % load.
  static constexpr double spill_max = 256;
  [[nodiscard]] std::uint64_t blocks() const noexcept {
    const double spill = std::min(spill_max, 4 * std::sqrt(static_cast<double>(slots)));
    return (slots + static_cast<std::uint64_t>(spill) + block_slots - 1) / block_slots;
  }
  [[nodiscard]] std::uint64_t block_bytes() const noexcept {
    return block_header_bytes + block_slots / 8 * remainder_bits;
  }
  // A load of the last slot may read past it.
  [[nodiscard]] std::uint64_t bits() const noexcept { return round_up(blocks() * block_bytes() + 7, 8) * 8; }
  // Different fingerprints.
  [[nodiscard]] std::uint64_t universe() const noexcept { return std::uint64_t{slots} << remainder_bits; }

  [[nodiscard]] ShapeWords as_words() const noexcept { return {slots, remainder_bits, 0, 0}; }
  [[nodiscard]] static QuotientShape of(const ShapeWords &w) noexcept { return {w[0], w[1]}; }
  [[nodiscard]] const char *objection() const noexcept {
    if (slots == 0) return "there is no slot";
    if (remainder_bits < 1 || remainder_bits > remainder_bits_max)
      return "remainders are not of 1 to 20 bits";
    return nullptr;
  }
};

// What a key is stored as.
struct QuotientPlace {
  std::uint64_t quotient = 0;
  std::uint32_t remainder = 0;
};

// A remainder of a run and how often it is there.
struct QuotientGroup {
  std::uint64_t count = 0;
  std::uint64_t end = 0; // the slot after it
  std::uint32_t remainder = 0;
  bool last = false; // of its run
};

class QuotientTable {
public:
  QuotientTable() = default;
  QuotientTable(const QuotientShape &shape, const std::byte *cells) noexcept
      : cells_(cells), block_bytes_(shape.block_bytes()), slots_(shape.blocks() * 64),
        remainder_bits_(shape.remainder_bits), mask_((std::uint32_t{1} << shape.remainder_bits) - 1),
        window_slots_(window_bits / shape.remainder_bits) {
    for (unsigned at = 0; at + remainder_bits_ <= window_bits; at += 2 * remainder_bits_)
      ones_even_ |= std::uint64_t{1} << at;
  }

  static constexpr std::size_t occupieds_at = 1, runends_at = 9; // in a block, after its offset
  static constexpr unsigned offset_unsaid = 255;

  [[nodiscard]] std::uint64_t slots() const noexcept { return slots_; } // that there is memory for
  [[nodiscard]] const std::byte *block(std::uint64_t number) const noexcept {
    return cells_ + number * block_bytes_;
  }
  [[nodiscard]] static std::uint64_t occupieds(const std::byte *block) noexcept {
    return load_unaligned<std::uint64_t>(block + occupieds_at);
  }
  [[nodiscard]] static std::uint64_t runends(const std::byte *block) noexcept {
    return load_unaligned<std::uint64_t>(block + runends_at);
  }
  [[nodiscard]] static const std::byte *remainders(const std::byte *block) noexcept {
    return block + QuotientShape::block_header_bytes;
  }

  [[nodiscard]] std::uint32_t remainder(std::uint64_t slot) const noexcept {
    const std::uint64_t bit = slot % 64 * remainder_bits_;
    return load_unaligned<std::uint32_t>(remainders(block(slot / 64)) + bit / 8) >> bit % 8 & mask_;
  }
  [[nodiscard]] bool is_occupied(std::uint64_t quotient) const noexcept {
    return (occupieds(block(quotient / 64)) >> quotient % 64 & 1) != 0;
  }
  [[nodiscard]] bool is_runend(std::uint64_t slot) const noexcept {
    return (runends(block(slot / 64)) >> slot % 64 & 1) != 0;
  }

  [[nodiscard]] unsigned said_offset(std::uint64_t number) const noexcept {
    return std::to_integer<unsigned>(*block(number));
  }
  // Slots from the block's first one on that earlier blocks' quotients take.
  [[nodiscard]] std::uint64_t offset(std::uint64_t number) const noexcept {
    const unsigned said = said_offset(number);
    return said != offset_unsaid ? said : reached_from(number) - number * 64;
  }
  // The same, found out from the block before.
  [[nodiscard]] std::uint64_t offset_by_runs(std::uint64_t number) const noexcept {
    const std::uint64_t end = end_of_block(number - 1, (number - 1) * 64 + offset(number - 1));
    return std::max(end, number * 64) - number * 64;
  }

  // The slot after the runs of all quotients below `quotient`, of its block and earlier ones.
  [[nodiscard]] std::uint64_t end_before(std::uint64_t quotient) const noexcept {
    return end_of_runs(quotient, (std::uint64_t{1} << quotient % 64) - 1);
  }
  // The same with its own run; `quotient` or less when its slot is empty.
  [[nodiscard]] std::uint64_t end_through(std::uint64_t quotient) const noexcept {
    return end_of_runs(quotient, (std::uint64_t{2} << quotient % 64) - 1);
  }
  // Where the quotient's run begins, or would.
  [[nodiscard]] std::uint64_t run_start(std::uint64_t quotient) const noexcept {
    return std::max(quotient, end_before(quotient));
  }

  // The group that begins there. `slot` is one of a run.
  [[nodiscard]] QuotientGroup group_at(std::uint64_t slot) const noexcept {
    const std::uint32_t head = remainder(slot);
    if (head == 0) return group_of_zeros(slot);
    QuotientGroup group{1, slot + 1, head, false};
    std::uint64_t worth = 1;
    while (!(group.last = ends_with(group.end))) {
      const std::uint32_t digit = remainder(group.end);
      if (digit > head) break;
      group.count += (digit + std::uint64_t{1}) * worth;
      worth *= head + std::uint64_t{1};
      ++group.end;
    }
    return group;
  }

  // Is the remainder in the run that begins at `slot`? The first slot that is not below it says so: digits do
  // not exceed their heads, which ascend. All slots of a run are compared at once, if it lies in one block
  // and is no longer than a word, and does not count zeros.
  [[nodiscard, gnu::always_inline]] bool run_holds(std::uint64_t slot, std::uint32_t wanted) const noexcept {
    const std::byte *at = block(slot / 64);
    const auto length = static_cast<unsigned>(std::countr_zero(runends(at) >> slot % 64)) + 1;
    const std::uint64_t bit = slot % 64 * remainder_bits_;
    const std::uint64_t word = load_unaligned<std::uint64_t>(remainders(at) + bit / 8) >> bit % 8;
    const std::uint64_t first_two = word & ((std::uint64_t{1} << 2 * remainder_bits_) - 1);
    if (length > window_slots_ || (length > 1 && first_two == 0)) return long_run_holds(slot, wanted);
    const std::uint64_t of_run = (std::uint64_t{2} << length * remainder_bits_) - 1;
    const std::uint64_t reach = not_below(word, wanted) & of_run;
    return (reach & -reach & ~not_below(word, wanted + 1)) != 0;
  }

private:
  static constexpr unsigned window_bits = 57; // that a load from any bit of a byte brings

  // Bit (i + 1) r of slot i: it holds `least` or more. Slots by turns, so that each has room for a carry.
  [[nodiscard]] std::uint64_t not_below(std::uint64_t slots, std::uint32_t least) const noexcept {
    const std::uint64_t carries = ones_even_ << remainder_bits_, values = carries - ones_even_;
    const std::uint64_t all = ones_even_ * least;
    const std::uint64_t even = ((slots & values) | carries) - all,
                        odd = ((slots >> remainder_bits_ & values) | carries) - all;
    return (even & carries) | (odd & carries) << remainder_bits_;
  }
  // The same, slot by slot.
  [[nodiscard]] bool long_run_holds(std::uint64_t slot, std::uint32_t wanted) const noexcept {
    std::uint32_t head = remainder(slot);
    if (head == 0 && wanted != 0) {
      const QuotientGroup zeros = group_of_zeros(slot);
      if (zeros.last) return false;
      head = remainder(slot = zeros.end);
    }
    while (head < wanted) {
      if (ends_with(++slot)) return false;
      head = std::max(head, remainder(slot)); // digits do not exceed their head
    }
    return head == wanted;
  }

  [[nodiscard]] bool ends_with(std::uint64_t end) const noexcept {
    return is_runend(end - 1) || end >= slots_;
  }

  [[nodiscard]] QuotientGroup group_of_zeros(std::uint64_t slot) const noexcept {
    QuotientGroup group{1, slot + 1, 0, ends_with(slot + 1)};
    if (group.last || remainder(group.end) != 0) return group;
    group.count = 2;
    std::uint64_t worth = 1;
    for (++group.end; group.end < slots_; worth *= mask_) {
      const std::uint32_t digit = remainder(group.end++);
      if (digit == 0) break;
      group.count += digit * worth;
    }
    group.last = ends_with(group.end);
    return group;
  }

  [[nodiscard]] std::uint64_t end_of_runs(std::uint64_t quotient, std::uint64_t below) const noexcept {
    const std::uint64_t number = quotient / 64, occupied = occupieds(block(number)) & below;
    return after_runends(number * 64 + offset(number), static_cast<unsigned>(std::popcount(occupied)));
  }
  // The slot after the runs of a block's quotients, the first of which begins at `start` or behind it.
  [[nodiscard]] std::uint64_t end_of_block(std::uint64_t number, std::uint64_t start) const noexcept {
    return after_runends(start, static_cast<unsigned>(std::popcount(occupieds(block(number)))));
  }
  // Where the runs of all blocks before this one end, from the last one that says its offset.
  [[gnu::noinline]] [[nodiscard]] std::uint64_t reached_from(std::uint64_t number) const noexcept {
    std::uint64_t from = number;
    while (from > 0 && said_offset(from) == offset_unsaid) --from;
    std::uint64_t end = from * 64 + said_offset(from);
    for (; from < number; ++from) end = std::max(end_of_block(from, end), (from + 1) * 64);
    return end;
  }
  // The slot after the n-th runend from `slot` on.
  [[nodiscard]] std::uint64_t after_runends(std::uint64_t slot, unsigned n) const noexcept {
    if (slot >= slots_) return slots_;
    if (n == 0) return slot;
    std::uint64_t number = slot / 64, from = ~std::uint64_t{0} << slot % 64;
    const auto in_first = static_cast<unsigned>(std::popcount(runends(block(number)) & from));
    const std::uint64_t next = mask_if(n > in_first && (number + 1) * 64 < slots_); // in a full table often
    number -= next;
    n -= in_first & static_cast<unsigned>(next);
    std::uint64_t ends = runends(block(number)) & (from | next);
    for (;;) {
      const auto here = static_cast<unsigned>(std::popcount(ends));
      if (n <= here) return number * 64 + nth_bit(ends, n) + 1;
      n -= here;
      if (++number * 64 >= slots_) return slots_;
      ends = runends(block(number));
    }
  }
  // Number of the n-th bit that is set, n from 1 on: bytes are counted side by side, then the bits of one
  // byte in the same way. No branch: how many bits precede is as good as random.
  [[nodiscard]] static unsigned nth_bit(std::uint64_t word, unsigned n) noexcept {
    std::uint64_t counts = word - (word >> 1 & 0x5555555555555555ull);
    counts = (counts & 0x3333333333333333ull) + (counts >> 2 & 0x3333333333333333ull);
    counts = ((counts + (counts >> 4)) & 0x0F0F0F0F0F0F0F0Full) * ones; // byte i: bits of bytes 0 to i
    const unsigned byte = first_reaching(counts, n);
    n -= static_cast<unsigned>((counts << 8) >> byte) & 0xFF;
    const std::uint64_t spread = ((word >> byte & 0xFF) * ones) & 0x8040201008040201ull; // byte i: bit i
    const std::uint64_t bits = (((spread + 0x7F7F7F7F7F7F7F7Full) & tops) >> 7) * ones;
    return byte + first_reaching(bits, n) / 8;
  }
  // Where the first byte begins that is n or more; bytes are 64 at most.
  [[nodiscard]] static unsigned first_reaching(std::uint64_t bytes, unsigned n) noexcept {
    return static_cast<unsigned>(std::countr_zero(((bytes | tops) - n * ones) & tops)) & 0x38;
  }
  static constexpr std::uint64_t ones = 0x0101010101010101ull, tops = 0x8080808080808080ull;

  const std::byte *cells_ = nullptr;
  std::uint64_t block_bytes_ = 0, slots_ = 0;
  std::uint32_t remainder_bits_ = 0, mask_ = 0;
  std::uint32_t window_slots_ = 0; // that a word shows whole, from any slot on
  std::uint64_t ones_even_ = 0;    // the lowest bit of every second one
};

} // namespace weir::filter
