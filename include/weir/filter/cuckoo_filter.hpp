// A cuckoo filter in memory of its own, for one thread at a time: a layer of other filters, and a rival in
// the laboratory. filter/cuckoo.hpp says what it is.
#pragma once

#include "weir/filter/cuckoo_writer.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weir::filter {

class CuckooFilter {
public:
  using Shape = CuckooShape;
  static constexpr unsigned slots = cuckoo_slots; // a bucket
  static constexpr unsigned fingerprint_bits_max = cuckoo_fingerprint_bits_max;

  [[nodiscard]] static constexpr double load_max(unsigned fingerprint_bits) noexcept {
    return cuckoo_load_max(fingerprint_bits);
  }
  [[nodiscard]] static std::optional<Shape> shape_for(std::uint64_t keys, std::uint64_t bits) noexcept {
    return cuckoo_shape_for(keys, bits);
  }

  [[nodiscard]] static Result<CuckooFilter> make(Shape shape) {
    if (const char *objection = cuckoo_objection(shape))
      return fail(Errc::usage, std::string("cuckoo filter: ") + objection + ", choose another shape");
    return CuckooFilter(shape);
  }
  CuckooFilter(CuckooFilter &&) noexcept = default;
  CuckooFilter &operator=(CuckooFilter &&) noexcept = default;
  CuckooFilter(const CuckooFilter &) = delete;
  CuckooFilter &operator=(const CuckooFilter &) = delete;
  ~CuckooFilter() = default;

  // Errors: needs_rebuild when no slot can be freed; nothing has changed then.
  [[nodiscard]] Status insert(KeyHash key) {
    if (writer_.insert(key) == CuckooWriter::Put::in) return {};
    return fail(Errc::needs_rebuild, "the cuckoo filter is full at " + std::to_string(keys()) + " keys in " +
                                         std::to_string(shape().slots()) + " slots: build a larger one");
  }
  // False, and nothing changed, when no such fingerprint stands in either bucket.
  bool erase(KeyHash key) noexcept { return writer_.erase(key); }

  [[nodiscard]] bool contains(KeyHash key) const noexcept { return writer_.view().contains(key); }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return writer_.view().contains_batch(keys);
  }

  [[nodiscard]] static std::uint64_t bits_of(Shape shape) noexcept { return 64 * shape.words(); }
  [[nodiscard]] std::uint64_t bits() const noexcept { return bits_of(shape()); }
  [[nodiscard]] std::uint64_t keys() const noexcept { return words_.back(); }
  [[nodiscard]] const Shape &shape() const noexcept { return writer_.view().shape(); }
  [[nodiscard]] double load() const noexcept {
    return static_cast<double>(keys()) / static_cast<double>(shape().slots());
  }

private:
  explicit CuckooFilter(Shape shape)
      : words_(shape.words() + 1), writer_(shape, words_.data(), &words_.back()) {}

  std::vector<std::uint64_t> words_; // the filter's, and a count of its keys
  CuckooWriter writer_;
};

} // namespace weir::filter
