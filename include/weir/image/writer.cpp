#include "weir/image/writer.hpp"

#include "weir/image/allow_filter_writer.hpp"
#include "weir/image/deny_filter_writer.hpp"
#include "weir/image/length_writer.hpp"
#include "weir/image/prefix_writer.hpp"
#include "weir/image/side_writer.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

namespace weir::image {
namespace {

Result<DenyFilterWriter> open_deny_filter_writer(MutableBytes image, const ImageView &view) {
  if (view.deny_filter.empty()) return DenyFilterWriter{};
  const MutableBytes section = section_of(image, view, section_of(view.deny_filter.role()));
  return DenyFilterWriter::adopt(section, view.deny_filter);
}

// Of the sides whose prefixes stand in range maps.
struct PrefixWriters {
  PerSide<std::optional<PrefixWriterV4>> v4;
  PerSide<std::optional<PrefixWriterV6>> v6;
};
Result<PrefixWriters> open_prefix_writers(MutableBytes image, const ImageView &view) {
  PrefixWriters out;
  for (const Side side : both_sides) {
    const auto at = [&](Family family) {
      return section_of(image, view, kind_of(SectionKind::deny_v4_ranges, side, family));
    };
    if (const auto &map = view.ranges_v4[side]; !map.empty())
      out.v4[side] = TRY(PrefixWriterV4::adopt(at(Family::ipv4), map));
    if (const auto &map = view.ranges_v6[side]; !map.empty())
      out.v6[side] = TRY(PrefixWriterV6::adopt(at(Family::ipv6), map));
  }
  return out;
}

} // namespace

class ImageWriter::Parts {
public:
  Parts(const ImageView &view, AllowFilterWriter allow_filter, DenyFilterWriter deny_filter,
        PrefixWriters prefixes, Grace grace)
      : prefixes_(std::move(prefixes)), view_(view), grace_(std::make_shared<Grace>(std::move(grace))),
        allow_filter_(std::move(allow_filter)), deny_filter_(std::move(deny_filter)) {
    const auto seeds = std::make_shared<Seeds>();
    std::ranges::copy(view.seeds_v6, seeds->begin());
    const auto rehash = [seeds, family = view.family](const auto &key, unsigned length) {
      return table::hash_of(key, (*seeds)[length], family);
    };
    for (const Side side : both_sides) {
      v4_[side] = SideWriter<table::LineV4>(view.v4[side], rehash, grace_);
      v6_[side] = SideWriter<table::LineV6>(view.v6[side], rehash, grace_);
      lengths_v4_[side] = LengthWriterV4(view.lengths_v4[side]);
    }
  }

  [[nodiscard]] const ImageView &view() const noexcept { return view_; }
  [[nodiscard]] const AllowFilterWriter &allow_filter() const noexcept { return allow_filter_; }
  [[nodiscard]] const DenyFilterWriter &deny_filter() const noexcept { return deny_filter_; }

  [[nodiscard]] Change apply(const Delta &delta, Wait wait) {
    return delta.family == Family::ipv4 ? apply_v4(delta, wait) : apply_v6(delta, wait);
  }

  // Deltas that wait are kept in order. A later one for the same prefix must not overtake them, so it
  // makes the whole batch wait first; prefixes are told apart by their bytes, and a false alarm is only
  // a grace period too many.
  [[nodiscard]] BatchDone apply_in_turn(std::span<const Delta> deltas);

  // When too many keys wait to leave the filter of the allow side.
  void let_keys_leave() {
    if (allow_filter_.waiting() >= AllowFilterWriter::waiting_many) pass_grace();
  }

  void give_up_exactness(Side side) {
    bool fell = false;
    for (const table::ChainedPredictor *chain : {&view_.v4[side].chain, &view_.v6[side].chain}) {
      if (!chain->in_force()) continue;
      table::write_release(const_cast<std::uint32_t &>(*chain->exact_flag()), 0u);
      fell = true;
    }
    if (fell) (*grace_)(); // who began with the chain has ended before any key leaves its predicted line
  }

