// How packets of lists are counted in bursts of few and of many lists, against one count a packet.
#include "dataplane/packet/stages.hpp"
#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>

namespace weir::test::stage_count_test {
namespace {

using dataplane::Burst, dataplane::PacketMask;

class StageCount : public testing::Test {
protected:
  static constexpr unsigned lists = 40;

  void SetUp() override {
    for (unsigned list = 0; list < lists; ++list)
      image_.slot_of_list[ListId(static_cast<std::uint16_t>(list))] =
          dataplane::CounterSlot(static_cast<std::uint16_t>(lists - list));
    burst_->image = &image_;
    burst_->by_lists = true;
    burst_->denials = denials_.data();
    burst_->allowances = allowances_.data();
  }
  // Of `count` packets each is denied by `list_of()` or allowed by it, one in four by neither.
  template <class ListOf> void count_a_burst(unsigned count, ListOf list_of) {
    burst_->count = count;
    burst_->special = burst_->dropped = 0;
    for (auto &value : denials_)
      value = table::value::make(ListId(1), 8); // what stands behind the last packet
    for (unsigned i = 0; i < count; ++i) {
      denials_[i] = allowances_[i] = 0;
      if (random() % 4 == 0) continue;
      const ListId list = list_of();
      const bool dropped = random() % 8 != 0;
      (dropped ? denials_ : allowances_)[i] = table::value::make(list, 24);
      if (!dropped && random() % 2 == 0)
        denials_[i] = table::value::make(ListId(2), 16); // allowed all the same
      burst_->special |= PacketMask{1} << i;
      burst_->dropped |= PacketMask{dropped} << i;
      ++expected_[image_.slot_of_list[list].value()];
    }
    count_burst(*burst_, *counters_, common_);
  }
  void expect_counts() {
    for (unsigned slot = 0; slot <= lists; ++slot)
      ASSERT_EQ(counters_->lists[dataplane::CounterSlot(static_cast<std::uint16_t>(slot))].get(),
                expected_[slot])
          << "slot " << slot;
  }

  const std::uint64_t seed = seed_or(20'261'129);
  std::mt19937_64 random{seed};
  ListId common_ = no_list;

private:
  dataplane::AttachedImage image_;
  std::unique_ptr<Burst> burst_ = std::make_unique<Burst>();
  std::unique_ptr<dataplane::WorkerCounters> counters_ = std::make_unique<dataplane::WorkerCounters>();
  alignas(cache_line_bytes) std::array<std::uint32_t, dataplane::burst_packets_max> denials_{}, allowances_{};
  std::map<unsigned, std::uint64_t> expected_;
};

TEST_F(StageCount, each_packet_counts_for_its_list_whichever_is_common) {
  WEIR_TRACE_SEED(seed);
  for (unsigned round = 0; round < 2'000; ++round) {
    const auto common = static_cast<std::uint16_t>(random() % lists);
    const unsigned percent = std::array{0u, 50u, 100u}[round % 3];
    for (unsigned burst = 0; burst < 3; ++burst)
      count_a_burst(static_cast<unsigned>(random() % (dataplane::burst_packets_max + 1)), [&] {
        return ListId(random() % 100 < percent ? common : static_cast<std::uint16_t>(random() % lists));
      });
    ASSERT_NO_FATAL_FAILURE(expect_counts()) << "round " << round;
  }
}

TEST_F(StageCount, a_list_of_most_packets_becomes_the_common_one) {
  WEIR_TRACE_SEED(seed);
  for (const std::uint16_t common : {5, 7}) {
    for (unsigned burst = 0; burst < 40; ++burst)
      count_a_burst(dataplane::burst_packets_max, [&] {
        return ListId(random() % 10 != 0 ? common : static_cast<std::uint16_t>(random() % lists));
      });
    EXPECT_EQ(common_, ListId(common));
  }
  expect_counts();
}

// Of a plain burst whose decisions were not written: each packet's family is its own.
TEST(BurstDecision, says_the_family_of_each_packet) {
  const auto burst = std::make_unique<Burst>();
  std::array<std::uint32_t, 4> denials{table::value::make(ListId(3), 32), table::value::make(ListId(4), 64)},
      allowances{0, 0, table::value::make(ListId(5), 128)};
  burst->count = 4;
  burst->denials = denials.data();
  burst->allowances = allowances.data();
  burst->special = 0b0111;
  burst->dropped = 0b0011;
  burst->v6 = 0b0110;
  const auto expect = [&](unsigned packet, Verdict verdict, Reason reason, dataplane::FamilySlot family) {
    const dataplane::Decision decision = burst->decision(packet);
    EXPECT_EQ(decision.verdict, verdict) << packet;
    EXPECT_EQ(decision.reason, reason) << packet;
    EXPECT_EQ(decision.family, family) << packet;
  };
  expect(0, Verdict::drop, Reason::deny, dataplane::FamilySlot::ipv4);
  expect(1, Verdict::drop, Reason::deny, dataplane::FamilySlot::ipv6);
  expect(2, Verdict::pass, Reason::allow, dataplane::FamilySlot::ipv6);
  expect(3, Verdict::pass, Reason::fallthrough, dataplane::FamilySlot::ipv4);
  EXPECT_EQ(burst->decision(2).list, ListId(5));
}

} // namespace
} // namespace weir::test::stage_count_test
