// The readers of base filters. The input is a list of edits to a small honest section, made before it is
// attached:
//
//   byte 0    which kind of filter; from 128 on a Huffman map
//   then      [kind 1][place 4, little-endian][value 8] each
//     kind 0  header     1  cells     2  cut to place % size bytes
//
// What attach() accepts is asked, one key at a time and in batches; the sanitizers watch the borders.
#include "tests/fuzz/fuzz.hpp"
#include "weir/build/chained_filter.hpp"
#include "weir/build/huffman_builder.hpp"
#include "weir/build/othello_builder.hpp"
#include "weir/build/peeled_filter.hpp"
#include "weir/build/retrieval_builder.hpp"
#include "weir/build/ribbon_builder.hpp"
#include "weir/filter/bloom.hpp"
#include "weir/filter/counting_bloom.hpp"
#include "weir/filter/cuckoo_filter.hpp"
#include "weir/filter/quotient_filter.hpp"
#include "weir/filter/split_block_filter.hpp"

#include <algorithm>
#include <bit>

namespace {

using namespace weir;
using fuzz::require;

std::array<KeyHash, filter::batch_max> some_keys(std::uint64_t seed) {
  std::array<KeyHash, filter::batch_max> keys;
  for (std::uint64_t i = 0; i < keys.size(); ++i) keys[i] = {remix({i}, seed)};
  return keys;
}

template <class F>
constexpr bool has_values =
    std::is_same_v<F, build::Othello> || std::is_same_v<F, build::Retrieval<3>> ||
    std::is_same_v<F, build::Retrieval<4>> || std::is_same_v<F, build::RibbonRetrieval>;

template <class F> std::vector<std::byte> honest_section() {
  const auto keys = some_keys(1);
  const auto bytes_of = [](const F &filter) { return fuzz::exact_copy(filter.section()); };
  if constexpr (has_values<F>) { // one with the lowest bit, as for members
    return bytes_of(F::build({{keys, 5}}, F::Shape::for_keys(keys.size(), 3).value(), 1).value());
  } else if constexpr (filter::StaticFilter<F>) {
    return bytes_of(F::build(keys, F::shape_for_rate(keys.size(), 0.01).value(), 1, 1).value());
  } else {
    F filter = F::make(F::shape_for_rate(keys.size(), 0.01).value(), 1).value();
    for (const KeyHash key : keys) require(filter::try_insert(filter, key).has_value(), "room for the keys");
    return bytes_of(filter);
  }
}

// Aligned as sections are, and of exactly their size.
class Aligned {
public:
  explicit Aligned(std::size_t bytes) : bytes_(bytes) {
    require(posix_memalign(&data_, cache_line_bytes, std::max<std::size_t>(bytes, 1)) == 0, "memory");
  }
  Aligned(const Aligned &) = delete;
  Aligned &operator=(const Aligned &) = delete;
  ~Aligned() { std::free(data_); }
  [[nodiscard]] MutableBytes bytes() { return {static_cast<std::byte *>(data_), bytes_}; }

private:
  void *data_ = nullptr;
  std::size_t bytes_;
};

void edit(std::vector<std::byte> &section, Bytes edits) {
  constexpr std::size_t edit_bytes = 13, header_bytes = sizeof(filter::FilterHeader);
  for (; edits.size() >= edit_bytes; edits = edits.subspan(edit_bytes)) {
    const auto place = load_unaligned<std::uint32_t>(edits.data() + 1);
    const unsigned kind = std::to_integer<unsigned>(edits[0]) % 3;
    if (kind == 2) section.resize(place % (section.size() + 1));
    const std::size_t first = kind == 0 ? 0 : header_bytes;
    const std::size_t end = kind == 0 ? std::min(section.size(), header_bytes) : section.size();
    if (kind == 2 || end < first + 8) continue;
    std::copy_n(edits.data() + 5, 8,
                section.begin() + static_cast<std::ptrdiff_t>(first + place % (end - first - 7)));
  }
}

template <class F> void ask(Bytes edits) {
  static const std::vector<std::byte> honest = honest_section<F>();
  std::vector<std::byte> section = honest;
  edit(section, edits);
  Aligned memory(section.size());
  std::ranges::copy(section, memory.bytes().begin());
  const auto view = F::View::attach(memory.bytes());
  if (!view) {
    require(!std::ranges::equal(section, honest), "an honest section is attached");
    return;
  }
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto keys = some_keys(seed);
    const filter::HitMask hits = view->contains_batch(keys);
    for (std::size_t i = 0; i < keys.size(); ++i)
      require((hits >> i & 1) == (view->contains(keys[i]) ? 1u : 0u), "a batch answers as single questions");
    const bool present = seed == 1 && std::ranges::equal(section, honest);
    if (present) require(~hits == 0, "no present key is missed");
    if constexpr (has_values<F>) {
      std::array<std::uint32_t, filter::batch_max> values;
      view->values(keys, values.data());
      for (std::size_t i = 0; i < keys.size(); ++i) {
        require(values[i] == view->value(keys[i]), "a batch of values is as single ones");
        require(!present || values[i] == 5, "every key has its value");
      }
    }
  }
}

// Symbols in place of membership: 0 to 5, each half as often as the one before.
void ask_map(Bytes edits) {
  using Map = build::HuffmanMap<4>;
  static const auto keys_in = some_keys(1);
  static const std::vector<std::uint32_t> symbols = [] {
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < keys_in.size(); ++i)
      all.push_back(static_cast<std::uint32_t>(std::countr_zero(i | 32)));
    return all;
  }();
  static const std::vector<std::byte> honest =
      fuzz::exact_copy(Map::build(keys_in, symbols, 1).value().section());
  std::vector<std::byte> section = honest;
  edit(section, edits);
  Aligned memory(section.size());
  std::ranges::copy(section, memory.bytes().begin());
  const auto view = Map::View::attach(memory.bytes());
  const bool is_honest = std::ranges::equal(section, honest);
  if (!view) return require(!is_honest, "an honest section is attached");
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto keys = some_keys(seed);
    std::array<std::uint32_t, filter::batch_max> found;
    view->values(keys, found.data());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      require(found[i] == view->value(keys[i]), "a batch answers as single questions");
      require(seed != 1 || !is_honest || found[i] == symbols[i], "every key has its symbol");
    }
  }
}

} // namespace

FUZZ_TARGET(filter, data) {
  if (data.empty()) return;
  const Bytes edits = data.subspan(1);
  if (std::to_integer<unsigned>(data[0]) >= 128) return ask_map(edits);
  switch (std::to_integer<unsigned>(data[0]) % 15) {
  case 0: return ask<filter::Bloom>(edits);
  case 1: return ask<filter::SplitBlockFilter>(edits);
  case 2: return ask<filter::CountingBloom>(edits);
  case 3: return ask<filter::CuckooFilter>(edits);
  case 4: return ask<filter::QuotientFilter>(edits);
  case 5: return ask<build::XorFilter>(edits);
  case 6: return ask<build::BinaryFuse>(edits);
  case 7: return ask<build::BinaryFuse4>(edits);
  case 8: return ask<build::Othello>(edits);
  case 9: return ask<build::ChainedFilter>(edits);
  case 10: return ask<build::ChainedSharedFilter>(edits);
  case 11: return ask<build::Retrieval<3>>(edits);
  case 12: return ask<build::Retrieval<4>>(edits);
  case 13: return ask<build::RibbonRetrieval>(edits);
  default: return ask<build::RibbonFilter>(edits);
  }
}
