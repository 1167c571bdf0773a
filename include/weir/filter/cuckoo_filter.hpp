// A cuckoo filter as a base filter, for one thread at a time: a layer of other filters, and a rival in the
// laboratory. filter/cuckoo.hpp says what it is, and reads the same bytes beside a writer.
//
//   errors    accepts an absent key with 1 - (1 - load/(2^f - 1))^8; never misses a present one
//   bits      f / 0.95 a key, more where fingerprints have fewer than nine bits: cuckoo_load_max()
//   erase     only of keys that are present
#pragma once

#include "weir/filter/cuckoo_writer.hpp"

namespace weir::filter {

class CuckooLayerView : public CuckooView {
public:
  using Shape = CuckooShape;

  CuckooLayerView() = default;
  CuckooLayerView(const Shape &shape, const FilterHeader &header, const std::byte *cells) noexcept
      : CuckooView(shape, reinterpret_cast<const std::uint64_t *>(cells),
                   hash_family(Shape::own_view, header.layer)),
        family_(hash_family(Shape::own_view, header.layer)), cells_(cells), far_(shape.bits() > near_bits),
        bucket_bits_(cuckoo_slots * shape.fingerprint_bits) {
    for (unsigned slot = 0; slot < cuckoo_slots && bucket_bits_ <= one_load_bits; ++slot)
      ones_ |= std::uint64_t{1} << slot * shape.fingerprint_bits;
    highs_ = ones_ << (shape.fingerprint_bits - 1);
  }
  [[nodiscard]] static Result<CuckooLayerView> attach(Bytes section) {
    return attach_view<CuckooLayerView>(section);
  }

  // Nobody writes meanwhile, so a bucket of short fingerprints is one load from any byte.
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    if (bucket_bits_ > one_load_bits) return CuckooView::contains_batch(keys);
    return far_ && keys.size() > few_keys ? far_batch(keys) : near_batch(keys);
  }

private:
  static constexpr unsigned one_load_bits = 57; // from any bit of a byte

  // Where a bucket begins.
  struct Lane {
    std::uint64_t first, second, wanted; // in bits; the fingerprint in every slot
  };
  [[nodiscard, gnu::always_inline]] Lane lane_of(KeyHash key) const noexcept {
    const CuckooPlace place = shape().place_of(key, family_);
    return {std::uint64_t{place.bucket} * bucket_bits_,
            std::uint64_t{shape().partner(place.bucket, place.fingerprint)} * bucket_bits_,
            place.fingerprint * ones_};
  }
  [[nodiscard, gnu::always_inline]] bool holds_either(const Lane &lane) const noexcept {
    const std::uint64_t a = slots_at(lane.first) ^ lane.wanted, b = slots_at(lane.second) ^ lane.wanted;
    return ((((a - ones_) & ~a) | ((b - ones_) & ~b)) & highs_) != 0; // a slot of zeros in one of them
  }
  [[nodiscard, gnu::always_inline]] std::uint64_t slots_at(std::uint64_t bit) const noexcept {
    return load_unaligned<std::uint64_t>(cells_ + bit / 8) >> bit % 8;
  }

  [[nodiscard]] HitMask near_batch(std::span<const KeyHash> keys) const noexcept {
    HitMask hits = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) hits |= HitMask{holds_either(lane_of(keys[i]))} << i;
    return hits;
  }
  // Two loops: prefetch both buckets, then look.
  [[nodiscard]] HitMask far_batch(std::span<const KeyHash> keys) const noexcept {
    std::array<Lane, batch_max> lanes;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      lanes[i] = lane_of(keys[i]);
      __builtin_prefetch(cells_ + lanes[i].first / 8, 0, into_l2);
      __builtin_prefetch(cells_ + lanes[i].second / 8, 0, into_l2);
    }
    HitMask hits = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) hits |= HitMask{holds_either(lanes[i])} << i;
    return hits;
  }

  std::uint64_t family_ = CuckooShape::own_view;
  const std::byte *cells_ = nullptr;
  bool far_ = false;
  std::uint32_t bucket_bits_ = 0;
  std::uint64_t ones_ = 0, highs_ = 0; // the lowest and the highest bit of each slot
};

class CuckooFilter : public OwnedFilter<CuckooLayerView> {
public:
  static constexpr unsigned slots = cuckoo_slots; // a bucket
  static constexpr unsigned fingerprint_bits_max = cuckoo_fingerprint_bits_max;

  [[nodiscard]] static constexpr double load_max(unsigned fingerprint_bits) noexcept {
    return cuckoo_load_max(fingerprint_bits);
  }
  [[nodiscard]] static double rate(const Shape &shape, double keys) noexcept {
    return cuckoo_rate(shape, keys);
  }
  [[nodiscard]] static std::optional<Shape> shape_for(double keys, std::uint64_t bits) noexcept {
    return cuckoo_shape_for(static_cast<std::uint64_t>(std::ceil(keys)), bits);
  }
  [[nodiscard]] static std::optional<Shape> shape_for_rate(double keys, double rate) noexcept {
    return cuckoo_shape_for_rate(keys, rate);
  }

  // Errors: usage.
  [[nodiscard]] static Result<CuckooFilter> make(const Shape &shape, std::uint64_t layer = 0) {
    TRY(check(shape));
    return CuckooFilter(shape, layer);
  }
  // To go on with a section in place. Errors: as View::attach().
  [[nodiscard]] static Result<CuckooFilter> adopt(MutableBytes section) {
    const auto opened = TRY(open_section<Shape>(section));
    return CuckooFilter(opened, section);
  }

  CuckooFilter(const CuckooFilter &other) : OwnedFilter(other), writer_(make_writer()) {}
  CuckooFilter &operator=(const CuckooFilter &other) { return *this = CuckooFilter(other); }
  CuckooFilter(CuckooFilter &&) noexcept = default;
  CuckooFilter &operator=(CuckooFilter &&) noexcept = default;
  ~CuckooFilter() = default;

  // Errors: needs_rebuild when no slot can be freed; nothing has changed then.
  [[nodiscard]] Status insert(KeyHash key) {
    if (writer_.insert(key) == CuckooWriter::Put::in) return {};
    return fail(Errc::needs_rebuild, "the cuckoo filter is full at " + std::to_string(keys()) + " keys in " +
                                         std::to_string(shape().slots()) + " slots: build a larger one");
  }
  // False, and nothing changed, when no such fingerprint stands in either bucket.
  bool erase(KeyHash key) noexcept { return writer_.erase(key); }

  [[nodiscard]] static std::uint64_t bits_of(const Shape &shape) noexcept { return shape.bits(); }
  [[nodiscard]] double load() const noexcept {
    return static_cast<double>(keys()) / static_cast<double>(shape().slots());
  }

private:
  CuckooFilter(const Shape &shape, std::uint64_t layer) : OwnedFilter(shape, layer), writer_(make_writer()) {}
  CuckooFilter(const OpenSection<Shape> &opened, MutableBytes section)
      : OwnedFilter(opened, section), writer_(make_writer()) {}

  [[nodiscard]] CuckooWriter make_writer() noexcept {
    auto *words = reinterpret_cast<std::uint64_t *>(memory_.cells());
    auto *keys = words - (sizeof(FilterHeader) - offsetof(FilterHeader, keys)) / sizeof *words;
    return {shape(), words, keys, hash_family(Shape::own_view, layer())};
  }

  CuckooWriter writer_; // looks at the same memory
};

} // namespace weir::filter
