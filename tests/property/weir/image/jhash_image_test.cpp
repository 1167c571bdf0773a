// Images of family jhash beside a slow judge: random rules of any size with nested prefixes, whichever
// filters stand in front, asked one by one and in bursts.
#include "tests/support/deny_filter_case.hpp"
#include "tests/support/random_rules.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/test_image.hpp"
#include "weir/lookup/burst_lookup.hpp"
#include "weir/lookup/kernels/choose.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace weir::jhash_image_test {
namespace {

class Asker {
public:
  Asker(const test::RuleSet &rules, const image::ImageView &view) : oracle_(rules.oracle()), view_(view) {}

  void ask(test::Random &random, const test::RuleSet &rules) {
    const auto kernels = lookup::available_kernels();
    std::vector<Address> asked(random.below(lookup::BurstLookup::slots_max + 1));
    burst_->begin(view_, *kernels[random.below(static_cast<std::uint32_t>(kernels.size()))]);
    for (unsigned i = 0; i < asked.size(); ++i) {
      const Family family = random.one_in(2) ? Family::ipv4 : Family::ipv6;
      asked[i] = test::interesting_address(random, rules, family);
      if (family == Family::ipv4)
        burst_->ask_v4(i, asked[i].wire());
      else
        burst_->ask_v6(i, asked[i].bytes.data());
    }
    burst_->send();
    burst_->probe_first();
    burst_->finish();
    for (unsigned i = 0; i < asked.size(); ++i) {
      const Address &a = asked[i];
      const auto denied = oracle_.denied_by(a), allowed = oracle_.allowed_by(a);
      ASSERT_EQ(list_of(image::lookup(view_, Side::deny, a)), denied) << to_string(a);
      ASSERT_EQ(list_of(image::lookup(view_, Side::allow, a)), allowed) << to_string(a);
      ASSERT_EQ(list_of(burst_->deny(i)), denied) << to_string(a) << " in a burst of " << asked.size();
      const bool put_off =
          view_.policy.confirm == Confirm::on_conflict && !view_.allow_filter.empty() && !denied;
      ASSERT_EQ(list_of(burst_->allow(i)), put_off ? std::nullopt : allowed) << to_string(a) << " in a burst";
      hits_ += denied.has_value();
    }
  }
  [[nodiscard]] unsigned hits() const noexcept { return hits_; }

private:
  [[nodiscard]] std::optional<std::string> list_of(std::uint32_t value) const {
    if (!table::value::is_set(value)) return std::nullopt;
    return std::string(image::list_name(view_, table::value::list_of(value)));
  }

  test::Oracle oracle_;
  const image::ImageView &view_;
  std::unique_ptr<lookup::BurstLookup> burst_ = std::make_unique<lookup::BurstLookup>();
  unsigned hits_ = 0;
};

TEST(JhashImages, say_what_the_rules_say_whatever_stands_in_front_of_the_tables) {
  const std::uint64_t seed = test::seed_or(622);
  WEIR_TRACE_SEED(seed);
  test::Random random(seed);
  unsigned hits = 0;
  for (unsigned round = 0; round < 32; ++round) {
    const test::RuleSet rules =
        test::random_rules(random, {.lists = 4, .prefixes_per_list = 1u << random.below(13)});
    const bool guarded = round % 2 != 0, stacked = round / 2 % 2 != 0;
    test::ImageOptions options{.seed = random.bits(), .family = HashFamily::jhash};
    if (guarded) options.guard = test::jhash_seesaw(1000, 8u << random.below(8), 8, 2 + random.below(5));
    std::vector<Address> known;
    if (stacked) {
      for (unsigned n = 0; n < 500; ++n)
        known.push_back(Address::from_host(static_cast<std::uint32_t>(random.bits())));
      options.stack = test::plan_of({filter::FilterKind::bloom, false, 1 + 2 * random.below(3), 5},
                                    image::DenyFilterRole::front);
      options.stack->known = known;
    }
    SCOPED_TRACE("round " + std::to_string(round));
    const test::TestImage image(rules, options);
    ASSERT_EQ(image.view().allow_filter.empty(), !guarded);
    ASSERT_EQ(image.view().deny_filter.empty(), !stacked);
    Asker asker(rules, image.view());
    for (unsigned burst = 0; burst < 60 && !HasFatalFailure(); ++burst) asker.ask(random, rules);
    if (HasFatalFailure()) return;
    hits += asker.hits();
  }
  EXPECT_GT(hits, 2000u);
}

} // namespace
} // namespace weir::jhash_image_test
