#include "control/cli/capture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

namespace weir::cli::capture_test {
namespace {

using testing::HasSubstr;

void put(std::string &bytes, std::uint32_t value) { bytes.append(reinterpret_cast<const char *>(&value), 4); }

// A capture of `packets` frames of 60 bytes.
std::string capture_bytes(unsigned packets, std::uint32_t link_type = 1) {
  std::string bytes;
  for (const std::uint32_t value : {0xA1B2C3D4u, 0x00040002u, 0u, 0u, 65535u, link_type}) put(bytes, value);
  for (unsigned i = 0; i < packets; ++i) {
    for (const std::uint32_t value : {i, 0u, 60u, 60u}) put(bytes, value);
    bytes.append(60, '\0');
  }
  return bytes;
}

class CliCapture : public testing::Test {
protected:
  std::filesystem::path write(const std::string &bytes) {
    std::ofstream(file_, std::ios::binary) << bytes;
    return file_;
  }
  std::string fault(const std::filesystem::path &file) {
    const auto facts = inspect_capture(file, true);
    EXPECT_FALSE(facts);
    return facts ? "" : facts.error().message;
  }
  ~CliCapture() override { std::filesystem::remove(file_); }
  std::filesystem::path file_ =
      std::filesystem::temp_directory_path() / ("weir-cli-capture-" + std::to_string(getpid()) + ".pcap");
};

TEST_F(CliCapture, whole_packets_are_counted) {
  const auto facts = inspect_capture(write(capture_bytes(5)), true);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->packets, 5u);
  EXPECT_FALSE(facts->cut);
}

TEST_F(CliCapture, a_packet_gets_the_tag_that_its_capture_lost) {
  const std::string macs = "020000000001020000000002", ip = "0800"
                                                            "45000014000000004011000001020304"
                                                            "05060708";
  EXPECT_EQ(in_vlan(macs + ip, 0x123).value(), macs + "81000123" + ip);
  EXPECT_EQ(in_vlan(macs + "81000000" + ip, 7).value(), macs + "81000007" + "81000000" + ip)
      << "a priority tag names no VLAN";
  EXPECT_THAT(in_vlan(macs + "8100000c" + ip, 7).error().message, HasSubstr("has a tag of VLAN 12 already"));
  EXPECT_THAT(in_vlan(macs + "88a8000c" + ip, 12).error().message, HasSubstr("leave --vlan out"));
  EXPECT_THAT(in_vlan("0011", 7).error().message, HasSubstr("before its EtherType"));
}

TEST_F(CliCapture, a_packet_is_named_by_its_bytes_or_by_its_place) {
  EXPECT_EQ(packet_text("00 1B:ff").value(), "001bff");
  const std::string file = write(capture_bytes(3));
  EXPECT_EQ(packet_text(file + ":3").value(), std::string(120, '0'));
  EXPECT_THAT(packet_text(file + ":4").error().message, HasSubstr("there is no packet 4; it has 3"));
  EXPECT_THAT(packet_text(file + ":x").error().message, HasSubstr("which packet?"));
  EXPECT_THAT(packet_text(file + ":0").error().message, HasSubstr("which packet?"));
  EXPECT_THAT(packet_text("/nonexistent.pcap:1").error().message, HasSubstr("there is no such file"));
  EXPECT_THAT(packet_text("00xx").error().message, HasSubstr("neither a capture and a number"));
  EXPECT_THAT(packet_text("001").error().message, HasSubstr("needs two"));
  EXPECT_THAT(packet_text(write("no capture").string() + ":1").error().message, HasSubstr("not a capture"));
}

TEST_F(CliCapture, one_cut_in_the_middle_of_a_packet_gives_what_is_whole) {
  std::string bytes = capture_bytes(5);
  bytes.resize(bytes.size() - 10);
  const auto facts = inspect_capture(write(bytes), true);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->packets, 4u);
  EXPECT_TRUE(facts->cut);
}

TEST_F(CliCapture, one_cut_in_the_middle_of_a_packet_header_gives_what_is_whole) {
  std::string bytes = capture_bytes(5);
  bytes.resize(bytes.size() - 70);
  const auto facts = inspect_capture(write(bytes), true);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->packets, 4u);
  EXPECT_TRUE(facts->cut);
}

TEST_F(CliCapture, another_link_type_is_refused_by_name) {
  EXPECT_THAT(fault(write(capture_bytes(1, 101))), HasSubstr("only captures of Ethernet frames"));
}

TEST_F(CliCapture, what_is_no_capture_is_refused) {
  EXPECT_THAT(fault(write("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n")), HasSubstr("not a capture"));
  EXPECT_THAT(fault(write("")), HasSubstr("not a capture"));
}

TEST_F(CliCapture, a_missing_file_and_a_folder_are_named) {
  EXPECT_THAT(fault("/nonexistent/in.pcap"), HasSubstr("/nonexistent/in.pcap: there is no such file"));
  EXPECT_THAT(fault("/"), HasSubstr("folder"));
}

} // namespace
} // namespace weir::cli::capture_test