  filter::Learned learn(const Address &address) {
    filter::Learned all;
    for_each_length_asked(address, [&](KeyHash h, std::uint32_t value) {
      if (value != 0) return;
      const filter::Learned one = allow_filter_.learn(h);
      all.sealed += one.sealed;
      all.waiting += one.waiting;
      all.refused += one.refused;
    });
    return all;
  }

  template <class Line> [[nodiscard]] Change relieve(const typename Line::Key &key, unsigned &may_displace) {
    const unsigned length = address_bits(Line::family);
    const KeyHash h = view_.hash(key, length);
    SideWriter<Line> &writer = side<Line>(Side::deny);
    if (writer.in_overlay(key, length, h) || view_.deny_filter.judge<Line>(key, h) == 0)
      return Change::unchanged;
    return writer.relieve(key, h, may_displace);
  }

  [[nodiscard]] MapLoad map_load() const noexcept {
    const auto &prefixes = prefixes_.v4[Side::deny];
    if (!prefixes || !hosts_join<table::LineV4>(*prefixes, Side::deny)) return {0, 0, hosts_beside_};
    return {prefixes->map().header().lines, prefixes->free_lines(), hosts_beside_};
  }

  // Lines of range maps that nobody will read once a grace period has passed.
  [[nodiscard]] bool waits_for_lines() const noexcept {
    for (const Side side : both_sides)
      if ((prefixes_.v4[side] && prefixes_.v4[side]->waits_for_grace()) ||
          (prefixes_.v6[side] && prefixes_.v6[side]->waits_for_grace()))
        return true;
    return false;
  }

  void grace_passed() {
    for (const Side side : both_sides) {
      v4_[side].grace_passed();
      v6_[side].grace_passed();
      if (auto &prefixes = prefixes_.v4[side]) prefixes->grace_passed();
      if (auto &prefixes = prefixes_.v6[side]) prefixes->grace_passed();
    }
    allow_filter_.grace_passed();
  }

private:
  using Seeds = std::array<std::uint64_t, 129>; // of every length, those of IPv4 among them

  void pass_grace() {
    (*grace_)();
    grace_passed();
  }

  template <class Line> [[nodiscard]] SideWriter<Line> &side(Side on) noexcept {
    if constexpr (Line::family == Family::ipv4)
      return v4_[on];
    else
      return v6_[on];
  }

  // Calls visit(hash, value) for each length at which a worker asks the allow tables about this address.
  void for_each_length_asked(const Address &address, const auto &visit) const {
    if (address.family == Family::ipv4 ? prefixes_.v4[Side::allow].has_value()
                                       : prefixes_.v6[Side::allow].has_value())
      return visit_host(address, visit); // no table is asked about prefixes
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

  void visit_host(const Address &address, const auto &visit) const {
    if (address.family == Family::ipv6) {
      const table::KeyV6 key = table::KeyV6::load(address.bytes.data());
      const KeyHash h = view_.hash(key, 128);
      visit(h, view_.v6[Side::allow].find(key, 128, h));
    } else if ((view_.ranges_v4[Side::allow].in_use() & table::range_hosts) !=
               0) { // signs are not always asked
      const KeyHash h = view_.hash(address.wire(), 32);
      visit(h, view_.v4[Side::allow].find(address.wire(), 32, h));
    }
  }

  // What a worker will find for (key, length) of a side becomes `value`; 0: nothing.
  template <class Line>
  [[nodiscard]] Change put(Side on, const typename Line::Key &key, unsigned length, std::uint32_t value,
                           KeyHash h, Wait wait) {
    SideWriter<Line> &writer = side<Line>(on);
    const bool filtered =
        on == Side::deny && length == address_bits(Line::family) && !view_.deny_filter.empty();
    if (value != 0)
      return filtered ? store_host(writer, key, value, h, wait) : writer.store(key, value, h, wait);
    return filtered && view_.deny_filter.judges()
               ? writer.store_in_overlay(key, table::make_tombstone(length), h)
               : writer.remove(key, length, h);
  }

  // A denied host that the filter of denied hosts takes before any table does. Where that filter takes
  // nothing more, readers have to find the host in the overlay; and where a class map would name another list, they
  // do as long as there is room: beyond that the host is denied under that other name.
  template <class Line>
  [[nodiscard]] Change store_host(SideWriter<Line> &writer, const typename Line::Key &key,
                                  std::uint32_t value, KeyHash h, Wait wait) {
    if (view_.deny_filter.judges() && !view_.class_map.empty() &&
        view_.class_map.list_of(h) != table::value::list_of(value))
      if (const Change named = writer.store_in_overlay(key, value, h); named != Change::needs_rebuild)
        return named;
    const bool entered = view_.deny_filter.contains(h) || deny_filter_.insert(h);
    if (entered && !view_.deny_filter.judges()) return writer.store(key, value, h, wait);
    const bool judged = entered && !view_.deny_filter.spares(key);
    if (judged && !writer.in_overlay(key, table::value::length_of(value), h)) return Change::in_place;
    return writer.store_in_overlay(key, value, h);
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
      pass_grace();
      entering = allow_filter_.entering(h);
    }
    return entering == AllowFilterWriter::Entering::in ? Change::in_place : Change::needs_rebuild;
  }

