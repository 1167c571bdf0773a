// The exporter's numbers are those of the program.
#include "p4/export/register_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weir::register_map_test {
namespace {

std::string program_text() {
  std::ifstream file("p4/acl.p4");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(RegisterMap, has_the_numbers_that_the_program_defines) {
  const std::string text = program_text();
  const std::regex define("(?:^|\n)#define (\\w+) (\\d+)");
  const std::regex ours("(CFG|SIDE|LAYER|LENGTH_V[46])_.*");
  std::size_t found = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), define), end; at != end; ++at) {
    const std::string name = (*at)[1];
    if (!std::regex_match(name, ours)) continue;
    ++found;
    const auto *known = std::ranges::find(p4::parameter_names, name, &p4::NamedNumber::name);
    ASSERT_NE(known, p4::parameter_names.end()) << name << " is no parameter of the register map";
    EXPECT_EQ(std::to_string(known->number), (*at)[2].str()) << name;
  }
  EXPECT_GT(found, 40u);
}

TEST(RegisterMap, has_the_arrays_that_the_program_declares) {
  const std::string text = program_text();
  const std::regex declaration(
      "(?:^|\n) *(?:Register|Counter)<bit<\\d+>, bit<\\d+>>\\((\\d+)[^)]*\\) (\\w+);");
  std::map<std::string, std::string> declared;
  for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at)
    declared[(*at)[2]] = (*at)[1];
  for (const p4::ArrayInfo &info : p4::arrays)
    EXPECT_EQ(declared[std::string(info.name)], std::to_string(info.elements)) << info.name;
  EXPECT_EQ(declared.size(), p4::array_count);
}

TEST(RegisterMap, names_no_parameter_twice) {
  std::vector<std::string_view> names;
  for (const p4::NamedNumber &n : p4::parameter_names) names.push_back(n.name);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

} // namespace
} // namespace weir::register_map_test
