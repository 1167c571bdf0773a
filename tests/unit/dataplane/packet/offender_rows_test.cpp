// What trees see of a burst against what they see of one element.
#include "dataplane/packet/offender_rows.hpp"
#include "tests/support/offenders_case.hpp"
#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <random>

namespace weir::test::offender_rows_test {
namespace {

TEST(OffenderRows, are_the_features_of_each_element) {
  const std::uint64_t seed = seed_or(20'261'128);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  const auto byte = [&] { return static_cast<std::uint8_t>(random()); };
  for (const OffenderElement element : {OffenderElement::source, OffenderElement::header}) {
    const unsigned features = image::offender_features(element);
    OffendersCase c;
    c.element = element;
    c.trees = one_split(features, 1, 10, -1, 1);
    AlignedSection section(c.section());
    const auto view = image::OffendersView::attach(section.bytes());
    ASSERT_TRUE(view) << view.error().message;
    std::array<Address, dataplane::burst_packets_max> addresses;
    std::array<Traits, dataplane::burst_packets_max> traits;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      addresses[i].family = i % 3 == 0 ? Family::ipv6 : Family::ipv4;
      for (std::size_t b = 0; b < (i % 3 == 0 ? 16u : 4u); ++b) addresses[i].bytes[b] = byte();
      traits[i] = Traits::of({byte(), byte(), byte(), byte(), byte()});
    }
    dataplane::OffenderRows rows;
    dataplane::fill_rows(*view, addresses, traits, rows);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const image::OffenderFeatures expected = view->features_of(addresses[i], traits[i]);
      for (unsigned f = 0; f < features; ++f)
        EXPECT_EQ(rows[f].of[i], expected[f]) << image::offender_feature_names[f] << " of element " << i;
    }
  }
}

} // namespace
} // namespace weir::test::offender_rows_test
