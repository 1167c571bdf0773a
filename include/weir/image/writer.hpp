// Changes a live (or staged) image in place. One writer per image - the dataplane's service thread -
// while any number of readers look on; table/line.hpp has the order of memory operations.
//
// A delta says what a prefix is to be afterwards, so applying one twice changes nothing. For a new
// key the length map and the front filter come first, then table or overlay: a reader that finds
// the key finds the way to it. Prefixes of up to 16 bits of IPv4 live in the cells of the length map
// for readers; the table keeps them too, so that removing one uncovers the next shorter.
//
// A filter in front of the allow tables is kept in step (allow_filter_writer.hpp): an added key is in it
// before a table has it, a removed one leaves it a grace period after the tables.
//
// A stacked filter of denied hosts takes a host before any table does (deny_filter_writer.hpp). Where it
// judges alone there is no table of hosts: a removed host, and one that it denies wrongly, stand in the
// overlay as tombstones; an added one is in the filter, or in the overlay where the filter does not answer
// for it.
//
// On a side with a chained predictor in force nothing moves, and a new key goes where the chain sends
// its readers, when there is room in that one line, else to the overlay. give_up_exactness() turns such a
// side into one that follows the lines' group bits and takes everything in place.
#pragma once

#include "weir/base/result.hpp"
#include "weir/image/allow_filter_writer.hpp"
#include "weir/image/delta.hpp"
#include "weir/image/deny_filter_writer.hpp"
#include "weir/image/reader.hpp"
#include "weir/table/table_writer.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

namespace weir::image {

enum class Change : std::uint8_t {
  unchanged, // it already said so
  in_place,
  overlay,
  needs_rebuild, // nothing was changed
  waits,         // inside a batch alone: to be asked again after a grace period
};

class ImageWriter {
public:
  using Grace = std::function<void()>;

  // `grace` returns after every reader has passed a quiescent state; it is called in the middle of
  // the rare change that has to move keys. For an image nobody reads yet, pass one that does nothing.
  [[nodiscard]] static Result<ImageWriter> attach(MutableBytes image, Grace grace,
                                                  Check check = Check::not_the_mutable_checksums) {
    auto view = TRY(image::attach(image, check));
    auto filter_writer = TRY(open_allow_filter(image, view));
    auto stack = TRY(open_stack(image, view));
    return ImageWriter(view, std::move(filter_writer), std::move(stack),
                       std::make_shared<Grace>(std::move(grace)));
  }

  [[nodiscard]] const ImageView &view() const noexcept { return view_; }

  // `delta` must have passed check() of delta.hpp.
  [[nodiscard]] Change apply(const Delta &delta) {
    const Change change = apply_one(delta, Wait::here);
    let_keys_leave();
    return change;
  }

  struct BatchDone {
    std::size_t applied = 0; // deltas from the front that are in the image; all, unless one needs a rebuild
    std::uint32_t in_overlay = 0;
    bool needs_rebuild = false;
    bool filter_saturated = false; // the filter of the allow side has outgrown its plan: a new image is due
    bool stack_saturated = false;  // so has that of denied hosts
  };
  // The same as apply() for each in turn, with grace periods shared: keys that need room that is not
  // free yet wait for one another, and the batch for one grace period. All must have passed check().
  [[nodiscard]] BatchDone apply_batch(std::span<const Delta> deltas);

  // From now on, and until the next image, readers of this side follow the lines' group bits.
  void give_up_exactness(Side side) {
    bool fell = false;
    for (const table::ChainedPredictor *chain : {&view_.v4[side].chain, &view_.v6[side].chain}) {
      if (!chain->in_force()) continue;
      table::write_release(const_cast<std::uint32_t &>(*chain->exact_flag()), 0u);
      fell = true;
    }
    if (fell) (*grace_)(); // who began with the chain has ended before any key leaves its predicted line
  }

