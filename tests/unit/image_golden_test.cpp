// The bytes of format version 2, pinned: header and section table - whose checksums cover every
// section - of a fixed image. A change here is a change of format and needs a new version number.
#include "tests/support/image_memory.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace weir {
namespace {

constexpr const char *golden_file = "tests/golden/image_v2.hex"; // tests run from the top of the tree

std::string hex_lines(Bytes bytes) {
  std::string out;
  char text[8];
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::snprintf(text, sizeof text, "%02x", static_cast<unsigned>(bytes[i]));
    out += text;
    out += i % 32 == 31 ? '\n' : ' ';
  }
  return out;
}

TEST(Image, bytes_of_format_version_2_are_what_they_were) {
  using test::entry_v4, test::entry_v6;
  const std::vector<build::EntryV4> deny4{entry_v4("0.0.0.0/0", 1), entry_v4("0.0.0.0", 0),
                                          entry_v4("10.0.0.0/8", 0), entry_v4("10.0.0.0/24", 3),
                                          entry_v4("255.255.255.255", 3)};
  const std::vector<build::EntryV4> allow4{entry_v4("10.0.0.7", 7)};
  const std::vector<build::EntryV6> deny6{entry_v6("::/0", 1), entry_v6("::", 0),
                                          entry_v6("2001:db8::/32", 3)};
  build::BuildInput in;
  in.policy.match = Match::source;
  in.lists = {{"drop", 0, image::Side::deny},
              {"all", 1, image::Side::deny},
              {"bans", 3, image::Side::deny},
              {"ops", 7, image::Side::allow}};
  in.deny = {deny4, deny6, true};
  in.allow = {allow4, {}, false};
  in.generation = 42;
  in.sequence = 1234;
  in.seed = 0xC0FFEE;
  for (std::size_t i = 0; i < in.store_id.size(); ++i) in.store_id[i] = static_cast<std::uint8_t>(i);
  const test::ImageMemory m = test::ImageMemory::build(in);
  const auto &header = *reinterpret_cast<const image::ImageHeader *>(m.bytes().data());
  const std::string now =
      hex_lines(m.bytes().first(sizeof header + header.section_count * sizeof(image::SectionEntry)));

  std::ifstream file(golden_file);
  ASSERT_TRUE(file.good()) << golden_file << " cannot be read: run from the top of the tree";
  std::stringstream pinned;
  pinned << file.rdbuf();
  EXPECT_EQ(now, pinned.str());
}

} // namespace
} // namespace weir
