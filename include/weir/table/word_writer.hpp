// Changes lines of words (table/word_line.hpp) in place while readers look on. One writer. What a line has no room for, or
// cannot name, is for the caller to put into the table behind; it says so with lead_behind() once it is there.
//
//   set     a host that stands in its line     one store
//           a new one, and a free slot         one store
//           else                               the table behind, then lead_behind()
//   unset   one store, and the slot is free
#pragma once

#include "weir/table/word_line.hpp"

#include <cstdint>

namespace weir::table {

// The order of line.hpp's essay. Tests turn it round to prove that they would notice.
struct SafeLeave {
  static constexpr bool group_bit_before_clearing = true;
  static void between() noexcept {}
};

template <class Protocol = SafeLeave> class WordWriterOf {
public:
  using Spot = WordTableView::Spot;

  WordWriterOf() = default; // of no lines
  explicit WordWriterOf(const WordTableView &view) noexcept : view_(view) {}

  [[nodiscard]] const WordTableView &view() const noexcept { return view_; }
  [[nodiscard]] bool has(Spot at) const noexcept { return slot_of(at) != nullptr; }

  // Of a host that stands in its line: another list, one that a word can name. False: it is not there.
  bool change(Spot at, ListId list) noexcept {
    std::uint32_t *const slot = slot_of(at);
    if (slot != nullptr) store(*slot, view_.word_of(at, list));
    return slot != nullptr;
  }
  // Of a host that stands nowhere. False: its line is full.
  bool add(Spot at, ListId list) noexcept {
    for (std::uint32_t &slot : line(at).word)
      if (view_.is_free(slot)) {
        store(slot, view_.word_of(at, list));
        return true;
      }
    return false;
  }
  // False: it is not there.
  bool erase(Spot at) noexcept {
    std::uint32_t *const slot = slot_of(at);
    if (slot != nullptr) store(*slot, 0);
    return slot != nullptr;
  }

  // The table behind has the host by now: readers are led there, and it leaves its line if it stands in it.
  void lead_behind(Spot at) noexcept {
    const auto set_group_bit = [&] {
      std::uint32_t &slot = line(at).word[at.group()];
      write_release(slot, slot | WordTableView::group_bit);
    };
    if constexpr (Protocol::group_bit_before_clearing) {
      set_group_bit();
      Protocol::between();
      erase(at);
    } else {
      erase(at);
      Protocol::between();
      set_group_bit();
    }
  }

private:
  [[nodiscard]] WordLine &line(Spot at) const noexcept {
    return const_cast<WordLine &>(view_.lines[at.line]);
  }
  [[nodiscard]] std::uint32_t *slot_of(Spot at) const noexcept {
    for (std::uint32_t &slot : line(at).word)
      if (slot - at.first_word < view_.words_a_key()) return &slot;
    return nullptr;
  }
  // The group bit belongs to the place.
  static void store(std::uint32_t &slot, std::uint32_t word) noexcept {
    write_release(slot, word | (slot & WordTableView::group_bit));
  }

  WordTableView view_;
};

using WordWriter = WordWriterOf<>;

} // namespace weir::table