  // The filter of the allow side should not take this address for allowed, whichever length a worker asks
  // for. Lengths at which it is allowed are left out.
  filter::SeesawLearned learn(const Address &address) {
    filter::SeesawLearned all;
    for_each_length_asked(address, [&](KeyHash h, std::uint32_t value) {
      if (value != 0) return;
      const filter::SeesawLearned one = allow_filter_.learn(h);
      all.sealed += one.sealed;
      all.waiting += one.waiting;
      all.refused += one.refused;
    });
    return all;
  }

  // No rule denies this host: the filter that judges hosts is not to deny it either. In the overlay a value
  // that came as a delta stays. At most a quarter of the overlay is for such hosts; beyond that one takes the
  // place of another at the cost of a grace period, which `may_displace` counts down.
  // needs_rebuild: it has no place.
  [[nodiscard]] Change relieve(const Address &host, unsigned &may_displace) {
    if (!view_.judges_hosts(Side::deny)) return Change::unchanged;
    if (host.family == Family::ipv4) {
      const std::uint32_t key = host.wire();
      return relieve(view_.v4[Side::deny], v4_[Side::deny], key, view_.hash(key, 32), may_displace);
    }
    const table::KeyV6 key = table::KeyV6::load(host.bytes.data());
    return relieve(view_.v6[Side::deny], v6_[Side::deny], key, view_.hash(key, 128), may_displace);
  }
  [[nodiscard]] Change relieve(const Address &host) {
    unsigned any_number = ~0u;
    return relieve(host, any_number);
  }
  [[nodiscard]] const DenyFilterWriter &deny_filter() const noexcept { return deny_filter_; }

  // A grace period has passed since the last apply(): freed slots may be refilled.
  void grace_passed() {
    for (auto &s : v4_.of) s.table.grace_passed();
    for (auto &s : v6_.of) s.table.grace_passed();
    allow_filter_.grace_passed();
  }
  [[nodiscard]] const AllowFilterWriter &allow_filter() const noexcept { return allow_filter_; }
  // Is there something that grace_passed() would carry out?
  [[nodiscard]] bool waits_for_grace() const noexcept { return allow_filter_.waits_for_grace(); }

private:
  enum class Wait : std::uint8_t { here, never };

  [[nodiscard]] BatchDone apply_in_turn(std::span<const Delta> deltas);
  [[nodiscard]] Change apply_one(const Delta &delta, Wait wait) {
    return delta.family == Family::ipv4 ? apply_v4(delta, wait) : apply_v6(delta, wait);
  }

  template <class Line> struct SideWriter {
    table::TableWriter<Line> table;
    table::OverlayWriter<Line> overlay;
    filter::Block *front = nullptr;
    std::uint32_t front_blocks = 0;
  };

  ImageWriter(const ImageView &view, AllowFilterWriter allow_filter, DenyFilterWriter deny_filter,
              std::shared_ptr<Grace> grace)
      : view_(view), grace_(std::move(grace)), allow_filter_(std::move(allow_filter)),
        deny_filter_(std::move(deny_filter)) {
    const auto seeds = std::make_shared<Seeds>();
    std::ranges::copy(view.seeds_v6, seeds->begin());
    const auto rehash = [seeds, family = view.family](const auto &key, unsigned length) {
      return table::hash_of(key, (*seeds)[length], family);
    };
    for (const Side side : both_sides) {
      open(view.v4[side], v4_[side], rehash);
      open(view.v6[side], v6_[side], rehash);
    }
  }

  using Seeds = std::array<std::uint64_t, 129>; // of every length, those of IPv4 among them

  // The bytes behind a view's section, which attach() has found sound.
  [[nodiscard]] static MutableBytes section_of(MutableBytes image, const ImageView &view, SectionKind kind) {
    const auto *entry = reinterpret_cast<const SectionEntry *>(view.header + 1);
    for (std::uint32_t i = 0; i < view.header->section_count; ++i)
      if (entry[i].kind == static_cast<std::uint32_t>(kind))
        return image.subspan(entry[i].offset, entry[i].bytes);
    return {};
  }

