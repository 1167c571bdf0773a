// Changes to the memory of a counting quotient filter, slot by slot; filter/quotient_table.hpp says what is
// there, filter/quotient_filter.hpp which changes make sense.
#pragma once

#include "weir/filter/quotient_table.hpp"

namespace weir::filter {

class QuotientWriter {
public:
  QuotientWriter(const QuotientShape &shape, std::byte *cells) noexcept
      : cells_(cells), block_bytes_(shape.block_bytes()), remainder_bits_(shape.remainder_bits) {}

  void set_remainder(std::uint64_t slot, std::uint32_t remainder) noexcept {
    store_bits(remainders(slot / 64), slot % 64 * remainder_bits_, remainder_bits_, remainder);
  }
  void set_occupied(std::uint64_t quotient, bool value) noexcept {
    set_bit(block(quotient / 64) + QuotientTable::occupieds_at, quotient % 64, value);
  }
  void set_runend(std::uint64_t slot, bool value) noexcept {
    set_bit(block(slot / 64) + QuotientTable::runends_at, slot % 64, value);
  }
  void set_offset(std::uint64_t number, std::uint64_t offset) noexcept {
    *block(number) = static_cast<std::byte>(std::min<std::uint64_t>(offset, QuotientTable::offset_unsaid));
  }

  // Slots [slot, empty) move up by one, with their runends; what `slot` holds then is left over.
  void move_up(std::uint64_t slot, std::uint64_t empty) noexcept {
    for (std::uint64_t number = empty / 64;; --number) {
      const bool first = number == slot / 64;
      const unsigned low = first ? slot % 64 : 0, high = number == empty / 64 ? empty % 64 : 63;
      std::byte *bits = remainders(number);
      for (std::uint64_t to = high * std::uint64_t{remainder_bits_}, from = low * remainder_bits_;
           to > from;) {
        const unsigned some = static_cast<unsigned>(std::min<std::uint64_t>(to - from, chunk_bits));
        to -= some;
        store_bits(bits, to + remainder_bits_, some, load_bits(bits, to, some));
      }
      const std::uint64_t ends = runends(number);
      const std::uint64_t carried = first ? 0 : (runends(number - 1) >> 63) << low;
      set_runends(number,
                  (ends & ~between(low, high)) | ((ends << 1) & between(low, high) & ~bit(low)) | carried);
      if (first) return;
      store_bits(bits, 0, remainder_bits_, load_bits(remainders(number - 1), last_slot(), remainder_bits_));
    }
  }

  // Slots (slot, end) move down by one, with their runends; slot end - 1 is empty then.
  void move_down(std::uint64_t slot, std::uint64_t end) noexcept {
    for (std::uint64_t number = slot / 64;; ++number) {
      const bool last = number == (end - 1) / 64;
      const unsigned low = number == slot / 64 ? slot % 64 : 0, high = last ? (end - 1) % 64 : 63;
      std::byte *bits = remainders(number);
      const std::uint64_t to = (high + std::uint64_t{1}) * remainder_bits_;
      for (std::uint64_t from = (low + std::uint64_t{1}) * remainder_bits_; from < to;) {
        const unsigned some = static_cast<unsigned>(std::min<std::uint64_t>(to - from, chunk_bits));
        store_bits(bits, from - remainder_bits_, some, load_bits(bits, from, some));
        from += some;
      }
      const std::uint64_t ends = runends(number);
      const std::uint64_t carried = last ? 0 : (runends(number + 1) & 1) << high;
      set_runends(number,
                  (ends & ~between(low, high)) | ((ends & between(low, high) & ~bit(low)) >> 1) | carried);
      store_bits(bits, high * std::uint64_t{remainder_bits_}, remainder_bits_,
                 last ? 0 : load_bits(remainders(number + 1), 0, remainder_bits_));
      if (last) return;
    }
  }

private:
  static constexpr unsigned chunk_bits = 32; // with up to seven bits before it, within one load

  [[nodiscard]] std::byte *block(std::uint64_t number) noexcept { return cells_ + number * block_bytes_; }
  [[nodiscard]] std::byte *remainders(std::uint64_t number) noexcept {
    return block(number) + QuotientShape::block_header_bytes;
  }
  [[nodiscard]] std::uint64_t last_slot() const noexcept { return std::uint64_t{63} * remainder_bits_; }
  [[nodiscard]] std::uint64_t runends(std::uint64_t number) noexcept {
    return load_unaligned<std::uint64_t>(block(number) + QuotientTable::runends_at);
  }
  void set_runends(std::uint64_t number, std::uint64_t ends) noexcept {
    std::memcpy(block(number) + QuotientTable::runends_at, &ends, sizeof ends);
  }
  [[nodiscard]] static std::uint64_t bit(std::uint64_t number) noexcept { return std::uint64_t{1} << number; }
  [[nodiscard]] static std::uint64_t between(unsigned low, unsigned high) noexcept { // both included
    return (~std::uint64_t{0} >> (63 - high)) & (~std::uint64_t{0} << low);
  }
  static void set_bit(std::byte *word_at, std::uint64_t number, bool value) noexcept {
    auto word = load_unaligned<std::uint64_t>(word_at);
    word = (word & ~bit(number)) | std::uint64_t{value} << number;
    std::memcpy(word_at, &word, sizeof word);
  }
  // At most chunk_bits of them.
  [[nodiscard]] static std::uint64_t load_bits(const std::byte *bytes, std::uint64_t at,
                                               unsigned count) noexcept {
    return load_unaligned<std::uint64_t>(bytes + at / 8) >> at % 8 & (bit(count) - 1);
  }
  static void store_bits(std::byte *bytes, std::uint64_t at, unsigned count, std::uint64_t value) noexcept {
    auto word = load_unaligned<std::uint64_t>(bytes + at / 8);
    word = (word & ~((bit(count) - 1) << at % 8)) | value << at % 8;
    std::memcpy(bytes + at / 8, &word, sizeof word);
  }

  std::byte *cells_;
  std::uint64_t block_bytes_;
  std::uint32_t remainder_bits_;
};

} // namespace weir::filter
