// ChainedFilter with `&` as a base filter: a section that is attached, asked and stacked as the others are [Chained Alg. 1,
// §5.2]. Four-wise throughout, the least bits that peeling gives. Two kinds:
//
//   chained_and          section | FilterHeader | first: f bits a slot | second: one bit a slot |
//   chained_and_shared   section | FilterHeader | f + 2 bits a slot |
//
// chained_and.hpp and chained_and_shared.hpp say how they answer. Built for negatives it rejects each of them; of other keys it
// accepts 2^-(f + 1). Without negatives it is a filter like any other, with a bit less than its rate asks for in the
// first stage.
//
//   bits      for k negatives a key: C (f + 1 + k / 2^f); shared C (f + 2), while k is at most 0.85 x 2^f. C is 1.076 from
//             a million keys on
//   rate      2^-(f + 1). Of shared columns that are not full a little less: a slot that no key settles is 0
//   cost      four lines for a key that the first stage rejects, eight for others; shared four
//   changes   none. Any number of readers
//
// The second stage has the seed that follows from the first one's by the number `second_try` of its shape.
#pragma once

#include "weir/filter/chained_and.hpp"
#include "weir/filter/chained_and_shared.hpp"

namespace weir::filter {

[[nodiscard]] constexpr bool is_chained(FilterKind kind) noexcept {
  return kind == FilterKind::chained_and || kind == FilterKind::chained_and_shared;
}

struct ChainedFilterShape {
  static constexpr FilterKind kind = FilterKind::chained_and;
  static constexpr std::uint32_t second_tries = 64;

  BinaryFuse4Shape first, second; // of the second: slots of one bit
  std::uint32_t second_try = 0;

  // For so many keys in each stage.
  [[nodiscard]] static std::optional<ChainedFilterShape> for_keys(double keys, unsigned first_bits,
                                                                  double second_keys) noexcept {
    const auto first = BinaryFuse4Shape::for_keys(keys, first_bits);
    const auto second = BinaryFuse4Shape::for_keys(second_keys, 1);
    if (!first || !second) return std::nullopt;
    return ChainedFilterShape{*first, *second};
  }

  [[nodiscard]] unsigned first_bits() const noexcept { return first.fingerprint_bits; }
  [[nodiscard]] std::uint64_t bits() const noexcept { return first.bits() + second.bits(); }
  [[nodiscard]] ShapeWords as_words() const noexcept {
    return {first.segments, second.segments,
            first.segment_log | second.segment_log << 8 | first.fingerprint_bits << 16, second_try};
  }
  [[nodiscard]] static ChainedFilterShape of(const ShapeWords &w) noexcept {
    return {{w[0], w[2] & 0xFF, w[2] >> 16 & 0xFF}, {w[1], w[2] >> 8 & 0xFF, 1}, w[3]};
  }
  [[nodiscard]] const char *objection() const noexcept {
    if (const char *wrong = first.objection()) return wrong;
    if (second_try >= second_tries) return "the second stage was tried more often than builders do";
    return second.objection();
  }
};

class ChainedFilterView {
public:
  using Shape = ChainedFilterShape;

  ChainedFilterView() = default;
  ChainedFilterView(const Shape &shape, const FilterHeader &header, const std::byte *cells) noexcept
      : shape_(shape), stages_(Stages::First(shape.first, header, cells), second_of(shape, header, cells)) {}
  [[nodiscard]] static Result<ChainedFilterView> attach(Bytes section) {
    return attach_view<ChainedFilterView>(section);
  }

  [[nodiscard]] const Shape &shape() const noexcept { return shape_; }
  [[nodiscard]] bool contains(KeyHash key) const noexcept { return stages_.contains(key); }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return stages_.contains_batch(keys);
  }

  // What builders need to agree with.
  [[nodiscard]] static std::uint64_t second_seed(std::uint64_t seed, std::uint32_t second_try) noexcept {
    return remix({seed}, second_try);
  }

private:
  using Stages = ChainedAndView<4>;

  [[nodiscard]] static Stages::Second second_of(const Shape &shape, FilterHeader header,
                                                const std::byte *cells) noexcept {
    header.seed = second_seed(header.seed, shape.second_try);
    return {{shape.second}, header, cells + shape.first.bits() / 8};
  }

  Shape shape_;
  Stages stages_;
};

struct ChainedSharedFilterShape {
  static constexpr FilterKind kind = FilterKind::chained_and_shared;

  BinaryFuse4Shape table; // its fingerprints: those of the first stage, and a bit of each column

  [[nodiscard]] static std::optional<ChainedSharedFilterShape> for_keys(double keys,
                                                                        unsigned first_bits) noexcept {
    const auto table = BinaryFuse4Shape::for_keys(keys, first_bits + 2);
    return table ? std::optional(ChainedSharedFilterShape{*table}) : std::nullopt;
  }
  [[nodiscard]] unsigned first_bits() const noexcept { return table.fingerprint_bits - 2; }
  [[nodiscard]] std::uint64_t slots() const noexcept { return table.slots(); }
  [[nodiscard]] std::uint64_t bits() const noexcept { return table.bits(); }
  [[nodiscard]] ShapeWords as_words() const noexcept { return table.as_words(); }
  [[nodiscard]] static ChainedSharedFilterShape of(const ShapeWords &w) noexcept {
    return {BinaryFuse4Shape::of(w)};
  }
  [[nodiscard]] const char *objection() const noexcept {
    if (const char *wrong = table.objection()) return wrong;
    return table.fingerprint_bits < 3 ? "slots have less than three bits" : nullptr;
  }
};

class ChainedSharedFilterView {
public:
  using Shape = ChainedSharedFilterShape;

  ChainedSharedFilterView() = default;
  ChainedSharedFilterView(const Shape &shape, const FilterHeader &header, const std::byte *cells) noexcept
      : shape_(shape), stages_(shape.table, Stages::family(header.layer, header.seed), cells) {}
  [[nodiscard]] static Result<ChainedSharedFilterView> attach(Bytes section) {
    return attach_view<ChainedSharedFilterView>(section);
  }

  [[nodiscard]] const Shape &shape() const noexcept { return shape_; }
  [[nodiscard]] bool contains(KeyHash key) const noexcept { return stages_.contains(key); }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return stages_.contains_batch(keys);
  }

private:
  using Stages = ChainedAndSharedView<4>;

  Shape shape_;
  Stages stages_;
};

} // namespace weir::filter
