// Base filters: what every approximate set of weir has in common, so that stacks, planner, laboratory
// and tests take any of them.
//
//   filter              changes         wrong accepts for n keys                   file
//   Bloom               insert          (1 - (1 - 1/m)^(k n))^k                    bloom.hpp
//   SplitBlockFilter    insert          a mean over the loads of blocks            split_block_filter.hpp
//   CountingBloom       insert, erase   as Bloom, m cells                          counting_bloom.hpp
//   CuckooFilter        insert, erase   1 - (1 - load/(2^f - 1))^8                   cuckoo_filter.hpp
//   QuotientFilter      insert, erase,  1 - exp(-n / (slots 2^r))                  quotient_filter.hpp
//                       count, resize
//   XorFilter           none            2^-f                                       build/peeled_filter.hpp
//   BinaryFuse          none            2^-f                                       build/peeled_filter.hpp
//   BinaryFuse4         none            2^-f                                       build/peeled_filter.hpp
//   RibbonFilter        none            2^-f                                       build/ribbon_builder.hpp
//   ChainedFilter       none            2^-(f + 1)                                 build/chained_filter.hpp
//   ChainedSharedFilter none            2^-(f + 1) at most                         build/chained_filter.hpp
//
// Each filter F has
//
//   F::Shape            its parameters, copyable. bits(): the memory of the cells, with all that packing
//                       and rounding leave unused, without the section's 64-byte header
//   F::rate(shape, n)   expected share of absent keys accepted once n keys are in. The one model of the
//                       filter: sizing, planning and tests have no other
//   F::shape_for(n, bits)           the shape of least rate for n keys that takes at most so many bits
//   F::shape_for_rate(n, rate)      the smallest shape whose rate at n keys is at most `rate`
//                                   Both: nothing, when no shape will do
//   F::make(shape, layer)           an empty filter, or why it cannot be
//   F::build(keys, shape, layer, seed)   static filters: all keys at once, repeated ones once
//   insert(key), erase(key)         where the filter changes. insert is void or a Status; a refused key
//                                   has changed nothing. erase only keys that are present: it is false,
//                                   with nothing changed, when the filter itself knows better
//   F::adopt(section)   goes on changing a filter where its section lies. The parameters are checked; cells
//                       must be what a filter wrote, since changes follow them
//   contains(key), contains_batch(keys), bits(), keys(), shape()
//   F::View             the reader: trivially copyable, contains() and contains_batch() alone; `view()`
//                       gives one, View::attach(section) makes one from bytes that came from elsewhere
//   section()           the filter as bytes, always up to date: FilterHeader, then bits() / 8 bytes
//
// `layer` chooses the hash functions: filters that stand behind one another need a number each, or the
// false positives of one are those of the next.
//
//   section   | FilterHeader, 64 bytes | cells ... |   at a multiple of 64 bytes, little-endian
//
// attach() is the trust border: it copies the parameters, checks them and the section's length, and
// nothing is read from the header again. Cells are not checked; whatever they hold, a probe stays inside
// them. One thread changes a filter; who may read meanwhile is said by each filter.
#pragma once

