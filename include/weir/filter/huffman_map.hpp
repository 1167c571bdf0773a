// Random access Huffman coding [Chained §5.2]: a symbol for each key of a set that never changes, in close to the entropy of the
// symbols. With array_key() of the index for a key it is a compressed array that is read anywhere; with hashes of addresses
// it says which list has one. Other keys get some symbol: whoever asks knows the set, or does not mind.
//
//   symbols  ->  canonical Huffman code. Each inner node of its tree is a question about the keys below it, "1?", and 1 leads
//                to the lighter side, so that most answers are 0
//
//   node     ->  first: fuse filter, 2^-f  --accepts-->  second: retrieval of one bit  --1-->  child 1
//                   | rejects                               | 0
//                   v                                       v
//                child 0                                 child 0
//
// A node whose sides are about as heavy has no first stage. Nodes may share tables, since a key is salted with the number of
// the node: build/huffman_model.hpp says which do, and what they take.
//
//   section   | FilterHeader, 64 bytes | HuffmanNode[nodes] | HuffmanTable[firsts + seconds] | cells of each table in turn |
//
//   errors    none for keys of the set. A bit that is wrong disturbs the symbols that read it, and no other ones
//   bits      at most H + (C + 2/3 - log2 3) L a symbol, of entropy H and L bits of Huffman code, with C slots a key in a binary
//             fuse table; Theorem 5.1 of the paper, which has 1 in the place of L, does not hold
//   cost      for each bit of code three or four lines, and as many again for what a first stage accepts
//
// Any number of readers. Built by build/huffman_builder.hpp. attach() is the trust border.
#pragma once

#include "weir/filter/binary_fuse.hpp"
#include "weir/filter/key_batch.hpp"
#include "weir/filter/retrieval.hpp"

namespace weir::filter {

// A child: a node after this one, or a leaf with its symbol. Beside it the number of a table.
inline constexpr std::uint32_t huffman_leaf = 1u << 31;
inline constexpr unsigned huffman_target_bits = 22;
inline constexpr std::uint32_t huffman_target_mask = (1u << huffman_target_bits) - 1;
inline constexpr std::uint32_t huffman_tables_mask = (1u << (31 - huffman_target_bits)) - 1;
inline constexpr std::uint32_t huffman_symbol_max = huffman_target_mask;
inline constexpr unsigned huffman_depth_max = 64;            // bits of a code
inline constexpr unsigned huffman_fingerprint_bits_max = 16; // of a first stage

struct HuffmanNode {
  std::uint32_t zero; // child 0, and in bits 22 to 30 the first stage, counted from 1; 0: there is none
  std::uint32_t one;  // child 1, and the second stage, counted from 0

  [[nodiscard]] static constexpr std::uint32_t table_of(std::uint32_t child) noexcept {
    return child >> huffman_target_bits & huffman_tables_mask;
  }
  [[nodiscard]] static constexpr std::uint32_t target_of(std::uint32_t child) noexcept {
    return child & (huffman_leaf | huffman_target_mask);
  }
};
static_assert(sizeof(HuffmanNode) == 8 && std::has_unique_object_representations_v<HuffmanNode>);

struct HuffmanTable {
  std::uint32_t segments, segment_log, bits; // of a FuseShape; bits: fingerprint, or 1 of a second stage
  std::uint32_t reserved;
  std::uint64_t layer, seed;
};
static_assert(sizeof(HuffmanTable) == 32 && std::has_unique_object_representations_v<HuffmanTable>);

// The words of the header.
struct HuffmanShape {
  std::uint32_t nodes = 0;
  std::uint16_t firsts = 0, seconds = 0; // tables
  std::uint32_t ways = 4;
  std::uint32_t root = huffman_leaf; // node 0, or the only symbol