  // Hosts that come are to stand in the map where no filter stands before the tables.
  template <class Line> [[nodiscard]] bool hosts_join(const auto &prefixes, Side on) const noexcept {
    return on == Side::deny && view_.deny_filter.empty() && view_.sides<Line>()[on].front.empty() &&
           prefixes.hosts_join();
  }

  // Of a side whose table has hosts alone.
  template <class Line, class Prefixes>
  [[nodiscard]] Change apply_host(Prefixes &prefixes, Side on, const typename Line::Key &key,
                                  const auto &first, std::uint32_t value, Wait wait) {
    const unsigned length = address_bits(Line::family);
    const KeyHash h = view_.hash(key, length);
    const std::uint32_t now = view_.find<Line>(on, key, length, h);
    const std::uint32_t in_map = prefixes.find_host(first); // answers where the table does not
    if ((now != 0 ? now : in_map) == value) return Change::unchanged;
    if (value == 0 && in_map != 0) {
      const Change gone = apply_prefix(prefixes, first, length, 0, wait);
      if (now == 0 || gone == Change::waits || gone == Change::needs_rebuild) return gone;
    }
    if (value != 0 && now == 0 && (in_map != 0 || hosts_join<Line>(prefixes, on))) {
      const Change put = prefixes.has_room_for_host(first)
                             ? apply_prefix(prefixes, first, length, value, wait)
                             : Change::needs_rebuild;
      if (put != Change::needs_rebuild) return put;
      if (hosts_join<Line>(prefixes, on)) ++hosts_beside_;
    }
    if (value != 0) prefixes.note_host(first); // the table answers before the map
    return behind_filter(on, h, now != 0, value != 0, wait,
                         [&] { return put<Line>(on, key, length, value, h, wait); });
  }
  template <class Prefixes>
  [[nodiscard]] Change apply_prefix(Prefixes &prefixes, const auto &first, unsigned length,
                                    std::uint32_t value, Wait wait) {
    if (prefixes.find(first, length) == value) return Change::unchanged;
    const Change change = prefixes.put(first, length, value);
    if (change != Change::waits || wait == Wait::never) return change;
    pass_grace();
    const Change again = prefixes.put(first, length, value);
    return again == Change::waits ? Change::needs_rebuild : again;
  }

  [[nodiscard]] Change apply_v6(const Delta &d, Wait wait) {
    const Side on = d.side;
    const table::KeyV6 key = table::KeyV6::load(d.address.data());
    if (auto &prefixes = prefixes_.v6[on]) {
      const std::uint32_t wanted = d.op == DeltaOp::set ? table::value::make(d.list, d.length) : 0;
      const table::AddressV6 first = table::address_of(key);
      return d.length == 128 ? apply_host<table::LineV6>(*prefixes, on, key, first, wanted, wait)
                             : apply_prefix(*prefixes, first, d.length, wanted, wait);
    }
    const KeyHash h = view_.hash(key, d.length);
    const std::uint32_t now = view_.find<table::LineV6>(on, key, d.length, h);
    const std::uint32_t value = d.op == DeltaOp::set ? table::value::make(d.list, d.length) : 0;
    if (now == value) return Change::unchanged;
    if (value != 0) {
      auto &word = const_cast<std::uint64_t &>(view_.lengths_v6[on].in_use[d.length / 64]);
      table::write_release(word, word | std::uint64_t{1} << (d.length % 64));
    }
    return behind_filter(on, h, now != 0, value != 0, wait,
                         [&] { return put<table::LineV6>(on, key, d.length, value, h, wait); });
  }

