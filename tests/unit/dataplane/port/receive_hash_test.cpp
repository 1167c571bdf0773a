// Packets are dealt out to queues by source address, or so that both directions of a flow meet.
#include "dataplane/port/receive_hash.hpp"

#include <gtest/gtest.h>

#include <rte_thash.h>

#include <random>
#include <set>

namespace weir::dataplane::receive_hash_test {
namespace {

rte_eth_dev_info card(std::uint64_t offloads, std::uint8_t key_bytes) {
  rte_eth_dev_info info{};
  info.flow_type_rss_offloads = offloads;
  info.hash_key_size = key_bytes;
  return info;
}

constexpr std::uint64_t usual =
    RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_ETH;

TEST(ReceiveHash, is_over_the_source_alone_where_the_card_can) {
  const ReceiveHash hash = receive_hash(card(usual | RTE_ETH_RSS_L3_SRC_ONLY, 40));
  EXPECT_EQ(hash.over,
            RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_L3_SRC_ONLY);
  EXPECT_EQ(hash.key_bytes, 0) << "the driver's own key";
}

TEST(ReceiveHash, says_else_the_same_of_both_directions_and_deals_flows_out) {
  for (const std::uint8_t key_bytes : {40, 52}) {
    const ReceiveHash hash = receive_hash(card(usual, key_bytes));
    EXPECT_EQ(hash.over, RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV4_TCP);
    ASSERT_EQ(hash.key_bytes, key_bytes);
    std::mt19937 random(3);
    std::set<std::uint32_t> queues;
    for (unsigned i = 0; i < 1000; ++i) {
      const std::uint32_t a = random(), b = random(), ports = random();
      std::uint32_t there[] = {a, b, ports}, back[] = {b, a, ports >> 16 | ports << 16};
      for (const std::uint32_t words : {2u, 3u}) { // addresses alone, and with ports
        const std::uint32_t of = rte_softrss(there, words, hash.key.data());
        ASSERT_EQ(of, rte_softrss(back, words, hash.key.data()));
        queues.insert(of % 8);
      }
    }
    EXPECT_EQ(queues.size(), 8u);
  }
}

TEST(ReceiveHash, leaves_a_card_alone_that_hashes_no_addresses_or_wants_another_key) {
  EXPECT_EQ(receive_hash(card(RTE_ETH_RSS_ETH, 40)).over, 0u);
  EXPECT_EQ(receive_hash(card(usual, 0)).key_bytes, 0);
  EXPECT_EQ(receive_hash(card(usual, 255)).key_bytes, 0);
}

} // namespace
} // namespace weir::dataplane::receive_hash_test