  [[nodiscard]] ShapeWords as_words() const noexcept {
    return {nodes, firsts | std::uint32_t{seconds} << 16, ways, root};
  }
  [[nodiscard]] static HuffmanShape of(const ShapeWords &w) noexcept {
    return {w[0], static_cast<std::uint16_t>(w[1]), static_cast<std::uint16_t>(w[1] >> 16), w[2], w[3]};
  }
  [[nodiscard]] std::uint64_t tables_offset() const noexcept {
    return sizeof(FilterHeader) + std::uint64_t{nodes} * sizeof(HuffmanNode);
  }
  [[nodiscard]] std::uint64_t cells_offset() const noexcept {
    return tables_offset() + (std::uint64_t{firsts} + seconds) * sizeof(HuffmanTable);
  }
};

// What a key is at a node.
[[nodiscard]] constexpr KeyHash at_node(KeyHash key, std::uint32_t node) noexcept {
  return {key.bits ^ node * 0x9E3779B97F4A7C15ull};
}
// The key of an array's element.
[[nodiscard]] constexpr KeyHash array_key(std::uint64_t index) noexcept {
  return {remix({index}, 0xA44A71DE5C0DE5B1ull)};
}

// `firsts_max`, `seconds_max`: tables that there is room for. A section has as many at most.
template <unsigned ways, unsigned firsts_max = huffman_fingerprint_bits_max, unsigned seconds_max = 1>
class HuffmanMapView {
public:
  using First = PeeledView<FuseShape<ways>>;
  using Second = RetrievalView<ways>;
  static_assert(firsts_max <= huffman_tables_mask && seconds_max <= huffman_tables_mask + 1);

  HuffmanMapView() = default; // symbol 0 for all keys

  // Errors: bad_image, for a section that is cut, misaligned or of another kind, for impossible tables and for nodes
  // that do not lead to a leaf.
  [[nodiscard]] static Result<HuffmanMapView> attach(Bytes section) {
    HuffmanMapView view;
    FilterHeader header;
    if (section.size() < sizeof header) return bad("the section has no room for its header");
    if (reinterpret_cast<std::uintptr_t>(section.data()) % cache_line_bytes != 0)
      return bad("the section does not begin at a multiple of 64 bytes");
    std::memcpy(&header, section.data(), sizeof header);
    if (const std::string objection = header_objection(header, FilterKind::huffman_map); !objection.empty())
      return bad(objection);
    const HuffmanShape shape = view.shape_ = HuffmanShape::of(header.shape);
    if (shape.ways != ways) return bad("its tables are not " + std::to_string(ways) + "-wise");
    if (shape.firsts > firsts_max || shape.seconds > seconds_max || (shape.nodes != 0 && shape.seconds == 0))
      return bad("it has more tables than this reader takes, or none");
    if (section.size() < shape.cells_offset()) return bad("the section has no room for its nodes and tables");
    view.nodes_ = reinterpret_cast<const HuffmanNode *>(section.data() + sizeof header);
    view.bytes_ = section.size();
    view.near_ = 8 * section.size() <= near_bits;
    if (const char *objection = view.tree_objection()) return bad(objection);
    TRY(view.attach_tables(section));
    return view;
  }

  [[nodiscard]] const HuffmanShape &shape() const noexcept { return shape_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; } // of the section
  [[nodiscard]] std::span<const HuffmanNode> nodes() const noexcept { return {nodes_, shape_.nodes}; }
  [[nodiscard]] std::span<const First> firsts() const noexcept {
    return std::span(firsts_).first(shape_.firsts);
  }
  [[nodiscard]] std::span<const Second> seconds() const noexcept {
    return std::span(seconds_).first(shape_.seconds);
  }

  [[nodiscard]] std::uint32_t value(KeyHash key) const noexcept { return walk(key, shape_.root, 0); }

