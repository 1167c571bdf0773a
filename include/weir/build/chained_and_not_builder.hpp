// Builds ChainedFilter with `& ~` [Chained Alg. 2], from any base filter: the loop of the stack builder, which goes on until nobody
// is left, with an even number of layers or an odd one, and on request with an exact last stage.
//
// The first layer has the rate delta / lambda, all others delta^2, each sized when its keys are known. A layer of few keys gets
// a lower rate: it costs next to nothing, and the chain is shorter by several layers.
#pragma once

#include "weir/build/chained_model.hpp"
#include "weir/build/retrieval_builder.hpp"
#include "weir/build/stacked_builder.hpp"
#include "weir/filter/chained_and_not.hpp"

#include <fmt/format.h>

namespace weir::build {

struct ChainedAndNotPlan {
  double delta = 0.5;            // between 0 and 1
  std::uint64_t exact_below = 0; // of so many keys on both sides together the last stage is exact; 0: none is
  std::uint64_t few_keys = 1'024; // layers of no more than these have
  double few_rate = 1.0 / 256;    // this rate
};

template <class Layer> class ChainedAndNot {
public:
  using View = filter::ChainedAndNotView<typename Layer::View>;
  using Exact = Retrieval<4>;

  // Keys may be repeated. Errors: usage, for a delta that is none, a key that is positive and negative, and a rate that the
  // base has no shape for; those of the stages.
  [[nodiscard]] static Result<ChainedAndNot> build(std::span<const KeyHash> positives,
                                                   std::span<const KeyHash> negatives,
                                                   const ChainedAndNotPlan &plan = {},
                                                   std::uint64_t layer = 0, std::uint64_t seed = 0) {
    if (!(plan.delta > 0 && plan.delta < 1))
      return fail(Errc::usage, fmt::format("`& ~`: delta lies between 0 and 1, not at {}", plan.delta));
    ChainedAndNot made;
    using Keys = std::span<const KeyHash>;
    const auto goes_on = [&](std::size_t number, Keys own, Keys) {
      return number == 1 || (!own.empty() && !made.exact_);
    };
    const auto put = [&](std::size_t number, Keys own, Keys others) -> Result<std::vector<KeyHash>> {
      const std::size_t stage = number - 1;
      if (stage == filter::stack_layers_max) return not_settled(positives, negatives);
      const bool exact = stage > 0 && own.size() + others.size() < plan.exact_below;
      made.keys_.push_back(own.size() + (exact ? others.size() : 0));
      if (exact) {
        const auto shape = Exact::Shape::for_keys(count(own) + count(others), 1);
        made.exact_.emplace(TRY(Exact::build({{own, 1}, {others, 0}}, *shape, layer + stage, seed)));
        return std::vector<KeyHash>();
      }
      TRY(made.add_layer(own, rate_of(plan, stage, own, others), layer + stage, seed));
      return accepted_by(made.layers_.back(), others);
    };
    TRY(chain_layers(positives, negatives, goes_on, put));
    return made;
  }

  [[nodiscard]] bool contains(KeyHash key) const noexcept { return view().contains(key); }
  [[nodiscard]] filter::HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return view().contains_batch(keys);
  }
  [[nodiscard]] View view() const noexcept {
    std::vector<typename Layer::View> views;
    for (const Layer &layer : layers_) views.push_back(layer.view());
    return View(views, exact_ ? std::optional(exact_->view()) : std::nullopt);
  }

  // Of the cells; headers of 64 bytes a stage are beside.
  [[nodiscard]] std::uint64_t bits() const noexcept {
    std::uint64_t bits = exact_ ? exact_->bits() : 0;
    for (const Layer &layer : layers_) bits += layer.bits();
    return bits;
  }
  [[nodiscard]] std::span<const std::uint64_t> keys() const noexcept { return keys_; } // of each stage
  [[nodiscard]] std::span<const Layer> layers() const noexcept { return layers_; }
  [[nodiscard]] const std::optional<Exact> &exact() const noexcept { return exact_; }
  // Of a key outside the universe, by stage, as the layers are.
  [[nodiscard]] std::vector<double> rates() const {
    std::vector<double> rates;
    for (std::size_t i = 0; i < layers_.size(); ++i)
      rates.push_back(Layer::rate(layers_[i].shape(), static_cast<double>(keys_[i])));
    if (exact_) rates.push_back(0.5);
    return rates;
  }

private:
  ChainedAndNot() = default;

  [[nodiscard]] static double count(std::span<const KeyHash> keys) noexcept {
    return static_cast<double>(keys.size());
  }
  [[nodiscard]] static double rate_of(const ChainedAndNotPlan &plan, std::size_t stage,
                                      std::span<const KeyHash> own,
                                      std::span<const KeyHash> others) noexcept {
    const double wanted = stage == 0 ? plan.delta * std::max(count(own), 1.0) / std::max(count(others), 1.0)
                                     : plan.delta * plan.delta;
    // No bits at all make no layer.
    const double rate = std::min(wanted, 0.5);
    return stage > 0 && own.size() <= plan.few_keys ? std::min(rate, plan.few_rate) : rate;
  }

  [[nodiscard]] Status add_layer(std::span<const KeyHash> keys, double rate, std::uint64_t layer,
                                 std::uint64_t seed) {
    // A static base has 20 bits at most; who it lets through comes to the next layer.
    std::optional<typename Layer::Shape> shape;
    for (; !shape && rate < 1; rate *= 2) shape = Layer::shape_for_rate(std::max(count(keys), 1.0), rate);
    if (!shape)
      return fail(Errc::usage, fmt::format("`& ~`: the base has no shape for {} keys", keys.size()));
    auto built =
        build_layer<Layer>(*shape, layer, keys, seed, 2 * shape->bits()); // tables of few slots run full
    if (!built) return in_layer(layers_.size() + 1, built.error());
    layers_.push_back(std::move(*built));
    return {};
  }

  [[nodiscard]] static std::unexpected<Error> not_settled(std::span<const KeyHash> positives,
                                                          std::span<const KeyHash> negatives) {
    std::vector<std::uint64_t> sorted;
    for (const KeyHash key : positives) sorted.push_back(key.bits);
    std::ranges::sort(sorted);
    for (const KeyHash key : negatives)
      if (std::ranges::binary_search(sorted, key.bits))
        return fail(Errc::usage, fmt::format("`& ~`: key {:016x} is positive and negative", key.bits));
    return fail(Errc::usage, fmt::format("`& ~`: {} layers do not tell the sides apart, give a smaller delta",
                                         filter::stack_layers_max));
  }

  std::vector<Layer> layers_;
  std::optional<Exact> exact_;
  std::vector<std::uint64_t> keys_;
};

} // namespace weir::build
