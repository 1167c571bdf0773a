#include "control/cli/pcapng.hpp"

#include "control/cli/capture.hpp"
#include "tests/support/process.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace weir::cli::pcapng_test {
namespace {

using test::read_text;
using test::TempDir;

constexpr std::array<std::uint8_t, 5> frame{1, 2, 3, 4, 5};

NotedPacket noted(std::string port, std::uint64_t at_ns = 1'700'000'000'123'456'789) {
  return {.port = std::move(port),
          .at_ns = at_ns,
          .length = 1500,
          .bytes = frame,
          .queue = 3,
          .left_out = 7,
          .comment = "deny list drop 203.0.113.0/24 SBL256894"};
}

template <class T> T at(const std::string &bytes, std::size_t place) {
  T value{};
  std::memcpy(&value, bytes.data() + place, sizeof value);
  return value;
}

// Types of all blocks; each says its length at both ends.
std::vector<std::uint32_t> blocks(const std::string &bytes) {
  std::vector<std::uint32_t> types;
  for (std::size_t place = 0; place < bytes.size();) {
    types.push_back(at<std::uint32_t>(bytes, place));
    const auto length = at<std::uint32_t>(bytes, place + 4);
    EXPECT_EQ(length % 4, 0u);
    EXPECT_EQ(at<std::uint32_t>(bytes, place + length - 4), length);
    place += length;
  }
  return types;
}

TEST(Pcapng, has_an_interface_for_each_port_and_what_is_known_of_each_packet) {
  const TempDir folder;
  const auto file = folder / "a.pcapng";
  auto writer = PcapngWriter::create(file).value();
  for (const char *port : {"wan", "lan", "wan"}) ASSERT_TRUE(writer.write(noted(port)));
  ASSERT_TRUE(writer.flush());
  const std::string bytes = read_text(file);
  EXPECT_EQ(blocks(bytes), (std::vector<std::uint32_t>{0x0A0D0D0A, 1, 6, 1, 6, 6}));
  EXPECT_NE(bytes.find("deny list drop 203.0.113.0/24 SBL256894"), std::string::npos);
  EXPECT_EQ(inspect_capture(file, true).value().packets, 3u) << "libpcap reads it";
  EXPECT_EQ(packet_text(file.string() + ":3").value(), "0102030405");
}

TEST(Pcapng, a_full_file_makes_room_for_the_next) {
  const TempDir folder;
  const auto file = folder / "a.pcapng";
  auto writer = PcapngWriter::create(file, 1000, 3).value();
  for (unsigned i = 0; i < 60; ++i) ASSERT_TRUE(writer.write(noted("wan", i)));
  ASSERT_TRUE(writer.flush());
  std::uint64_t packets = 0;
  for (const char *suffix : {"", ".1", ".2"}) {
    const auto facts = inspect_capture(file.string() + suffix, true);
    ASSERT_TRUE(facts) << suffix;
    packets += facts->packets;
    EXPECT_LT(read_text(file.string() + suffix).size(), 1300u);
  }
  EXPECT_LT(packets, 60u);
  EXPECT_GT(packets, 10u);
  EXPECT_FALSE(std::filesystem::exists(file.string() + ".3"));
}

TEST(Pcapng, what_cannot_be_written_is_said) {
  EXPECT_NE(PcapngWriter::create("/nonexistent/a.pcapng").error().message.find("/nonexistent/a.pcapng"),
            std::string::npos);
  auto writer = PcapngWriter::create("/dev/full").value();
  ASSERT_TRUE(writer.write(noted("wan")));
  EXPECT_NE(writer.flush().error().message.find("No space left"), std::string::npos);
}

} // namespace
} // namespace weir::cli::pcapng_test
