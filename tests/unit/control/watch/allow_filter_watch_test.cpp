// When another image is due because of the filter in front of the allow tables.
#include "control/watch/allow_filter_watch.hpp"
#include "control/watch/rate_check.hpp"

#include <gtest/gtest.h>

namespace weir::watch::allow_filter_watch_test {
namespace {

TEST(RateBand, is_left_by_many_wrong_answers_far_above_the_prediction_alone) {
  EXPECT_FALSE(is_beyond_band(0.01, {1'000, 12})) << "few";
  EXPECT_FALSE(is_beyond_band(0.01, {10'000, 149})) << "within half as much again";
  EXPECT_TRUE(is_beyond_band(0.01, {10'000, 151}));
  EXPECT_FALSE(is_beyond_band(0.03, {1'000, 46})) << "three standard deviations are 16";
  EXPECT_TRUE(is_beyond_band(0.03, {1'000, 47}));
  EXPECT_FALSE(is_beyond_band(1e-6, {1'000, 29})) << "so few say nothing, however unlikely";
  EXPECT_TRUE(is_beyond_band(1e-6, {1'000, 30}));
  EXPECT_FALSE(is_beyond_band(0, {}));
}

// Of `asked` absent addresses `wrong` were accepted; of them `denied` that the deny side matched,
// `denied_wrong`.
wire::CounterValues did(std::uint64_t asked, std::uint64_t wrong, std::uint64_t denied = 0,
                        std::uint64_t denied_wrong = 0) {
  using enum wire::CounterId;
  wire::CounterValues did;
  did[allow_asked] = asked + 500; // 500 more are on the list
  did[allow_accepted] = wrong + 500;
  did[allow_false] = wrong;
  did[allow_denied_asked] = denied;
  did[allow_denied_false] = denied_wrong;
  return did;
}

constexpr plan::AllowPromise promise{
    .learns = true, .predicts = true, .plain_churned = 0.01, .weighted_churned = 0.002};

TEST(AllowFilterWatch, stays_with_a_filter_that_does_what_was_planned) {
  AllowFilterWatch watch;
  EXPECT_FALSE(watch.look(did(100'000, 90'000))) << "there is no filter";
  watch.begin(promise);
  EXPECT_FALSE(watch.look({}));
  EXPECT_FALSE(watch.look(did(100'000, 1'400, 10'000, 28)));
}

TEST(AllowFilterWatch, names_whose_addresses_it_errs_about_with_both_rates) {
  AllowFilterWatch watch;
  watch.begin(promise);
  const auto plain = watch.look(did(100'000, 1'600));
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->cause, ImageCause::allow_rate);
  EXPECT_EQ(plain->first_wait, std::chrono::minutes(1));
  EXPECT_EQ(plain->words, "the filter of the allow lists accepted 1.6 % of 100000 questions about addresses "
                          "that are not allowed, 1 % were predicted");
  const auto denied = watch.look(did(100'000, 1'000, 10'000, 60));
  ASSERT_TRUE(denied);
  EXPECT_NE(denied->words.find("0.6 % of 10000 questions about denied addresses, 0.2 %"), std::string::npos)
      << denied->words;
}

TEST(AllowFilterWatch, knows_which_filters_learn_late) {
  AllowFilterWatch watch;
  EXPECT_FALSE(watch.learns());
  watch.begin(promise);
  EXPECT_TRUE(watch.learns());
  watch.begin({.predicts = true});
  EXPECT_FALSE(watch.learns());
}

} // namespace
} // namespace weir::watch::allow_filter_watch_test
