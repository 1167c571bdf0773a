// What Generations keeps of what is no longer in force, and what it says it has applied.
#include "dataplane/image/generations.hpp"
#include "tests/support/dataplane_client.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/process.hpp"
#include "tests/support/test_image.hpp"
#include "weir/image/reader.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

namespace weir::test::generations_test {
namespace {

// Stands for what judges from a form of its own of the image, and may fail to take it.
class Follower final : public dataplane::ImageFollower {
public:
  Status load(const image::ImageView &) override {
    if (fails) return fail(Errc::no_memory, "no memory for larger registers");
    ++loaded;
    return {};
  }
  void in_force() noexcept override { ++put_in_force; }
  bool fails = false;
  unsigned loaded = 0, put_in_force = 0;
};

class GenerationsTest : public testing::Test {
protected:
  void SetUp() override { ASSERT_TRUE(start_eal()); }

  // With no worker, grace periods are over at once.
  void enforce(std::uint64_t generation, std::uint64_t packets) {
    RuleSet rules;
    rules.lists = {{"bad", Side::deny, {parse_prefix("10.0.0.0/8").value()}}};
    const TestImage image(rules, {.generation = generation});
    const int fd = make_memfd(image.bytes(), usual_seals());
    auto attached = dataplane::attach_memfd(fd, {{}, Generation(generation), 0, image.bytes().size()},
                                            generations_.attach_context());
    close(fd);
    ASSERT_TRUE(attached) << attached.error().message;
    (*attached)->packets_by_worker[0].packets.add(packets);
    generations_.set_staged(std::move(*attached));
    ASSERT_TRUE(generations_.commit({Generation(generation), 0}, [](const dataplane::Swap &) {}));
    while (generations_.tick()) continue;
  }

  TempDir folder_;
  Follower follower_;
  dataplane::ListSlots lists_;
  dataplane::ImageSlot slot_{1};
  dataplane::Background background_;
  dataplane::Generations generations_{slot_, lists_, background_, 1, folder_.path()};
};

TEST_F(GenerationsTest, count_the_newest_hundred_one_by_one_and_the_others_together) {
  for (std::uint64_t generation = 1; generation <= 110; ++generation) enforce(generation, generation);
  const auto packets = generations_.packets_by_generation();
  EXPECT_EQ(packets.size(), 101u) << "the one in force, and a hundred before";
  EXPECT_EQ(packets.begin()->first, 10u);
  EXPECT_EQ(generations_.earlier_packets(), 9u * 10 / 2);
  std::uint64_t sum = generations_.earlier_packets();
  for (const auto &[generation, count] : packets) sum += count;
  EXPECT_EQ(sum, 110u * 111 / 2);
}

TEST_F(GenerationsTest, the_sequence_moves_on_only_when_what_judges_has_moved_on) {
  generations_.set_follower(follower_);
  enforce(1, 0);
  const wire::Deltas about{.store_id = {}, .first_sequence = 1, .target = wire::Target::live, .count = 1};
  const std::vector<image::Delta> deltas{make_delta(image::DeltaOp::set, "192.0.2.3", 0)};
  follower_.fails = true;
  const auto refused = generations_.apply(about, deltas);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::needs_rebuild) << refused.error().message;
  EXPECT_EQ(generations_.live()->sequence, 0u) << "control would take it for applied after a reconnect";

  follower_.fails = false;
  const unsigned before = follower_.put_in_force;
  const auto applied = generations_.apply(about, deltas);
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_EQ(applied->sequence, 1u);
  EXPECT_EQ(generations_.live()->sequence, 1u);
  EXPECT_EQ(follower_.put_in_force, before + 1) << "the registers have it";
}

} // namespace
} // namespace weir::test::generations_test
