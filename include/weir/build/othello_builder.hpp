// Writes Othello hashing (filter/othello.hpp): keys come, go and change their values one at a time.
//
// The writer keeps every key with its value, 24 bytes a key and 8 bytes a slot beside the section: cells are nodes, keys are edges,
// and no edges close a circle. A cell so belongs to a tree, and
//
//   insert    joins two trees: the cells of the smaller one are flipped where the new value asks for it. Both are walked
//             by turns, so that the smaller one is all that is paid for. A key whose cells are in one tree already closes a
//             circle: all keys are placed anew under another seed
//   change    takes the edge out, which leaves two trees, and flips the smaller one
//   erase     takes the edge out; cells keep what they hold
//
// With 2.33 cells a key trees are small, and a set that is replaced as a whole meets about three circles: everything
// is of constant time, spread over the changes.
#pragma once

#include "weir/build/keys_of_value.hpp"
#include "weir/filter/othello.hpp"

#include <fmt/format.h>

#include <tuple>

namespace weir::build {

class Othello : public filter::OwnedFilter<filter::OthelloView> {
public:
  static constexpr unsigned seeds_max = 64; // for one placing of all keys

  // Errors: usage, for an impossible shape.
  [[nodiscard]] static Result<Othello> make(const Shape &shape, std::uint64_t layer = 0,
                                            std::uint64_t seed = 0) {
    TRY(check(shape));
    return Othello(shape, layer, seed);
  }
  // All keys at once; repeated ones count once if their values agree. Errors: those of make() and insert().
  [[nodiscard]] static Result<Othello> build(std::span<const KeysOfValue> groups, const Shape &shape,
                                             std::uint64_t layer = 0, std::uint64_t seed = 0) {
    Othello out = TRY(make(shape, layer, seed));
    for (const KeysOfValue &group : groups)
      for (const KeyHash key : group.keys) TRY(out.insert(key, group.value));
    return out;
  }
  [[nodiscard]] static Result<Othello> build(std::initializer_list<KeysOfValue> groups, const Shape &shape,
                                             std::uint64_t layer = 0, std::uint64_t seed = 0) {
    return build(std::span(groups.begin(), groups.size()), shape, layer, seed);
  }

  // A key that is in with this value already stays as it is. Views taken before have to be taken again: all keys may
  // have been placed anew. Errors, with nothing changed: usage, for a value that does not fit, and for a key that has
  // another one; needs_rebuild, when there are as many keys as the shape takes.
  [[nodiscard]] Status insert(KeyHash key, std::uint32_t value) {
    TRY(fits(value));
    if (const std::uint32_t number = find(key); number != none) {
      if (edges_[number].value == value) return {};
      return fail(Errc::usage, fmt::format("{}: key {:016x} has two values, {} and {}", name_of(Shape::kind),
                                           key.bits, edges_[number].value, value));
    }
    if (keys() < shape().keys_max() && (place(key, value) || place_anew(key, value))) return {};
    return fail(Errc::needs_rebuild,
                fmt::format("{}: {} keys find no place in {} cells on either side, give it more",
                            name_of(Shape::kind), keys() + 1, shape().side_cells()));
  }
  // Errors, with nothing changed: usage, for a value that does not fit; not_found, for a key that is not in.
  [[nodiscard]] Status change(KeyHash key, std::uint32_t value) {
    TRY(fits(value));
    const std::uint32_t number = find(key);
    if (number == none)
      return fail(Errc::not_found, fmt::format("{}: key {:016x} is not in", name_of(Shape::kind), key.bits));
    edges_[number].value = value;
    const Nodes nodes = nodes_of(key);
    unlink(number, nodes);
    std::ignore = join(nodes, value); // two trees now: no circle
    link(number, nodes);
    return {};
  }
  // False, and nothing changed, for a key that is not in.
  bool erase(KeyHash key) noexcept {
    const std::uint32_t number = find(key);
    if (number == none) return false;
    unlink(number, nodes_of(key));
    edges_[number].next = {free_, none};
    free_ = number;
    memory_.set_keys(keys() - 1);
    return true;
  }

  [[nodiscard]] std::uint32_t value(KeyHash key) const noexcept { return view_.value(key); }
  // The value that a key was put in with; nothing: it is not in.
  [[nodiscard]] std::optional<std::uint32_t> declared(KeyHash key) const noexcept {
    const std::uint32_t number = find(key);
    return number == none ? std::nullopt : std::optional(edges_[number].value);
  }
  // How often all keys were placed anew, each seed that was tried counted.
  [[nodiscard]] std::uint64_t seeds_tried() const noexcept { return tried_; }

private:
  static constexpr std::uint32_t none = UINT32_MAX;
  enum Side : unsigned { left, right };

  struct Edge {
    KeyHash key;
    std::uint32_t value;
    std::array<std::uint32_t, 2> next; // in the lists of its left and of its right cell
  };
  using Nodes =
      std::array<std::uint32_t, 2>; // numbers of cells: those on the right come after those on the left

  Othello(const Shape &shape, std::uint64_t layer, std::uint64_t seed)
      : OwnedFilter(shape, layer, seed), first_(2 * shape.side_cells(), none), seed_(seed) {}

  [[nodiscard]] Status fits(std::uint32_t value) const {
    if (value <= shape().value_mask()) return {};
    return fail(Errc::usage, fmt::format("{}: value {} does not fit in {} bits", name_of(Shape::kind), value,
                                         shape().value_bits));
  }

