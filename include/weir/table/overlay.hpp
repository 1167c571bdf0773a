// The overlay: a small mutable exact table of additions and tombstones that is asked before the
// table it stands in front of, while it is not empty.
//
// A key may stand in either of two lines of the family's format; nothing ever moves or is removed
// within an image, an unset key becomes a tombstone, so readers need no grace period here. When both
// lines of a key are full the image needs a rebuild.
#pragma once

#include "weir/table/line.hpp"

namespace weir::table {

template <class LineType> struct OverlayView {
  using Line = LineType;
  using Key = typename Line::Key;

  const Line *lines = nullptr;
  const std::uint32_t *keys = nullptr; // entries and tombstones; grows under readers
  std::uint32_t count = 0;

  [[nodiscard]] bool empty() const noexcept { return read_acquire(*keys) == 0; }

  // 0: not here, ask the table. Else the value, or one with the tombstone flag: absent.
  [[nodiscard]] std::uint32_t find(const Key &key, unsigned length, KeyHash h) const noexcept {
    if (const std::uint32_t v = find_in(lines[reduce(half1(h), count)], key, length)) return v;
    return find_in(lines[reduce(half2(h), count)], key, length);
  }
};

[[nodiscard]] constexpr bool is_tombstone(std::uint32_t value) noexcept {
  return (value & image::value::tombstone) != 0;
}
[[nodiscard]] constexpr std::uint32_t make_tombstone(unsigned length) noexcept {
  return image::value::make(0, length) | image::value::tombstone;
}

template <class LineType> class OverlayWriter {
public:
  using Line = LineType;
  using Key = typename Line::Key;

  OverlayWriter() = default;
  OverlayWriter(const OverlayView<Line> &view, image::OverlayHeader &header)
      : header_(&header), lines_(const_cast<Line *>(view.lines)), count_(view.count) {}

  // Sets or replaces; false when both lines are full and nothing was changed.
  bool put(const Key &key, std::uint32_t value, KeyHash h) noexcept {
    const unsigned length = image::value::length_of(value);
    Line *const candidates[2] = {&lines_[reduce(half1(h), count_)], &lines_[reduce(half2(h), count_)]};
    for (Line *line : candidates)
      for (unsigned s = 0; s < Line::slots; ++s)
        if (answers(line->value[s], length) && line->key[s] == key) {
          write_release(line->value[s], value);
          return true;
        }
    for (Line *line : candidates)
      for (unsigned s = 0; s < Line::slots; ++s)
        if (!image::value::is_set(line->value[s])) {
          write_key(line->key[s], key);
          write_release(line->value[s], value);
          write_release(header_->keys, header_->keys + 1);
          return true;
        }
    return false;
  }

private:
  image::OverlayHeader *header_ = nullptr;
  Line *lines_ = nullptr;
  std::uint32_t count_ = 0;
};

} // namespace weir::table
