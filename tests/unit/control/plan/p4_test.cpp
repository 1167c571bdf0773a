// Plans and images for a P4 target: what is left to choose, what is refused, and that control sends such
// images when it is told to.
#include "control/build/sealed_image.hpp"
#include "control/plan/plan.hpp"
#include "p4/export/program_fit.hpp"
#include "p4/export/register_map.hpp"
#include "tests/support/engine_bench.hpp"
#include "tests/support/fake_dataplane.hpp"
#include "tests/support/image_memory.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>

#include <bit>
#include <memory>
#include <string>
#include <vector>

namespace weir::plan::p4_test {
namespace {

std::vector<build::EntryV4> hosts(std::uint32_t first, std::uint32_t count, ListId list) {
  std::vector<build::EntryV4> out;
  for (std::uint32_t i = 0; i < count; ++i) out.push_back({first + 3 * i, 32, 0, list});
  return out;
}

struct Case {
  std::vector<build::EntryV4> deny = hosts(0x0B000000, 20'000, 1), allow = hosts(0x0A000000, 9'000, 2);
  config::Config config{};

  Case() { config.source = "weir.yaml"; }
  [[nodiscard]] build::BuildInput input() const {
    build::BuildInput in;
    in.lists = {{"bad", 1}, {"good", 2, Side::allow}};
    in.deny.v4 = deny;
    in.allow.v4 = allow;
    in.seed = 5;
    in.family = family_of(build::Target::p4);
    return in;
  }
  [[nodiscard]] Result<Plan> plan() const {
    return make_plan(input(), config, {.memory = {.available_bytes = 64ull << 30}});
  }
};

TEST(PlanP4, has_a_chained_predictor_everywhere_and_no_front_filter) {
  const Case c;
  const Plan plan = c.plan().value();
  EXPECT_EQ(plan.target, build::Target::p4);
  EXPECT_EQ(plan.predictor.chosen, "chained");
  EXPECT_EQ(plan.predictor.why, "target p4 has no other");
  EXPECT_EQ(plan.front_filter.chosen, "none");
  EXPECT_EQ(plan.deny_filter.why, "target p4 has none unless the configuration asks for it");
  EXPECT_EQ(plan.tables[0].lines_absent, 1) << "one line answers any key";
  EXPECT_NE(to_text(plan).find("target p4"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(to_json(plan)).at("target"), "p4");
  build::BuildInput in = c.input();
  apply_to(in, plan);
  const test::ImageMemory m = test::ImageMemory::build(in);
  EXPECT_EQ(m.view().family, HashFamily::jhash);
  EXPECT_EQ(m.report().image_bytes, plan.image_bytes) << "the plan knows what is rounded up";
}

TEST(PlanP4, is_not_what_others_get) {
  Case c;
  build::BuildInput in = c.input();
  in.family = HashFamily::xxh3;
  const Plan plan = make_plan(in, c.config, {.memory = {.available_bytes = 64ull << 30}}).value();
  EXPECT_EQ(plan.target, build::Target::cpp);
  EXPECT_EQ(to_text(plan).find("target"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(to_json(plan)).at("target"), "cpp");
}

TEST(PlanP4, refuses_what_the_target_does_not_have_and_says_what_to_write) {
  const auto refusal = [](auto change) {
    Case c;
    change(c.config);
    const auto plan = c.plan();
    return plan ? std::string("planned") : plan.error().message;
  };
  EXPECT_EQ(refusal([](config::Config &c) { c.compact = config::Compact{}; }),
            "weir.yaml: mode: compact: target p4 does not have it: write mode: exact");
  EXPECT_NE(refusal([](auto &c) { c.predictor = config::Predictor::inline_bits; }).find("predictor: auto"),
            std::string::npos);
  EXPECT_NE(refusal([](auto &c) {
              c.front_filter = config::FrontFilter::split_block_bloom;
            }).find("none or stacked"),
            std::string::npos);
  EXPECT_NE(refusal([](auto &c) { c.allow.filter = "cuckoo"; }).find("none or seesaw"), std::string::npos);
  EXPECT_NE(refusal([](auto &c) { c.allow.filter = "stacked"; }).find("none or seesaw"), std::string::npos);
  EXPECT_EQ(refusal([](auto &c) { c.predictor = config::Predictor::chained; }), "planned");
}

// Of the one kind of shape that the target has, and predicted as well as any other.
TEST(PlanP4, puts_a_seesaw_filter_of_its_own_kind_in_front_of_the_allow_tables) {
  Case c;
  c.config.allow.filter = "seesaw";
  const Plan plan = c.plan().value();
  ASSERT_TRUE(plan.allow_filter.sized);
  const auto *seesaw = plan.allow_filter.sized->params.as<build::SeesawParams>();
  ASSERT_NE(seesaw, nullptr);
  const build::SeesawParams &params = *seesaw;
  EXPECT_TRUE(std::has_single_bit(params.cell_words));
  EXPECT_TRUE(std::has_single_bit(params.modulator_words));
  build::BuildInput in = c.input();
  apply_to(in, plan);
  const test::ImageMemory m = test::ImageMemory::build(in);
  const image::ImageView view = m.view();
  unsigned accepted = 0;
  constexpr std::uint32_t strangers = 40'000;
  for (std::uint32_t i = 0; i < strangers; ++i)
    accepted += view.allow_filter.contains(view.hash(byteswap32(0x30000000 + 17 * i), 32));
  const double rate = static_cast<double>(accepted) / strangers;
  EXPECT_GT(rate, 0);
  EXPECT_LE(rate, 1.3 * plan.allow_filter.predicted().plain) << "planned for a quarter more keys";
}

TEST(PlanP4, takes_seesaw_by_itself_where_the_allow_tables_outgrow_the_cache) {
  const Case c;
  Calibration small = built_in_calibration();
  small.l2_bytes = 4096;
  const auto plan = plan_allow_filter(c.input(), c.config, 0.1, small, {});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->chosen, "seesaw");
  EXPECT_NE(plan->why.find("target p4 has no other filter there"), std::string::npos);
}

// ---- sealed ----------------------------------------------------------------------------------------

TEST(SealedP4, image_has_bloom_layers_in_front_where_a_stack_is_asked_for) {
  Case c;
  c.config.front_filter = config::FrontFilter::stacked;
  rules::Effective rules;
  rules.lists = {{.name = "bad", .number = 1, .side = Side::deny},
                 {.name = "good", .number = 2, .side = Side::allow}};
  rules.deny.v4 = c.deny;
  rules.allow.v4 = c.allow;
  const test::TempDir folder;
  const auto sealed = build::build_sealed(
      rules, c.config, {.identity = {.generation = 3}, .target = build::Target::p4, .state = folder.path()});
  ASSERT_TRUE(sealed) << sealed.error().message;
  void *memory = mmap(nullptr, sealed->identity.bytes, PROT_READ, MAP_SHARED, sealed->fd.get(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto view = image::attach({static_cast<const std::byte *>(memory), sealed->identity.bytes});
  ASSERT_TRUE(view) << view.error().message;
  EXPECT_EQ(view->family, HashFamily::jhash);
  ASSERT_NE(view->deny_filter.bloom(0), nullptr);
  EXPECT_TRUE(std::has_single_bit(view->deny_filter.bloom(0)->shape().size));
  EXPECT_LE(view->deny_filter.bloom(0)->shape().hashes, p4::limits::stack_hashes);
  for (const build::EntryV4 &e : c.deny)
    ASSERT_NE(image::lookup(*view, Side::deny, Address::from_host(e.host)), 0u);
  munmap(memory, sealed->identity.bytes);
}

// Eight sources for each denied host ask all of what nothing denies: three layers are too few for them.
TEST(SealedP4, stack_has_the_layers_and_functions_that_the_program_has_room_for) {
  Case c;
  c.config.front_filter = config::FrontFilter::stacked;
  rules::Effective rules;
  rules.lists = {{.name = "bad", .number = 1, .side = Side::deny}};
  c.deny.resize(5'000);
  rules.deny.v4 = c.deny;
  workload::Negatives negatives;
  for (std::uint32_t i = 0; i < 40'000; ++i) // in the same /16: others never come to the stack
    negatives.hottest.push_back({Address::from_host(0x0B000000 + 20'000 + i), 10});
  for (const auto &hot : negatives.hottest) negatives.total += hot.cost;
  const test::TempDir folder;
  const auto sealed = build::build_sealed(rules, c.config,
                                          {.identity = {.generation = 3},
                                           .target = build::Target::p4,
                                           .state = folder.path(),
                                           .negatives = negatives});
  ASSERT_TRUE(sealed) << sealed.error().message;
  void *memory = mmap(nullptr, sealed->identity.bytes, PROT_READ, MAP_SHARED, sealed->fd.get(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto view = image::attach({static_cast<const std::byte *>(memory), sealed->identity.bytes});
  ASSERT_TRUE(view) << view.error().message;
  EXPECT_GT(view->deny_filter.depth(), 3u);
  EXPECT_LE(view->deny_filter.depth(), p4::limits::stack_layers);
  unsigned hashes = 0;
  for (unsigned i = 0; i < view->deny_filter.depth(); ++i)
    hashes = std::max(hashes, view->deny_filter.bloom(i)->shape().hashes);
  EXPECT_GT(hashes, 8u) << "a power of two of words is more than planned, and has use for them";
  const Status fits = p4::check_fit(*view, {});
  EXPECT_TRUE(fits) << fits.error().message;
  munmap(memory, sealed->identity.bytes);
}

TEST(EngineP4, sends_images_of_family_jhash_and_changes_them_by_deltas) {
  test::EngineBench bench("version: 1\nlists: [{name: hosts, action: deny, entries: [192.0.2.1, 10.0.0.0/8, "
                          "2001:db8::/32]}, {name: bans, action: deny, dynamic: true}]\n",
                          {}, build::Target::p4);
  const test::FakeDataplane dataplane(bench.socket());
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_EQ(nlohmann::json::parse(bench.engine().live_record().plan_json).at("target"), "p4");
  EXPECT_EQ(dataplane.denies("192.0.2.1"), "hosts");
  EXPECT_EQ(dataplane.denies("2001:db8::7"), "hosts");
  ASSERT_TRUE(bench.add("bans", "198.51.100.7"));
  EXPECT_EQ(dataplane.denies("198.51.100.7"), "bans");
  EXPECT_EQ(dataplane.denies("198.51.100.8"), "");
}

TEST(EngineP4, refuses_an_entry_of_a_ninth_ipv6_length_before_it_is_stored) {
  test::EngineBench bench(
      "version: 1\nlists: [{name: nets, action: deny, entries: ['2001:db8::/32', '2001:db8::/33', "
      "'2001:db8::/34', '2001:db8::/35', '2001:db8::/36', '2001:db8::/37', '2001:db8::/38']}, "
      "{name: bans, action: deny, dynamic: true}, {name: ops, action: allow, dynamic: true}]\n",
      {}, build::Target::p4);
  const test::FakeDataplane dataplane(bench.socket());
  ASSERT_TRUE(bench.run_until_live());
  ASSERT_TRUE(bench.add("bans", "2001:db8:1::/48"));
  ASSERT_TRUE(bench.add("bans", "2001:db8:2::/48"));
  const auto refused = bench.add("bans", "2001:db8:2::/56");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("these would be 9: 32, 33, 34, 35, 36, 37, 38, 48, 56"),
            std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(bench.add("ops", "2001:db8:2::/56")) << "the allow side has room of its own";
  EXPECT_TRUE(bench.add("bans", "198.51.100.7"));
}

} // namespace
} // namespace weir::plan::p4_test
