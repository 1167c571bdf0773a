#include "weir/base/hex.hpp"

#include <gtest/gtest.h>

namespace weir::hex_test {
namespace {

TEST(Hex, is_read_as_people_write_it) {
  const std::vector<std::uint8_t> wanted{0x00, 0x1B, 0xff};
  for (const char *text : {"001bff", "00 1B FF", "00:1b:ff", "001b.ff\n", "  00\n1b ff  "})
    EXPECT_EQ(bytes_of_hex(text).value(), wanted) << text;
  EXPECT_EQ(hex_of(wanted.data(), wanted.size()), "001bff");
}

TEST(Hex, faults_name_the_character) {
  EXPECT_EQ(bytes_of_hex("00x1").error().message, "character 3 is no hexadecimal digit");
  EXPECT_EQ(bytes_of_hex("0 01").error().message, "character 2 stands in the middle of a byte");
  EXPECT_EQ(bytes_of_hex("001").error().message, "the last byte has one hexadecimal digit; it needs two");
  EXPECT_EQ(bytes_of_hex(" : ").error().message, "there is no byte");
  EXPECT_FALSE(bytes_of_hex(std::string("0\0", 2)));
}

} // namespace
} // namespace weir::hex_test