  template <class Filter>
  [[nodiscard]] static Result<AllowFilterWriter> open_allow_filter_as(MutableBytes section) {
    auto filter = TRY(Filter::attach(section));
    return Result<AllowFilterWriter>(std::in_place, std::move(filter)); // moving a variant makes g++ 12 warn
  }
  [[nodiscard]] static Result<AllowFilterWriter> open_allow_filter(MutableBytes image,
                                                                   const ImageView &view) {
    switch (view.allow_filter.kind()) {
    case AllowFilterKind::none: break;
    case AllowFilterKind::seesaw:
      return open_allow_filter_as<filter::SeesawWriter>(section_of(image, view, SectionKind::allow_seesaw));
    case AllowFilterKind::cuckoo:
      return open_allow_filter_as<filter::CuckooWriter>(section_of(image, view, SectionKind::allow_cuckoo));
    case AllowFilterKind::stacked:
      return open_allow_filter_as<filter::StackedCountingWriter>(
          section_of(image, view, SectionKind::allow_stacked));
    }
    return AllowFilterWriter{};
  }

  [[nodiscard]] static Result<DenyFilterWriter> open_stack(MutableBytes image, const ImageView &view) {
    if (view.deny_filter.empty()) return DenyFilterWriter{};
    return DenyFilterWriter::adopt(section_of(image, view, SectionKind::deny_stacked), view.deny_filter);
  }

  // A section's header stands right before its lines or blocks.
  template <class Header, class T> [[nodiscard]] static Header &header_before(const T *first) noexcept {
    return *(reinterpret_cast<Header *>(const_cast<T *>(first)) - 1);
  }

  template <class Line, class Rehash>
  void open(const SideView<Line> &view, SideWriter<Line> &out, Rehash rehash) {
    out.table = table::TableWriter<Line>(view.table, header_before<table::TableHeader>(view.table.lines1),
                                         std::move(rehash), [grace = grace_] { (*grace)(); });
    out.overlay =
        table::OverlayWriter<Line>(view.overlay, header_before<table::OverlayHeader>(view.overlay.lines));
    if (view.front.empty()) return;
    out.front = const_cast<filter::Block *>(view.front.blocks());
    out.front_blocks = view.front.count();
  }

  template <class Line> using Put = typename table::TableWriter<Line>::Put;

  template <class Line>
  [[nodiscard]] static Put<Line> put_anywhere(SideWriter<Line> &writer, const typename Line::Key &key,
                                              std::uint32_t value, KeyHash h, Wait wait) {
    const Put<Line> put =
        wait == Wait::never ? writer.table.put_or_ask_again(key, value, h) : Put<Line>::full;
    return put == Put<Line>::full ? writer.table.put(key, value, h) : put;
  }

  template <class Line>
  [[nodiscard]] static Put<Line> put_where_led(SideWriter<Line> &writer, table::Home home,
                                               const typename Line::Key &key, std::uint32_t value, KeyHash h,
                                               Wait wait) {
    const bool table2 = home == table::Home::table2;
    const Put<Line> put = writer.table.put_into(table2, key, value, h);
    if (put != Put<Line>::waits || wait == Wait::never) return put;
    writer.table.pass_grace();
    return writer.table.put_into(table2, key, value, h);
  }

  // Calls visit(hash, value) for each length at which a worker asks the allow tables about this address.
  void for_each_length_asked(const Address &address, const auto &visit) const {
    for (unsigned length = address_bits(address.family) + 1; length-- > 0;) {
      const Address key = masked(address, length);
      if (address.family == Family::ipv6) {
        if (!view_.lengths_v6[Side::allow].has(length)) continue;
        const table::KeyV6 key6 = table::KeyV6::load(key.bytes.data());
        const KeyHash h = view_.hash(key6, length);
        visit(h, view_.v6[Side::allow].find(key6, length, h));
      } else if (length > table::short_length_max &&
                 (view_.lengths_v4[Side::allow].cell(address.wire()) & table::length_bit(length)) != 0) {
        const KeyHash h = view_.hash(key.wire(), length);
        visit(h, view_.v4[Side::allow].find(key.wire(), length, h));
      }
    }
  }

