// Replays the committed corpora: every file is a test of its own.
#include "tests/fuzz/fuzz.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace weir::fuzz {

struct Case {
  Target target;
  std::filesystem::path file;
};

static void PrintTo(const Case &one, std::ostream *out) { *out << one.file.string(); }

namespace {

const std::filesystem::path corpora = "tests/fuzz/corpus"; // programs run from the top of the checkout

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Target &target : targets()) {
    const auto folder = corpora / target.name;
    if (!std::filesystem::is_directory(folder)) continue;
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      all.push_back({target, entry.path()});
  }
  std::ranges::sort(all, {}, &Case::file);
  return all;
}

std::string name_of(const testing::TestParamInfo<Case> &info) {
  std::string name = std::string(info.param.target.name) + "_" + info.param.file.filename().string();
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

class Corpus : public testing::TestWithParam<Case> {};

TEST_P(Corpus, is_survived) {
  std::ifstream in(GetParam().file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  ASSERT_TRUE(in) << "cannot read " << GetParam().file;
  GetParam().target.run(std::as_bytes(std::span(text)));
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus, testing::ValuesIn(cases()), name_of);

TEST(Corpora, belong_to_a_target_and_are_not_empty) {
  std::set<std::string> folders, names;
  for (const auto &entry : std::filesystem::directory_iterator(corpora))
    if (!std::filesystem::is_empty(entry)) folders.insert(entry.path().filename().string());
  for (const Target &target : targets()) names.insert(target.name);
  EXPECT_EQ(folders, names);
}

} // namespace
} // namespace weir::fuzz
