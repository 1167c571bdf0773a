// Registers as text: what it says of an image, that it comes back as it was, and what its reader refuses.
#include "p4/export/exporter.hpp"
#include "p4/export/text_sink.hpp"
#include "tests/p4/model.hpp"
#include "tests/support/test_image.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace weir::text_sink_test {
namespace {

using p4::Array;

Address address(const char *text) { return parse_address(text).value(); }

test::RuleSet example() {
  return {{},
          {{"bad", Side::deny, {parse_prefix("203.0.113.7").value(), parse_prefix("10.0.0.0/8").value()}},
           {"good", Side::allow, {parse_prefix("2001:db8::9").value()}}}};
}

class P4Text : public testing::Test {
protected:
  const test::TestImage image{example(), {.family = HashFamily::jhash}};
  const std::string text = p4::to_text(image.view()).value();

  [[nodiscard]] std::string with(std::string_view from, std::string_view to) const {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return changed.replace(at, from.size(), to);
  }
  static std::string fault(const std::string &text) {
    const auto read = p4::read_text(text);
    return read ? "read" : read.error().message;
  }
};

TEST_F(P4Text, says_the_same_of_the_same_image) { EXPECT_EQ(text, p4::to_text(image.view()).value()); }

TEST_F(P4Text, gives_back_what_an_export_writes) {
  p4::TextSink target(p4::default_capacities());
  p4::Exporter exporter(target);
  ASSERT_TRUE(exporter.write(image.view()));
  const auto read = p4::read_text(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->generation, image.view().generation);
  EXPECT_EQ(read->digest, image.view().header->rules_digest);
  EXPECT_EQ(read->registers.capacities, p4::default_capacities());
  for (const p4::ArrayInfo &info : p4::arrays)
    EXPECT_EQ(read->registers.of(info.array), target.registers().of(info.array)) << info.name;
}

TEST_F(P4Text, begins_with_version_generation_digest_and_sizes) {
  EXPECT_TRUE(text.starts_with("weir-registers 1\ngeneration 1\ndigest " + std::string(64, '0') +
                               "\narray bank 1\narray cfg 1024\narray lmap 262144\n"));
  EXPECT_NE(text.find("\nbank 0 1\ncfg 512 1\n"), std::string::npos);
}

TEST_F(P4Text, has_arrays_as_large_as_the_image_needs) {
  test::RuleSet rules = example();
  for (std::uint32_t n = 0; n < 40'000; ++n) {
    Address host = address("2001:db8::");
    host.bytes[13] = static_cast<std::uint8_t>(n >> 16);
    host.bytes[14] = static_cast<std::uint8_t>(n >> 8);
    host.bytes[15] = static_cast<std::uint8_t>(n);
    rules.lists[0].prefixes.push_back({host, 128});
  }
  const test::TestImage large(rules, {.family = HashFamily::jhash});
  const auto registers = p4::read_text(p4::to_text(large.view()).value());
  ASSERT_TRUE(registers) << registers.error().message;
  EXPECT_GT(registers->registers.of(Array::slots6).size(), p4::info_of(Array::slots6).elements);
  const test::P4Model reads(registers->registers);
  EXPECT_NE(reads.lookup(Side::deny, address("2001:db8::9c3f")), 0u) << "the last of them";
  EXPECT_EQ(reads.lookup(Side::deny, address("2001:db8::9c40")), 0u);
}

TEST_F(P4Text, is_refused_with_its_line_when_it_is_not_as_written) {
  const auto expect = [](const std::string &message, std::string_view part) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
  };
  expect(fault(""), "ends after line 0, before 'end'");
  expect(fault(with("weir-registers", "registers")),
         "line 1, 'registers 1': it does not begin as registers do");
  expect(fault(with("weir-registers 1", "weir-registers 2")),
         "line 1, 'weir-registers 2': this program reads version 1");
  expect(fault(with("generation 1", "generation 01")),
         "line 2, 'generation 01': a generation has to stand here");
  expect(fault(with("digest 0", "digest g")), "a digest has to stand here");
  expect(fault(with("array cfg", "array cgf")), "the size of array cfg has to stand here");
  expect(fault(with("array cfg 1024", "array cfg 1000")), "sizes are powers of two up to 2^28");
  expect(fault(with("array cfg 1024", "array cfg 512")), "the array has 512 elements");
  expect(fault(with("bank 0 1\n", "bank 0 1 \n")), "'bank 0 1 ': an array, an index and a hexadecimal value");
  expect(fault(with("bank 0 1\n", "bank  0 1\n")), "an array, an index and a hexadecimal value");
  expect(fault(with("bank 0 1\n", "bank 0 0x1\n")), "an array, an index and a hexadecimal value");
  expect(fault(with("bank 0 1\n", "bank 0 0\n")), "elements that are 0 are left out");
  expect(fault(with("bank 0 1\n", "bank 0 1\nbank 0 1\n")), "indices rise, and no element stands twice");
  expect(fault(with("bank 0 1\n", "")), "elements stand before it");
  expect(fault(with("bank 0 1\ncfg 512 1\n", "cfg 512 1\nbank 0 1\n")), "array bank has passed");
  expect(fault(text + "\n"), "nothing may stand behind the last line");
  expect(fault(text.substr(0, text.size() - 1)), "before 'end'");
  expect(fault(text.substr(0, text.size() / 2)), "before 'end'");
}

TEST_F(P4Text, is_not_made_of_an_image_that_the_program_cannot_serve) {
  const test::TestImage other(example());
  EXPECT_EQ(p4::to_text(other.view()).error().code, Errc::refused);
}

} // namespace
} // namespace weir::text_sink_test