  // Overlay if the key is there or the table is full; else the table.
  template <class Line>
  [[nodiscard]] Change store(const SideView<Line> &view, SideWriter<Line> &writer,
                             const typename Line::Key &key, std::uint32_t value, KeyHash h, Wait wait) {
    const unsigned length = table::value::length_of(value);
    if (!view.overlay.empty() && view.overlay.find(key, length, h) != 0)
      return put_into_overlay(writer, key, value, h) ? Change::overlay : Change::needs_rebuild;
    if (writer.front != nullptr) filter::SplitBlockBloom::insert(writer.front, writer.front_blocks, h);
    const Put<Line> put = view.chain.in_force()
                              ? put_where_led(writer, view.chain.predict(h), key, value, h, wait)
                              : put_anywhere(writer, key, value, h, wait);
    if (put == Put<Line>::waits) return Change::waits;
    if (put != Put<Line>::full) return Change::in_place;
    return put_into_overlay(writer, key, value, h) ? Change::overlay : Change::needs_rebuild;
  }

  template <class Line>
  [[nodiscard]] Change remove(const SideView<Line> &view, SideWriter<Line> &writer,
                              const typename Line::Key &key, unsigned length, KeyHash h) {
    if (!view.overlay.empty() && view.overlay.find(key, length, h) != 0) {
      (void)writer.table.erase(key, length, h);
      return put_into_overlay(writer, key, table::make_tombstone(length), h) ? Change::overlay
                                                                             : Change::needs_rebuild;
    }
    return writer.table.erase(key, length, h) ? Change::in_place : Change::unchanged;
  }

  // Before a host of the deny side is in a table. False: its readers have to find it in the overlay.
  [[nodiscard]] bool enter_deny_filter(KeyHash h) {
    return view_.deny_filter.contains(h) || deny_filter_.insert(h);
  }

  // store() for a side whose hosts are in the stack.
  template <class Line>
  [[nodiscard]] Change store_host(const SideView<Line> &view, SideWriter<Line> &writer,
                                  const typename Line::Key &key, std::uint32_t value, KeyHash h, Wait wait) {
    const bool entered = enter_deny_filter(h);
    if (entered && !view_.deny_filter.judges()) return store(view, writer, key, value, h, wait);
    const bool judged = entered && !view_.deny_filter.spares(key);
    if (judged && (view.overlay.empty() || view.overlay.find(key, table::value::length_of(value), h) == 0))
      return Change::in_place;
    return put_into_overlay(writer, key, value, h) ? Change::overlay : Change::needs_rebuild;
  }

  template <class Line>
  [[nodiscard]] bool put_into_overlay(SideWriter<Line> &writer, const typename Line::Key &key,
                                      std::uint32_t value, KeyHash h) {
    return writer.overlay.put(key, value, h, *grace_);
  }
  template <class Line>
  [[nodiscard]] Change deny_no_more(SideWriter<Line> &writer, const typename Line::Key &key, KeyHash h) {
    const std::uint32_t tombstone = table::make_tombstone(address_bits(Line::family));
    return put_into_overlay(writer, key, tombstone, h) ? Change::overlay : Change::needs_rebuild;
  }
  template <class Line>
  [[nodiscard]] Change relieve(const SideView<Line> &view, SideWriter<Line> &writer,
                               const typename Line::Key &key, KeyHash h, unsigned &may_displace) {
    const bool said = !view.overlay.empty() && view.overlay.find(key, address_bits(Line::family), h) != 0;
    if (said || view_.deny_filter.judge<Line>(key, h) == 0) return Change::unchanged;
    const std::uint32_t relief = table::make_relief(address_bits(Line::family));
    const bool has_place =
        writer.overlay.reliefs() < writer.overlay.reliefs_max() && writer.overlay.has_free_place(h);
    if (has_place) return put_into_overlay(writer, key, relief, h) ? Change::overlay : Change::needs_rebuild;
    if (may_displace == 0) return Change::needs_rebuild;
    --may_displace;
    return writer.overlay.put_over_relief(key, relief, h, *grace_) ? Change::overlay : Change::needs_rebuild;
  }

