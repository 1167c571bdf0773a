// A pair that comes up on what the build with image format 4 left behind: its store, and the image that its
// dataplane kept (tests/golden/store_image4.tar.gz, kept_image4.tar.gz; both of the same rules).
#include "tests/support/weir_pair.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace weir::test::upgrade_test {
namespace {

std::string text_of(const std::filesystem::path &file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// What becomes of an address, and by which list: "drop bans", "pass none".
std::string verdict_of(WeirPair &pair, const char *address) {
  const auto answer = pair.ctl({"explain", address}).json(); // fails where no list has the address
  const auto word = [&](const char *member) {
    return answer.contains(member) && answer[member].is_string() ? answer[member].get<std::string>() : "none";
  };
  return word("verdict") + " " + word("list");
}

TEST(UpgradedPair, says_that_it_cannot_read_the_kept_image_and_enforces_every_rule_of_the_store) {
  WeirPair pair(PairSetup::idle());
  const auto state = pair.folder() / "state";
  std::filesystem::create_directories(state);
  for (const char *left : {"store_image4", "kept_image4"}) {
    const std::string unpack = std::string("tar -xzf tests/golden/") + left + ".tar.gz -C " + state.string();
    ASSERT_EQ(std::system(unpack.c_str()), 0) << unpack;
  }
  pair.start_dataplane();
  const std::string words = "format version 4, this program reads 6: an earlier weir wrote it";
  EXPECT_TRUE(wait_until([&] { return text_of(pair.dataplane_log()).contains(words); }, 20s))
      << text_of(pair.dataplane_log());
  EXPECT_TRUE(pair.dataplane().running());

  pair.start_control();
  ASSERT_TRUE(pair.ready(60s));
  EXPECT_EQ(pair.must({"status"}).at("generation"), 3);
  for (const char *denied : {"192.0.2.2", "192.0.2.3", "198.51.100.8", "2001:db8::1"})
    EXPECT_EQ(verdict_of(pair, denied), "drop drop") << denied;
  EXPECT_EQ(verdict_of(pair, "198.51.100.7"), "pass office");
  for (const char *banned : {"203.0.113.9", "2001:db8:bad::1"})
    EXPECT_EQ(verdict_of(pair, banned), "drop bans") << banned;
  EXPECT_EQ(verdict_of(pair, "203.0.113.10"), "pass none") << "was deleted";
}

} // namespace
} // namespace weir::test::upgrade_test
