// A cuckoo filter as a base filter, for one thread at a time: a layer of other filters, and a rival in the
// laboratory. filter/cuckoo.hpp says what it is; images hold the same cells behind another header.
//
//   errors    accepts an absent key with 1 - (1 - 1/(2^f - 1))^(8 load); never misses a present one
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
                   hash_family(Shape::own_view, header.layer)) {}
  [[nodiscard]] static Result<CuckooLayerView> attach(Bytes section) {
    return attach_view<CuckooLayerView>(section);
  }
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
    if (auto ok = check(shape); !ok) return std::unexpected(ok.error());
    return CuckooFilter(shape, layer);
  }
  // To go on with a section in place. Errors: as View::attach().
  [[nodiscard]] static Result<CuckooFilter> adopt(MutableBytes section) {
    const auto opened = open_section<Shape>(section);
    if (!opened) return std::unexpected(opened.error());
    return CuckooFilter(*opened, section);
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