  // What a worker will find for (key, length) of a side becomes `value`; 0: nothing.
  template <class Line>
  [[nodiscard]] Change put(Side on, const typename Line::Key &key, unsigned length, std::uint32_t value,
                           KeyHash h, Wait wait) {
    const auto [view, writer] = side<Line>(on);
    const bool in_deny_filter =
        on == Side::deny && length == address_bits(Line::family) && !view_.deny_filter.empty();
    if (value != 0)
      return in_deny_filter ? store_host(*view, *writer, key, value, h, wait)
                            : store(*view, *writer, key, value, h, wait);
    return in_deny_filter && view_.deny_filter.judges() ? deny_no_more(*writer, key, h)
                                                        : remove(*view, *writer, key, length, h);
  }
  template <class Line> [[nodiscard]] auto side(Side on) noexcept {
    if constexpr (Line::family == Family::ipv4)
      return std::pair(&view_.v4[on], &v4_[on]);
    else
      return std::pair(&view_.v6[on], &v6_[on]);
  }

  // Around what puts a key into a table of a side or takes it out, for keys that workers ask a table for.
  // `had`: it is there now.
  [[nodiscard]] Change behind_filter(Side on, KeyHash h, bool had, bool will_have, Wait wait,
                                     const auto &change) {
    const bool counts = on == Side::allow && had != will_have;
    if (counts && will_have)
      if (const Change hindered = enter_allow_filter(h, wait); hindered != Change::in_place) return hindered;
    const Change done = change();
    const bool changed = done == Change::in_place || done == Change::overlay;
    if (counts && changed != will_have) allow_filter_.left(h); // removed, or it did not get in
    return done;
  }

  // in_place: the filter has it; waits or needs_rebuild: it has not, and nothing else may.
  [[nodiscard]] Change enter_allow_filter(KeyHash h, Wait wait) {
    constexpr unsigned rounds_max = 64; // each brings room one step nearer
    AllowFilterWriter::Entering entering = allow_filter_.entering(h);
    if (entering == AllowFilterWriter::Entering::waits && wait == Wait::never) return Change::waits;
    for (unsigned round = 0; entering == AllowFilterWriter::Entering::waits && round < rounds_max; ++round) {
      (*grace_)();
      grace_passed();
      entering = allow_filter_.entering(h);
    }
    return entering == AllowFilterWriter::Entering::in ? Change::in_place : Change::needs_rebuild;
  }

  // When too many keys wait to leave the filter.
  void let_keys_leave() {
    if (allow_filter_.waiting() < AllowFilterWriter::waiting_many) return;
    (*grace_)();
    grace_passed();
  }

  [[nodiscard]] Change apply_v6(const Delta &d, Wait wait) {
    const Side on = d.side;
    const table::KeyV6 key = table::KeyV6::load(d.address.data());
    const KeyHash h = view_.hash(key, d.length);
    const std::uint32_t now = view_.find<table::LineV6>(on, key, d.length, h);
    if (d.op == DeltaOp::unset) {
      if (now == 0) return Change::unchanged;
      return behind_filter(on, h, true, false, wait,
                           [&] { return put<table::LineV6>(on, key, d.length, 0, h, wait); });
    }
    const std::uint32_t value = table::value::make(d.list, d.length);
    if (now == value) return Change::unchanged;
    auto &word = const_cast<std::uint64_t &>(view_.lengths_v6[on].in_use[d.length / 64]);
    table::write_release(word, word | std::uint64_t{1} << (d.length % 64));
    return behind_filter(on, h, now != 0, true, wait,
                         [&] { return put<table::LineV6>(on, key, d.length, value, h, wait); });
  }

