// Holds the laws of the tree over this checkout, and each law over a tree that breaks it.
#include "tests/tidy/tree.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <unistd.h>

namespace weir::tidy {

std::string sha256_of(std::string_view text); // manifest.cpp

static void PrintTo(const Law &law, std::ostream *out) { *out << law.name; } // how gtest shows a Law

namespace {

// The checkout is the working directory: `make check` runs programs from the top.
const Tree &checkout() {
  static const Tree tree = read_tree(std::filesystem::current_path());
  return tree;
}

class Tidy : public testing::TestWithParam<Law> {};

TEST_P(Tidy, holds) {
  ASSERT_TRUE(std::filesystem::exists("Makefile")) << "run from the top of the checkout";
  for (const std::string &breach : GetParam().breaches(checkout())) ADD_FAILURE() << breach;
}

TEST_P(Tidy, is_able_to_fail) {
  const auto root = std::filesystem::temp_directory_path() /
                    ("weir-tidy-" + std::to_string(getpid()) + "-" + GetParam().name);
  for (const auto &[path, text] : GetParam().counterexample) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  const Breaches breaches = GetParam().breaches(read_tree(root));
  std::filesystem::remove_all(root);
  ASSERT_EQ(breaches.size(), 1u) << "the counterexample breaks the law once";
  EXPECT_NE(breaches[0].find(GetParam().offender), std::string::npos) << breaches[0];
}

INSTANTIATE_TEST_SUITE_P(Law, Tidy, testing::ValuesIn(laws()),
                         [](const auto &law) { return law.param.name; });

TEST(Tree, comments_and_literals_are_no_code) {
  EXPECT_EQ(without_comments("a // b\n/* c\nd */ e \"f\\\"g\" h"), "a     \n    \n     e \"    \" h");
}

TEST(Sha256, gives_the_digests_of_the_standard) {
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

} // namespace
} // namespace weir::tidy
