// The location predictor of [Chained §5.3.2]: F1 & ~(F2 & ~(F3 & ~ ...)) of Bloom layers of fixed size, whose positives are the
// keys of table 2, trained by questions. A prediction that turned out wrong sets the key's bits in the first layer that answered
// wrongly, and so on until the prediction is right. Bits are only ever set: a layer that has what it is due is right for
// ever, and each round of questions brings one more layer to its end at least.
//
//   all Bloom     the last layer has the last word: a key that it still answers wrongly stays wrong, and is counted
//   exact last    three Bloom layers, and Othello hashing as fourth: every key that comes so far is put in with its table.
//                 The remark of §4.3.2, the paper's "optimized". No layer follows, so training ends a round later
//
// The packet path's own predictor (table/chained_predictor.hpp) is built from complete sets instead.
#pragma once

#include "tests/lab/cuckoo_tables.hpp"
#include "weir/build/othello_builder.hpp"
#include "weir/build/predictor_model.hpp"
#include "weir/filter/and_not.hpp"
#include "weir/filter/bloom.hpp"

namespace weir::lab {

class TrainedChain {
public:
  static constexpr unsigned layers_max = 16, layers_before_exact = 3;
  static constexpr unsigned layer_bits_min = 512;

  // For so many keys in table 2 and lambda in table 1 for each of these, in at most so many bits. Errors: usage, when there
  // is no room for the layers.
  [[nodiscard]] static Result<TrainedChain> make(double positives, double lambda, std::uint64_t bits,
                                                 bool exact_last, std::uint64_t seed) {
    TrainedChain chain;
    const unsigned count = exact_last ? layers_before_exact : layers_max;
    const auto share = [lambda](unsigned i) { return build::predictor_layer_share(lambda, i); };
    auto left = static_cast<double>(bits); // for layers above the floor, which have `shares` of it
    double shares = 0;
    unsigned above = 0;
    for (; above < count && left * share(above) > layer_bits_min; ++above) shares += share(above);
    if (exact_last)
      shares = 1; // what the others leave is for the exact one
    else
      left -= double{layer_bits_min} * (count - above);
    if (left <= 0 || above < layers_before_exact)
      return fail(Errc::usage, "a trained chain: no room for its layers, give it more bits");
    for (unsigned i = 0; i < count; ++i) {
      const double wanted = i < above ? left * share(i) / shares : layer_bits_min;
      auto shape = filter::Bloom::shape_for(positives * build::predictor_layer_keys(i),
                                            static_cast<std::uint64_t>(wanted))
                       .value();
      shape.hashes = std::max(shape.hashes, 2u);
      chain.layers_.push_back(TRY(filter::Bloom::make(shape, remix({seed}, i))));
      left -= exact_last ? static_cast<double>(shape.bits()) : 0;
      shares -= exact_last ? share(i) : 0;
    }
    if (!exact_last) return chain;
    const auto shape = filter::OthelloShape::for_bits(static_cast<std::uint64_t>(left), 1);
    if (!shape) return fail(Errc::usage, "a trained chain: no room for its last layer, give it more bits");
    chain.exact_ = TRY(build::Othello::make(*shape, layers_before_exact, seed));
    return chain;
  }

  [[nodiscard]] Home predict(KeyHash key) const noexcept {
    return settle(key, 0) ? Home::table2 : Home::table1;
  }
  // Bit i is set when keys[i] is predicted in table 2; up to batch_max keys. The first three layers settle most keys. They
  // are asked for all of them, so that no branch depends on what they say.
  [[nodiscard]] filter::HitMask predict_batch(std::span<const KeyHash> keys) const noexcept {
    static_assert(layers_before_exact == 3);
    const filter::HitMask first = layers_[0].contains_batch(keys), second = layers_[1].contains_batch(keys),
                          third = layers_[2].contains_batch(keys);
    filter::HitMask positive = first & ~second;
    for (filter::HitMask open = first & second & third; open != 0; open &= open - 1)
      if (settle(keys[static_cast<std::size_t>(std::countr_zero(open))], layers_before_exact))
        positive |= open & -open;
    return positive;
  }

  // The key was found in `home`. Cheap where the prediction was right, but for a key that the exact layer was asked for:
  // that one is put in all the same, or a change of another key could turn its answer.
  void train(KeyHash key, Home home) {
    const bool positive = home == Home::table2;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (layers_[i].contains(key)) continue;
      if ((i % 2 != 0) == positive) return; // this layer's no is right
      layers_[i].insert(key);
    }
    if (exact_)
      declare(key, !positive); // the fourth layer holds negatives
    else if ((layers_.size() % 2 != 0) != positive)
      ++failures_;
  }
  // The key is gone. Bloom layers keep it.
  void forget(KeyHash key) {
    if (exact_) exact_->erase(key);
  }

  [[nodiscard]] std::uint64_t bits() const noexcept {
    std::uint64_t bits = exact_ ? exact_->bits() : 0;
    for (const filter::Bloom &layer : layers_) bits += layer.bits();
    return bits;
  }
  [[nodiscard]] std::uint64_t failures() const noexcept {
    return failures_;
  } // how often training did not help
  [[nodiscard]] std::uint64_t exact_keys() const noexcept { return exact_ ? exact_->keys() : 0; }

private:
  TrainedChain() = default;

  // Whether a key is a positive, which all layers before `from` accept. A batch of one: no branch depends on a bit.
  [[nodiscard]] bool settle(KeyHash key, std::size_t from) const noexcept {
    const std::size_t blooms = layers_.size();
    return filter::and_not(from, blooms + (exact_ ? 1 : 0), [&](std::size_t layer) {
      return layer < blooms ? layers_[layer].contains_batch({&key, 1}) != 0 : exact_->contains(key);
    });
  }

  void declare(KeyHash key, bool negative) {
    const std::uint32_t value = negative ? 1 : 0;
    const auto before = exact_->declared(key);
    if (before == value) return;
    const Status in = before ? exact_->change(key, value) : exact_->insert(key, value);
    if (!in) ++failures_;
  }

  std::vector<filter::Bloom> layers_;
  std::optional<build::Othello> exact_;
  std::uint64_t failures_ = 0;
};

} // namespace weir::lab