  [[nodiscard]] Change apply_v4(const Delta &d, Wait wait) {
    const Side on = d.side;
    const std::uint32_t wire = load_unaligned<std::uint32_t>(d.address.data());
    const std::uint32_t value = d.op == DeltaOp::set ? table::value::make(d.list, d.length) : 0;
    if (d.length == 0) return set_default(on, value);
    const KeyHash h = view_.hash(wire, d.length);
    const std::uint32_t now = view_.find<table::LineV4>(on, wire, d.length, h);
    if (now == value) return Change::unchanged;
    const bool is_short = d.length <= table::short_length_max; // workers find it in the length map
    if (value == 0) {
      if (is_short) {
        uncover(on, wire, d.length);
        return remove(view_.v4[on], v4_[on], wire, d.length, h);
      }
      if (d.length != 32) note_length(on, wire, d.length); // a filter's word alone is no host below the cell
      return behind_filter(on, h, true, false, wait,
                           [&] { return put<table::LineV4>(on, wire, d.length, 0, h, wait); });
    }
    mark_in_use(on, d.length);
    if (!is_short) {
      return behind_filter(on, h, now != 0, true, wait, [&] {
        note_length(on, wire, d.length);
        return put<table::LineV4>(on, wire, d.length, value, h, wait);
      });
    }
    const Change done = store(view_.v4[on], v4_[on], wire, value, h, wait);
    if (done != Change::needs_rebuild && done != Change::waits) cover(on, wire, value);
    return done;
  }

  [[nodiscard]] Change set_default(Side on, std::uint32_t value) {
    auto &slot = const_cast<std::uint32_t &>(*view_.lengths_v4[on].default_value);
    if (slot == value) return Change::unchanged;
    table::write_release(slot, value);
    return Change::in_place;
  }

  void mark_in_use(Side on, unsigned length) noexcept {
    auto &lengths = const_cast<std::uint32_t &>(*view_.lengths_v4[on].in_use);
    table::write_release(lengths, lengths | table::in_use_bit(length));
  }
  void write_cell(Side on, std::size_t c, std::uint64_t cell) const noexcept {
    const table::LengthMapV4 &map = view_.lengths_v4[on];
    table::write_cell(const_cast<std::uint64_t *>(map.cells), const_cast<std::uint32_t *>(map.signs), c,
                      cell);
  }

  // Of a prefix of 17 to 32 bits that is about to change.
  void note_length(Side on, std::uint32_t wire, unsigned length) const noexcept {
    const std::uint64_t cell = view_.lengths_v4[on].cell(wire);
    const std::uint64_t others = length == 32 ? cell : table::without_lone(cell);
    write_cell(on, table::LengthMapV4::index(wire), others | table::length_bit(length));
  }

  // Every cell below a short prefix, in turn.
  template <class Visit> void below(Side on, std::uint32_t wire, unsigned length, Visit visit) const {
    const std::size_t first = table::LengthMapV4::index(wire);
    for (std::size_t c = first; c < first + (1u << (table::short_length_max - length)); ++c) {
      const std::uint64_t cell = view_.lengths_v4[on].cells[c];
      write_cell(on, c, table::with_short(cell, visit(table::short_value(cell))));
    }
  }

  void cover(Side on, std::uint32_t wire, std::uint32_t value) {
    const unsigned length = table::value::length_of(value);
    below(on, wire, length, [=](std::uint32_t now) {
      return now == 0 || table::value::length_of(now) <= length ? value : now;
    });
  }

  void uncover(Side on, std::uint32_t wire, unsigned length) {
    std::uint32_t next = 0;
    for (unsigned l = length - 1; l > 0 && next == 0; --l) {
      const std::uint32_t key = wire & wire_mask_v4(l);
      next = view_.v4[on].find(key, l, view_.hash(key, l));
    }
    below(on, wire, length,
          [=](std::uint32_t now) { return now != 0 && table::value::length_of(now) == length ? next : now; });
  }