  // values[i] of keys[i]; up to batch_max keys. Far tables, without kernels: a bit of code of all keys at a time, lines prefetched before.
  void values(std::span<const KeyHash> keys, std::uint32_t *values) const noexcept {
    if (near_ || keys.size() <= few_keys || FuseShape<ways>::kernels() != nullptr)
      return values_by_root(keys, values);
    Open open;
    if ((shape_.root & huffman_leaf) == 0)
      for (std::size_t i = 0; i < keys.size(); ++i) open.place[open.count++] = static_cast<std::uint8_t>(i);
    std::fill_n(values, keys.size(), shape_.root);
    for (unsigned depth = 0; open.count != 0 && depth < huffman_depth_max; ++depth)
      take_level(keys, values, open);
    for (std::size_t i = 0; i < keys.size(); ++i) values[i] &= huffman_target_mask;
  }

private:
  [[nodiscard]] static std::unexpected<Error> bad(const std::string &why) {
    return fail(Errc::bad_image,
                std::string(name_of(FilterKind::huffman_map)) + ": " + why + ", build it again");
  }

  // A node as it is asked; whatever it holds, tables and nodes are those of the view.
  struct Step {
    std::uint32_t number;
    HuffmanNode node;
    const First *first; // null: there is none
    const Second *second;

    [[gnu::always_inline]] Step(const HuffmanMapView &map, std::uint32_t at) noexcept
        : number(std::min(at, map.shape_.nodes - 1)), node(map.nodes_[number]) {
      const std::uint32_t f = HuffmanNode::table_of(node.zero), s = HuffmanNode::table_of(node.one);
      first = f == 0 || f > map.shape_.firsts ? nullptr : &map.firsts_[f - 1];
      second = &map.seconds_[s < map.shape_.seconds ? s : 0];
    }
    [[nodiscard]] std::uint32_t child(bool one) const noexcept {
      return HuffmanNode::target_of(one ? node.one : node.zero);
    }
  };

  [[nodiscard]] std::uint32_t walk(KeyHash key, std::uint32_t at, unsigned depth) const noexcept {
    for (; (at & huffman_leaf) == 0 && depth < huffman_depth_max; ++depth) {
      const Step step(*this, at);
      const KeyHash salted = at_node(key, step.number);
      const bool one =
          (step.first == nullptr || step.first->contains(salted)) && step.second->contains(salted);
      at = step.child(one);
    }
    return at & huffman_target_mask;
  }

  // The first stage of the root, which most keys end with, is asked about all keys without a branch.
  void values_by_root(std::span<const KeyHash> keys, std::uint32_t *values) const noexcept {
    if (keys.empty()) return;
    if ((shape_.root & huffman_leaf) != 0)
      return void(std::fill_n(values, keys.size(), shape_.root & huffman_target_mask));
    const Step root(*this, shape_.root);
    const std::uint32_t rejected = root.child(false);
    static_assert(at_node({1}, 0) == KeyHash{1});
    if (root.first == nullptr || (rejected & huffman_leaf) == 0) {
      for (std::size_t i = 0; i < keys.size(); ++i) values[i] = value(keys[i]);
      return;
    }
    std::fill_n(values, keys.size(), rejected & huffman_target_mask);
    const KeyBatch left(keys, root.first->contains_batch(keys));
    const HitMask ones = root.second->contains_batch(left.keys());
    for (std::size_t n = 0; n < left.size(); ++n)
      values[left.place(n)] = walk(left[n], root.child((ones >> n & 1) != 0), 1);
  }

  struct Open { // keys that are not at a leaf yet
    std::array<std::uint8_t, batch_max> place{};
    std::size_t count = 0;
  };

