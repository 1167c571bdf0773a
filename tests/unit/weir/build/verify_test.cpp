// Asking every key of an image that was built, in two halves side by side: a wrong answer in either half
// is noticed.
#include "tests/support/image_memory.hpp"
#include "weir/build/image_builder.hpp"
#include "weir/build/image_check.hpp"

#include <gtest/gtest.h>

namespace weir::verify_test {
namespace {

class Verify : public testing::TestWithParam<build::HostHome> {};

TEST_P(Verify, notices_one_wrong_answer_in_either_half) {
  constexpr std::uint32_t hosts = 600'000; // enough for two threads
  std::vector<build::EntryV4> entries;
  for (std::uint32_t h = 0; h < hosts; ++h) entries.push_back({0x0A000000 + h * 3, 32, 0, 1});
  build::BuildInput in;
  in.lists = {{"a", 1}, {"b", 2}};
  in.deny.v4 = entries;
  in.deny.hosts_v4 = GetParam();
  in.seed = 5;
  const test::ImageMemory memory = test::ImageMemory::build(in);
  EXPECT_EQ(memory.report().keys_verified, hosts);

  const image::ImageView view = memory.view();
  const auto ask = [&] { return build::detail::verify_side(view, Side::deny, {.v4 = entries, .v6 = {}}, 2); };
  EXPECT_TRUE(ask().has_value());
  for (const std::uint32_t wrong : {0u, hosts / 4, hosts / 2, hosts - 1}) {
    entries[wrong].list = 2;
    EXPECT_FALSE(ask().has_value()) << "entry " << wrong;
    entries[wrong].list = 1;
  }
}

INSTANTIATE_TEST_SUITE_P(Homes, Verify, testing::Values(build::HostHome::table, build::HostHome::words),
                         [](const auto &home) {
                           return home.param == build::HostHome::table ? "table" : "words";
                         });

} // namespace
} // namespace weir::verify_test
