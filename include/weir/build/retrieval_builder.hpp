// Builds retrievals (filter/retrieval.hpp) by peeling, as binary fuse filters are built (peeled_filter.hpp): the value
// of a key rides in the lowest bits of its mixed hash, so that building takes 12 bytes a key and 9 bytes a slot
// here too, in linear time.
#pragma once

#include "weir/build/keys_of_value.hpp"
#include "weir/build/peeled_filter.hpp"
#include "weir/filter/retrieval.hpp"

namespace weir::build {

template <unsigned ways> class Retrieval : public filter::OwnedFilter<filter::RetrievalView<ways>> {
  using Base = filter::OwnedFilter<filter::RetrievalView<ways>>;

public:
  using typename Base::Shape;
  using typename Base::View;

  // The seeds tried follow from `seed`. Keys may be repeated with the same value. Errors: usage, for an impossible
  // shape, values that do not fit in it, more keys than serves() allows, a key with two values, and a shape in
  // which none of 64 seeds finds a place for every key.
  [[nodiscard]] static Result<Retrieval> build(std::span<const KeysOfValue> groups, const Shape &shape,
                                               std::uint64_t layer = 0, std::uint64_t seed = 0) {
    TRY(Base::check(shape));
    const std::uint64_t keys = TRY(count_keys(groups, shape));
    std::vector<KeyAndValue> once; // filled when keys turn out to be repeated
    for (unsigned attempt = 0; attempt < peel_seeds_max; ++attempt) {
      const std::uint64_t next = remix({seed}, attempt);
      const auto mixed = [family = View::family(layer, next),
                          mask = std::uint64_t{shape.value_mask()}](auto take) {
        return [=](KeyHash key, std::uint32_t value) { take((remix(key, family) & ~mask) | value); };
      };
      const auto order =
          peel(shape, attempt == 0
                          ? in_slot_order(keys, [&](auto take) { for_each_key(groups, mixed(take)); })
                          : in_slot_order(once.size(), [&](auto take) { for_each_key(once, mixed(take)); }));
      if (order) return Retrieval(shape, layer, next, *order);
      if (attempt == 0) once = TRY(each_key_once(groups, keys, name_of(Shape::kind)));
    }
    return fail(Errc::usage, fmt::format("{}: {} keys find no place in {} slots, give it more",
                                         name_of(Shape::kind), once.size(), shape.slots()));
  }
  [[nodiscard]] static Result<Retrieval> build(std::initializer_list<KeysOfValue> groups, const Shape &shape,
                                               std::uint64_t layer = 0, std::uint64_t seed = 0) {
    return build(std::span(groups.begin(), groups.size()), shape, layer, seed);
  }

  [[nodiscard]] std::uint32_t value(KeyHash key) const noexcept { return this->view_.value(key); }

private:
  Retrieval(const Shape &shape, std::uint64_t layer, std::uint64_t seed, const Peeling &order)
      : Base(shape, layer, seed) {
    settle(order, shape, shape.value_bits(), this->memory_.cells(),
           [mask = shape.value_mask()](std::uint64_t h) { return static_cast<std::uint32_t>(h) & mask; });
    this->memory_.set_keys(order.mixed.size());
  }
};

// [Chained §3]: right for every key of the declared universe.
template <unsigned ways>
[[nodiscard]] Result<Retrieval<ways>> exact_bloomier(std::span<const KeyHash> positives,
                                                     std::span<const KeyHash> negatives,
                                                     std::uint64_t layer = 0, std::uint64_t seed = 0) {
  using Shape = typename Retrieval<ways>::Shape;
  const auto shape = Shape::for_keys(static_cast<double>(positives.size() + negatives.size()), 1);
  if (!shape) return fail(Errc::usage, "an exact Bloomier filter: more keys than 2^32 slots take");
  return Retrieval<ways>::build({{positives, 1}, {negatives, 0}}, *shape, layer, seed);
}

} // namespace weir::build
