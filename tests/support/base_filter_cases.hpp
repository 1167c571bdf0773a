// Base filters filled by whichever way they have, and copies of their sections.
#pragma once

#include "tests/support/filter_checks.hpp"
#include "weir/build/chained_filter.hpp"
#include "weir/build/peeled_filter.hpp"
#include "weir/build/ribbon_builder.hpp"
#include "weir/filter/bloom.hpp"
#include "weir/filter/counting_bloom.hpp"
#include "weir/filter/cuckoo_filter.hpp"
#include "weir/filter/quotient_filter.hpp"
#include "weir/filter/split_block_filter.hpp"

#include <cstdlib>
#include <sys/mman.h>

namespace weir::test {

using AllBaseFilters =
    ::testing::Types<filter::Bloom, filter::CuckooFilter, filter::QuotientFilter, filter::CountingBloom,
                     filter::SplitBlockFilter, build::XorFilter, build::BinaryFuse, build::BinaryFuse4,
                     build::RibbonFilter, build::ChainedFilter, build::ChainedSharedFilter>;

// Kinds that can make something of any number of bits return no optional.
template <class F>
[[nodiscard]] std::optional<typename F::Shape> shape_within(std::uint64_t keys, std::uint64_t bits) {
  return F::shape_for(keys, bits);
}
// What a kind can make of so many bits a key; of more, when it cannot do with so few.
template <class F>
[[nodiscard]] std::optional<typename F::Shape> shape_of(std::size_t keys, double bits_per_key) {
  for (; bits_per_key < 10'000; bits_per_key += 1)
    if (const auto shape =
            shape_within<F>(keys, static_cast<std::uint64_t>(bits_per_key * static_cast<double>(keys))))
      return shape;
  return std::nullopt;
}

// Of cuckoo tables of ten buckets that are three quarters full one in a thousand refuses a key. Other
// functions are tried then, as builders do (stacked_builder.hpp); a third refusal fails the test.
template <class F>
[[nodiscard]] F filled(const typename F::Shape &shape, std::span<const KeyHash> keys,
                       std::uint64_t layer = 0) {
  if constexpr (filter::StaticFilter<F>) {
    auto built = F::build(keys, shape, layer, 99);
    if (!built) ADD_FAILURE() << built.error().message;
    return std::move(built).value();
  } else {
    for (unsigned attempt = 0;; ++attempt) {
      F filter = F::make(shape, layer + std::uint64_t{256} * attempt).value();
      Status ok;
      for (std::size_t i = 0; i < keys.size() && ok; ++i) ok = filter::try_insert(filter, keys[i]);
      if (!ok && attempt < 2) continue;
      if (!ok) ADD_FAILURE() << ok.error().message;
      return filter;
    }
  }
}

[[nodiscard]] inline std::vector<KeyHash> mixed_keys(std::span<const KeyHash> some,
                                                     std::span<const KeyHash> others) {
  std::vector<KeyHash> keys;
  for (std::size_t i = 0; i < std::min(some.size(), others.size()); ++i)
    keys.insert(keys.end(), {some[i], others[i]});
  return keys;
}

// A section elsewhere in memory, to be broken. Nothing can be read behind its last line.
class SectionCopy {
public:
  explicit SectionCopy(Bytes section)
      : bytes_(section.size()), room_(round_up(section.size(), page)),
        map_(static_cast<std::byte *>(
            mmap(nullptr, room_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    if (map_ == MAP_FAILED || mprotect(map_ + room_, page, PROT_NONE) != 0) std::abort();
    std::memcpy(bytes().data(), section.data(), section.size());
  }
  SectionCopy(const SectionCopy &) = delete;
  SectionCopy &operator=(const SectionCopy &) = delete;
  ~SectionCopy() { munmap(map_, room_ + page); }

  [[nodiscard]] MutableBytes bytes() noexcept {
    return {map_ + room_ - round_up(bytes_, cache_line_bytes), bytes_};
  }

private:
  static constexpr std::size_t page = 4096;
  std::size_t bytes_, room_;
  std::byte *map_;
};

} // namespace weir::test
