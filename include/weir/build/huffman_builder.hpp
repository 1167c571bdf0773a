// Builds Huffman maps (filter/huffman_map.hpp): first stages from the keys that go to the lighter side of their nodes, then exact
// tables from these and the keys that a first stage lets through in error.
#pragma once

#include "weir/build/huffman_model.hpp"
#include "weir/build/retrieval_builder.hpp"

namespace weir::build {

template <unsigned ways, unsigned firsts_max = filter::huffman_fingerprint_bits_max, unsigned seconds_max = 1>
class HuffmanMap {
public:
  using View = filter::HuffmanMapView<ways, firsts_max, seconds_max>;

  // symbols[i] of keys[i]. Keys may be repeated with the same symbol. The seeds tried follow from `seed`. Errors: usage, for a
  // key with two symbols, one above huffman_symbol_max, and more tables or keys than there is room for.
  [[nodiscard]] static Result<HuffmanMap> build(std::span<const KeyHash> keys,
                                                std::span<const std::uint32_t> symbols,
                                                std::uint64_t seed = 0,
                                                HuffmanTables tables = HuffmanTables::by_fingerprint) {
    if (keys.size() != symbols.size()) return bad("there are not as many keys as symbols");
    HuffmanPlan plan = plan_huffman<ways>(TRY(counts_of(symbols)), tables);
    if (plan.firsts.size() > firsts_max || plan.seconds.size() > seconds_max)
      return bad(fmt::format("{} symbols have {} tables, which is too many", plan.tree.leaves.size(),
                             plan.firsts.size() + plan.seconds.size()));
    constexpr unsigned attempts_max = 8; // a salted key is another one once in 2^64 pairs
    for (unsigned attempt = 0;; ++attempt) {
      auto built = build_tables(plan, keys, symbols, remix({seed}, attempt));
      if (built) return HuffmanMap(plan, *built, keys.size(), seed);
      if (attempt == 0) TRY(check_once(keys, symbols));
      if (attempt + 1 == attempts_max) return std::unexpected(std::move(built).error());
    }
  }

  // The element with index i has the key array_key(i).
  [[nodiscard]] static Result<HuffmanMap> build_array(std::span<const std::uint32_t> symbols,
                                                      std::uint64_t seed = 0,
                                                      HuffmanTables tables = HuffmanTables::by_fingerprint) {
    std::vector<KeyHash> keys(symbols.size());
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = filter::array_key(i);
    return build(keys, symbols, seed, tables);
  }

  [[nodiscard]] std::uint32_t value(KeyHash key) const noexcept { return view_.value(key); }
  [[nodiscard]] const View &view() const noexcept { return view_; } // into section()
  [[nodiscard]] Bytes section() const noexcept { return memory_.section(); }
  // Of all but the header: nodes, tables and cells, with what packing and rounding leave unused.
  [[nodiscard]] std::uint64_t bits() const noexcept {
    return 8 * (memory_.section().size() - sizeof(filter::FilterHeader));
  }
  [[nodiscard]] const HuffmanPlan &plan() const noexcept { return plan_; }

private:
  using First = PeeledFilter<typename View::First>;
  using Second = Retrieval<ways>;
  struct Tables {
    std::vector<First> firsts;
    std::vector<Second> seconds;
  };

  [[nodiscard]] static std::unexpected<Error> bad(const std::string &why) {
    return fail(Errc::usage, std::string(name_of(filter::FilterKind::huffman_map)) + ": " + why);
  }

  [[nodiscard]] static Result<std::vector<SymbolCount>> counts_of(std::span<const std::uint32_t> symbols) {
    std::vector<SymbolCount> counts;
    for (const std::uint32_t symbol : symbols) {
      if (symbol > filter::huffman_symbol_max)
        return bad(fmt::format("symbol {} is greater than {}", symbol, filter::huffman_symbol_max));
      while (counts.size() <= symbol) counts.push_back({.symbol = static_cast<std::uint32_t>(counts.size())});
      ++counts[symbol].count;
    }
    return counts;
  }

  [[nodiscard]] static Status check_once(std::span<const KeyHash> keys,
                                         std::span<const std::uint32_t> symbols) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> all(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) all[i] = {keys[i].bits, symbols[i]};
    std::ranges::sort(all);
    const auto two = std::ranges::adjacent_find(
        all, [](const auto &a, const auto &b) { return a.first == b.first && a.second != b.second; });
    if (two == all.end()) return {};
    return bad(
        fmt::format("key {:016x} has two symbols, {} and {}", two->first, two->second, (two + 1)->second));
  }

  // Calls visit(node, key there, which child) for all bits of all codes.
  static void for_each_bit(const HuffmanPlan &plan, std::span<const KeyHash> keys,
                           std::span<const std::uint32_t> symbols, const auto &visit) {
    std::vector<const HuffmanTree::Leaf *> leaf_of;
    for (const HuffmanTree::Leaf &leaf : plan.tree.leaves) {
      if (leaf_of.size() <= leaf.symbol) leaf_of.resize(leaf.symbol + 1);
      leaf_of[leaf.symbol] = &leaf;
    }
    for (std::size_t i = 0; i < keys.size(); ++i)
      for (const auto &[node, one] : leaf_of[symbols[i]]->path)
        visit(node, filter::at_node(keys[i], node), one);
  }

