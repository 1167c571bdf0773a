// The overlay: a small mutable exact table of additions and tombstones that is asked before the
// table it stands in front of, while it is not empty.
//
// A key may stand in either of two lines of the family's format; nothing that rules put there ever moves or
// is removed within an image, an unset key becomes a tombstone, so readers need no grace period for it. When
// both lines of a key are full the image needs a rebuild.
//
// Reliefs are tombstones of another kind: hosts that a judge would deny in error, at most a quarter of all
// places. They give way to what rules put there, and to each other; then a grace period passes between the
// old key and the new one.
#pragma once

#include "weir/table/line.hpp"
#include "weir/table/sections.hpp"

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
  return (value & value::tombstone) != 0;
}
[[nodiscard]] constexpr std::uint32_t make_tombstone(unsigned length) noexcept {
  return value::make(0, length) | value::tombstone;
}
[[nodiscard]] constexpr std::uint32_t make_relief(unsigned length) noexcept {
  return make_tombstone(length) | value::relief;
}
[[nodiscard]] constexpr bool is_relief(std::uint32_t value) noexcept {
  return value::is_set(value) && (value & value::relief) != 0;
}

template <class LineType> class OverlayWriter {
public:
  using Line = LineType;
  using Key = typename Line::Key;

  OverlayWriter() = default;
  OverlayWriter(const OverlayView<Line> &view, OverlayHeader &header)
      : header_(&header), lines_(const_cast<Line *>(view.lines)), count_(view.count) {}

  // Sets or replaces; false when both lines are full and nothing was changed. `grace` returns when no reader
  // sees what was there before.
  bool put(const Key &key, std::uint32_t value, KeyHash h, const auto &grace) {
    const unsigned length = value::length_of(value);
    const auto same = [&](const Line &line, unsigned s) {
      return answers(line.value[s], length) && line.key[s] == key;
    };
    if (const Place at = find_place(h, same)) {
      reliefs_ -= is_relief(at.line->value[at.slot]);
      write_release(at.line->value[at.slot], value);
      reliefs_ += is_relief(value);
      return true;
    }
    if (const Place at = free_place(h)) {
      fill(at, key, value);
      write_release(header_->keys, header_->keys + 1);
      return true;
    }
    return put_over_relief(key, value, h, grace);
  }

  // A relief beside as many as there may be takes the place of another, and so does whatever finds both of
  // its lines full. False: there is none in them.
  bool put_over_relief(const Key &key, std::uint32_t value, KeyHash h, const auto &grace) {
    const Place at = find_place(h, [](const Line &line, unsigned s) { return is_relief(line.value[s]); });
    if (!at) return false;
    write_release(at.line->value[at.slot], 0u);
    --reliefs_;
    grace();
    fill(at, key, value);
    return true;
  }
  [[nodiscard]] bool has_free_place(KeyHash h) const { return static_cast<bool>(free_place(h)); }
  [[nodiscard]] std::uint32_t reliefs() const noexcept { return reliefs_; }
  [[nodiscard]] std::uint32_t reliefs_max() const noexcept { return count_ * Line::slots / 4; }

private:
  struct Place {
    Line *line = nullptr;
    unsigned slot = 0;
    explicit operator bool() const noexcept { return line != nullptr; }
  };
  [[nodiscard]] Place find_place(KeyHash h, const auto &wanted) const {
    for (Line *line : {&lines_[reduce(half1(h), count_)], &lines_[reduce(half2(h), count_)]})
      for (unsigned s = 0; s < Line::slots; ++s)
        if (wanted(*line, s)) return {line, s};
    return {};
  }
  [[nodiscard]] Place free_place(KeyHash h) const {
    return find_place(h, [](const Line &line, unsigned s) { return !value::is_set(line.value[s]); });
  }
  void fill(Place at, const Key &key, std::uint32_t value) noexcept {
    write_key(at.line->key[at.slot], key);
    write_release(at.line->value[at.slot], value);
    reliefs_ += is_relief(value);
  }

  OverlayHeader *header_ = nullptr;
  Line *lines_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t reliefs_ = 0; // an image comes without
};

} // namespace weir::table
