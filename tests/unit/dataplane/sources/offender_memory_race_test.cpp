// Workers tell and ask one memory of offenders while it is saved, marked, and given up for another shape. Under
// ThreadSanitizer; and what lost updates cost is counted.
#include "dataplane/sources/offender_memories.hpp"

#include "tests/support/offenders_case.hpp"
#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace weir::test::offender_memory_race_test {
namespace {

using dataplane::Mark;
using dataplane::OffenderMemories;
using dataplane::OffenderMemory;

constexpr unsigned workers = 2;
constexpr std::uint64_t gap = 4'000;

KeyHash key_of(std::uint64_t i, std::uint64_t seed) { return {remix({i}, seed)}; }
float score_of(std::uint64_t i) { return i % 4 < 2 ? -1.0F : 1.0F; } // both groups, of either worker

struct Shape {
  AlignedSection section;
  image::OffendersView view;
  explicit Shape(const OffendersCase &c)
      : section(c.section()), view(image::OffendersView::attach(section.bytes()).value()) {}
};

OffendersCase learned(OffenderFilter filter, std::uint64_t remembered) {
  OffendersCase c;
  c.filter = filter;
  c.targets = {.accepted = 0.01, .missed = 0.1, .gap = remembered};
  c.trees = one_split(10, 1, 128, -1, 1);
  return c;
}

// A batch of keys in a row, of which one worker has every second one.
void tell(OffenderMemory &memory, std::uint64_t from, std::uint64_t seed) {
  constexpr std::size_t batch = 16;
  std::array<KeyHash, batch> keys;
  std::array<float, batch> scores;
  for (std::size_t i = 0; i < batch; ++i) {
    keys[i] = key_of(from + workers * i, seed);
    scores[i] = score_of(from + workers * i);
  }
  memory.insert_batch(keys, scores);
  (void)memory.contains_batch(keys, scores);
  for (std::size_t i = 0; i < batch; ++i) {
    if (dataplane::Shadow::has(keys[i])) (void)memory.shadow().knows(keys[i], memory.told());
    const Address address = Address::from_wire(static_cast<std::uint32_t>(i % 8));
    if (memory.marks().of(address) == Mark::forgotten) memory.marks().lift(address);
  }
}

class OffenderMemoryRace : public testing::TestWithParam<OffenderFilter> {
protected:
  OffenderMemoryRace() {
    std::string name = (std::filesystem::temp_directory_path() / "weir-offenders-race-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~OffenderMemoryRace() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_P(OffenderMemoryRace, is_told_and_asked_while_it_is_saved_marked_and_given_up_for_another_shape) {
  const std::uint64_t seed = seed_or(51);
  WEIR_TRACE_SEED(seed);
  const Shape one(learned(GetParam(), gap)), other(learned(GetParam(), 2 * gap));
  OffenderMemories memories(folder_, workers, true);
  std::shared_ptr<OffenderMemory> first = memories.of(one.view).value();
  memories.in_force(first);
  std::atomic<OffenderMemory *> now{first.get()}; // as an image's pointer, which workers load once a burst
  std::atomic<bool> done{false};
  std::array<std::atomic<std::uint64_t>, workers> bursts{};
  const auto work = [&](unsigned worker) {
    for (std::uint64_t at = worker; !done.load(std::memory_order_relaxed); at += 16 * workers) {
      tell(*now.load(std::memory_order_acquire), at, seed);
      bursts[worker].fetch_add(1, std::memory_order_relaxed);
    }
  };
  std::shared_ptr<OffenderMemory> second;
  {
    const std::jthread a(work, 0), b(work, 1);
    for (unsigned round = 0; round < 40 || std::min(bursts[0].load(), bursts[1].load()) < 200; ++round) {
      OffenderMemory &memory = *now.load();
      EXPECT_TRUE(memories.write(memory));
      EXPECT_EQ(memories.of(one.view).value(), first) << "another image of the shape has the same memory";
      for (std::uint32_t i = 0; i < 8; ++i)
        EXPECT_TRUE(memory.marks().set(Address::from_wire(i), i % 2 == 0 ? Mark::marked : Mark::forgotten,
                                       memory.told(), gap));
      EXPECT_LE(memory.in_use().front(), 1);
      if (round != 20) continue;
      second = memories.of(other.view).value();
      memories.in_force(second);
      now.store(second.get(), std::memory_order_release);
    }
    done = true;
  }
  EXPECT_EQ(memories.cleared(), 1u);
  EXPECT_GT(first->told(), 0u);
  EXPECT_GT(second->told(), 0u);
  EXPECT_EQ(second->marks().of(Address::from_wire(0)), Mark::marked);
  // What was written in the middle of it all is whole.
  ASSERT_TRUE(memories.write(*second));
  OffenderMemories later(folder_, workers, true);
  EXPECT_TRUE(later.of(other.view).value()->was_restored());
  EXPECT_EQ(later.warning(), "");
}

// Lost updates cost misses alone: of what both told last, hardly more is missing than with one worker.
TEST_P(OffenderMemoryRace, loses_few_keys_where_workers_meet_in_a_word) {
  const std::uint64_t seed = seed_or(52);
  WEIR_TRACE_SEED(seed);
  const Shape shape(learned(GetParam(), gap));
  const auto alone = OffenderMemory::make(shape.view, 1).value(),
             together = OffenderMemory::make(shape.view, workers).value();
  constexpr std::uint64_t told = 6 * gap / 32 * 32;
  for (std::uint64_t at = 0; at < told; at += 16 * workers)
    for (unsigned worker = 0; worker < workers; ++worker) tell(*alone, at + worker, seed);
  std::array<std::atomic<std::uint64_t>, workers> at{};
  const auto work = [&](unsigned worker) {
    for (std::uint64_t i = 0; i < told; i += 16 * workers) {
      at[worker] = i;
      while (at[1 - worker] + 256 < i) std::this_thread::yield(); // in step, as the workers of one gate
      tell(*together, i + worker, seed);
    }
    at[worker] = told;
  };
  {
    const std::jthread a(work, 0), b(work, 1);
  }
  EXPECT_EQ(together->told(), told);
  const auto missed = [&](const OffenderMemory &memory) {
    unsigned sum = 0;
    for (std::uint64_t i = 1; i <= gap / 2; ++i)
      sum += memory.contains(key_of(told - i, seed), score_of(told - i)) ? 0 : 1;
    return sum / static_cast<double>(gap / 2);
  };
  EXPECT_LT(missed(*together), missed(*alone) + 0.02);
}

INSTANTIATE_TEST_SUITE_P(Filters, OffenderMemoryRace,
                         testing::Values(OffenderFilter::rotating, OffenderFilter::stable),
                         [](const auto &param) { return std::string(name_of(param.param)); });

} // namespace
} // namespace weir::test::offender_memory_race_test
