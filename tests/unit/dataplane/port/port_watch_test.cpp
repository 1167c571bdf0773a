// Packets that a card counts and weir never saw: when a difference is worth a word.
#include "dataplane/eal.hpp"
#include "dataplane/port/port.hpp"
#include "dataplane/port/port_watch.hpp"

#include <gtest/gtest.h>

namespace weir::dataplane::port_watch_test {
namespace {

std::string all_of(const PortWatch &watch) {
  std::string text;
  for (const std::string &warning : watch.warnings()) text += warning + '\n';
  return text;
}

TEST(PortWatch, is_silent_while_weir_gets_what_the_card_counts) {
  PortWatch watch("wan", 1000);
  for (std::uint64_t i = 0; i < 100; ++i)
    EXPECT_FALSE(
        watch.look({.device_packets = 50'000 * i + (i % 7) * 100, .weir_packets = 50'000 * i, .others = {}}));
  EXPECT_EQ(all_of(watch), "") << "a few hundred are always on their way";
}

TEST(PortWatch, names_packets_that_the_card_counts_and_nobody_reads) {
  PortWatch watch("wan", 1000);
  unsigned said = 0;
  for (std::uint64_t i = 0; i < 10; ++i)
    said += watch.look({.device_packets = 10'000 * i, .weir_packets = 5'000 * i, .others = {}});
  EXPECT_EQ(said, 1u) << "the log says it once";
  EXPECT_NE(all_of(watch).find("port wan: 45000 packets that the card counts as received did not reach weir"),
            std::string::npos)
      << all_of(watch);
}

TEST(PortWatch, does_not_count_twice_what_the_card_itself_calls_lost) {
  PortWatch watch("wan", 1000);
  for (std::uint64_t i = 0; i < 10; ++i)
    watch.look({.device_packets = 10'000 * i, .missed = 4'000 * i, .weir_packets = 6'000 * i, .others = {}});
  EXPECT_EQ(watch.warnings().size(), 1u) << all_of(watch);
  EXPECT_NE(all_of(watch).find("36000 packets found no room in a receive queue"), std::string::npos);
}

TEST(PortWatch, names_each_counter_of_loss_with_its_remedy) {
  PortWatch watch("lan", 1000);
  for (std::uint64_t i = 0; i < 5; ++i)
    watch.look(
        {.no_buffers = i, .errors = 2 * i, .unread_queues = 3 * i, .others = {{"rx_q1_drops", 7 * i}}});
  const std::string all = all_of(watch);
  for (const char *part :
       {"4 packets found no packet memory", "eal.memory_mib", "8 packets were received with errors",
        "12 packets went to receive queues", "rx_queues", "28 packets lost", "rx_q1_drops"})
    EXPECT_NE(all.find(part), std::string::npos) << part << "\n" << all;
}

TEST(PortWatch, names_packets_that_a_card_took_for_sending_and_did_not_send) {
  PortWatch watch("lan", 1000);
  for (std::uint64_t i = 0; i < 100; ++i)
    watch.look({.device_sent = 10'000 * i, .weir_sent = 10'000 * i + (i % 7) * 100, .others = {}});
  EXPECT_EQ(all_of(watch), "") << "a few hundred are always on their way";
  for (std::uint64_t i = 0; i < 10; ++i)
    watch.look({.device_sent = 990'000 + 10'000 * i, .weir_sent = 990'000 + 15'000 * i, .others = {}});
  for (const char *part :
       {"port lan: 45000 packets that the card took for sending did not leave", "eal.lcores"})
    EXPECT_NE(all_of(watch).find(part), std::string::npos) << part << "\n" << all_of(watch);
}

TEST(PortWatch, names_packets_that_a_port_refuses_while_it_sends_none) {
  PortWatch watch("lan", 1000);
  for (std::uint64_t i = 0; i < 10; ++i)
    watch.look({.device_sent = 7 * i, .weir_sent = 7 * i, .refused = 9 * i, .others = {}});
  EXPECT_EQ(all_of(watch), "") << "more comes than the link takes: these have a reason of their own";
  for (std::uint64_t i = 10; i < 20; ++i)
    watch.look({.device_sent = 63, .weir_sent = 63, .refused = 9 * i, .others = {}});
  EXPECT_NE(all_of(watch).find(
                "port lan: 90 packets found no room in a transmit queue while the port sent nothing"),
            std::string::npos)
      << all_of(watch);
}

TEST(PortWatch, believes_weir_where_a_driver_counts_no_packets_sent) {
  PortWatch watch("lan", 0);
  for (std::uint64_t i = 0; i < 10; ++i) watch.look({.weir_sent = 10'000 * i, .others = {}});
  EXPECT_EQ(all_of(watch), "");
}

TEST(PortWatch, does_not_count_twice_what_a_card_could_not_send) {
  PortWatch watch("lan", 100);
  for (std::uint64_t i = 0; i < 10; ++i)
    watch.look({.device_sent = 900 * i, .send_errors = 100 * i, .weir_sent = 1'000 * i, .others = {}});
  EXPECT_EQ(watch.warnings().size(), 1u) << all_of(watch);
  EXPECT_NE(all_of(watch).find("900 packets could not be sent"), std::string::npos) << all_of(watch);
}

TEST(PortWatch, needs_several_looks_in_a_row_and_forgets_what_stands_still) {
  PortWatch watch("wan", 0);
  std::uint64_t missed = 0;
  for (int i = 0; i < 20; ++i)
    watch.look({.missed = missed += static_cast<std::uint64_t>(i % 2), .others = {}});
  EXPECT_EQ(all_of(watch), "") << "now and then one";
  for (unsigned i = 0; i < PortWatch::looks_in_a_row; ++i) watch.look({.missed = ++missed, .others = {}});
  EXPECT_EQ(watch.warnings().size(), 1u);
  for (unsigned i = 0; i < PortWatch::looks_silent; ++i) watch.look({.missed = missed, .others = {}});
  EXPECT_EQ(all_of(watch), "");
}

TEST(PortWatch, takes_a_card_that_counts_from_zero_again_for_a_new_beginning) {
  PortWatch watch("wan", 0);
  watch.look({.missed = 1'000'000, .others = {}});
  watch.look({.missed = 3, .others = {}});
  for (std::uint64_t i = 4; i < 4 + PortWatch::looks_in_a_row; ++i) watch.look({.missed = i, .others = {}});
  EXPECT_NE(all_of(watch).find("port wan: 3 packets"), std::string::npos) << all_of(watch);
}

TEST(PortWatch, knows_counters_of_loss_by_their_names) {
  for (const char *name : {"rx_out_of_buffer", "rx_q0_dropped", "rx_discards", "rx_fifo_overflow"})
    EXPECT_TRUE(names_a_loss(name)) << name;
  for (const char *name : {"rx_good_packets", "tx_dropped", "rx_missed_errors", "rx_q0_packets"})
    EXPECT_FALSE(names_a_loss(name)) << name;
}

TEST(RxQueues, are_as_many_as_a_virtio_card_activates) {
  const config::Port port{.name = "wan", .device = "0000:00:03.0", .rx_queues = 1, .peer = {}};
  EXPECT_EQ(rx_queues_for(port, "net_virtio", 2, 4), 2);
  EXPECT_EQ(rx_queues_for(port, "net_virtio_user", 3, 4), 3);
  EXPECT_EQ(rx_queues_for(port, "net_virtio", 1, 4), 1);
  EXPECT_EQ(rx_queues_for(port, "net_ixgbe", 2, 4), 1);
  const auto refused = rx_queues_for(port, "net_virtio", 2, 1);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("eal.lcores"), std::string::npos) << refused.error().message;
}

TEST(TxQueues, are_one_where_the_driver_of_e1000_names_two_for_a_card_that_has_one) {
  EXPECT_EQ(tx_queues_max("net_e1000_em", 2, 16'128), 1) << "82540EM";
  EXPECT_EQ(tx_queues_max("net_e1000_em", 2, 9'234), 2) << "82574L";
  EXPECT_EQ(tx_queues_max("net_e1000_igb", 2, 16'128), 2);
  EXPECT_EQ(tx_queues_max("net_virtio", 4, 9'728), 4);
}

TEST(LockedMemory, that_cards_need_and_the_user_may_not_lock_is_refused_at_the_start) {
  EXPECT_TRUE(check_memlock(8 << 20, 8 << 20));
  const auto refused = check_memlock(8 << 20, 256 << 20);
  ASSERT_FALSE(refused);
  for (const char *part : {"262144 KiB are needed", "may lock 8192", "ulimit -l 262144", "LimitMEMLOCK"})
    EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;

  config::Config config;
  config.eal.hugepages = config::Eal::Hugepages::no;
  config.ports = {{.name = "wan", .device = "net_null0", .peer = {}}};
  Machine machine{false, 0, {0, 1}, 8 << 20};
  EXPECT_TRUE(plan_eal(Options{}, config, machine)) << "no card, nothing to lock";
  config.ports[0].device = "0000:00:03.0";
  EXPECT_FALSE(plan_eal(Options{}, config, machine));
  machine.memlock_bytes = 256 << 20;
  EXPECT_TRUE(plan_eal(Options{}, config, machine));
}

} // namespace
} // namespace weir::dataplane::port_watch_test
