// An overlay on its way to being full leads to a new image before it is.
#include "tests/support/engine_bench.hpp"
#include "tests/support/fake_dataplane.hpp"

namespace weir::control {
namespace {

using test::EngineBench;
using test::FakeDataplane;

class EngineOverlay : public testing::Test {
protected:
  EngineOverlay()
      : bench("version: 1\nlists: [{name: bans, action: deny, dynamic: true}, {name: a, action: deny, "
              "entries: [192.0.2.1]}]\n"),
        dataplane(bench.socket()) {
    EXPECT_TRUE(bench.run_until_live());
    images = dataplane.stages();
    generation = dataplane.generation();
  }

  void add_hosts(std::uint32_t from, std::uint32_t to) {
    std::vector<NewEntry> entries;
    for (std::uint32_t i = from; i < to; ++i)
      entries.push_back({to_prefix(Address::from_host(0x0B000000 + i)), std::nullopt, {}});
    bool done = false;
    bench.engine().add("bans", entries, [&](const Result<EntriesDone> &added) {
      EXPECT_TRUE(added && added->in_force);
      done = true;
    });
    ASSERT_TRUE(bench.run_until([&] { return done; }));
  }
  static Prefix to_prefix(const Address &address) {
    return {.address = address, .length = static_cast<std::uint8_t>(address_bits(address.family))};
  }
  void let_it_look() { // many times as long as it waits before it looks
    const auto end = push::Clock::now() + std::chrono::milliseconds(300);
    (void)bench.run_until([&] { return push::Clock::now() > end && bench.engine().doing().empty(); });
  }

  EngineBench bench;
  FakeDataplane dataplane;
  std::uint64_t images = 0, generation = 0;
};

// The smallest table takes close to 288 keys, its overlay 256.
TEST_F(EngineOverlay, an_overlay_more_than_half_full_is_built_into_a_new_image) {
  add_hosts(0, 450);
  ASSERT_TRUE(bench.run_until([&] { return dataplane.stages() == images + 1; }));
  ASSERT_TRUE(bench.run_until_live());
  EXPECT_GT(dataplane.generation(), generation);
  EXPECT_EQ(dataplane.denies("11.0.1.193"), "bans") << "the 449th";
  EXPECT_EQ(bench.engine().last_error(), "");
  let_it_look();
  EXPECT_EQ(dataplane.stages(), images + 1) << "the new image's overlay is empty";
}

TEST_F(EngineOverlay, one_that_holds_little_is_left_alone) {
  add_hosts(0, 340);
  let_it_look();
  EXPECT_EQ(dataplane.stages(), images);
}

} // namespace
} // namespace weir::control
