// Which interface of the kernel a port is, and rings that hold its frames.
#include "weir/config/kernel_interface.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::config::kernel_interface_test {
namespace {

Eal eal_of(std::vector<std::string> vdevs) {
  Eal eal;
  eal.vdevs = std::move(vdevs);
  return eal;
}
Port port_of(const char *device, std::optional<unsigned> mtu = {}) {
  Port port;
  port.device = device;
  port.mtu = mtu;
  return port;
}

TEST(KernelInterface, is_named_by_the_virtual_device) {
  const Eal eal = eal_of({"net_null0", "net_af_packet0,qpairs=2,iface=left0,framesz=4096",
                          "net_af_packet1,iface=x", "eth_af_xdp0,iface=right0", "net_af_packet7"});
  const auto left = kernel_interface_of(eal, port_of("net_af_packet0"));
  ASSERT_TRUE(left);
  EXPECT_EQ(left->name, "left0");
  EXPECT_EQ(left->driver, "net_af_packet");
  EXPECT_EQ(left->ring_bytes, 4096u);
  EXPECT_EQ(kernel_interface_of(eal, port_of("net_af_packet1"))->ring_bytes, 2048u);
  EXPECT_EQ(kernel_interface_of(eal, port_of("eth_af_xdp0"))->driver, "net_af_xdp");
  EXPECT_FALSE(kernel_interface_of(eal, port_of("net_null0")));
  EXPECT_FALSE(kernel_interface_of(eal, port_of("0000:3b:00.0")));
  EXPECT_FALSE(kernel_interface_of(eal, port_of("net_af_packet7"))) << "it names no interface";
}

TEST(KernelInterface, rings_grow_with_the_mtu_unless_their_sizes_are_written) {
  const Eal eal = eal_of({"net_af_packet0,iface=a", "net_af_packet1,iface=b,framesz=2048", "net_null0"});
  const std::vector<Port> ports{port_of("net_af_packet0", 9000), port_of("net_af_packet1", 9000),
                                port_of("net_null0", 9000)};
  EXPECT_THAT(vdevs_for_mtu(eal, ports),
              testing::ElementsAre("net_af_packet0,iface=a,framesz=9216,blocksz=36864",
                                   "net_af_packet1,iface=b,framesz=2048", "net_null0"));
  EXPECT_EQ(kernel_interface_of(eal, ports[0])->ring_bytes, 9216u);
  EXPECT_EQ(kernel_interface_of(eal, ports[1])->ring_bytes, 2048u);
  EXPECT_EQ(vdevs_for_mtu(eal, {port_of("net_af_packet0"), port_of("net_af_packet1")}), eal.vdevs);
}

TEST(KernelInterface, a_ring_of_the_size_for_an_mtu_takes_that_mtu) {
  for (unsigned mtu = mtu_min; mtu <= mtu_max; mtu += 7) {
    EXPECT_GE(mtu_in_ring(ring_bytes_for(mtu)), mtu);
    EXPECT_LT(mtu_in_ring(ring_bytes_for(mtu) - 1024), mtu);
    EXPECT_EQ(ring_bytes_for(mtu) * 4 % 4096, 0u) << "the kernel takes blocks of whole pages";
  }
  EXPECT_EQ(mtu_in_ring(10), 0u);
}

} // namespace
} // namespace weir::config::kernel_interface_test
