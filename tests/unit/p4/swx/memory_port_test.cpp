// What a program sees of a packet, and that the packet does not notice.
#include "p4/swx/pipeline.hpp"
#include "tests/p4/swx_burst.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/packets.hpp"

#include <gtest/gtest.h>

#include <rte_mbuf.h>

namespace weir::p4::memory_port_test {
namespace {

class SwxMemoryPort : public testing::Test {
protected:
  void SetUp() override { ASSERT_TRUE(test::start_eal()); }

  static SwxPipeline build(const std::string &text) {
    const auto spec = swx::parse_spec(text, "test.spec");
    if (!spec) throw std::runtime_error(spec.error().message);
    auto pipeline = SwxPipeline::build(*spec);
    if (!pipeline) throw std::runtime_error(pipeline.error().message);
    return std::move(*pipeline);
  }
  static std::vector<std::uint8_t> run(SwxPipeline &pipeline, std::span<const swx::Packet> packets) {
    std::vector<std::uint8_t> outputs(packets.size(), 0xEE);
    const Status ran = pipeline.run(packets, outputs);
    EXPECT_TRUE(ran) << ran.error().message;
    return outputs;
  }
};

constexpr const char *port_header = "struct port_t {\n\tbit<16> port\n\tbit<16> captured\n\tbit<32> wire\n}\n"
                                    "header from_port instanceof port_t\n";

TEST_F(SwxMemoryPort, says_port_captured_bytes_and_bytes_on_the_wire) {
  auto pipeline = build(std::string(port_header) + R"(
struct metadata_t {
	bit<32> in
	bit<32> out
}
metadata instanceof metadata_t
regarray seen size 0x4 initval 0
apply {
	rx m.in
	extract h.from_port
	mov m.out 0
	regwr seen m.out h.from_port.port
	mov m.out 1
	regwr seen m.out h.from_port.captured
	mov m.out 2
	regwr seen m.out h.from_port.wire
	tx m.out
}
)");
  test::SwxBurst burst;
  burst.add(std::vector<std::uint8_t>(300, 1), 0x1234, 70'000);
  EXPECT_EQ(run(pipeline, burst.packets())[0], 2);
  EXPECT_EQ(pipeline.read_register("seen", 0).value(), 0x1234u);
  EXPECT_EQ(pipeline.read_register("seen", 1).value(), 300u);
  EXPECT_EQ(pipeline.read_register("seen", 2).value(), 70'000u);

  test::SwxBurst unsaid;
  unsaid.add(std::vector<std::uint8_t>(300, 1));
  (void)run(pipeline, unsaid.packets());
  EXPECT_EQ(pipeline.read_register("seen", 2).value(), 300u) << "the mbuf's own length";
}

// Turns the addresses round, writes the type and puts a header in front, and sends all that.
constexpr const char *meddler = R"(
struct ethernet_t {
	bit<48> dst
	bit<48> src
	bit<16> type
}
struct tag_t {
	bit<32> tag
}
struct metadata_t {
	bit<32> in
	bit<32> out
	bit<48> kept
}
metadata instanceof metadata_t
header ethernet instanceof ethernet_t
header tag instanceof tag_t
apply {
	rx m.in
	extract h.ethernet
	mov m.kept h.ethernet.dst
	mov h.ethernet.dst h.ethernet.src
	mov h.ethernet.src m.kept
	mov h.ethernet.type 0x1234
	validate h.tag
	mov h.tag.tag 0xFFFFFFFF
	mov m.out 3
	emit h.tag
	emit h.ethernet
	tx m.out
}
)";

TEST_F(SwxMemoryPort, gives_mbufs_back_as_they_were_whatever_the_program_writes) {
  auto pipeline = build(meddler);
  test::SwxBurst burst;
  std::vector<std::vector<std::uint8_t>> before;
  for (unsigned i = 0; i < 50; ++i) {
    burst.add(
        test::FrameBuilder().ethernet().ipv4({.source = "10.0.0.1"}).udp(1, 2).payload(i * 7).frame().bytes);
    before.push_back(burst.bytes_of(i));
  }
  EXPECT_EQ(run(pipeline, burst.packets()), std::vector<std::uint8_t>(50, 3));
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(burst.bytes_of(i), before[i]) << i;
    EXPECT_EQ(burst.packets()[i].mbuf->data_off, RTE_PKTMBUF_HEADROOM) << i;
    EXPECT_EQ(rte_mbuf_refcnt_read(burst.packets()[i].mbuf), 1) << i;
  }
}

TEST_F(SwxMemoryPort, shows_zeros_behind_the_end_of_a_short_packet_and_128_bytes_of_a_long_one) {
  const std::string fields = "struct lines_t {\n\tbit<64> a\n\tbit<64> b\n\tbit<64> c\n\tbit<64> d\n}\n";
  std::string text = port_header + fields;
  text += "struct metadata_t {\n\tbit<32> in\n\tbit<32> out\n}\nmetadata instanceof metadata_t\n";
  std::string apply = "apply {\n\trx m.in\n\textract h.from_port\n\tmov m.out 0\n";
  for (int i = 0; i < 4; ++i) {
    const std::string header = "l" + std::to_string(i);
    text += "header " + header + " instanceof lines_t\n";
    apply += "\textract h." + header + "\n";
    for (const char *field : {"a", "b", "c", "d"})
      apply += "\tregwr seen m.out h." + header + "." + field + "\n\tadd m.out 1\n";
  }
  auto pipeline = build(text + "regarray seen size 0x10 initval 0\n" + apply + "\ttx m.out\n}\n");
  const auto seen = [&](std::size_t bytes, std::uint8_t fill) {
    test::SwxBurst burst;
    for (int i = 0; i < 16; ++i) burst.add(std::vector<std::uint8_t>(1000, 0xFF)); // what windows held before
    burst.add(std::vector<std::uint8_t>(bytes, fill));
    (void)run(pipeline, burst.packets());
    std::vector<std::uint64_t> words;
    for (unsigned i = 0; i < 16; ++i) words.push_back(pipeline.read_register("seen", i).value());
    return words;
  };
  std::vector<std::uint64_t> expected(16, 0);
  EXPECT_EQ(seen(0, 0), expected) << "a packet without a byte";
  expected[0] = 0x2222222222222222;
  expected[1] = 0x2222220000000000;
  EXPECT_EQ(seen(11, 0x22), expected);
  EXPECT_EQ(seen(1500, 0x33), std::vector<std::uint64_t>(16, 0x3333333333333333));
}

TEST_F(SwxMemoryPort, takes_bursts_of_any_size) {
  auto pipeline = build(meddler);
  test::SwxBurst burst;
  for (int i = 0; i < 1000; ++i) burst.add(std::vector<std::uint8_t>(60, 0));
  for (const std::size_t size : {0, 1, 2, 15, 16, 17, 32, 64, 1000})
    EXPECT_EQ(run(pipeline, burst.packets().first(size)), std::vector<std::uint8_t>(size, 3)) << size;
}

} // namespace
} // namespace weir::p4::memory_port_test