  [[nodiscard]] Change apply_v4(const Delta &d, Wait wait) {
    const Side on = d.side;
    const LengthWriterV4 &lengths = lengths_v4_[on];
    const std::uint32_t wire = load_unaligned<std::uint32_t>(d.address.data());
    const std::uint32_t value = d.op == DeltaOp::set ? table::value::make(d.list, d.length) : 0;
    if (auto &prefixes = prefixes_.v4[on])
      return d.length == 32 ? apply_host<table::LineV4>(*prefixes, on, wire, byteswap32(wire), value, wait)
                            : apply_prefix(*prefixes, byteswap32(wire), d.length, value, wait);
    if (d.length == 0) return lengths.set_default(value) ? Change::in_place : Change::unchanged;
    const KeyHash h = view_.hash(wire, d.length);
    const std::uint32_t now = view_.find<table::LineV4>(on, wire, d.length, h);
    if (now == value) return Change::unchanged;
    if (d.length <= table::short_length_max) return apply_short(on, wire, d.length, value, h, wait);
    if (value != 0) {
      lengths.mark_in_use(d.length);
      return behind_filter(on, h, now != 0, true, wait, [&] {
        lengths.note_length(wire, d.length);
        return put<table::LineV4>(on, wire, d.length, value, h, wait);
      });
    }
    if (d.length != 32)
      lengths.note_length(wire, d.length); // a filter's word alone is no host below the cell
    return behind_filter(on, h, true, false, wait,
                         [&] { return put<table::LineV4>(on, wire, d.length, 0, h, wait); });
  }

  // Workers find it in the length map.
  [[nodiscard]] Change apply_short(Side on, std::uint32_t wire, unsigned length, std::uint32_t value,
                                   KeyHash h, Wait wait) {
    const LengthWriterV4 &lengths = lengths_v4_[on];
    if (value == 0) {
      lengths.uncover(wire, length, next_shorter(on, wire, length));
      return v4_[on].remove(wire, length, h);
    }
    lengths.mark_in_use(length);
    const Change done = v4_[on].store(wire, value, h, wait);
    if (done != Change::needs_rebuild && done != Change::waits) lengths.cover(wire, value);
    return done;
  }
  [[nodiscard]] std::uint32_t next_shorter(Side on, std::uint32_t wire, unsigned length) const noexcept {
    std::uint32_t next = 0;
    for (unsigned l = length - 1; l > 0 && next == 0; --l) {
      const std::uint32_t key = wire & wire_mask_v4(l);
      next = view_.v4[on].find(key, l, view_.hash(key, l));
    }
    return next;
  }

  // The lines a delta will need, on their way before it is their turn.
  void prefetch(const Delta &d) const noexcept {
    const Side on = d.side;
    if (d.family == Family::ipv4) {
      const std::uint32_t wire = load_unaligned<std::uint32_t>(d.address.data());
      if (const table::WordTableView &words = view_.v4[on].words; !words.empty())
        __builtin_prefetch(&words.lines[words.spot(wire).line], 1);
      else
        __builtin_prefetch(&view_.v4[on].table.line1(view_.hash(wire, d.length)), 1);
      if (const auto *cells = view_.lengths_v4[on].cells)
        __builtin_prefetch(&cells[table::LengthMapV4::index(wire)], 1);
      if (const table::RangeMapV4 &map = view_.ranges_v4[on]; !map.empty())
        __builtin_prefetch(map.entrance(wire), 1);
    } else {
      const table::KeyV6 key = table::KeyV6::load(d.address.data());
      __builtin_prefetch(&view_.v6[on].table.line1(view_.hash(key, d.length)), 1);
    }
  }

