// The image that a restart begins with: what a failed save, a cut file and a full disk leave of it.
#include "tests/support/dataplane_client.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/ring_gate.hpp"
#include "tests/support/test_image.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>
#include <thread>

namespace weir::test::kept_images_test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

RuleSet denies(const char *prefix) {
  RuleSet rules;
  rules.policy.match = Match::source;
  rules.lists = {{"bad", Side::deny, {parse_prefix(prefix).value()}}};
  return rules;
}

class KeptImagesTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(start_eal());
    gate_ = std::make_unique<RingGate>();
    control_ = std::make_unique<DataplaneClient>(gate_->socket());
    enforce(7, "10.0.0.0/8");
    kept().settle();
    ASSERT_EQ(kept().about().generation, 7u);
  }

  void enforce(std::uint64_t generation, const char *prefix) {
    const TestImage image(denies(prefix), {.generation = generation});
    ASSERT_TRUE(control_->stage(image.bytes()).is(wire::Type::staged));
    ASSERT_TRUE(control_->commit(generation, 0).is(wire::Type::committed));
  }

  dataplane::KeptImages &kept() { return gate_->dataplane().generations.kept(); }
  [[nodiscard]] fs::path file(const std::string &name) const { return gate_->state_dir() / name; }

  // What a process that starts now would enforce; 0: nothing.
  [[nodiscard]] std::uint64_t after_a_restart() const {
    dataplane::ListSlots lists;
    dataplane::ImageSlot slot(1);
    dataplane::Background background;
    dataplane::Generations next(slot, lists, background, 1, gate_->state_dir());
    const Status attached = next.attach_last();
    return attached ? slot.live_generation().value() : 0;
  }

  // Every name that an image could be written under for a while is a folder with something in it.
  void make_saves_fail() const {
    for (int i = 0; i < 20; ++i) fs::create_directories(file("staged." + std::to_string(i) + ".image") / "x");
  }
  void let_saves_succeed() const {
    for (int i = 0; i < 20; ++i) fs::remove_all(file("staged." + std::to_string(i) + ".image"));
  }
  [[nodiscard]] bool becomes_kept(std::uint64_t generation) {
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (kept().about().generation != generation && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(5ms);
    return kept().about().generation == generation;
  }
  [[nodiscard]] bool has_staged_files() const {
    for (const auto &entry : fs::directory_iterator(gate_->state_dir()))
      if (entry.path().filename().string().starts_with("staged.")) return true;
    return false;
  }

  std::unique_ptr<RingGate> gate_;
  std::unique_ptr<DataplaneClient> control_;
};

TEST_F(KeptImagesTest, the_one_before_stays_next_to_the_last) {
  enforce(8, "10.0.0.0/9");
  kept().settle();
  EXPECT_EQ(after_a_restart(), 8u);
  EXPECT_TRUE(fs::exists(file("previous.image")));
  EXPECT_FALSE(has_staged_files());
  EXPECT_TRUE(kept().about().warning.empty()) << kept().about().warning;
}

TEST_F(KeptImagesTest, a_failed_save_replaces_nothing_and_is_tried_again) {
  make_saves_fail();
  enforce(8, "10.0.0.0/9");
  kept().settle();
  const auto about = kept().about();
  EXPECT_EQ(about.generation, 7u);
  EXPECT_EQ(about.waiting, 8u);
  EXPECT_NE(about.warning.find("generation 8 is not kept"), std::string::npos) << about.warning;
  EXPECT_NE(about.warning.find("begin with generation 7"), std::string::npos) << about.warning;
  const std::string stats = control_->query(R"({"what":"stats"})");
  EXPECT_NE(stats.find("generation 8 is not kept"), std::string::npos) << stats;
  EXPECT_EQ(after_a_restart(), 7u);

  let_saves_succeed();
  ASSERT_TRUE(becomes_kept(8));
  EXPECT_EQ(after_a_restart(), 8u);
  EXPECT_TRUE(kept().about().warning.empty()) << kept().about().warning;
}

TEST_F(KeptImagesTest, a_later_generation_takes_the_place_of_one_that_could_not_be_saved) {
  make_saves_fail();
  enforce(8, "10.0.0.0/9");
  kept().settle();
  let_saves_succeed();
  enforce(9, "10.0.0.0/10");
  ASSERT_TRUE(becomes_kept(9));
  kept().settle();
  EXPECT_EQ(after_a_restart(), 9u);
}

TEST_F(KeptImagesTest, a_last_image_that_is_cut_gives_way_to_the_one_before) {
  enforce(8, "10.0.0.0/9");
  kept().settle();
  fs::resize_file(file("last.image"), fs::file_size(file("last.image")) / 2);
  EXPECT_EQ(after_a_restart(), 7u);
  fs::remove(file("last.image"));
  EXPECT_EQ(after_a_restart(), 7u);
}

TEST_F(KeptImagesTest, a_refused_image_is_named_and_does_not_become_the_one_before) {
  enforce(8, "10.0.0.0/9");
  kept().settle();
  fs::resize_file(file("last.image"), 10);
  {
    dataplane::ListSlots lists;
    dataplane::ImageSlot slot(1);
    dataplane::Background background;
    dataplane::Generations next(slot, lists, background, 1, gate_->state_dir());
    ASSERT_TRUE(next.attach_last());
    EXPECT_NE(next.kept().about().warning.find("was refused at the start"), std::string::npos);
    const TestImage image(denies("10.0.0.0/10"), {.generation = 9});
    const int fd = make_memfd(image.bytes(), usual_seals());
    auto attached = dataplane::attach_memfd(fd, {{}, 9, 0, image.bytes().size()}, next.attach_context());
    close(fd);
    ASSERT_TRUE(attached) << attached.error().message;
    auto saving = next.kept().prepare(**attached);
    next.set_staged(std::move(*attached), std::move(saving));
    ASSERT_TRUE(next.commit({9, 0}, [](const dataplane::Swap &) {}));
    next.kept().settle();
    EXPECT_TRUE(next.kept().about().warning.empty()) << next.kept().about().warning;
  }
  EXPECT_EQ(after_a_restart(), 9u);
  fs::remove(file("last.image"));
  EXPECT_EQ(after_a_restart(), 7u) << "the cut file became previous.image";
}

TEST_F(KeptImagesTest, an_image_that_is_not_committed_leaves_no_file) {
  const TestImage image(denies("10.0.0.0/9"), {.generation = 8});
  ASSERT_TRUE(control_->stage(image.bytes()).is(wire::Type::staged));
  ASSERT_TRUE(control_->ask(wire::Type::discard, {}).is(wire::Type::staged));
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (has_staged_files() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(5ms);
  EXPECT_FALSE(has_staged_files());
  EXPECT_EQ(after_a_restart(), 7u);
}

TEST_F(KeptImagesTest, what_a_killed_process_left_half_written_is_removed) {
  control_ = nullptr;
  gate_ = nullptr; // workers have one set of lcores
  gate_ = std::make_unique<RingGate>();
  std::ofstream(file("staged.99.image")) << "half an image";
  control_ = std::make_unique<DataplaneClient>(gate_->socket());
  enforce(3, "10.0.0.0/8");
  kept().settle();
  EXPECT_FALSE(fs::exists(file("staged.99.image")));
  EXPECT_EQ(after_a_restart(), 3u);
}

} // namespace
} // namespace weir::test::kept_images_test
