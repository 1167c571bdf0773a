// Offenders in the engine: what an image says of them, trainings from samples, marks, and bans within their budget.
#include "control/offenders/model_file.hpp"
#include "tests/support/engine_bench.hpp"
#include "tests/support/fake_dataplane.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace weir::control::engine_offenders_test {
namespace {

using test::EngineBench;
using test::FakeDataplane;
using testing::HasSubstr;

std::string yaml(const std::string &offenders) {
  return "version: 1\npolicy: {match: source}\nguard: {never_deny: [192.0.2.0/24]}\n"
         "lists: [{name: a, action: deny, entries: [10.1.0.0/16]}, {name: bans, action: deny, dynamic: "
         "true}]\n" +
         (offenders.empty() ? "" : "offenders: {" + offenders + "}\n");
}

class EngineOffenders : public testing::Test {
protected:
  explicit EngineOffenders(const std::string &offenders = "filter: slbf, false_positive_rate: 5%")
      : bench(yaml(offenders)), dataplane(bench.socket()) {
    EXPECT_TRUE(bench.run_until_live());
    images = dataplane.stages();
  }

  static wire::Sample sample(std::uint32_t host, std::uint16_t flags) {
    wire::Sample s;
    s.address = Address::from_host(host).bytes;
    s.flags = flags;
    s.one_in = 1;
    return s;
  }
  // Offenders of 203.0.0.0/8 and thereabouts, others of 20.0.0.0/8.
  void send(unsigned told, unsigned others) {
    std::vector<wire::Sample> samples;
    const auto flush = [&] {
      const std::uint64_t all = this->samples("told") + this->samples("others") + samples.size();
      dataplane.send(std::exchange(samples, {}));
      ASSERT_TRUE(bench.run_until([&] { return this->samples("told") + this->samples("others") == all; }));
    };
    const auto add = [&](std::uint32_t host, std::uint16_t flag) {
      samples.push_back(sample(host, flag));
      if (samples.size() == 1000) flush();
    };
    for (unsigned i = 0; i < told; ++i) add(0xCB000000 + 977 * i, wire::sample_offender_told);
    for (unsigned i = 0; i < others; ++i) add(0x14000000 + 977 * i, wire::sample_offender_other);
    flush();
  }
  [[nodiscard]] nlohmann::json about() { return bench.engine().offenders().about(); }
  [[nodiscard]] std::uint64_t samples(const char *side) { return about().at("samples").at(side); }

  Result<std::shared_ptr<const offenders::Model>> train() {
    std::optional<Result<std::shared_ptr<const offenders::Model>>> done;
    bench.engine().offenders().train([&](auto result) { done = std::move(result); });
    EXPECT_TRUE(bench.run_until([&] { return done.has_value(); }));
    return *done;
  }
  Result<wire::Marked> mark(const char *address, bool forget = false) {
    std::optional<Result<wire::Marked>> done;
    const Address one = parse_address(address).value();
    bench.engine().offenders().mark({&one, 1}, forget,
                                    [&](Result<wire::Marked> result) { done = std::move(result); });
    EXPECT_TRUE(bench.run_until([&] { return done.has_value(); }));
    return *done;
  }

