#include "weir/config/document.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::config::document_test {
namespace {

TEST(Document, has_each_value_with_its_line) {
  const auto document = Document::parse("a: 1\nb:\n- x\n- ~\nc: {d: \"~\"}\nc: 2\n", "weir.yaml");
  ASSERT_TRUE(document) << document.error().message;
  const Node &root = document->root();
  ASSERT_TRUE(root.is_map());
  ASSERT_EQ(root.pairs.size(), 4u) << "a key that stands there twice is the reader's to refuse";
  EXPECT_EQ(root.pairs[0].value->text, "1");
  const Node &list = *root.pairs[1].value;
  ASSERT_TRUE(list.is_list());
  ASSERT_EQ(list.items.size(), 2u);
  EXPECT_EQ(list.items[0]->line, 3);
  EXPECT_TRUE(list.items[1]->is_nothing());
  const Node &map = *root.pairs[2].value;
  ASSERT_TRUE(map.is_map());
  EXPECT_TRUE(map.pairs[0].value->is_scalar()) << "what is quoted is text";
  EXPECT_EQ(root.pairs[3].key->line, 6);
  EXPECT_TRUE(root.has("b"));
  EXPECT_FALSE(root.has("d"));
}

TEST(Document, is_empty_where_the_file_is) {
  for (const char *text : {"", "\n\n", "# nothing\n", "---\n"}) {
    const auto document = Document::parse(text, "weir.yaml");
    ASSERT_TRUE(document) << document.error().message;
    EXPECT_TRUE(document->root().is_nothing()) << text;
  }
}

TEST(Document, is_no_larger_than_its_text_whatever_aliases_say) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i <= 30; ++i) { // 10^31 values when each alias is copied
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) text += (k == 0 ? "" : ", ") + before;
    text += "]\n";
  }
  const auto document = Document::parse(text, "weir.yaml");
  ASSERT_TRUE(document) << document.error().message;
  const Node &last = *document->root().pairs.back().value;
  EXPECT_EQ(last.items[0], last.items[9]);
}

TEST(Document, refuses_a_second_one_in_the_same_file) {
  const auto document = Document::parse("version: 1\n---\nlists: []\n", "weir.yaml");
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().message, "weir.yaml:3: a second document begins here, after \"---\" or \"...\"; "
                                      "put all keys into one");
}

TEST(Document, says_where_the_text_is_not_yaml) {
  const auto document = Document::parse("version: 1\nports: [\n", "weir.yaml");
  ASSERT_FALSE(document);
  EXPECT_TRUE(document.error().message.starts_with("weir.yaml:3: not YAML: ")) << document.error().message;
}

} // namespace
} // namespace weir::config::document_test
