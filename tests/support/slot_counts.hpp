// A kind of filter that nobody has heard of, for the place in front of the allow tables: a count of keys for
// each of some slots, 16 bits each. It accepts what a slot counts, and favours no key over another.
//
// This file is all of the kind: a shape, a view, a writer, and parameters to build it of.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/build/allow_filter_params.hpp"
#include "weir/filter/base_filter.hpp"
#include "weir/filter/batch.hpp"
#include "weir/filter/loads.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace weir::test {

struct SlotCountsShape {
  static constexpr auto kind = static_cast<filter::FilterKind>(78);
  std::uint32_t slots = 0;

  [[nodiscard]] std::uint64_t bits() const noexcept { return std::uint64_t{slots} * 16; }
  [[nodiscard]] filter::ShapeWords as_words() const noexcept { return {slots, 0, 0, 0}; }
  [[nodiscard]] static SlotCountsShape of(const filter::ShapeWords &w) noexcept { return {w[0]}; }
  [[nodiscard]] const char *objection() const noexcept { // what makes it impossible, or nothing
    return slots != 0 && slots % 32 == 0 ? nullptr : "slots are not a multiple of 32";
  }
  [[nodiscard]] std::uint64_t slot_of(KeyHash key) const noexcept { return key.bits % slots; }
};

class SlotCountsView {
public:
  using Shape = SlotCountsShape;
  SlotCountsView() = default;
  SlotCountsView(const Shape &shape, const filter::FilterHeader &, const std::byte *cells) noexcept
      : shape_(shape), counts_(reinterpret_cast<const std::uint16_t *>(cells)) {}

  [[nodiscard]] static Result<SlotCountsView> attach(Bytes section) {
    return filter::attach_view<SlotCountsView>(section);
  }
  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    return __atomic_load_n(&counts_[shape_.slot_of(key)], __ATOMIC_ACQUIRE) != 0;
  }
  [[nodiscard]] filter::HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    filter::HitMask hits = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) hits |= filter::HitMask{contains(keys[i])} << i;
    return hits;
  }

private:
  Shape shape_;
  const std::uint16_t *counts_ = nullptr;
};

class SlotCountsWriter {
public:
  [[nodiscard]] static Result<SlotCountsWriter> attach(MutableBytes section) {
    SlotCountsWriter writer;
    writer.shape_ = TRY(filter::open_section<SlotCountsShape>(section)).shape;
    writer.header_ = reinterpret_cast<filter::FilterHeader *>(section.data());
    writer.counts_ = reinterpret_cast<std::uint16_t *>(writer.header_ + 1);
    return writer;
  }
  void insert(KeyHash key) noexcept { add(key, 1); }
  void erase(KeyHash key) noexcept { add(key, -1); }

  struct Load {
    std::uint64_t keys, planned_keys, slots;
    [[nodiscard]] std::array<filter::NamedCount, 1> counts() const noexcept { return {{{"slots", slots}}}; }
  };
  [[nodiscard]] Load load() const noexcept {
    return {__atomic_load_n(&header_->keys, __ATOMIC_RELAXED), header_->planned_keys, shape_.slots};
  }

private:
  SlotCountsWriter() = default;
  void add(KeyHash key, int by) noexcept {
    std::uint16_t &count = counts_[shape_.slot_of(key)];
    __atomic_store_n(&count, static_cast<std::uint16_t>(count + by), __ATOMIC_RELEASE);
    __atomic_store_n(&header_->keys, header_->keys + static_cast<std::uint64_t>(by), __ATOMIC_RELAXED);
  }

  SlotCountsShape shape_;
  filter::FilterHeader *header_ = nullptr;
  std::uint16_t *counts_ = nullptr;
};

struct SlotCountsParams {
  std::uint64_t planned_keys = 0;
  SlotCountsShape shape;

  [[nodiscard]] Result<std::uint64_t> bytes() const {
    if (const char *objection = shape.objection())
      return fail(Errc::usage, std::string("slot counts: ") + objection + ", choose another number");
    return filter::section_bytes(shape);
  }
  [[nodiscard]] HashFamily hash_family() const noexcept { return HashFamily::xxh3; }
  [[nodiscard]] Status build(std::span<const KeyHash> keys, std::span<const KeyHash>,
                             MutableBytes section) const {
    filter::FilterHeader header{};
    header.magic = filter::filter_magic;
    header.kind = static_cast<std::uint32_t>(SlotCountsShape::kind);
    header.shape = shape.as_words();
    header.planned_keys = planned_keys;
    std::memcpy(section.data(), &header, sizeof header);
    auto writer = TRY(SlotCountsWriter::attach(section));
    for (const KeyHash key : keys) writer.insert(key);
    return {};
  }
};

} // namespace weir::test
