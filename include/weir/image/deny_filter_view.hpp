// Denied hosts as a stacked filter, as a reader sees them [Stacked]: section deny_front or deny_judge.
//
// The keys are hashes as the tables have them: of an IPv4 address at /32, of an IPv6 address at /128; one
// filter serves both families. It never rejects a host that is in it, and accepts others at the rates that
// planned() tells. Two roles, by the section:
//
//   front   before the tables of the deny side: what it rejects no table has
//   judge   compact mode: what it accepts is denied, under the list number `compact_list`, unless the address
//           lies in a spared range. The overlay is asked before it and has the last word
//
// Odd layers are of one base filter, even ones of the same or another (filter/any.hpp). The kernels of a
// burst ask split-block Bloom filters; split-block and plain Bloom filters take additions in place. A chained filter
// (filter/chained_filter.hpp) stands as the only layer, and knows its negatives by itself.
//
// Cost: one line for most absent hosts, two for most present ones. Errors of attach(): bad_image, and why.
#pragma once

#include "weir/filter/any.hpp"
#include "weir/filter/bloom.hpp"
#include "weir/filter/chained_filter.hpp"
#include "weir/filter/split_block_filter.hpp"
#include "weir/filter/stacked_view.hpp"
#include "weir/image/layout.hpp"
#include "weir/table/line.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <type_traits>

namespace weir::image {

// The parts of a section; the stack itself is not looked into.
template <class Byte> struct OpenDenyFilter {
  const DenyFilterHeader *header = nullptr;
  std::span<const SparedV4> spared_v4;
  std::span<const SparedV6> spared_v6;
  std::span<Byte> stack;
};

template <class Range> [[nodiscard]] bool ranges_ascend(std::span<const Range> ranges) noexcept {
  for (std::size_t i = 0; i < ranges.size(); ++i)
    if (ranges[i].last < ranges[i].first || (i > 0 && ranges[i].first <= ranges[i - 1].last)) return false;
  return true;
}

template <class Byte> [[nodiscard]] Result<OpenDenyFilter<Byte>> open_deny_filter(std::span<Byte> section) {
  const auto bad = [](const char *why) { return fail(Errc::bad_image, std::string(why)); };
  OpenDenyFilter<Byte> open;
  if (section.size() < sizeof(DenyFilterHeader)) return bad("too short");
  const auto &h = *reinterpret_cast<const DenyFilterHeader *>(section.data());
  if (h.reserved0 != 0 || h.reserved != decltype(h.reserved){}) return bad("reserved bytes are not zero");
  if (std::max({h.psi, h.efpr, h.efpb}) > stack_rate_max) return bad("a planned rate lies above 1");
  const std::uint64_t begin = deny_filter_offset(h.spared_v4, h.spared_v6);
  if (section.size() < begin) return bad("size does not match its ranges");
  const auto *v4 = reinterpret_cast<const SparedV4 *>(section.data() + sizeof h);
  const auto *v6 = reinterpret_cast<const SparedV6 *>(v4 + h.spared_v4);
  open.spared_v4 = {v4, h.spared_v4};
  open.spared_v6 = {v6, h.spared_v6};
  if (!ranges_ascend(open.spared_v4) || !ranges_ascend(open.spared_v6))
    return bad("its ranges are out of order");
  const std::size_t ranges = sizeof h + open.spared_v4.size_bytes() + open.spared_v6.size_bytes();
  for (std::size_t i = ranges; i < begin; ++i)
    if (section[i] != std::byte{0}) return bad("reserved bytes are not zero");
  open.header = &h;
  open.stack = section.subspan(begin);
  return open;
}

// Is it within one of the ranges?
template <class Range, class Address>
[[nodiscard]] bool lies_in(std::span<const Range> ranges, const Address &address) noexcept {
  const auto next = std::ranges::upper_bound(ranges, address, {}, &Range::first);
  return next != ranges.begin() && !(std::prev(next)->last < address);
}

class DenyFilterView {
public:
  DenyFilterView() = default; // none: do not ask it

  [[nodiscard]] static Result<DenyFilterView> attach(Bytes section, DenyFilterRole role) {
    const auto open = TRY(open_deny_filter(section));
    const auto parts = TRY(filter::open_stack(open.stack));
    if (parts.header.depth > deny_filter_depth_max)
      return fail(Errc::bad_image, std::to_string(parts.header.depth) + " layers, at most " +
                                       std::to_string(deny_filter_depth_max));
    if (parts.header.depth % 2 == 0)
      return fail(Errc::bad_image,
                  "the number of layers is not an odd one: " + std::to_string(parts.header.depth));
    DenyFilterView view;
    view.header_ = open.header;
    view.built_ = parts.header;
    view.bytes_ = section.size();
    view.spared_v4_ = open.spared_v4;
    view.spared_v6_ = open.spared_v6;
    view.role_ = role;
    view.layers_ = TRY(Layers::attach(open.stack));
    if (!of_one_kind(view.layers_.odd()) || !of_one_kind(view.layers_.even()))
      return fail(Errc::bad_image, "odd layers are of different kinds, or even ones are, build it again");
    for (std::size_t i = 0; i < std::min<std::size_t>(view.depth(), view.blocks_.size()); ++i)
      if (const auto *blocks = view.layer(i).as<filter::SplitBlockView>())
        view.blocks_[i] = {blocks->blocks(), blocks->family()};
    return view;
  }

