// The program in the tree, as generated: the lint has nothing against it, and it is a gate.
#include "p4/export/exporter.hpp"
#include "p4/swx/gate.hpp"
#include "p4/swx/lint.hpp"
#include "tests/p4/swx_burst.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/packets.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

namespace weir::p4::acl_test {
namespace {

constexpr const char *acl = "p4/generated/acl.spec";

TEST(SwxAcl, passes_the_lint) {
  const auto spec = swx::read_spec(acl);
  ASSERT_TRUE(spec) << spec.error().message;
  for (const swx::Finding &finding : swx::lint(*spec)) ADD_FAILURE() << finding.line << ": " << finding.what;
}

TEST(SwxAcl, has_the_registers_of_the_map) {
  ASSERT_TRUE(test::start_eal());
  auto gate = Gate::load(acl);
  ASSERT_TRUE(gate) << gate.error().message;
  for (const ArrayInfo &info : arrays)
    EXPECT_EQ((*gate)->registers().capacity(info.name).value_or(0), info.elements) << info.name;
}

TEST(SwxAcl, judges_by_no_image_until_there_is_one_and_says_how_fast) {
  ASSERT_TRUE(test::start_eal());
  auto gate = Gate::load(acl);
  ASSERT_TRUE(gate) << gate.error().message;
  test::SwxBurst burst;
  for (int i = 0; i < 64; ++i)
    burst.add(
        test::FrameBuilder().ethernet().ipv4({.source = "10.0.0.7"}).udp(1, 2).payload(20).frame().bytes);
  Exporter exporter((*gate)->registers());
  for (const Verdict verdict : {Verdict::drop, Verdict::pass}) {
    ASSERT_TRUE(exporter.write_none({.no_image = verdict}));
    std::vector<Judgement> judgements(64);
    constexpr int rounds = 100;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i) ASSERT_TRUE((*gate)->judge(burst.packets(), judgements));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("[ MEASURED ] %.2f million packets a second without an image\n",
                64 * rounds / took.count() / 1e6);
    EXPECT_EQ(judgements, std::vector<Judgement>(64, {verdict, Reason::no_image}));
  }
}

} // namespace
} // namespace weir::p4::acl_test
