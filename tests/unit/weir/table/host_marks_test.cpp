// Marks of the /48s that have hosts, alone, in the map of an image, and in a burst.
#include "tests/support/image_memory.hpp"
#include "tests/support/seed.hpp"
#include "weir/image/writer.hpp"
#include "weir/key/text.hpp"
#include "weir/lookup/burst_lookup.hpp"
#include "weir/lookup/kernels/choose.hpp"
#include "weir/table/host_marks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace weir::host_marks_test {
namespace {

using table::HostMarks;

Address address(std::uint64_t net, std::uint64_t host) { // net: the first 48 bits
  Address a;
  a.family = Family::ipv6;
  for (unsigned i = 0; i < 6; ++i) a.bytes[i] = static_cast<std::uint8_t>(net >> (40 - 8 * i));
  for (unsigned i = 0; i < 8; ++i) a.bytes[8 + i] = static_cast<std::uint8_t>(host >> (56 - 8 * i));
  return a;
}
table::KeyV6 key(const Address &a) { return table::KeyV6::load(a.bytes.data()); }

TEST(HostMarks, take_eight_bits_a_net_between_4_and_128_kib_or_are_not_kept) {
  EXPECT_EQ(HostMarks::words_for(0), HostMarks::words_min);
  EXPECT_EQ(HostMarks::words_for(4095), 1024u);
  EXPECT_EQ(HostMarks::words_for(4096), 2048u);
  EXPECT_EQ(HostMarks::words_for(131'072), HostMarks::words_max);
  EXPECT_EQ(HostMarks::words_for(131'073), 0u);
  for (const std::uint64_t nets : {0u, 1u, 5000u, 131'072u, 131'073u})
    EXPECT_TRUE(HostMarks::is_size(HostMarks::words_for(nets)));
  for (const std::uint32_t words : {1u, 512u, 1025u, 65'536u}) EXPECT_FALSE(HostMarks::is_size(words));
}

TEST(HostMarks, are_of_48_bits_and_rarely_of_another_net) {
  const std::uint64_t seed = test::seed_or(48);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  constexpr unsigned nets = 20'000;
  std::vector<std::uint32_t> words(HostMarks::words_for(nets));
  const HostMarks marks(words.data(), static_cast<std::uint32_t>(words.size()));
  for (unsigned n = 0; n < nets; ++n) {
    const std::uint64_t net = 0x20010db80000 + n;
    table::mark_host(words.data(), marks, key(address(net, random())));
    EXPECT_TRUE(marks.may_have(key(address(net, random()))));
  }
  unsigned in_vain = 0;
  for (unsigned i = 0; i < 10'000; ++i) in_vain += marks.may_have(key(address(random() >> 16, 1)));
  EXPECT_LT(in_vain, 1300u) << "an eighth of the bits are set";
  EXPECT_TRUE(HostMarks().may_have(key(address(1, 1)))) << "without marks any address may be a host";
}

TEST(HostMarks, are_read_alike_by_all_kernels) {
  const std::uint64_t seed = test::seed_or(49);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  std::array<table::KeyV6, 64> keys;
  for (const std::uint32_t count : {0u, 1024u, 32'768u}) {
    std::vector<std::uint32_t> words(count + 1);
    for (auto &w : words) w = static_cast<std::uint32_t>(random());
    const HostMarks marks(words.data(), count);
    for (unsigned asked = 0; asked <= 64; ++asked) {
      for (table::KeyV6 &k : keys) k = {random(), random()};
      const std::uint64_t expected = lookup::portable::may_have_hosts(marks, keys.data(), asked);
      for (const lookup::Kernels *kernels : lookup::available_kernels())
        ASSERT_EQ(kernels->ranges->may_have_hosts(marks, keys.data(), asked), expected)
            << kernels->name << ", " << asked << " addresses, " << count << " words";
    }
  }
}

TEST(HostMarks, save_addresses_of_other_nets_a_probe_and_hide_no_host) {
  std::vector<build::EntryV6> hosts;
  for (std::uint64_t n = 0; n < 500; ++n)
    hosts.push_back({address(0x20010db80000 + n, n).bytes, 128, 0, ListId(1)});
  std::ranges::sort(hosts);
  build::BuildInput in;
  in.lists = {{"bans", ListId(1)}};
  in.deny.v6 = hosts;
  in.seed = 6;
  const test::ImageMemory memory = test::ImageMemory::build(in);
  auto writer = image::ImageWriter::attach(memory.bytes(), [] {}).value();
  const auto burst = std::make_unique<lookup::BurstLookup>();
  const auto ask = [&](const Address &a) {
    burst->begin(writer.view(), *lookup::available_kernels().back());
    burst->ask_v6(0, a.bytes.data());
    burst->send();
    burst->probe_first();
    burst->finish();
    EXPECT_EQ(burst->deny(0), image::lookup(writer.view(), Side::deny, a));
    return burst->deny(0) != 0;
  };
  for (std::uint64_t n = 0; n < 500; ++n) EXPECT_TRUE(ask(address(0x20010db80000 + n, n))) << n;
  unsigned probes = 0;
  const auto other = [](std::uint64_t n) { return address(0x26000db80000 + 977 * n, 5); };
  for (std::uint64_t n = 0; n < 500; ++n) {
    EXPECT_FALSE(ask(other(n)));
    probes += burst->cost().probes;
  }
  EXPECT_LT(probes, 50u) << "of 500 addresses";
  for (std::uint64_t n = 0; n < 100; ++n) { // in place: each marks its net
    image::Delta d;
    d.op = image::DeltaOp::set;
    d.side = Side::deny;
    d.family = Family::ipv6;
    d.length = 128;
    d.list = ListId(1);
    d.address = other(n).bytes;
    const image::Change change = writer.apply(d);
    ASSERT_TRUE(change == image::Change::in_place || change == image::Change::overlay) << n;
    EXPECT_TRUE(ask(other(n))) << n;
  }
}

} // namespace
} // namespace weir::host_marks_test
