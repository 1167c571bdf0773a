// Batches of deltas share their grace periods and still say what the same deltas say one by one.
#include "tests/support/allow_filter_kind.hpp"
#include "tests/support/image_memory.hpp"
#include "tests/support/seed.hpp"
#include "weir/image/allow_filter_writer.hpp"
#include "weir/image/writer.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace weir::image_batch_test {
namespace {

using test::ImageMemory;

constexpr std::uint32_t hosts_at_first = 40000;
constexpr std::uint32_t hosts_known = 41000; // there is room for no more than some of the others

image::Delta host_delta(Side side, std::uint32_t host, ListId list) { // list 0: unset
  image::Delta d;
  d.side = side;
  d.op = list == 0 ? image::DeltaOp::unset : image::DeltaOp::set;
  d.length = 32;
  d.list = list;
  d.address = Address::from_host(host).bytes;
  return d;
}

// On the allow side behind a filter, which has to follow every key that waits, enters or leaves.
struct Setting {
  Side side;
  test::AllowFilterKind guard = test::AllowFilterKind::none;
};
struct Batches : testing::TestWithParam<Setting> {
  static Side side() { return GetParam().side; }
  const std::uint64_t seed = test::seed_or(77);
  std::mt19937_64 random{seed};
  std::map<std::uint32_t, ListId> rules; // what the image must say
  ImageMemory memory = build();
  unsigned graces = 0;
  image::ImageWriter writer = image::ImageWriter::attach(memory.bytes(), [this] { ++graces; }).value();

  ImageMemory build() {
    std::vector<build::EntryV4> hosts;
    for (std::uint32_t h = 1; h <= hosts_at_first; ++h) {
      hosts.push_back({h * 79, 32, 0, 1});
      rules[h * 79] = 1;
    }
    build::BuildInput in;
    in.lists = {{"a", 1}};
    (side() == Side::deny ? in.deny : in.allow).v4 = hosts;
    if (GetParam().guard == test::AllowFilterKind::cuckoo) // 93 % of its slots, so that keys have to move
      in.allow_filter.params = build::CuckooParams{hosts_known, {10'800, 13}};
    if (GetParam().guard == test::AllowFilterKind::seesaw)
      in.allow_filter.params = build::SeesawParams{.planned_keys = 4 * hosts_at_first,
                                                   .cell_words = 32'768,
                                                   .modulator_words = 64,
                                                   .positive_bits = 7};
    if (GetParam().guard == test::AllowFilterKind::stacked)
      in.allow_filter.params =
          build::StackedCountingParams{4 * hosts_at_first, {{8192, 4, 3}, {64, 1, 1}, {64, 4, 1}}};
    in.seed = seed;
    return ImageMemory::build(in);
  }
  void expect_same() {
    writer.grace_passed();
    if (side() == Side::allow) {
      ASSERT_EQ(writer.allow_filter().load()->keys, rules.size());
    }
    for (std::uint32_t h = 1; h <= 2 * hosts_known; ++h) {
      const auto known = rules.find(h * 79);
      const std::uint32_t wanted = known == rules.end() ? 0 : table::value::make(known->second, 32);
      ASSERT_EQ(image::lookup(writer.view(), side(), Address::from_host(h * 79)), wanted) << h;
      ASSERT_TRUE(wanted == 0 || guard_lets_pass(h * 79)) << h;
    }
  }
  [[nodiscard]] bool guard_lets_pass(std::uint32_t host) const {
    const image::ImageView &view = writer.view();
    return view.allow_filter.empty() ||
           view.allow_filter.contains(hash_v4(byteswap32(host), view.seeds_v4[32]));
  }
  [[nodiscard]] static image::Delta host_delta(std::uint32_t host, ListId list) {
    return image_batch_test::host_delta(side(), host, list);
  }
  void enter(const image::Delta &d) {
    const std::uint32_t host = Address{Family::ipv4, d.address}.host();
    if (d.op == image::DeltaOp::set)
      rules[host] = d.list;
    else
      rules.erase(host);
  }
};

TEST_P(Batches, say_afterwards_what_their_deltas_say_in_order) {
  WEIR_TRACE_SEED(seed);
  unsigned keys_added = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<image::Delta> batch(random() % 2000);
    for (image::Delta &d : batch) { // few hosts, so that a batch often speaks of one several times
      const auto host =
          static_cast<std::uint32_t>(hosts_at_first + random() % (hosts_known - hosts_at_first));
      d = host_delta(host * 79, ListId(random() % 4));
      keys_added += d.op == image::DeltaOp::set ? 1 : 0;
      enter(d);
    }
    const auto done = writer.apply_batch(batch);
    ASSERT_FALSE(done.needs_rebuild);
    ASSERT_EQ(done.applied, batch.size());
    expect_same();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(keys_added, 1000u);
}

TEST_P(Batches, of_new_keys_wait_together_and_not_one_by_one) {
  std::vector<image::Delta> batch;
  for (std::uint32_t h = hosts_at_first + 1; h <= hosts_known; ++h) batch.push_back(host_delta(h * 79, 2));
  for (const image::Delta &d : batch) enter(d);
  const auto done = writer.apply_batch(batch);
  ASSERT_FALSE(done.needs_rebuild);
  expect_same();
  const ImageMemory again = build();
  unsigned graces_alone = 0;
  auto alone = image::ImageWriter::attach(again.bytes(), [&] { ++graces_alone; }).value();
  for (const image::Delta &d : batch) ASSERT_NE(alone.apply(d), image::Change::needs_rebuild);
  EXPECT_GE(graces_alone, 60u) << "little had to move: the test is too roomy to show anything";
  EXPECT_LE(graces, graces_alone / 8);
}

TEST_P(Batches, that_find_no_room_say_how_many_from_the_front_are_in) {
  std::vector<image::Delta> batch;
  for (std::uint32_t h = hosts_at_first + 1; h <= 4 * hosts_at_first; ++h)
    batch.push_back(host_delta(h * 79, 2));
  const auto done = writer.apply_batch(batch);
  ASSERT_TRUE(done.needs_rebuild);
  ASSERT_GT(done.applied, 50u);
  ASSERT_LT(done.applied, batch.size());
  for (std::size_t i = 0; i < done.applied; ++i)
    ASSERT_NE(image::lookup(writer.view(), side(), Address{Family::ipv4, batch[i].address}), 0u) << i;
  for (std::uint32_t h = 1; h <= hosts_at_first; ++h)
    ASSERT_NE(image::lookup(writer.view(), side(), Address::from_host(h * 79)), 0u) << h;
  writer.grace_passed();
  for (std::size_t i = 0; i < done.applied; ++i)
    ASSERT_TRUE(guard_lets_pass(Address{Family::ipv4, batch[i].address}.host())) << i;
  if (side() == Side::allow) {
    EXPECT_LT(writer.allow_filter().load()->keys, hosts_at_first + batch.size())
        << "what found no room is not counted";
  }
}

INSTANTIATE_TEST_SUITE_P(Sides, Batches,
                         testing::Values(Setting{Side::deny},
                                         Setting{Side::allow, test::AllowFilterKind::seesaw},
                                         Setting{Side::allow, test::AllowFilterKind::cuckoo},
                                         Setting{Side::allow, test::AllowFilterKind::stacked}),
                         [](const auto &setting) {
                           return std::string(name_of(setting.param.side)) + "_" +
                                  std::string(test::name_of(setting.param.guard));
                         });

} // namespace
} // namespace weir::image_batch_test
