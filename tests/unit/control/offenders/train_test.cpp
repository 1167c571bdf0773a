// What is learned of offenders, kept and chosen: from samples to a model, a note, a filter and a section.
#include "control/offenders/choose.hpp"
#include "control/offenders/neighbours.hpp"
#include "control/offenders/train.hpp"

#include "tests/support/offenders_case.hpp"
#include "tests/support/seed.hpp"
#include "weir/key/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace weir::test::train_test {
namespace {

using namespace offenders;
using testing::HasSubstr;
using Filter = config::Offenders::Filter;

// Offenders come from the upper half of the address space with a probability of `bias`, others with one half.
TrainingTask task(double bias, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  TrainingTask t;
  t.seed = seed;
  t.neighbours = std::vector<std::byte>(image::offender_neighbours);
  const auto draw = [&](double upper) {
    std::uint32_t host = static_cast<std::uint32_t>(random()) >> 1;
    if (std::generate_canonical<double, 32>(random) < upper) host |= 0x80000000u;
    return Element{Address::from_host(host), Traits{.protocol = static_cast<std::uint8_t>(random() % 3)}};
  };
  for (std::size_t i = 0; i < count; ++i) t.told.push_back(draw(bias)), t.others.push_back(draw(1 - bias));
  return t;
}

TEST(OffenderTraining, learns_what_tells_offenders_from_others_and_says_what_it_looks_at) {
  const std::uint64_t seed = seed_or(21);
  WEIR_TRACE_SEED(seed);
  const auto model = train(task(0.9, 4000, seed));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_NEAR(model->auc, 0.9, 0.04);
  ASSERT_EQ(model->groups.size(), 6u);
  EXPECT_GT(model->groups.back().told, 0.3);
  EXPECT_LT(model->groups.back().other, 0.2);
  EXPECT_EQ(std::ranges::max_element(model->gains) - model->gains.begin(), image::offender_feature::address);
  double told = 0, other = 0;
  for (const auto &group : model->groups) told += group.told, other += group.other;
  EXPECT_NEAR(told, 1, 1e-9);
  EXPECT_NEAR(other, 1, 1e-9);
}

TEST(OffenderTraining, is_refused_where_there_is_little_or_nothing_to_learn) {
  const auto few = train(task(0.9, 499, 1));
  ASSERT_FALSE(few);
  EXPECT_THAT(few.error().message, HasSubstr("499 samples"));
  const auto nothing = train(task(0.5, 4000, 1));
  ASSERT_FALSE(nothing);
  EXPECT_THAT(nothing.error().message, HasSubstr("nothing to learn"));
}

TEST(OffenderTraining, repeats_itself) {
  const auto a = train(task(0.8, 1000, 5)).value(), b = train(task(0.8, 1000, 5)).value();
  EXPECT_EQ(encode(a), encode(b));
}

TEST(OffenderModel, is_kept_as_it_is_and_refused_when_damaged) {
  const Model model = train(task(0.9, 1000, 2)).value();
  const std::string text = encode(model);
  const auto back = decode(text);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(encode(*back), text);
  EXPECT_EQ(back->trees, model.trees);
  EXPECT_EQ(back->thresholds, model.thresholds);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, text.size() / 2, text.size() - 1})
    EXPECT_FALSE(decode(text.substr(0, size))) << size;
  Model odd = model;
  odd.thresholds.pop_back();
  EXPECT_FALSE(decode(encode(odd)));
  odd = model;
  odd.element = OffenderElement::header;
  EXPECT_FALSE(decode(encode(odd)));
  odd = model;
  odd.trees.pop_back();
  EXPECT_FALSE(decode(encode(odd)));
  std::string flipped = text;
  for (std::size_t i = 0; i < flipped.size(); i += 97) {
    flipped[i] = static_cast<char>(flipped[i] ^ 0x55);
    (void)decode(flipped); // anything but a crash
    flipped[i] = text[i];
  }
}