  [[nodiscard]] bool empty() const noexcept { return header_ == nullptr; }
  [[nodiscard]] DenyFilterRole role() const noexcept { return role_; }
  [[nodiscard]] bool judges() const noexcept { return role_ == DenyFilterRole::judge; }
  // Of odd layers, and of even ones; of one layer alone: the same.
  [[nodiscard]] filter::FilterKind kind() const noexcept { return layer(0).kind(); }
  [[nodiscard]] filter::FilterKind kind_below() const noexcept { return layer(depth() > 1 ? 1 : 0).kind(); }
  // Of what it was planned for; in the section, where nothing of it changes.
  [[nodiscard]] const DenyFilterHeader &planned() const noexcept { return *header_; }
  [[nodiscard]] const filter::StackHeader &built() const noexcept { return built_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] unsigned depth() const noexcept { return built_.depth; }
  // For people.
  [[nodiscard]] const char *name() const noexcept {
    return depth() == 1 && filter::is_chained(kind()) ? "chained filter" : "stacked filter";
  }

  [[nodiscard]] bool contains(KeyHash key) const noexcept { return layers_.contains(key); }
  [[nodiscard]] filter::HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return layers_.contains_batch(keys);
  }
  // The answer for a key that layer 1 accepts.
  [[nodiscard]] bool settles(KeyHash key) const noexcept { return layers_.settles(key); }

  // Layers 1 and 2 for the kernels of a burst, with the number that their mixed hashes are made with.
  struct Blocks {
    filter::SplitBlockBloom blocks; // empty(): this layer has no such form, or is not there
    std::uint64_t family = 0;
  };
  [[nodiscard]] const Blocks &first() const noexcept { return blocks_[0]; }
  [[nodiscard]] const Blocks &second() const noexcept { return blocks_[1]; }

  // Layer `i`, counted from 0, where all layers are Bloom filters; else null.
  [[nodiscard]] const filter::BloomView *bloom(unsigned i) const noexcept {
    if (i >= depth() || kind() != filter::FilterKind::bloom || kind_below() != kind()) return nullptr;
    return layer(i).as<filter::BloomView>();
  }

  // Does a rule say that this address is never to be denied by a filter?
  [[nodiscard]] bool spares(std::uint32_t wire) const noexcept {
    return !spared_v4_.empty() && lies_in(spared_v4_, byteswap32(wire));
  }
  [[nodiscard]] bool spares(const table::KeyV6 &key) const noexcept {
    if (spared_v6_.empty()) return false;
    std::array<std::uint8_t, 16> address;
    std::memcpy(address.data(), &key, sizeof key);
    return lies_in(spared_v6_, address);
  }

  // A judge's word about a host: the value that stands for its denial, or 0.
  template <class Line>
  [[nodiscard]] std::uint32_t judge(const typename Line::Key &key, KeyHash h) const noexcept {
    return contains(h) && !spares(key) ? denial<Line> : 0;
  }
  template <class Line>
  static constexpr std::uint32_t denial = table::value::make(compact_list, address_bits(Line::family));

private:
  using Layers = filter::StackedView<filter::AnyFilter>;

  [[nodiscard]] const filter::AnyFilter &layer(std::size_t i) const noexcept {
    return i % 2 == 0 ? layers_.odd()[i / 2] : layers_.even()[i / 2];
  }
  [[nodiscard]] static bool of_one_kind(std::span<const filter::AnyFilter> layers) noexcept {
    return std::ranges::all_of(layers, [&](const auto &layer) { return layer.kind() == layers[0].kind(); });
  }

  const DenyFilterHeader *header_ = nullptr;
  filter::StackHeader built_{};
  std::uint64_t bytes_ = 0; // of the section
  DenyFilterRole role_ = DenyFilterRole::front;
  std::array<Blocks, 2> blocks_;
  std::span<const SparedV4> spared_v4_;
  std::span<const SparedV6> spared_v6_;
  Layers layers_;
};
static_assert(std::is_trivially_copyable_v<DenyFilterView>);

} // namespace weir::image
