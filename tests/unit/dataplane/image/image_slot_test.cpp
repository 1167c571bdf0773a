// Publishing under running readers: nobody sees an image after it was given up, nobody steps back.
#include "dataplane/image/image_slot.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <type_traits>
#include <vector>

namespace weir::dataplane::image_slot_test {
namespace {

constexpr std::uint64_t given_up = 0; // no published image has this generation

std::unique_ptr<AttachedImage> image_of(std::uint64_t generation) {
  auto image = std::make_unique<AttachedImage>();
  image->generation = Generation(generation);
  return image;
}

// Reads as a worker does: three bursts in flight, each with the image it began with.
class Reader {
public:
  Reader(ImageSlot &slot, unsigned id) : slot_(slot), id_(id), thread_([this] { run(); }) {}
  void stop() {
    stop_ = true;
    thread_.join();
  }
  std::atomic<std::uint64_t> finished{0}, latest{0};
  std::atomic<std::uint64_t> dead{0}, backward{0};

private:
  void run() {
    slot_.join(id_);
    std::uint64_t last_token = 0;
    while (!stop_) {
      if (in_flight_ == held_.size()) finish_oldest();
      held_[(first_ + in_flight_++) % held_.size()] = slot_.current();
      if (slot_.report_wanted(last_token)) {
        while (in_flight_ > 0) finish_oldest();
        last_token = slot_.report(id_);
        std::this_thread::yield(); // CPUs may be fewer than threads
      }
    }
    while (in_flight_ > 0) finish_oldest();
    slot_.leave(id_);
  }

  void finish_oldest() {
    AttachedImage *image = held_[first_];
    first_ = (first_ + 1) % held_.size();
    --in_flight_;
    if (image == nullptr) return;
    const std::uint64_t generation =
        std::atomic_ref(image->generation).load(std::memory_order_relaxed).value();
    if (generation == given_up) dead.fetch_add(1);
    if (generation != given_up && generation < latest) backward.fetch_add(1);
    latest = generation;
    finished.fetch_add(1);
  }

  ImageSlot &slot_;
  unsigned id_;
  std::atomic<bool> stop_{false};
  std::array<AttachedImage *, 3> held_{};
  unsigned first_ = 0, in_flight_ = 0;
  std::thread thread_;
};

TEST(ImageSlot, nobody_holds_an_image_after_its_grace_period_has_passed) {
  constexpr std::uint64_t generations = 500;
  ImageSlot slot(2);
  std::vector<std::unique_ptr<AttachedImage>> graves;
  Reader one(slot, 0), two(slot, 1);
  for (std::uint64_t g = 1; g <= generations; ++g) {
    auto published = slot.publish(image_of(g));
    while (!slot.quiesced(published.token)) std::this_thread::yield();
    if (!published.previous) continue;
    std::atomic_ref(published.previous->generation).store(Generation(given_up), std::memory_order_relaxed);
    graves.push_back(std::move(published.previous)); // its memory must not become another image's
  }
  while (one.latest < generations || two.latest < generations) std::this_thread::yield();
  one.stop();
  two.stop();
  EXPECT_EQ(one.dead + two.dead, 0u);
  EXPECT_EQ(one.backward + two.backward, 0u);
  EXPECT_GT(one.finished, generations / 10);
  EXPECT_EQ(slot.live_generation(), generations);
}

TEST(ImageSlot, a_reader_that_went_offline_holds_nothing_up) {
  ImageSlot slot(1);
  slot.join(0);
  const auto first = slot.publish(image_of(1));
  EXPECT_FALSE(slot.quiesced(first.token)) << "the reader has not reported yet";
  slot.offline(0);
  EXPECT_TRUE(slot.quiesced(first.token));
  slot.online(0);
  const auto second = slot.publish(image_of(2));
  EXPECT_FALSE(slot.quiesced(second.token));
  EXPECT_TRUE(slot.report_wanted(0));
  const std::uint64_t token = slot.report(0);
  EXPECT_TRUE(slot.quiesced(second.token));
  EXPECT_FALSE(slot.report_wanted(token));
  slot.leave(0);
}

TEST(ImageSlot, without_readers_a_grace_period_passes_at_once) {
  ImageSlot slot(4);
  EXPECT_EQ(slot.live_generation(), 0u);
  EXPECT_EQ(slot.current(), nullptr);
  const auto published = slot.publish(image_of(5));
  EXPECT_EQ(published.previous, nullptr);
  EXPECT_TRUE(slot.quiesced(published.token));
  EXPECT_EQ(slot.current()->generation, 5u);
}

// The number of a list in an image and the slot that counts its packets are not taken for each other.
static_assert(!std::is_constructible_v<CounterSlot, ListId> &&
              !std::is_constructible_v<ListId, CounterSlot> &&
              !std::equality_comparable_with<CounterSlot, ListId>);
static_assert(std::is_invocable_v<decltype(&list_hits), const Counters &, CounterSlot> &&
              !std::is_invocable_v<decltype(&list_hits), const Counters &, ListId>);

TEST(ListSlots, keep_their_name_while_there_are_free_ones) {
  ListSlots slots;
  const CounterSlot a = slots.hold("a"), b = slots.hold("b");
  EXPECT_NE(a, b);
  EXPECT_NE(a, 0) << "slot 0 is for lists beyond the last";
  slots.let_go(a);
  EXPECT_EQ(slots.hold("a"), a);
  EXPECT_EQ(slots.name_of(b), "b");
  EXPECT_EQ(slots.names().size(), 3u);
}

TEST(ListSlots, go_to_new_names_once_all_are_taken_and_nobody_holds_them) {
  Counters counters(2);
  ListSlots slots(&counters);
  std::vector<CounterSlot> first, second;
  for (int i = 0; i < 40'000; ++i) first.push_back(slots.hold("old" + std::to_string(i)));
  counters.worker(0).lists[first[0]].add(5);
  counters.worker(1).lists[first[0]].add(2);
  for (const CounterSlot slot : first) slots.let_go(slot);
  const CounterSlot kept = slots.hold("old1");
  EXPECT_EQ(kept, first[1]);
  for (int i = 0; i < 60'000; ++i) second.push_back(slots.hold("new" + std::to_string(i)));
  EXPECT_EQ(std::ranges::count(second, 0), 0);
  EXPECT_EQ(std::ranges::count(second, kept), 0) << "a slot in use was given away";
  EXPECT_EQ(std::ranges::count(second, first[0]), 1) << "the one let go first goes first";
  EXPECT_EQ(slots.names()[first[0].value()].hits_before, 7u) << "a new name does not inherit a count";
  EXPECT_EQ(slots.name_of(first[0]).substr(0, 3), "new");
  EXPECT_EQ(std::set(second.begin(), second.end()).size(), second.size());
  for (int i = 0; i < 10'000; ++i) (void)slots.hold("more" + std::to_string(i));
  EXPECT_EQ(slots.hold("one too many"), 0) << "all are held";
}

} // namespace
} // namespace weir::dataplane::image_slot_test