#include "weir/base/hash.hpp"
#include "weir/base/result.hpp"
#include "weir/filter/batch.hpp"

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir::filter {

// Numbers are for ever.
enum class FilterKind : std::uint32_t {
  bloom = 1,
  split_block_bloom = 2,
  counting_bloom = 3,
  cuckoo = 4,
  quotient = 5,
  xor_table = 6,
  binary_fuse = 7,
  seesaw = 8,             // seesaw_shape.hpp
  stack = 9,              // of layers that have headers of their own: stacked_view.hpp
  chained_predictor = 10, // table/sections.hpp
  binary_fuse_4 = 11,
  retrieval_3 = 12, // retrieval.hpp: values, not members
  retrieval_4 = 13,
  othello = 14,     // othello.hpp: values that change
  huffman_map = 15, // huffman_map.hpp: symbols, not members
  chained_and = 16, // chained_filter.hpp
  chained_and_shared = 17,
  ribbon = 18, // ribbon.hpp: values, not members
  ribbon_filter = 19,
};

[[nodiscard]] constexpr const char *name_of(FilterKind kind) noexcept {
  switch (kind) {
  case FilterKind::bloom: return "Bloom filter";
  case FilterKind::split_block_bloom: return "split-block Bloom filter";
  case FilterKind::counting_bloom: return "counting Bloom filter";
  case FilterKind::cuckoo: return "cuckoo filter";
  case FilterKind::quotient: return "counting quotient filter";
  case FilterKind::xor_table: return "XOR filter";
  case FilterKind::binary_fuse: return "binary fuse filter";
  case FilterKind::seesaw: return "Seesaw filter";
  case FilterKind::stack: return "stacked filter";
  case FilterKind::chained_predictor: return "chained predictor";
  case FilterKind::binary_fuse_4: return "four-wise binary fuse filter";
  case FilterKind::retrieval_3: return "retrieval";
  case FilterKind::retrieval_4: return "four-wise retrieval";
  case FilterKind::othello: return "Othello hashing";
  case FilterKind::ribbon: return "ribbon retrieval";
  case FilterKind::ribbon_filter: return "ribbon filter";
  case FilterKind::huffman_map: return "Huffman map";
  case FilterKind::chained_and: return "chained filter";
  case FilterKind::chained_and_shared: return "chained filter with shared slots";
  }
  return "unknown filter";
}

inline constexpr std::array<char, 8> filter_magic{'W', 'E', 'I', 'R', 'F', 'L', 'T', '1'};

using ShapeWords = std::array<std::uint32_t, 4>;

// How every filter of an image begins, whatever it is.
struct FilterHeader {
  std::array<char, 8> magic;
  std::uint32_t kind; // FilterKind
  std::uint32_t reserved0;
  ShapeWords shape;           // as the kind's Shape::as_words() has them
  std::uint64_t layer;        // which hash functions
  std::uint64_t seed;         // of static filters: the one that succeeded; otherwise 0
  std::uint64_t keys;         // in the filter (mutable, for people: readers do not use it)
  std::uint64_t planned_keys; // the sizes were chosen for so many; 0: nobody said
};
static_assert(sizeof(FilterHeader) == 64 && std::has_unique_object_representations_v<FilterHeader>);
static_assert(offsetof(FilterHeader, shape) == 16 && offsetof(FilterHeader, keys) == 48);

// What is wrong with the fields that mean the same in every filter; empty: nothing.
[[nodiscard]] inline std::string header_objection(const FilterHeader &header, FilterKind kind) {
  if (header.magic != filter_magic) return "the section does not begin as filters do";
  if (header.kind != static_cast<std::uint32_t>(kind))
    return std::string("the section holds a ") + name_of(static_cast<FilterKind>(header.kind));
  return header.reserved0 != 0 ? "reserved bytes are not zero" : "";
}

template <class F>
concept Filter =
    std::is_trivially_copyable_v<F> && requires(const F f, KeyHash k, std::span<const KeyHash> ks, Bytes s) {
      { f.contains(k) } noexcept -> std::same_as<bool>;
      { f.contains_batch(ks) } noexcept -> std::same_as<HitMask>;
      { F::attach(s) } -> std::same_as<Result<F>>;
    };

// What a Shape must know for its filter to be written and attached.
template <class S>
concept SectionShape = std::is_trivially_copyable_v<S> && requires(const S s, ShapeWords w) {
  { S::kind } -> std::convertible_to<FilterKind>;
  { s.bits() } -> std::same_as<std::uint64_t>;
  { s.as_words() } -> std::same_as<ShapeWords>;
  { S::of(w) } -> std::same_as<S>;
  { s.objection() } -> std::same_as<const char *>; // what is impossible about it, or nothing
};

template <class F>
concept BaseFilter =
    requires(const F f, typename F::Shape s, KeyHash k, std::span<const KeyHash> ks, std::uint64_t n) {
      requires Filter<typename F::View>;
      { s.bits() } -> std::same_as<std::uint64_t>;
      { F::rate(s, n) } -> std::same_as<double>;
      { F::shape_for(n, n) } -> std::convertible_to<std::optional<typename F::Shape>>;
      { F::shape_for_rate(n, 0.5) } -> std::convertible_to<std::optional<typename F::Shape>>;
      { f.contains(k) } -> std::same_as<bool>;
      { f.contains_batch(ks) } -> std::same_as<HitMask>;
      { f.bits() } -> std::same_as<std::uint64_t>;
      { f.keys() } -> std::same_as<std::uint64_t>;
      { f.section() } -> std::same_as<Bytes>;
      { f.view() } -> std::same_as<typename F::View>;
    };
template <class F>
concept GrowingFilter = BaseFilter<F> && requires(F f, typename F::Shape s, KeyHash k) {
  { F::make(s, std::uint64_t{1}) } -> std::same_as<Result<F>>;
  f.insert(k);
};
template <class F>
concept ErasingFilter = GrowingFilter<F> && requires(F f, KeyHash k) {
  { f.erase(k) } -> std::same_as<bool>;
};
template <class F>
concept StaticFilter =
    BaseFilter<F> && requires(typename F::Shape s, std::span<const KeyHash> ks, std::uint64_t n) {
      { F::build(ks, s, n, n) } -> std::same_as<Result<F>>;
    };

// insert() of filters that can refuse and of those that cannot, with one face.
template <class F> [[nodiscard]] Status try_insert(F &filter, KeyHash key) {
  if constexpr (std::is_void_v<decltype(filter.insert(key))>) {
    filter.insert(key);
    return {};
  } else {
    return filter.insert(key);
  }
}

// The number that remix() takes: `own_view` is a constant of the kind, so that filters of different kinds
// do not share hashes either.
[[nodiscard]] constexpr std::uint64_t hash_family(std::uint64_t own_view, std::uint64_t layer) noexcept {
  return own_view + layer * remix_factor_2;
}

// ---- sections ----------------------------------------------------------------------------------

template <SectionShape Shape> [[nodiscard]] std::uint64_t section_bytes(const Shape &shape) noexcept {
  return sizeof(FilterHeader) + shape.bits() / 8;
}

template <class Shape> struct OpenSection {
  Shape shape;
  FilterHeader header;
};

// Errors: bad_image, for a section that is cut, misaligned, of another kind, or of impossible parameters.
template <SectionShape Shape> [[nodiscard]] Result<OpenSection<Shape>> open_section(Bytes section) {
  const auto bad = [](const std::string &why) {
    return fail(Errc::bad_image, std::string(name_of(Shape::kind)) + ": " + why + ", build it again");
  };
  FilterHeader header;
  if (section.size() < sizeof header) return bad("the section has no room for its header");
  if (reinterpret_cast<std::uintptr_t>(section.data()) % cache_line_bytes != 0)
    return bad("the section does not begin at a multiple of 64 bytes");
  std::memcpy(&header, section.data(), sizeof header);
  if (const std::string objection = header_objection(header, Shape::kind); !objection.empty())
    return bad(objection);
  const Shape shape = Shape::of(header.shape);
  if (const char *objection = shape.objection()) return bad(objection);
  if (shape.as_words() != header.shape) return bad("reserved bytes are not zero");
  if (section.size() != section_bytes(shape))
    return bad(std::to_string(section.size()) + " bytes where the header asks for " +
               std::to_string(section_bytes(shape)));
  return OpenSection<Shape>{shape, header};
}

// A section that a filter writes: in memory of its own, or in somebody else's.
class FilterMemory {
public:
  FilterMemory(const FilterHeader &header, std::size_t bytes) : FilterMemory(bytes) {
    std::memcpy(data_, &header, sizeof header);
  }
  explicit FilterMemory(MutableBytes section) noexcept : data_(section.data()), bytes_(section.size()) {}

  FilterMemory(FilterMemory &&) noexcept = default; // `data_` stays where it is
  FilterMemory &operator=(FilterMemory &&) noexcept = default;
  FilterMemory(const FilterMemory &other) : FilterMemory(other.bytes_) { // always memory of its own
    std::memcpy(data_, other.data_, bytes_);
  }
  FilterMemory &operator=(const FilterMemory &other) { return *this = FilterMemory(other); }
  ~FilterMemory() = default;

  [[nodiscard]] Bytes section() const noexcept { return {data_, bytes_}; }
  [[nodiscard]] std::byte *cells() noexcept { return data_ + sizeof(FilterHeader); }
  // Any thread may ask.
  [[nodiscard]] std::uint64_t keys() const noexcept {
    return __atomic_load_n(reinterpret_cast<const std::uint64_t *>(data_ + offsetof(FilterHeader, keys)),
                           __ATOMIC_RELAXED);
  }
  void set_keys(std::uint64_t keys) noexcept {
    __atomic_store_n(reinterpret_cast<std::uint64_t *>(data_ + offsetof(FilterHeader, keys)), keys,
                     __ATOMIC_RELAXED);
  }

private:
  struct alignas(cache_line_bytes) Line {
    std::array<std::byte, cache_line_bytes> bytes{};
  };
  explicit FilterMemory(std::size_t bytes)
      : own_((bytes + sizeof(Line) - 1) / sizeof(Line)), data_(reinterpret_cast<std::byte *>(own_.data())),
        bytes_(bytes) {}

  std::vector<Line> own_;
  std::byte *data_;
  std::size_t bytes_;
};

// ---- what readers and owners are made of -------------------------------------------------------

// attach() for V, which is made by V(shape, header, cells).
template <class V> [[nodiscard]] Result<V> attach_view(Bytes section) {
  const auto opened = TRY(open_section<typename V::Shape>(section));
  return V(opened.shape, opened.header, section.data() + sizeof(FilterHeader));
}

// A filter with its memory and a view of it: everything but what changes it.
template <class V> class OwnedFilter {
public:
  using View = V;
  using Shape = typename V::Shape;

  OwnedFilter(const OwnedFilter &other)
      : memory_(other.memory_), view_(other.shape(), other.header_, memory_.cells()), header_(other.header_) {
  }
  OwnedFilter &operator=(const OwnedFilter &other) { return *this = OwnedFilter(other); }
  OwnedFilter(OwnedFilter &&) noexcept = default; // cells stay where they are
  OwnedFilter &operator=(OwnedFilter &&) noexcept = default;
  ~OwnedFilter() = default;

  [[nodiscard]] bool contains(KeyHash key) const noexcept { return view_.contains(key); }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return view_.contains_batch(keys);
  }
  [[nodiscard]] View view() const noexcept { return view_; }
  [[nodiscard]] const Shape &shape() const noexcept { return view_.shape(); }
  [[nodiscard]] std::uint64_t bits() const noexcept { return shape().bits(); }
  [[nodiscard]] std::uint64_t keys() const noexcept { return memory_.keys(); }
  [[nodiscard]] Bytes section() const noexcept { return memory_.section(); }

protected:
  OwnedFilter(const Shape &shape, std::uint64_t layer, std::uint64_t seed = 0)
      : OwnedFilter(shape, header_of(shape, layer, seed)) {}
  OwnedFilter(const OpenSection<Shape> &opened, MutableBytes section)
      : memory_(section), view_(opened.shape, opened.header, memory_.cells()), header_(opened.header) {}

  // Errors: usage, naming what is impossible about the shape.
  [[nodiscard]] static Status check(const Shape &shape) {
    if (const char *objection = shape.objection())
      return fail(Errc::usage, std::string(name_of(Shape::kind)) + ": " + objection);
    return {};
  }

  [[nodiscard]] std::uint64_t layer() const noexcept { return header_.layer; }

  FilterMemory memory_;
  View view_;

private:
  OwnedFilter(const Shape &shape, const FilterHeader &header)
      : memory_(header, section_bytes(shape)), view_(shape, header, memory_.cells()), header_(header) {}

  [[nodiscard]] static FilterHeader header_of(const Shape &shape, std::uint64_t layer, std::uint64_t seed) {
    return {.magic = filter_magic,
            .kind = static_cast<std::uint32_t>(Shape::kind),
            .reserved0 = 0,
            .shape = shape.as_words(),
            .layer = layer,
            .seed = seed,
            .keys = 0,
            .planned_keys = 0};
  }

  FilterHeader header_; // as made: what the section says may change
};

} // namespace weir::filter
