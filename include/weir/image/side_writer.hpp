// Changes the table, the words, the overlay and the front filter of one side and family in place, for image/writer.hpp:
// one writer, readers at work.
//
// Where hosts stand in words (table/word_line.hpp) a new one goes to its line, else to the table behind it, else to the
// overlay; one whose new list no word can name leaves its line for the table. What stands in the table stays there.
#pragma once

#include "weir/filter/split_block_bloom.hpp"
#include "weir/image/view.hpp"
#include "weir/image/writer.hpp"
#include "weir/table/table_writer.hpp"
#include "weir/table/word_writer.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace weir::image {

// May a change wait for a grace period by itself, or is it to be asked again after one?
enum class Wait : std::uint8_t { here, never };

template <class LineType> class SideWriter {
public:
  using Line = LineType;
  using Key = typename Line::Key;
  using Grace = std::shared_ptr<ImageWriter::Grace>;

  SideWriter() = default; // of no tables
  // `rehash(key, length)` is the hash that the tables were built with.
  SideWriter(const SideView<Line> &view, auto rehash, Grace grace)
      : view_(view), grace_(std::move(grace)),
        table_(view.table, header_before<table::TableHeader>(view.table.lines1), std::move(rehash),
               [pass = grace_] { (*pass)(); }),
        overlay_(view.overlay, header_before<table::OverlayHeader>(view.overlay.lines)), words_(view.words) {
    if (view.front.empty()) return;
    front_ = const_cast<filter::Block *>(view.front.blocks());
    front_blocks_ = view.front.count();
  }

  // Overlay if the key is there or the table is full; else the table.
  [[nodiscard]] Change store(const Key &key, std::uint32_t value, KeyHash h, Wait wait) {
    if (in_overlay(key, table::value::length_of(value), h)) return store_in_overlay(key, value, h);
    if (front_ != nullptr) filter::SplitBlockBloom::insert(front_, front_blocks_, h);
    const Put put = !view_.words.empty()     ? put_in_words(key, value, h, wait)
                    : view_.chain.in_force() ? put_where_led(view_.chain.predict(h), key, value, h, wait)
                                             : put_anywhere(key, value, h, wait);
    if (put == Put::waits) return Change::waits;
    if (put != Put::full) return Change::in_place;
    return store_in_overlay(key, value, h);
  }

  // Also for a tombstone or a relief (table/overlay.hpp).
  [[nodiscard]] Change store_in_overlay(const Key &key, std::uint32_t value, KeyHash h) {
    return overlay_.put(key, value, h, *grace_) ? Change::overlay : Change::needs_rebuild;
  }

  [[nodiscard]] Change remove(const Key &key, unsigned length, KeyHash h) {
    const bool overlaid = in_overlay(key, length, h), erased = erase(key, length, h);
    if (overlaid) return store_in_overlay(key, table::make_tombstone(length), h);
    return erased ? Change::in_place : Change::unchanged;
  }

  // A relief of a host; beyond a quarter of the overlay it takes the place of one that is there, at the cost
  // of a grace period, which `may_displace` counts down.
  [[nodiscard]] Change relieve(const Key &key, KeyHash h, unsigned &may_displace) {
    const std::uint32_t relief = table::make_relief(address_bits(Line::family));
    if (overlay_.reliefs() < overlay_.reliefs_max() && overlay_.has_free_place(h))
      return store_in_overlay(key, relief, h);
    if (may_displace == 0) return Change::needs_rebuild;
    --may_displace;
    return overlay_.put_over_relief(key, relief, h, *grace_) ? Change::overlay : Change::needs_rebuild;
  }

  [[nodiscard]] bool in_overlay(const Key &key, unsigned length, KeyHash h) const noexcept {
    return !view_.overlay.empty() && view_.overlay.find(key, length, h) != 0;
  }

  void grace_passed() { table_.grace_passed(); }

private:
  using Put = typename table::TableWriter<Line>::Put;

  // A section's header stands right before its lines.
  template <class Header> [[nodiscard]] static Header &header_before(const Line *first) noexcept {
    return *(reinterpret_cast<Header *>(const_cast<Line *>(first)) - 1);
  }

  [[nodiscard]] Put put_anywhere(const Key &key, std::uint32_t value, KeyHash h, Wait wait) {
    const Put put = wait == Wait::never ? table_.put_or_ask_again(key, value, h) : Put::full;
    return put == Put::full ? table_.put(key, value, h) : put;
  }

  // A host on a side with words. The table is asked first whether it has the host, so that no host stands in both.
  [[nodiscard]] Put put_in_words(const Key &key, std::uint32_t value, KeyHash h, Wait wait) {
    if constexpr (Line::family == Family::ipv4) {
      const auto at = view_.words.spot(key);
      const ListId list = table::value::list_of(value);
      if (view_.words.can_name(list)) {
        if (words_.change(at, list)) return Put::replaced;
        if (!is_behind(at, key, h) && words_.add(at, list)) return Put::added;
      }
      const Put put = put_anywhere(key, value, h, wait);
      if (put == Put::added || put == Put::replaced) words_.lead_behind(at);
      return put;
    } else {
      return put_anywhere(key, value, h, wait);
    }
  }
  [[nodiscard]] bool is_behind(table::WordTableView::Spot at, const Key &key, KeyHash h) const noexcept {
    return table::group_bit(view_.words.lines[at.line], at.group()) &&
           view_.table.find(key, address_bits(Line::family), h) != 0;
  }

  // False: it is not there.
  bool erase(const Key &key, unsigned length, KeyHash h) {
    if constexpr (Line::family == Family::ipv4)
      if (!view_.words.empty() && words_.erase(view_.words.spot(key))) return true;
    return table_.erase(key, length, h);
  }

  [[nodiscard]] Put put_where_led(table::Home home, const Key &key, std::uint32_t value, KeyHash h,
                                  Wait wait) {
    const bool table2 = home == table::Home::table2;
    const Put put = table_.put_into(table2, key, value, h);
    if (put != Put::waits || wait == Wait::never) return put;
    table_.pass_grace();
    return table_.put_into(table2, key, value, h);
  }

  SideView<Line> view_;
  Grace grace_;
  table::TableWriter<Line> table_;
  table::OverlayWriter<Line> overlay_;
  table::WordWriter words_;
  filter::Block *front_ = nullptr;
  std::uint32_t front_blocks_ = 0;
};

} // namespace weir::image
