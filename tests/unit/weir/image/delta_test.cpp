// What a delta must be before any writer sees it.
#include "weir/image/delta.hpp"
#include "weir/image/lists.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::image::delta_test {
namespace {

Delta good() {
  return {.op = DeltaOp::set,
          .side = Side::deny,
          .family = Family::ipv4,
          .length = 24,
          .list = 3,
          .address = Address::from_host(0xC0000200).bytes};
}

std::string refusal(const Delta &delta) {
  const Status checked = check(delta);
  return checked ? std::string() : checked.error().message;
}

TEST(DeltaCheck, takes_what_is_well_formed) {
  EXPECT_EQ(refusal(good()), "");
  Delta last = good();
  last.list = ListId(lists_max - 1);
  EXPECT_EQ(refusal(last), "");
  Delta everything = good();
  everything.length = 0;
  everything.address = {};
  EXPECT_EQ(refusal(everything), "");
  Delta v6 = good();
  v6.family = Family::ipv6;
  v6.length = 128;
  v6.address.fill(0xFF);
  EXPECT_EQ(refusal(v6), "");
}

TEST(DeltaCheck, refuses_numbers_that_nobody_knows) {
  Delta op = good(), side = good(), family = good();
  op.op = static_cast<DeltaOp>(3);
  side.side = static_cast<Side>(2);
  family.family = static_cast<Family>(5);
  for (const Delta &delta : {op, side, family})
    EXPECT_EQ(refusal(delta), "a delta has an unknown operation, side or family");
}

TEST(DeltaCheck, refuses_lengths_beyond_the_family) {
  Delta v4 = good(), v6 = good();
  v4.length = 33;
  v6.family = Family::ipv6;
  v6.length = 129;
  EXPECT_EQ(refusal(v4), "a delta has prefix length 33");
  EXPECT_EQ(refusal(v6), "a delta has prefix length 129");
}

TEST(DeltaCheck, refuses_bits_beyond_the_prefix_and_in_spare_bytes) {
  Delta host = good(), spare = good();
  host.address = Address::from_host(0xC0000201).bytes;
  const auto is_spare = [&](std::size_t i) {
    Delta changed = good();
    changed.length = 32;
    changed.address[i] ^= 1;
    return !check(changed);
  };
  EXPECT_EQ(refusal(host), "a delta has address bits beyond its prefix length");
  unsigned spares = 0;
  for (std::size_t i = 0; i < spare.address.size(); ++i) spares += is_spare(i);
  EXPECT_EQ(spares, 12u) << "four bytes of sixteen hold an IPv4 address";
}

TEST(DeltaCheck, refuses_list_numbers_that_no_list_can_have) {
  Delta set = good();
  set.list = ListId(lists_max);
  EXPECT_EQ(refusal(set), "a delta has list number 65534, which no list can have");
  set.op = DeltaOp::unset;
  EXPECT_EQ(refusal(set), "") << "unset does not look at it";
}

} // namespace
} // namespace weir::image::delta_test