  [[nodiscard]] static Result<Tables> build_tables(const HuffmanPlan &plan, std::span<const KeyHash> keys,
                                                   std::span<const std::uint32_t> symbols,
                                                   std::uint64_t seed) {
    Tables tables;
    std::vector<std::vector<KeyHash>> lighter(plan.firsts.size());
    for (std::size_t f = 0; f < lighter.size(); ++f) lighter[f].reserve(plan.firsts[f].keys);
    if (!lighter.empty())
      for_each_bit(plan, keys, symbols, [&](std::uint32_t node, KeyHash key, bool one) {
        if (const std::uint32_t first = plan.of[node].first; first != 0 && one)
          lighter[first - 1].push_back(key);
      });
    for (std::size_t f = 0; f < lighter.size(); ++f) {
      const auto shape = First::Shape::for_keys(static_cast<double>(lighter[f].size()), plan.firsts[f].bits);
      if (!shape) return bad("more keys than 2^32 slots take");
      tables.firsts.push_back(TRY(First::build(lighter[f], *shape, 2 * f, seed)));
      lighter[f] = {};
    }
    struct Sides {
      std::vector<KeyHash> zeros, ones;
    };
    std::vector<Sides> open(plan.seconds.size());
    for_each_bit(plan, keys, symbols, [&](std::uint32_t node, KeyHash key, bool one) {
      const auto &[first, second] = plan.of[node];
      if (one)
        open[second].ones.push_back(key);
      else if (first == 0 || tables.firsts[first - 1].contains(key))
        open[second].zeros.push_back(key);
    });
    for (std::size_t s = 0; s < open.size(); ++s) {
      tables.seconds.push_back(TRY(exact_bloomier<ways>(open[s].ones, open[s].zeros, 2 * s + 1, seed)));
      open[s] = {};
    }
    return tables;
  }

  static constexpr std::uint32_t child_word(const HuffmanTree &tree, HuffmanBranch::Child child,
                                            std::uint32_t table) noexcept {
    const std::uint32_t to = child.leaf ? filter::huffman_leaf | tree.leaves[child.to].symbol : child.to;
    return to | table << filter::huffman_target_bits;
  }

  HuffmanMap(HuffmanPlan &plan, const Tables &tables, std::size_t keys, std::uint64_t seed)
      : plan_(std::move(plan)), memory_(header_of(plan_, keys, seed), section_bytes(plan_, tables)) {
    const HuffmanTree &tree = plan_.tree;
    std::byte *at = memory_.cells();
    const auto write = [&](const void *from, std::size_t bytes) {
      std::memcpy(at, from, bytes);
      at += bytes;
    };
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const filter::HuffmanNode node{child_word(tree, tree.nodes[i].child[0], plan_.of[i].first),
                                     child_word(tree, tree.nodes[i].child[1], plan_.of[i].second)};
      write(&node, sizeof node);
    }
    const auto write_entry = [&](const auto &built, const filter::FuseShape<ways> &fuse) {
      const auto header = load_unaligned<filter::FilterHeader>(built.section().data());
      const filter::HuffmanTable table{.segments = fuse.segments,
                                       .segment_log = fuse.segment_log,
                                       .bits = fuse.fingerprint_bits,
                                       .reserved = 0,
                                       .layer = header.layer,
                                       .seed = header.seed};
      write(&table, sizeof table);
    };
    const auto write_cells = [&](Bytes section) {
      write(section.data() + sizeof(filter::FilterHeader), section.size() - sizeof(filter::FilterHeader));
    };
    for (const First &f : tables.firsts) write_entry(f, f.shape());
    for (const Second &s : tables.seconds) write_entry(s, s.shape().table);
    for (const First &f : tables.firsts) write_cells(f.section());
    for (const Second &s : tables.seconds) write_cells(s.section());
    view_ = View::attach(memory_.section()).value();
  }

  [[nodiscard]] static filter::HuffmanShape shape_of(const HuffmanPlan &plan) noexcept {
    filter::HuffmanShape shape;
    shape.nodes = static_cast<std::uint32_t>(plan.tree.nodes.size());
    shape.firsts = static_cast<std::uint16_t>(plan.firsts.size());
    shape.seconds = static_cast<std::uint16_t>(plan.seconds.size());
    shape.ways = ways;
    shape.root = shape.nodes != 0 ? 0 : filter::huffman_leaf;
    if (shape.nodes == 0 && !plan.tree.leaves.empty()) shape.root |= plan.tree.leaves.front().symbol;
    return shape;
  }
  [[nodiscard]] static filter::FilterHeader header_of(const HuffmanPlan &plan, std::size_t keys,
                                                      std::uint64_t seed) noexcept {
    return {.magic = filter::filter_magic,
            .kind = static_cast<std::uint32_t>(filter::FilterKind::huffman_map),
            .reserved0 = 0,
            .shape = shape_of(plan).as_words(),
            .layer = 0,
            .seed = seed,
            .keys = keys,
            .planned_keys = 0};
  }
  [[nodiscard]] static std::size_t section_bytes(const HuffmanPlan &plan, const Tables &tables) noexcept {
    std::size_t bytes = shape_of(plan).cells_offset();
    for (const First &f : tables.firsts) bytes += f.bits() / 8;
    for (const Second &s : tables.seconds) bytes += s.bits() / 8;
    return bytes;
  }

  HuffmanPlan plan_;
  filter::FilterMemory memory_;
  View view_;
};

} // namespace weir::build