  [[gnu::noinline]] void take_level(std::span<const KeyHash> keys, std::uint32_t *at,
                                    Open &open) const noexcept {
    for (std::size_t n = 0; n < open.count; ++n) {
      const Step step(*this, at[open.place[n]]);
      const KeyHash salted = at_node(keys[open.place[n]], step.number);
      if (step.first != nullptr)
        step.first->prefetch(salted);
      else
        step.second->prefetch(salted);
    }
    Open second, left;
    for (std::size_t n = 0; n < open.count; ++n) {
      const std::uint8_t i = open.place[n];
      const Step step(*this, at[i]);
      const KeyHash salted = at_node(keys[i], step.number);
      if (step.first == nullptr) {
        at[i] = step.child(step.second->contains(salted));
      } else if (step.first->contains(salted)) {
        step.second->prefetch(salted);
        second.place[second.count++] = i;
        continue;
      } else {
        at[i] = step.child(false);
      }
      if ((at[i] & huffman_leaf) == 0) left.place[left.count++] = i;
    }
    for (std::size_t n = 0; n < second.count; ++n) {
      const std::uint8_t i = second.place[n];
      const Step step(*this, at[i]);
      at[i] = step.child(step.second->contains(at_node(keys[i], step.number)));
      if ((at[i] & huffman_leaf) == 0) left.place[left.count++] = i;
    }
    open = left;
  }

  // Children come after their parents, so that every way ends; each node has its tables.
  [[nodiscard]] const char *tree_objection() const noexcept {
    const std::uint32_t root = shape_.root;
    if (shape_.nodes == 0 ? (root & ~huffman_target_mask) != huffman_leaf : root != 0)
      return "its root is neither the first node nor a symbol";
    std::vector<std::uint8_t> depth(shape_.nodes);
    for (std::uint32_t i = 0; i < shape_.nodes; ++i) {
      if (depth[i] >= huffman_depth_max) return "a code of more than 64 bits";
      if (HuffmanNode::table_of(nodes_[i].zero) > shape_.firsts ||
          HuffmanNode::table_of(nodes_[i].one) >= shape_.seconds)
        return "a node asks a table that is not there";
      for (const std::uint32_t child : {nodes_[i].zero, nodes_[i].one}) {
        const std::uint32_t to = HuffmanNode::target_of(child);
        if ((to & huffman_leaf) != 0) continue;
        if (to <= i || to >= shape_.nodes) return "a node leads back or nowhere";
        depth[to] = std::max<std::uint8_t>(depth[to], static_cast<std::uint8_t>(depth[i] + 1));
      }
    }
    return nullptr;
  }

  [[nodiscard]] Status attach_tables(Bytes section) {
    std::uint64_t at = shape_.cells_offset();
    const auto cells_of = [&](const auto &of) -> Result<const std::byte *> {
      if (const char *objection = of.objection()) return bad(objection); // before its size is computed
      const std::uint64_t bytes = of.bits() / 8;
      if (bytes > section.size() - at) return bad("a table ends beyond the section");
      at += bytes;
      return section.data() + at - bytes;
    };
    for (unsigned i = 0; i < shape_.firsts + unsigned{shape_.seconds}; ++i) {
      HuffmanTable table;
      std::memcpy(&table, section.data() + shape_.tables_offset() + i * sizeof table, sizeof table);
      if (table.reserved != 0) return bad("reserved bytes are not zero");
      FilterHeader header{};
      header.layer = table.layer;
      header.seed = table.seed;
      const FuseShape<ways> fuse{table.segments, table.segment_log, table.bits};
      if (i < shape_.firsts) {
        if (table.bits > huffman_fingerprint_bits_max) return bad("fingerprints are not of 1 to 16 bits");
        firsts_[i] = First(fuse, header, TRY(cells_of(fuse)));
      } else {
        const RetrievalShape<ways> shape{fuse};
        if (table.bits != 1) return bad("its exact tables have values of more than one bit");
        seconds_[i - shape_.firsts] = Second(shape, header, TRY(cells_of(shape)));
      }
    }
    if (at != section.size()) return bad("the section goes on after its last table");
    return {};
  }

  HuffmanShape shape_;
  bool near_ = true;
  std::uint64_t bytes_ = 0;
  const HuffmanNode *nodes_ = nullptr;
  std::array<First, firsts_max> firsts_;
  std::array<Second, seconds_max> seconds_;
};

} // namespace weir::filter