TEST(OffenderChoice, takes_the_least_bits_or_what_is_asked_for) {
  const Model model = train(task(0.9, 4000, 3)).value();
  config::Offenders wanted;
  wanted.accepted = 0.05;
  const auto chosen = [&](Filter filter, const Model *m) {
    wanted.filter = filter;
    return choose(wanted, m).value();
  };
  const Choice plain = chosen(Filter::automatic, nullptr);
  EXPECT_EQ(plain.plan.filter, OffenderFilter::rotating);
  EXPECT_FALSE(plain.learned);
  EXPECT_THAT(plain.why, HasSubstr("nothing has been learned yet"));
  EXPECT_NEAR(static_cast<double>(plain.plan.cell_bits) / 200'000, 15.3, 0.3);
  wanted.gap = 20'000;
  const Choice small = chosen(Filter::automatic, &model);
  EXPECT_FALSE(small.learned) << "neighbours and trees take more than they save: " << small.why;
  wanted.gap = 5'000'000;
  const Choice large = chosen(Filter::automatic, &model);
  EXPECT_TRUE(large.learned) << large.why;
  EXPECT_EQ(large.plan.filter, OffenderFilter::rotating);
  const Choice slbf = chosen(Filter::slbf, &model);
  EXPECT_EQ(slbf.plan.filter, OffenderFilter::stable);
  EXPECT_TRUE(slbf.learned);
  EXPECT_LT(slbf.plan.missed, 0.105);
  EXPECT_FALSE(chosen(Filter::slbf, nullptr).learned);
  EXPECT_EQ(chosen(Filter::slbf, nullptr).plan.filter, OffenderFilter::stable);
  EXPECT_FALSE(chosen(Filter::stable, &model).learned);
  wanted.element = OffenderElement::header;
  EXPECT_FALSE(chosen(Filter::slbf, &model).learned) << "the model is of another element";
}

TEST(OffenderChoice, too_much_memory_is_refused) {
  config::Offenders wanted;
  wanted.gap = config::offender_gap_max;
  wanted.accepted = 1e-300;
  wanted.filter = Filter::rotating;
  const auto choice = choose(wanted, nullptr);
  ASSERT_FALSE(choice);
  EXPECT_THAT(choice.error().message, HasSubstr("remember less"));
}

TEST(OffenderChoice, becomes_a_section_that_attaches) {
  const Model model = train(task(0.9, 4000, 4)).value();
  config::Offenders wanted;
  wanted.filter = Filter::slbf;
  const Choice choice = choose(wanted, &model).value();
  const std::vector<Prefix> never{parse_prefix("192.0.2.0/24").value()};
  AlignedSection section(section_of(wanted, choice, &model, never, 9).value());
  const auto view = image::OffendersView::attach(section.bytes());
  ASSERT_TRUE(view) << view.error().message;
  EXPECT_TRUE(view->has_trees());
  EXPECT_EQ(view->header().model, 1u);
  EXPECT_TRUE(view->spares(parse_address("192.0.2.1").value()));
  EXPECT_GT(view->score_of(parse_address("203.0.113.1").value(), {}),
            view->score_of(parse_address("10.0.0.1").value(), {}));
}

TEST(TrainingSet, keeps_a_fair_draw_of_either_side_and_follows_what_comes) {
  TrainingSet set(3);
  set.keep(100);
  const auto sample = [](std::uint16_t flags, std::uint32_t host) {
    wire::Sample s;
    s.flags = flags;
    s.address = Address::from_host(host).bytes;
    s.traits = {6, 2, 8, 6, 2};
    return s;
  };
  for (std::uint32_t i = 0; i < 10'000; ++i) set.take(sample(wire::sample_offender_told, i));
  for (std::uint32_t i = 0; i < 30; ++i) set.take(sample(wire::sample_offender_other, i));
  set.take(sample(wire::sample_by_default, 1));
  ASSERT_EQ(set.told().size(), 100u);
  EXPECT_EQ(set.others().size(), 30u);
  EXPECT_EQ(set.told()[0].traits.protocol, 6);
  double mean = 0;
  for (const Element &element : set.told()) mean += element.address.host() / 100.0;
  EXPECT_NEAR(mean, 5000, 1500);
  for (int i = 0; i < 6; ++i) set.age();
  for (std::uint32_t i = 0; i < 1000; ++i) set.take(sample(wire::sample_offender_told, 1'000'000));
  const auto fresh =
      std::ranges::count_if(set.told(), [](const Element &e) { return e.address.host() == 1'000'000; });
  EXPECT_GT(fresh, 70);
  set.clear();
  EXPECT_TRUE(set.told().empty());
}

TEST(Neighbours, count_denied_entries_by_net_as_a_logarithm) {
  std::vector<build::EntryV4> v4;
  for (std::uint32_t i = 0; i < 5; ++i)
    v4.push_back({.host = 0x0A010000 + i, .length = 32, .list = ListId(0)});
  const auto neighbours = neighbours_of(v4, {});
  EXPECT_EQ(neighbours[0x0A01], std::byte{48});
  EXPECT_EQ(neighbours[0x0A02], std::byte{0});
}

} // namespace
} // namespace weir::test::train_test
