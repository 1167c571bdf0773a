// What the lint refuses, a program for each rule, and what it must let through.
#include "p4/swx/lint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace weir::p4::swx::lint_test {
namespace {

struct Program {
  std::string fields;  // of metadata, behind m.port, m.a (32 bits) and m.b (64 bits)
  std::string globals; // arrays, headers, actions, tables
  std::string apply;   // between rx and tx
  std::string end = "\ttx m.out\n";
};

std::string text_of(const Program &program) {
  return "struct ethernet_t {\n\tbit<48> dst\n\tbit<48> src\n\tbit<16> type\n}\n"
         "struct ipv4_t {\n\tbit<64> start\n\tbit<32> more\n\tbit<32> src\n\tbit<32> dst\n}\n"
         "struct half_t {\n\tbit<512> bytes\n}\n"
         "struct metadata_t {\n\tbit<32> port\n\tbit<32> a\n\tbit<64> b\n\tbit<32> out\n" +
         program.fields +
         "}\nmetadata instanceof metadata_t\nheader ethernet instanceof ethernet_t\nheader ipv4 instanceof "
         "ipv4_t\nheader first instanceof half_t\nheader second instanceof half_t\n" +
         program.globals + "apply {\n\trx m.port\n\tmov m.out 0\n" + program.apply + program.end + "}\n";
}

std::vector<Finding> findings_of(const Program &program) {
  const auto spec = parse_spec(text_of(program), "acl.spec");
  if (!spec) {
    ADD_FAILURE() << spec.error().message;
    return {};
  }
  return lint(*spec);
}

long line_of(const Program &program, const std::string &words) {
  const std::string whole = text_of(program);
  return 1 + std::count(whole.begin(), whole.begin() + static_cast<long>(whole.find(words)), '\n');
}

// Exactly one finding: of this rule, at the line that has `text`, saying `word`.
void expect_refused(const Program &program, Rule rule, const std::string &text, const std::string &word) {
  const std::vector<Finding> findings = findings_of(program);
  ASSERT_EQ(findings.size(), 1u) << (findings.empty() ? text_of(program) : findings.back().what);
  EXPECT_EQ(findings[0].rule, rule) << findings[0].what;
  EXPECT_NE(findings[0].what.find(word), std::string::npos) << findings[0].what;
  ASSERT_NE(text_of(program).find(text), std::string::npos);
  EXPECT_EQ(findings[0].line, line_of(program, text));
}

void expect_clean(const Program &program) {
  for (const Finding &finding : findings_of(program)) ADD_FAILURE() << finding.line << ": " << finding.what;
}

constexpr const char *two_arrays =
    "regarray first_one size 0x10 initval 0\nregarray hits size 0x10 initval 0\n";
constexpr const char *to_ip = "\textract h.ethernet\n\tjmpneq END h.ethernet.type 0x800\n\textract h.ipv4\n";

TEST(SwxLint, refuses_register_writes_with_numbers_for_index_and_value) {
  expect_refused({"", two_arrays, "\tregadd hits 3 1\n"}, Rule::register_immediates, "regadd", "first_one");
  expect_refused({"", two_arrays, "\tregwr hits 0x3 0x1\n"}, Rule::register_immediates, "regwr",
                 "mov one of them");
  expect_clean({"", two_arrays, "\tregadd hits m.port 1\n\tregadd hits 3 m.port\n\tregrd m.a hits 3\n"});
}

TEST(SwxLint, refuses_a_number_as_index_beyond_the_array) {
  expect_refused({"", two_arrays, "\tregrd m.a hits 0x10\n"}, Rule::register_index, "regrd",
                 "the last is number 15");
}

TEST(SwxLint, refuses_register_sizes_that_are_no_power_of_two) {
  expect_refused({"", "regarray odd size 6 initval 0\n", ""}, Rule::register_size, "regarray odd",
                 "declare 8");
}

TEST(SwxLint, refuses_hash_destinations_from_metadata_byte_32_on) {
  const std::string fields = "\tbit<64> fill0\n\tbit<32> last\n\tbit<32> beyond\n"; // bytes 20, 28 and 32
  const std::string hashed = "\tmov m.a 1\n";
  expect_refused({fields, "", hashed + "\thash jhash m.beyond m.a m.a\n"}, Rule::hash_destination,
                 "hash jhash", "writes metadata byte 32, DPDK writes byte 0");
  expect_clean({fields, "", hashed + "\thash jhash m.last m.a m.a\n"});
}

TEST(SwxLint, refuses_metadata_that_begins_after_byte_255) {
  std::string fields;
  for (int i = 0; i < 29; ++i) fields += "\tbit<64> f" + std::to_string(i) + "\n"; // bytes 20 to 251
  expect_clean({fields + "\tbit<32> at252\n", "", ""});
  expect_refused({fields + "\tbit<32> at252\n\tbit<8> at256\n", "", ""}, Rule::metadata_byte, "bit<8> at256",
                 "byte 256");
}

TEST(SwxLint, refuses_arguments_of_actions_that_begin_after_byte_255) {
  std::string globals = "struct args_t {\n";
  for (int i = 0; i < 32; ++i) globals += "\tbit<64> f" + std::to_string(i) + "\n";
  globals += "\tbit<8> too_far\n}\naction far args instanceof args_t {\n\tmov m.a t.too_far\n\treturn\n}\n";
  expect_refused({"", globals, ""}, Rule::metadata_byte, "bit<8> too_far", "byte 256 of args_t");
}

TEST(SwxLint, refuses_a_number_that_does_not_fit_the_header_field_it_is_compared_with) {
  expect_refused({"", "", "\textract h.ethernet\n\tjmpeq X h.ethernet.type 0x10800\n\tmov m.out 1\n",
                  "\tX :\ttx m.out\n"},
                 Rule::number_width, "jmpeq", "16 bits");
  expect_clean({"", "", "\textract h.ethernet\n\tjmpeq X h.ethernet.type 0xFFFF\n\tmov m.out 1\n",
                "\tX :\ttx m.out\n"});
}

TEST(SwxLint, refuses_headers_of_more_than_255_bytes) {
  expect_refused({"", "struct long_t {\n\tbit<2048> all\n}\nheader long instanceof long_t\n", ""},
                 Rule::header_bytes, "header long", "256 bytes");
}

TEST(SwxLint, refuses_shifts_by_64_and_more) {
  expect_refused({"", "", "\tmov m.b 1\n\tshl m.b 0x40\n"}, Rule::shift, "shl m.b", "shifts by 0 instead");
  expect_clean({"", "", "\tmov m.b 1\n\tshr m.b 63\n"});
}

TEST(SwxLint, refuses_blocks_that_run_on_into_other_memory) {
  Program program{"", "action open args none {\n\tjmpeq X m.a 1\n\treturn\n\tX :\tmov m.a 1\n}\n",
                  "\tmov m.a 1\n"};
  program.globals +=
      "table t {\n\tactions {\n\t\topen\n\t}\n\tdefault_action open args none const\n\tsize 1\n}\n";
  program.apply += "\ttable t\n";
  expect_refused(program, Rule::block_end, "X :", "end it with return");
  expect_refused({"", "", "", "\tjmp OUT\n\tOUT :\ttx m.out\n\tmov m.a 1\n"}, Rule::block_end, "mov m.a 1",
                 "end it with tx");
}

TEST(SwxLint, refuses_a_condition_that_decides_nothing) {
  expect_refused({"", "", "\tjmpneq NEXT m.port 1\n\tNEXT :\tmov m.out 1\n"}, Rule::empty_branch,
                 "jmpneq NEXT", "has dropped");
  expect_clean({"", "", "\tjmp NEXT\n\tNEXT :\tmov m.out 1\n"});
}

TEST(SwxLint, refuses_an_extract_that_may_run_out_of_what_the_port_lends) {
  // 64 + 64 bytes are what the port lends; 14 more only on one path.
  expect_clean({"", "", "\textract h.first\n\textract h.second\n"});
  expect_refused(
      {"", "",
       "\tjmpeq SKIP m.port 1\n\textract h.ethernet\n\tSKIP :\textract h.first\n\textract h.second\n"},
      Rule::extract_window, "extract h.second", "up to byte 142");
  expect_refused({"", "", "\textract h.first\n\textract h.ethernet\n\tlookahead h.second\n"},
                 Rule::extract_window, "lookahead", "extract less");
}

TEST(SwxLint, counts_the_header_that_the_port_puts_in_front_apart) {
  const std::string port =
      "struct port_t {\n\tbit<16> p\n\tbit<16> c\n\tbit<32> w\n}\nheader from_port instanceof port_t\n";
  const std::string both = "\textract h.first\n\textract h.second\n";
  expect_clean({"", port, "\textract h.from_port\n" + both});
  const std::vector<Finding> late = findings_of({"", port, "\textract h.first\n\textract h.from_port\n"});
  ASSERT_EQ(late.size(), 2u); // the one that came too early, and the one that came too late
  EXPECT_EQ(late[0].rule, Rule::port_header);
  expect_refused(
      {"", "struct port_t {\n\tbit<32> p\n\tbit<32> w\n}\nheader from_port instanceof port_t\n", ""},
      Rule::port_header, "header from_port", "16, 16 and 32 bits");
}

TEST(SwxLint, refuses_extract_and_emit_in_a_loop) {
  expect_refused({"", "", "\tAGAIN :\textract h.ethernet\n\tjmpeq AGAIN h.ethernet.type 0x8100\n"},
                 Rule::loop, "AGAIN :", "write the repetitions out");
  expect_clean({"", "", "\tmov m.a 0\n\tAGAIN :\tadd m.a 1\n\tjmplt AGAIN m.a 9\n"});
}

TEST(SwxLint, refuses_a_header_that_is_emitted_twice) {
  expect_refused({"", "", "\textract h.ethernet\n\temit h.ethernet\n", "\temit h.ethernet\n\ttx m.out\n"},
                 Rule::emit_twice, "emit h.ethernet\n\ttx", "emit each header once");
}

TEST(SwxLint, refuses_metadata_that_nothing_has_written) {
  expect_refused({"", "", "\tadd m.a 1\n"}, Rule::unwritten, "add m.a 1", "nothing has written");
  expect_refused({"", "", "\tmov m.a 1\n\thash jhash m.out m.a m.b\n"}, Rule::unwritten, "hash", "m.b");
  Program only_out = {"", "", ""};
  only_out.end = "\ttx m.a\n";
  expect_refused(only_out, Rule::unwritten, "tx m.a", "m.a");
}

TEST(SwxLint, refuses_metadata_that_only_some_paths_have_written) {
  expect_refused({"", "", "\tjmpeq SKIP m.port 1\n\tmov m.a 1\n\tSKIP :\tmov m.out m.a\n"}, Rule::unwritten,
                 "SKIP :", "not every path");
  expect_clean(
      {"", "",
       "\tjmpeq ELSE m.port 1\n\tmov m.a 1\n\tjmp END\n\tELSE :\tmov m.a 2\n\tEND :\tmov m.out m.a\n"});
}

TEST(SwxLint, knows_that_what_is_written_where_a_header_is_valid_is_there_where_it_is_valid) {
  const std::string apply =
      std::string(to_ip) + "\tmov m.a h.ipv4.src\n\tEND :\tjmpnv OUT h.ipv4\n\tmov m.out m.a\n";
  expect_clean({"", "", apply, "\tOUT :\ttx m.out\n"});
}

TEST(SwxLint, refuses_fields_of_a_header_that_may_be_invalid) {
  expect_refused({"", "", std::string(to_ip) + "\tEND :\tmov m.out h.ipv4.src\n"}, Rule::invalid_header,
                 "END :", "header ipv4");
  expect_refused({"", "", "\tmov h.ipv4.src 1\n"}, Rule::invalid_header, "mov h.ipv4.src", "isValid()");
  expect_refused({"", "", "\textract h.ipv4\n\tinvalidate h.ipv4\n\tmov m.out h.ipv4.src\n"},
                 Rule::invalid_header, "mov m.out h", "header ipv4");
  expect_clean({"", "", "\tvalidate h.ipv4\n\tmov h.ipv4.src 1\n"});
}

TEST(SwxLint, refuses_to_read_a_header_that_the_program_made) {
  expect_refused({"", "", "\tvalidate h.ipv4\n\tmov m.out h.ipv4.src\n"}, Rule::invalid_header, "mov m.out h",
                 "which validate made");
  expect_clean({"", "", "\textract h.ipv4\n\tvalidate h.ipv4\n\tmov m.out h.ipv4.src\n"});
}

TEST(SwxLint, follows_tables_into_their_actions) {
  const auto with = [](const std::string &apply) {
    return Program{
        "",
        "action probe args none {\n\tjmpeq X m.a 1\n\tmov m.b 1\n\treturn\n\tX :\tmov m.b 2\n\treturn\n}\n"
        "action other args none {\n\tmov m.a 3\n\treturn\n}\n"
        "table both {\n\tactions {\n\t\tprobe\n\t\tother\n\t}\n\tdefault_action probe args none "
        "const\n\tsize 1\n}\n"
        "table one {\n\tactions {\n\t\tprobe\n\t}\n\tdefault_action probe args none const\n\tsize 1\n}\n",
        apply};
  };
  expect_clean(with("\tmov m.a 1\n\ttable one\n\tmov m.out m.b\n"));
  expect_refused(with("\tmov m.a 1\n\ttable both\n\tmov m.out m.b\n"), Rule::unwritten, "mov m.out m.b",
                 "not every path");
  expect_refused(with("\ttable one\n"), Rule::unwritten, "jmpeq X m.a 1", "nothing has written");
}

TEST(SwxLint, refuses_to_ask_for_the_answer_of_a_table_that_was_not_asked) {
  const std::string table = "action no args none {\n\treturn\n}\ntable t {\n\tactions {\n\t\tno\n\t}\n\t"
                            "default_action no args none const\n\tsize 1\n}\n";
  const std::string end = "\tX :\ttx m.out\n";
  expect_clean({"", table, "\ttable t\n\tjmpnh X\n\tmov m.out 1\n", end});
  expect_refused({"", table, "\tjmpeq Y m.port 1\n\ttable t\n\tY :\tjmpa X no\n\tmov m.out 1\n", end},
                 Rule::unwritten, "jmpa X", "the last packet's answer");
}

TEST(SwxLint, reports_every_finding_with_file_and_line) {
  const Program program{"", two_arrays, "\tregadd hits 3 1\n\tadd m.a 1\n"};
  const auto spec = parse_spec(text_of(program), "acl.spec");
  const Status status = check(*spec);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::refused);
  EXPECT_EQ(std::ranges::count(status.error().message, '\n'), 1);
  const std::string place = "acl.spec:" + std::to_string(line_of(program, "regadd")) + ": ";
  EXPECT_TRUE(status.error().message.starts_with(place)) << status.error().message;
}

} // namespace
} // namespace weir::p4::swx::lint_test
