// How often images are built that nobody asked for.
#include "control/watch/image_budget.hpp"

#include <gtest/gtest.h>

namespace weir::watch::image_budget_test {
namespace {

using namespace std::chrono_literals;
using Time = std::chrono::steady_clock::time_point;
const Time start = Time{} + 1h;

TEST(ImageBudget, waits_twice_as_long_for_each_image_that_a_cause_goes_on_asking_for) {
  ImageBudget budget;
  using enum ImageCause;
  EXPECT_LE(budget.not_before(deny_rate, start), start) << "the first at once";
  Time now = start;
  for (const auto wait : {60s, 120s, 240s, 480s}) {
    budget.begin(deny_rate, 60s, now);
    EXPECT_EQ(budget.not_before(deny_rate, now), now + wait);
    EXPECT_EQ(budget.not_before(deny_shift, now), now + wait) << "the same traffic, by another name";
    EXPECT_LE(budget.not_before(allow_rate, now), now) << "another filter has its own";
    now += wait;
  }
  now += 1h;
  budget.begin(deny_rate, 60s, now);
  EXPECT_EQ(budget.not_before(deny_rate, now), now + 60s) << "it had been quiet";
}

TEST(ImageBudget, is_not_outwitted_by_causes_that_take_turns) {
  ImageBudget budget;
  using enum ImageCause;
  std::size_t images = 0;
  for (Time now = start; now < start + 30s; now += 10ms)
    for (const auto cause : {deny_learned, deny_shift, deny_rate})
      if (budget.not_before(cause, now) <= now) {
        budget.begin(cause, 1s, now);
        ++images;
      }
  EXPECT_EQ(images, 5u) << "at 0, 1, 3, 7 and 15 s";
}

TEST(ImageBudget, lets_traffic_bring_about_so_many_an_hour_whatever_the_causes) {
  ImageBudget budget;
  std::size_t images = 0;
  for (Time now = start; now < start + 1h; now += 1s)
    for (const auto cause :
         {ImageCause::deny_rate, ImageCause::deny_shift, ImageCause::deny_learned, ImageCause::allow_rate})
      if (budget.not_before(cause, now) <= now) {
        budget.begin(cause, 1s, now);
        ++images;
      }
  EXPECT_EQ(images, ImageBudget::per_hour);
  EXPECT_LE(budget.not_before(ImageCause::entries, start + 1h), start + 1h) << "entries do not wait for it";
}

} // namespace
} // namespace weir::watch::image_budget_test