  EngineBench bench;
  FakeDataplane dataplane;
  std::uint64_t images = 0;
};

TEST_F(EngineOffenders, an_image_describes_the_memory_and_the_next_one_the_same) {
  const auto first = dataplane.remembers();
  EXPECT_NE(first.shape, 0u);
  EXPECT_EQ(first.model, 0u);
  ASSERT_TRUE(bench.apply(0, true));
  ASSERT_TRUE(bench.run_until([&] { return dataplane.stages() > images; }));
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_EQ(dataplane.remembers().shape, first.shape) << "or the dataplane would begin with an empty memory";
  const auto plan = nlohmann::json::parse(bench.engine().live_record().plan_json);
  EXPECT_EQ(plan.at("offenders").at("filter"), "stable");
  EXPECT_THAT(plan.at("offenders").at("why").get<std::string>(), HasSubstr("nothing has been learned yet"));
  bench.configure(yaml(""));
  ASSERT_TRUE(bench.apply(0, true));
  ASSERT_TRUE(bench.run_until([&] { return dataplane.remembers().shape == 0; }));
}

TEST_F(EngineOffenders, enough_samples_bring_a_model_that_outlives_a_restart) {
  send(1999, 2500);
  ASSERT_TRUE(bench.run_until([&] { return samples("told") == 1999 && samples("others") == 2500; }));
  EXPECT_EQ(dataplane.remembers().model, 0u);
  EXPECT_EQ(bench.engine().traffic().samples().top(10).size(), 0u) << "they are samples of another kind";
  dataplane.send({sample(0xCBFF0000, wire::sample_offender_told)});
  ASSERT_TRUE(bench.run_until([&] { return dataplane.remembers().model == 1; }));
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_GT(about().at("model").at("auc"), 0.95);
  EXPECT_EQ(about().at("model").at("looks_at").at(0).at("feature"), "address[0]");
  EXPECT_THAT(
      nlohmann::json::parse(bench.engine().live_record().plan_json).at("built_for").get<std::string>(),
      HasSubstr("model 1 learned"));
  const auto learned = dataplane.remembers();
  bench.restart();
  ASSERT_TRUE(bench.run_until_live());
  ASSERT_TRUE(bench.apply(0, true));
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_EQ(dataplane.remembers().shape, learned.shape);
  EXPECT_EQ(dataplane.remembers().model, 1u);
}

TEST_F(EngineOffenders, a_model_that_is_damaged_is_given_up_and_rules_are_enforced) {
  send(2500, 2500);
  ASSERT_TRUE(bench.run_until([&] { return dataplane.remembers().model == 1; }));
  ASSERT_TRUE(bench.run_until_live());
  ASSERT_TRUE(bench.engine().store().set_note("offenders_model", "nonsense"));
  bench.restart();
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_FALSE(about().contains("model"));
  ASSERT_TRUE(bench.apply(0, true));
  ASSERT_TRUE(bench.run_until([&] { return dataplane.remembers().model == 0; }));
  EXPECT_EQ(dataplane.denies("10.1.0.1"), "a");
}

TEST_F(EngineOffenders, a_training_that_learns_nothing_is_refused_and_the_model_stays) {
  const auto few = train();
  ASSERT_FALSE(few);
  EXPECT_THAT(few.error().message, HasSubstr("too few to learn from"));
  EXPECT_THAT(about().at("why_not").get<std::string>(), HasSubstr("too few"));
  send(2500, 2500);
  ASSERT_TRUE(bench.run_until([&] { return samples("told") == 2500 && samples("others") == 2500; }));
  const auto model = train(); // by the schedule a refused one is not tried again at once
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(about().at("why_not"), "");
}

TEST_F(EngineOffenders, a_model_that_a_configuration_names_is_taken_up_once) {
  send(2500, 2500);
  ASSERT_TRUE(bench.run_until([&] { return dataplane.remembers().model == 1; }));
  ASSERT_TRUE(bench.run_until_live());
  offenders::Model shipped = *bench.engine().offenders().model();
  shipped.number = 7;
  bench.write_list("shipped.model", offenders::model_file_of(shipped));
  bench.configure(yaml("filter: slbf, false_positive_rate: 5%, model: shipped.model"));
  const auto applied = bench.apply(0, true);
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_EQ(dataplane.remembers().model, 7u);
  EXPECT_EQ(about().at("model").at("number"), 7);
  bench.restart();
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_EQ(about().at("model").at("number"), 7) << "kept in the store";
  // What is learned later stays under the same file.
  send(2500, 2500);
  const auto learned = train();
  ASSERT_TRUE(learned) << learned.error().message;
  ASSERT_TRUE(bench.run_until([&] { return dataplane.remembers().model == 8; }));
  ASSERT_TRUE(bench.run_until_live());
  ASSERT_TRUE(bench.apply(0, true));
  EXPECT_EQ(dataplane.remembers().model, 8u);
  // An apply that fails takes nothing up.
  shipped.number = 20;
  bench.write_list("shipped.model", offenders::model_file_of(shipped));
  bench.configure(yaml("filter: slbf, false_positive_rate: 5%, model: shipped.model") + "nonsense: 1\n");
  EXPECT_FALSE(bench.apply(0, true));
  bench.configure(yaml("filter: slbf, element: header, model: shipped.model"));
  EXPECT_FALSE(bench.apply(0, true));
  EXPECT_EQ(about().at("model").at("number"), 8);
}

TEST_F(EngineOffenders, marks_are_the_dataplane_s_but_for_whom_nothing_may_deny) {
  ASSERT_TRUE(mark("203.0.113.9"));
  ASSERT_TRUE(mark("203.0.113.9", true));
  EXPECT_EQ(dataplane.marked(),
            (std::vector<std::pair<Address, bool>>{{parse_address("203.0.113.9").value(), false},
                                                   {parse_address("203.0.113.9").value(), true}}));
  const auto never = mark("192.0.2.7");
  ASSERT_FALSE(never);
  EXPECT_THAT(never.error().message, HasSubstr("guard.never_deny has 192.0.2.0/24"));
  bench.configure(yaml(""));
  ASSERT_TRUE(bench.apply(0, true));
  const auto none = mark("203.0.113.9");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("write the key offenders"));
  EXPECT_FALSE(train());
}

class EngineBans : public EngineOffenders {
protected:
  EngineBans() : EngineOffenders("action: ban, ban: {list: bans, ttl: 1h, a_minute: 3}") {}
};

TEST_F(EngineBans, what_is_met_goes_on_the_list_so_many_a_minute) {
  // Not over the turn of a minute, which has a budget of its own.
  ASSERT_TRUE(bench.run_until([] { return std::time(nullptr) % 60 < 50; }));
  dataplane.send(
      {sample(0xCB007109, wire::sample_offender_met), sample(0xCB007109, wire::sample_offender_met)});
  ASSERT_TRUE(bench.run_until([&] { return dataplane.denies("203.0.113.9") == "bans"; }));
  EXPECT_EQ(about().at("bans").at("added"), 1);
  for (std::uint32_t i = 0; i < 5; ++i) dataplane.send({sample(0xCB007110 + i, wire::sample_offender_met)});
  ASSERT_TRUE(bench.run_until([&] { return about().at("bans").at("left_out") == 3; }));
  EXPECT_EQ(about().at("bans").at("added"), 3);
  dataplane.send({sample(0xC0000207, wire::sample_offender_met)}); // never_deny
  const auto end = push::Clock::now() + std::chrono::milliseconds(200);
  (void)bench.run_until([&] { return push::Clock::now() > end; });
  EXPECT_EQ(dataplane.denies("192.0.2.7"), "");
}

TEST(EngineOffendersP4, the_target_refuses_the_key_with_the_remedy) {
  EngineBench bench(yaml("action: count"), {}, build::Target::p4);
  const auto applied = bench.apply();
  ASSERT_FALSE(applied);
  EXPECT_THAT(applied.error().message, HasSubstr("offenders: target p4 does not have it: take the key out"));
}

} // namespace
} // namespace weir::control::engine_offenders_test