  // The lines a delta will need, on their way before it is their turn.
  void prefetch(const Delta &d) const noexcept {
    const Side on = d.side;
    if (d.family == Family::ipv4) {
      const std::uint32_t wire = load_unaligned<std::uint32_t>(d.address.data());
      __builtin_prefetch(&view_.v4[on].table.line1(view_.hash(wire, d.length)), 1);
      __builtin_prefetch(&view_.lengths_v4[on].cells[table::LengthMapV4::index(wire)], 1);
    } else {
      const table::KeyV6 key = table::KeyV6::load(d.address.data());
      __builtin_prefetch(&view_.v6[on].table.line1(view_.hash(key, d.length)), 1);
    }
  }

  ImageView view_;
  std::shared_ptr<Grace> grace_;
  PerSide<SideWriter<table::LineV4>> v4_;
  PerSide<SideWriter<table::LineV6>> v6_;
  AllowFilterWriter allow_filter_;
  DenyFilterWriter deny_filter_;
};

// Deltas that wait are kept in order. A later one for the same prefix must not overtake them, so it
// makes the whole batch wait first; prefixes are told apart by their bytes, and a false alarm is only
// a grace period too many.
inline ImageWriter::BatchDone ImageWriter::apply_batch(std::span<const Delta> deltas) {
  BatchDone done = apply_in_turn(deltas);
  let_keys_leave();
  done.filter_saturated = allow_filter_.is_saturated();
  done.stack_saturated = deny_filter_.is_saturated();
  return done;
}

inline ImageWriter::BatchDone ImageWriter::apply_in_turn(std::span<const Delta> deltas) {
  constexpr std::size_t ahead = 12;
  constexpr std::size_t waiting_max = 128; // so that one that finds no room is not far behind the others
  constexpr unsigned rounds_max = 16;      // of waiting together; what is left after that waits alone
  BatchDone done;
  std::vector<std::size_t> waiting;
  std::unordered_set<std::uint64_t> waiting_prefixes;
  const auto name_of_prefix = [&](const Delta &d) {
    return hash_v6(d.address.data(), std::uint64_t{d.length} << 16 | static_cast<unsigned>(d.side) << 8 |
                                         static_cast<unsigned>(d.family))
        .bits;
  };
  const auto take = [&](std::size_t i, Wait wait) {
    const Change change = apply_one(deltas[i], wait);
    if (change == Change::overlay) ++done.in_overlay;
    return change;
  };
  // False: `applied` is the first that found no room.
  const auto settle = [&] {
    for (unsigned round = 1; !waiting.empty(); ++round) {
      (*grace_)();
      grace_passed();
      std::vector<std::size_t> again;
      for (const std::size_t i : waiting) {
        const Change change = take(i, round < rounds_max ? Wait::never : Wait::here);
        if (change == Change::waits) again.push_back(i);
        if (change != Change::needs_rebuild) continue;
        done.applied = again.empty() ? i : again.front();
        return false;
      }
      waiting.swap(again);
    }
    waiting_prefixes.clear();
    return true;
  };
  for (std::size_t i = 0; i < deltas.size(); ++i) {
    if (i + ahead < deltas.size()) prefetch(deltas[i + ahead]);
    const bool now = waiting.size() >= waiting_max ||
                     (!waiting.empty() && waiting_prefixes.contains(name_of_prefix(deltas[i])));
    if (now && !settle()) {
      done.needs_rebuild = true;
      return done;
    }
    const Change change = take(i, Wait::never);
    if (change == Change::waits) {
      waiting.push_back(i);
      waiting_prefixes.insert(name_of_prefix(deltas[i]));
    } else if (change == Change::needs_rebuild) {
      done.needs_rebuild = true;
      if (settle()) done.applied = i;
      return done;
    }
  }
  if (settle())
    done.applied = deltas.size();
  else
    done.needs_rebuild = true;
  return done;
}

} // namespace weir::image
