// Builds filters of general membership (filter/chained_general.hpp).
#pragma once

#include "weir/build/membership_model.hpp"
#include "weir/build/peeled_filter.hpp"
#include "weir/build/retrieval_builder.hpp"
#include "weir/filter/chained_general.hpp"

namespace weir::build {

template <unsigned ways> class ChainedGeneral {
public:
  using View = filter::ChainedGeneralView<ways>;
  using First = PeeledFilter<typename View::First>;
  using Second = Retrieval<ways>;

  // Of the negatives a share of `rate` may be accepted; those in front are the last to be. `coin` is for experiments:
  // with `always` far more are accepted than Corollary 4.1 (b) has it. Errors: usage, for a key that is positive and negative,
  // and those of the stages.
  [[nodiscard]] static Result<ChainedGeneral> build(std::span<const KeyHash> positives,
                                                    std::span<const KeyHash> negatives, double rate,
                                                    UnseenCoin coin = UnseenCoin::fair,
                                                    std::uint64_t layer = 0, std::uint64_t seed = 0) {
    const auto n = static_cast<double>(positives.size());
    const double lambda = positives.empty() ? 0 : static_cast<double>(negatives.size()) / n;
    const GeneralForm form = general_form(rate, lambda, coin);
    std::optional<First> first;
    if (form.alpha > 0) {
      const auto shape = First::Shape::for_keys(n, form.alpha);
      if (!shape) return fail(Errc::usage, "a chained filter: more positives than 2^32 slots take");
      first = TRY(First::build(positives, *shape, layer, seed));
    }
    if (!form.has_second) return ChainedGeneral(form, std::move(first));

    std::vector<KeyHash> passed;
    for (const KeyHash key : negatives)
      if (!first || first->contains(key)) passed.push_back(key);
    // As many as came are drawn: what may be left out, twice as many as may be accepted, is not.
    const double all = static_cast<double>(passed.size());
    const double wanted =
        coin == UnseenCoin::fair ? all - 2 * rate * static_cast<double>(negatives.size()) : form.beta * n;
    passed.resize(static_cast<std::uint64_t>(std::clamp(std::ceil(wanted), 0.0, all)));

    const std::uint64_t coins = remix({seed}, layer + 1);
    std::array<std::vector<KeyHash>, 2> of_value; // by the bit that is stored
    const auto store = [&](std::span<const KeyHash> keys, std::uint32_t side) {
      for (const KeyHash key : keys)
        of_value[side ^ (coin == UnseenCoin::fair ? View::side_of(key, coins) : 0)].push_back(key);
    };
    store(positives, 1);
    store(passed, 0);
    const auto shape = Second::Shape::for_keys(static_cast<double>(positives.size() + passed.size()), 1);
    if (!shape) return fail(Errc::usage, "a chained filter: more keys than 2^32 slots take");
    Second second = TRY(Second::build({{of_value[0], 0}, {of_value[1], 1}}, *shape, layer + 1, seed));
    return ChainedGeneral(form, std::move(first), std::move(second), passed.size(),
                          coin == UnseenCoin::fair ? std::optional(coins) : std::nullopt);
  }

  [[nodiscard]] bool contains(KeyHash key) const noexcept { return view().contains(key); }
  [[nodiscard]] View view() const noexcept {
    return View(first_ ? std::optional(first_->view()) : std::nullopt,
                second_ ? std::optional(second_->view()) : std::nullopt, coins_);
  }
  [[nodiscard]] std::uint64_t bits() const noexcept {
    return (first_ ? first_->bits() : 0) + (second_ ? second_->bits() : 0);
  }
  [[nodiscard]] const GeneralForm &form() const noexcept { return form_; }
  [[nodiscard]] std::uint64_t stored_negatives() const noexcept { return stored_negatives_; }
  [[nodiscard]] const std::optional<First> &first() const noexcept { return first_; }

private:
  ChainedGeneral(const GeneralForm &form, std::optional<First> first)
      : form_(form), first_(std::move(first)) {}
  ChainedGeneral(const GeneralForm &form, std::optional<First> first, Second second, std::uint64_t negatives,
                 std::optional<std::uint64_t> coins)
      : form_(form), stored_negatives_(negatives), coins_(coins), first_(std::move(first)),
        second_(std::move(second)) {}

  GeneralForm form_;
  std::uint64_t stored_negatives_ = 0;
  std::optional<std::uint64_t> coins_;
  std::optional<First> first_;
  std::optional<Second> second_;
};

} // namespace weir::build
