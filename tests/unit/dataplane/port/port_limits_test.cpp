// What a port asks for beyond its device is refused by name, value and limit.
#include "dataplane/port/port_limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

namespace weir::dataplane::port_limits_test {
namespace {

using testing::HasSubstr;

rte_eth_dev_info card() {
  rte_eth_dev_info info{};
  info.driver_name = "net_ixgbe";
  info.max_mtu = UINT16_MAX;
  info.max_rx_pktlen = 15'872;
  info.rx_desc_lim = {.nb_max = 4096, .nb_min = 32, .nb_align = 8, .nb_seg_max = 0, .nb_mtu_seg_max = 0};
  info.tx_desc_lim = {.nb_max = 2048, .nb_min = 64, .nb_align = 1, .nb_seg_max = 0, .nb_mtu_seg_max = 0};
  return info;
}

config::Port port() {
  config::Port port;
  port.name = "wan";
  port.device = "0000:3b:00.0";
  return port;
}

TEST(PortLimits, an_mtu_beyond_the_device_is_refused_with_its_maximum) {
  rte_eth_dev_info info = card();
  config::Port wanted = port();
  EXPECT_TRUE(check_mtu(wanted, info)) << "it asks for nothing";
  wanted.mtu = 15'854;
  EXPECT_TRUE(check_mtu(wanted, info)) << "its frames are as long as the device takes them";
  wanted.mtu = 15'855;
  EXPECT_EQ(check_mtu(wanted, info).error().message,
            "port wan: mtu: 15855: 0000:3b:00.0 (net_ixgbe) takes at most 15854");
  info.max_mtu = 9710;
  EXPECT_THAT(check_mtu(wanted, info).error().message, HasSubstr("takes at most 9710"));
}

TEST(PortLimits, the_driver_that_names_no_longest_frame_takes_what_a_segment_holds) {
  rte_eth_dev_info info = card();
  info.max_rx_pktlen = UINT32_MAX; // net_null
  EXPECT_EQ(mtu_max_of(info), config::mtu_max);
  info.max_rx_pktlen = 0;
  EXPECT_EQ(mtu_max_of(info), config::mtu_max);
}

TEST(PortLimits, an_mtu_beyond_the_ring_of_an_interface_is_refused_with_the_sizes_to_write) {
  config::Port wanted = port();
  wanted.device = "net_af_packet0";
  const config::KernelInterface interface{"left0", "net_af_packet", 2048};
  wanted.mtu = 1964;
  EXPECT_TRUE(check_mtu(wanted, interface));
  wanted.mtu = 9000;
  const std::string why = check_mtu(wanted, interface).error().message;
  EXPECT_THAT(why, HasSubstr("net_af_packet0 (net_af_packet) takes at most 1964 with its framesz=2048"));
  EXPECT_THAT(why, HasSubstr("framesz=9216,blocksz=36864"));
  EXPECT_THAT(check_mtu(wanted, {"left0", "net_af_xdp", 0}).error().message, HasSubstr("takes at most 2022"));
}

TEST(PortLimits, rings_are_held_within_those_of_the_device) {
  config::Port wanted = port();
  wanted.rx_descriptors = 4096;
  wanted.tx_descriptors = 64;
  EXPECT_TRUE(check_descriptors(wanted, card()));
  wanted.rx_descriptors = 4100;
  EXPECT_EQ(check_descriptors(wanted, card()).error().message,
            "port wan: rx_descriptors: 4100: 0000:3b:00.0 (net_ixgbe) takes 32 to 4096, in steps of 8");
  wanted.rx_descriptors = 36;
  EXPECT_THAT(check_descriptors(wanted, card()).error().message, HasSubstr("in steps of 8"));
  wanted.rx_descriptors.reset();
  wanted.tx_descriptors = 63;
  EXPECT_THAT(check_descriptors(wanted, card()).error().message,
              HasSubstr("tx_descriptors: 63: 0000:3b:00.0 (net_ixgbe) takes 64 to 2048"));
}

TEST(PortLimits, a_segment_has_room_for_the_longest_frame) {
  EXPECT_EQ(data_room_for(1500, 0), RTE_MBUF_DEFAULT_BUF_SIZE);
  EXPECT_EQ(data_room_for(2022, 0), RTE_MBUF_DEFAULT_BUF_SIZE) << "with two tags and a checksum";
  EXPECT_EQ(data_room_for(2023, 0), 3072 + RTE_PKTMBUF_HEADROOM);
  EXPECT_EQ(data_room_for(9000, 0), 9216 + RTE_PKTMBUF_HEADROOM);
  EXPECT_EQ(data_room_for(1500, 16'384), 16'384 + RTE_PKTMBUF_HEADROOM);
  EXPECT_LE(config::mtu_max + 26u, data_room_for(config::mtu_max, 0) - unsigned{RTE_PKTMBUF_HEADROOM});
}

} // namespace
} // namespace weir::dataplane::port_limits_test
