// The seed of an image is in no answer, no log and no file that others may read.
#include "tests/system/gate.hpp"
#include "weir/image/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <set>

namespace weir::test::secret_test {

namespace {

namespace fs = std::filesystem;

std::uint64_t seed_of(const fs::path &image) {
  const std::string bytes = read_text(image);
  image::ImageHeader header;
  if (bytes.size() < sizeof header) return 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.magic == image::magic ? header.build_seed : 0;
}

std::string without_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// How a program might write the number.
std::vector<std::string> spellings(std::uint64_t seed) {
  std::vector<std::string> texts{std::to_string(seed), std::to_string(static_cast<std::int64_t>(seed)),
                                 fmt::format("{:x}", seed), fmt::format("{:x}", __builtin_bswap64(seed))};
  std::string bytes;
  for (unsigned i = 0; i < 8; ++i) bytes += fmt::format("{:02x} ", seed >> 8 * i & 0xFF);
  texts.push_back(bytes.substr(0, bytes.size() - 1));
  return texts;
}

bool tells(const std::string &text, std::uint64_t seed) {
  return std::ranges::any_of(spellings(seed), [&](const std::string &spelling) {
    return without_case(text).find(spelling) != std::string::npos;
  });
}

bool holds_bytes_of(const fs::path &file, std::uint64_t seed) {
  std::string bytes(sizeof seed, '\0');
  std::memcpy(bytes.data(), &seed, sizeof seed);
  return read_text(file).find(bytes) != std::string::npos;
}

} // namespace

TEST(Secret, a_search_for_a_seed_finds_it_in_every_spelling) {
  const std::uint64_t seed = 0xFEDCBA9876543210u;
  for (const std::string &spelling : spellings(seed)) EXPECT_TRUE(tells("x " + spelling + ".", seed));
  EXPECT_TRUE(tells("0xFEDCBA9876543210", seed));
  EXPECT_FALSE(tells("0xFEDCBA9876543211", seed));
}

TEST(Secret, the_seed_of_an_image_is_in_no_answer_no_log_and_no_file_of_others) {
  const std::string lists = "- {name: nets, action: deny, entries: [198.51.100.0/24, 192.0.2.7]}\n"
                            "- {name: ops, action: allow, entries: [198.51.100.9]}\n"
                            "- {name: bans, action: deny, dynamic: true}\n";
  const auto pair = idle_pair(lists);
  ASSERT_NO_FATAL_FAILURE(pair->start());
  const fs::path last = pair->folder() / "state/last.image", socket = pair->folder() / "run/control.sock";
  std::set<std::uint64_t> seeds;
  const auto note_seed = [&] {
    ASSERT_TRUE(wait_until([&] { return seed_of(last) != 0 && !seeds.contains(seed_of(last)); }, 20s));
    seeds.insert(seed_of(last));
  };
  ASSERT_NO_FATAL_FAILURE(note_seed());
  std::string said;
  const auto ask = [&](std::vector<std::string> words) {
    std::vector<std::string> command{program("weirctl"), "-s", socket};
    command.insert(command.end(), words.begin(), words.end());
    const Outcome plain = run(command);
    command.insert(command.begin() + 1, "-j");
    const Outcome json = run(command);
    EXPECT_FALSE((plain.out + plain.err).empty()) << fmt::format("{}", fmt::join(words, " "));
    said += plain.out + plain.err + json.out + json.err;
  };
  ask({"list", "add", "bans", "203.0.113.9", "2001:db8::/32"});
  pair->write_config(lists + "- {name: more, action: deny, entries: [203.0.113.77]}\n");
  const std::string config = pair->config();
  ask({"check", config});
  ask({"plan", config});
  ask({"diff", config});
  pair->must({"apply", config});
  ASSERT_NO_FATAL_FAILURE(note_seed());
  for (const std::vector<std::string> &words : {std::vector<std::string>{"status"},
                                                {"list", "show"},
                                                {"list", "show", "nets"},
                                                {"list", "export", "nets", pair->folder() / "export.txt"},
                                                {"plan"},
                                                {"generations"},
                                                {"explain", "198.51.100.9"},
                                                {"explain", "192.0.2.7"},
                                                {"explain", "2001:db8::1"},
                                                {"stats"},
                                                {"drops"},
                                                {"top", "-n", "2"},
                                                {"doctor"},
                                                {"rollback"},
                                                {"list", "del", "bans", "203.0.113.9"}})
    ask(words);
  said += read_text(pair->folder() / "export.txt") + read_text(pair->control_log()) +
          read_text(pair->dataplane_log());
  EXPECT_NE(said.find("203.0.113.77"), std::string::npos);
  EXPECT_EQ(seeds.size(), 2u) << "each image has its own";

  for (const auto &entry : fs::directory_iterator(pair->folder() / "state"))
    if (const std::uint64_t seed = entry.is_regular_file() ? seed_of(entry.path()) : 0; seed != 0)
      seeds.insert(seed);
  unsigned holders = 0;
  for (const std::uint64_t seed : seeds) {
    EXPECT_FALSE(tells(said, seed)) << fmt::format("{:#x}", seed);
    for (const auto &entry : fs::recursive_directory_iterator(pair->folder())) {
      if (!entry.is_regular_file() || !holds_bytes_of(entry.path(), seed)) continue;
      ++holders;
      EXPECT_EQ(entry.status().permissions() & fs::perms::mask,
                fs::perms::owner_read | fs::perms::owner_write)
          << entry.path();
      EXPECT_EQ(fs::status(entry.path().parent_path()).permissions() & fs::perms::mask, fs::perms::owner_all)
          << entry.path();
    }
  }
  EXPECT_GE(holders, 1u) << "a kept image has it";
}

} // namespace weir::test::secret_test