  // Nearer to its turn: lines of the /16, of which all are read. They stand side by side.
  void prefetch_ranges(const Delta &d) const noexcept {
    constexpr unsigned lines = 8;
    const table::RangeMapV4 &map = view_.ranges_v4[d.side];
    if (d.family != Family::ipv4 || map.empty()) return;
    const std::uint64_t cell = *map.entrance(load_unaligned<std::uint32_t>(d.address.data()));
    for (unsigned i = 0; i < lines; ++i)
      __builtin_prefetch(map.lines() + static_cast<std::uint32_t>(cell) + i, 0);
  }

  PrefixWriters prefixes_;
  std::uint64_t hosts_beside_ = 0; // that came when their map had no room
  ImageView view_;
  std::shared_ptr<Grace> grace_;
  PerSide<SideWriter<table::LineV4>> v4_;
  PerSide<SideWriter<table::LineV6>> v6_;
  PerSide<LengthWriterV4> lengths_v4_;
  AllowFilterWriter allow_filter_;
  DenyFilterWriter deny_filter_;
};

ImageWriter::BatchDone ImageWriter::Parts::apply_in_turn(std::span<const Delta> deltas) {
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
    const Change change = apply(deltas[i], wait);
    if (change == Change::overlay) ++done.in_overlay;
    return change;
  };
  // False: `applied` is the first that found no room.
  const auto settle = [&] {
    for (unsigned round = 1; !waiting.empty(); ++round) {
      pass_grace();
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
    if (i + ahead / 4 < deltas.size()) prefetch_ranges(deltas[i + ahead / 4]);
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

Result<ImageWriter> ImageWriter::attach(MutableBytes image, Grace grace, Check check,
                                        std::span<const AllowFilterOps> allow_kinds) {
  const auto view = TRY(image::attach(image, check, allow_kinds));
  auto allow_filter = TRY(open_allow_filter(image, view));
  auto deny_filter = TRY(open_deny_filter_writer(image, view));
  auto prefixes = TRY(open_prefix_writers(image, view));
  return ImageWriter(std::make_unique<Parts>(view, std::move(allow_filter), std::move(deny_filter),
                                             std::move(prefixes), std::move(grace)));
}

ImageWriter::ImageWriter(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
ImageWriter::ImageWriter(ImageWriter &&) noexcept = default;
ImageWriter &ImageWriter::operator=(ImageWriter &&) noexcept = default;
ImageWriter::~ImageWriter() = default;

const ImageView &ImageWriter::view() const noexcept { return parts_->view(); }

Change ImageWriter::apply(const Delta &delta) {
  const Change change = parts_->apply(delta, Wait::here);
  parts_->let_keys_leave();
  return change;
}

ImageWriter::BatchDone ImageWriter::apply_batch(std::span<const Delta> deltas) {
  BatchDone done = parts_->apply_in_turn(deltas);
  parts_->let_keys_leave();
  done.filter_saturated = parts_->allow_filter().is_saturated();
  done.stack_saturated = parts_->deny_filter().is_saturated();
  done.map_saturated = parts_->map_load().saturated();
  return done;
}

void ImageWriter::give_up_exactness(Side side) { parts_->give_up_exactness(side); }

filter::Learned ImageWriter::learn(const Address &address) { return parts_->learn(address); }

Change ImageWriter::relieve(const Address &host, unsigned &may_displace) {
  if (!view().judges_hosts(Side::deny)) return Change::unchanged;
  if (host.family == Family::ipv4) return parts_->relieve<table::LineV4>(host.wire(), may_displace);
  return parts_->relieve<table::LineV6>(table::KeyV6::load(host.bytes.data()), may_displace);
}

Change ImageWriter::relieve(const Address &host) {
  unsigned any_number = ~0u;
  return relieve(host, any_number);
}

void ImageWriter::grace_passed() { parts_->grace_passed(); }

bool ImageWriter::waits_for_grace() const noexcept {
  return parts_->allow_filter().waits_for_grace() || parts_->waits_for_lines();
}

ImageWriter::MapLoad ImageWriter::map_load() const noexcept { return parts_->map_load(); }
const AllowFilterWriter &ImageWriter::allow_filter() const noexcept { return parts_->allow_filter(); }
const DenyFilterWriter &ImageWriter::deny_filter() const noexcept { return parts_->deny_filter(); }

} // namespace weir::image