  [[nodiscard]] filter::CellPlace cell(std::uint32_t node) const noexcept {
    const filter::CellArray cells = shape().side(); // both sides end with a whole word
    return {node / cells.per_word, node % cells.per_word * cells.width};
  }
  [[nodiscard]] std::uint32_t node(filter::CellPlace place) const noexcept {
    const filter::CellArray cells = shape().side();
    return static_cast<std::uint32_t>(place.word * cells.per_word + place.shift / cells.width);
  }
  [[nodiscard]] Nodes nodes_of(KeyHash key) const noexcept {
    const Shape::Places places = view_.places_of(key);
    return {node(places.left), node(places.right)};
  }
  [[nodiscard]] Side side_of(std::uint32_t node) const noexcept {
    return node < shape().side_cells() ? left : right;
  }

  // The number of a key's edge, or none.
  [[nodiscard]] std::uint32_t find(KeyHash key) const noexcept {
    std::uint32_t e = first_[nodes_of(key)[left]];
    while (e != none && edges_[e].key != key) e = edges_[e].next[left];
    return e;
  }
  void link(std::uint32_t number, const Nodes &nodes) noexcept {
    for (const Side side : {left, right})
      edges_[number].next[side] = std::exchange(first_[nodes[side]], number);
  }
  void unlink(std::uint32_t number, const Nodes &nodes) noexcept {
    for (const Side side : {left, right}) {
      std::uint32_t *at = &first_[nodes[side]];
      while (*at != number) at = &edges_[*at].next[side];
      *at = edges_[number].next[side];
    }
  }

  // A tree that is walked a node at a time. There are no circles, so only the edge that led to a node leads back.
  struct Walk {
    struct Step {
      std::uint32_t node, edge;
    };
    std::vector<Step> seen; // all nodes so far
    std::size_t at = 0;

    void begin(std::uint32_t node) {
      seen.assign(1, {node, none});
      at = 0;
    }
    [[nodiscard]] bool over() const noexcept { return at == seen.size(); }
  };
  // Takes the neighbours of one node in. False: `other` is among them.
  [[nodiscard]] bool go_on(Walk &walk, std::uint32_t other) {
    const Walk::Step from = walk.seen[walk.at++];
    const Side side = side_of(from.node);
    for (std::uint32_t e = first_[from.node]; e != none; e = edges_[e].next[side]) {
      if (e == from.edge) continue;
      const std::uint32_t to = nodes_of(edges_[e].key)[side == left ? right : left];
      if (to == other) return false;
      walk.seen.push_back({to, e});
    }
    return true;
  }
  // Makes the two cells combine to `value`. False, and nothing changed, if they are in one tree.
  [[nodiscard]] bool join(const Nodes &nodes, std::uint32_t value) {
    for (const Side side : {left, right}) walks_[side].begin(nodes[side]);
    Side turn = left;
    while (!walks_[turn].over()) {
      if (!go_on(walks_[turn], nodes[turn == left ? right : left])) return false;
      turn = turn == left ? right : left;
    }
    const std::uint32_t flip = (content(nodes[left]) ^ content(nodes[right])) ^ value;
    if (flip == 0) return true;
    auto *words = reinterpret_cast<std::uint64_t *>(memory_.cells());
    for (const Walk::Step &step : walks_[turn].seen)
      filter::store_cell(words, cell(step.node), shape().value_mask(), content(step.node) ^ flip);
    return true;
  }
  [[nodiscard]] std::uint32_t content(std::uint32_t node) const noexcept {
    const auto *words =
        reinterpret_cast<const std::uint64_t *>(section().data() + sizeof(filter::FilterHeader));
    return filter::load_cell(words, cell(node)) & shape().value_mask();
  }

  // A key that is not in. False, and nothing changed, if it would close a circle.
  [[nodiscard]] bool place(KeyHash key, std::uint32_t value) {
    const Nodes nodes = nodes_of(key);
    if (!join(nodes, value)) return false;
    std::uint32_t number = free_;
    if (number == none) {
      number = static_cast<std::uint32_t>(edges_.size());
      edges_.emplace_back();
    } else {
      free_ = edges_[number].next[0];
    }
    edges_[number] = {key, value, {none, none}};
    link(number, nodes);
    memory_.set_keys(keys() + 1);
    return true;
  }
  [[nodiscard]] bool place_all_of(const Othello &other) {
    for (std::uint32_t node = 0; node < shape().side_cells(); ++node)
      for (std::uint32_t e = other.first_[node]; e != none; e = other.edges_[e].next[left])
        if (!place(other.edges_[e].key, other.edges_[e].value)) return false;
    return true;
  }
  // All keys and one more, under the first seed that serves: every other one does.
  [[nodiscard]] bool place_anew(KeyHash key, std::uint32_t value) {
    for (unsigned attempt = 1; attempt <= seeds_max; ++attempt) {
      Othello next(shape(), layer(), remix({seed_}, attempt));
      next.edges_.reserve(keys() + 1);
      if (!next.place(key, value) || !next.place_all_of(*this)) continue;
      next.tried_ = tried_ + attempt;
      *this = std::move(next);
      return true;
    }
    return false;
  }

  std::vector<Edge> edges_; // also those that are free, in a list by next[0]
  std::uint32_t free_ = none;
  std::vector<std::uint32_t> first_; // of each cell's list of edges
  std::uint64_t seed_, tried_ = 0;
  std::array<Walk, 2> walks_; // kept for their memory
};

} // namespace weir::build
