// The interpreter of the P4 subset: which programs it refuses, and which runs it ends.
#include "tests/p4/small_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace weir::test::p4_16::refusals_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// ---- errors of a run

TEST(P4Runs, end_where_the_target_would_do_something_else) {
  const auto error = [](const std::string &apply) { return error_of_run({.apply = apply}); };
  EXPECT_THAT(error("sink.write(0, meta.d);"), HasSubstr("read before this packet gave it a value: meta.d"));
  EXPECT_THAT(error("meta.d = hdr.second.wide;"), HasSubstr("gave it a value: hdr.second.wide"));
  EXPECT_THAT(error("hdr.second.wide = 1;"), HasSubstr("header that is not valid: hdr.second.wide"));
  EXPECT_THAT(error("hdr.first.setInvalid(); meta.d = hdr.first.wide;"), HasSubstr("hdr.first.wide"));
  EXPECT_THAT(error("hdr.second.setValid();"), HasSubstr("an emit of a header without values: number_t"));
  EXPECT_THAT(error("meta.w = 64; meta.d = 64w1 << meta.w;"), HasSubstr("shift by 64"));
  EXPECT_THAT(error("if (meta.one == 1) { }"), HasSubstr("meta.one"));
  EXPECT_THAT(error_of_run({}, 17), "none");
  EXPECT_THAT(error_of_run({}, 15), HasSubstr("an extract past the packet's end: number_t"));
}

TEST(P4Runs, know_a_value_only_where_all_branches_gave_one) {
  const auto error = [](const std::string &apply) { return error_of_run({.apply = apply}); };
  const std::string one = "if (hdr.first.high == 1) { meta.w = 1; meta.d = 1; } else { meta.w = 2; }";
  EXPECT_EQ(error(one + "sink.write(0, meta.d);"), "none");
  EXPECT_EQ(error(one + "sink.write(0, (bit<64>)meta.w);"), "none");
  const std::string other = "if (hdr.first.high == 2) { meta.w = 1; meta.d = 1; } else { meta.w = 2; }";
  EXPECT_THAT(error(other + "sink.write(0, meta.d);"), HasSubstr("meta.d"));
}

TEST(P4Runs, forget_what_an_earlier_packet_left) {
  Machine machine =
      machine_of(Around{.apply = "if (hdr.first.high == 1) meta.d = 1; sink.write(0, meta.d);"}.text());
  ASSERT_TRUE(machine.run(sample_bytes(), 3));
  auto other = sample;
  other[0] = 0x22;
  const auto outcome = machine.run(Bytes(reinterpret_cast<const std::byte *>(other.data()), other.size()), 3);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("meta.d"));
}

TEST(P4Runs, need_a_destination) {
  std::string text = Around{}.text();
  text.replace(text.find("send_to_port"), 26, "                          ");
  Machine machine = machine_of(text);
  const auto outcome = machine.run(sample_bytes(), 3);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message, HasSubstr("neither send_to_port nor drop_packet"));
}

// ---- refusals

TEST(P4Refusals, name_what_is_outside_the_subset) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"meta.d = ~meta.d;", "operator ~"},
      {"meta.d = meta.d * 2;", "operator *"},
      {"meta.d = meta.d |+| 1;", "operator |+|"},
      {"meta.d = meta.d << 64;", "shift by 64"},
      {"switch (meta.w) { }", "switch"},
      {"for (bit<8> i = 0; i < 3; i = i + 1) { }", "for"},
      {"@atomic { }", "@"},
      {"int<8> x;", "int"},
      {"bit<65> x;", "outside 1 to 64"},
      {"bit<128> x = 0;", "outside 1 to 64"},
      {"recirculate();", "a call of recirculate"},
      {"mirror_packet(1, 2);", "a call of mirror_packet"},
      {"hdr.first = hdr.second;", "as a whole"},
      {"meta.d = 1; meta.w = jhash.get_hash({meta.d, meta.d});", "a hash over bit<64> beside other words"},
      {"meta.h = 1; meta.w = jhash.get_hash(meta.h);", "a hash over bit<16>"},
      {"meta.w = jhash.get_hash({hdr.first.word});", "network order"},
      {"sink.read(0);", "as a statement"},
      {"meta.w = hdr.first[0].word;", "array of headers"},
      {"meta.w = f(1);", "a function"},
      {"return 1;", "a value to return"},
      {"sink.write(index = 1, value = 2);", "by name"},
      {"meta.w = 8s1;", "signed"},
      {"log_msg(\"x\");", "a string"},
      {"number_t n;", "a variable of type number_t"},
  };
  for (const auto &[statement, text] : cases) {
    const std::string error = refusal_of_statement("\n" + statement);
    EXPECT_THAT(error, StartsWith("a.p4:20: outside the subset of P4 that is interpreted: ")) << statement;
    EXPECT_THAT(error, HasSubstr(text)) << statement;
  }
}

TEST(P4Refusals, name_what_is_wrong_within_it) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"meta.b = 256;", "does not fit bit<8>"},
      {"meta.b = 4w16;", "does not fit its width"},
      {"meta.w = meta.d;", "is bit<64> where bit<32> is needed"},
      {"meta.d = meta.d + meta.w;", "+ between bit<64> and bit<32>"},
      {"if (meta.w) { }", "is bit<32> where bool is needed"},
      {"meta.w = nothing;", "nothing is called nothing"},
      {"meta.w = meta.z;", "has no member z"},
      {"meta.w = meta.h[20:4];", "does not lie in bit<16>"},
      {"send_to_port(3);", "where PortId_t is needed"},
      {"send_to_port(meta.w);", "where PortId_t is needed"},
      {"meta.yes = (bool)meta.w;", "no cast from bit<32> to bool"},
      {"sink.write(meta.d, 1);", "is bit<64> where bit<32> is needed"},
      {"sink.write(1);", "write takes 2 arguments"},
      {"meta.w = 09a;", "not a number"},
      {"istd.input_port = (PortId_t)1;", "cannot be changed"},
      {"meta.w = 1", "expected ';'"},
      {"meta.w = istd.parser_error;", "has no member parser_error"},
      {"bit<8> x; bit<8> x;", "declared twice"},
      {"1 = 2;", "something else than a variable"},
  };
  for (const auto &[statement, text] : cases) {
    const std::string error = refusal_of_statement("\n" + statement);
    EXPECT_THAT(error, StartsWith("a.p4:2")) << statement;
    EXPECT_THAT(error, HasSubstr(text)) << statement;
  }
}

TEST(P4Refusals, cover_declarations) {
  const auto with_globals = [](const std::string &globals) {
    return refusal_of(Around{.globals = globals}.text());
  };
  const auto with_locals = [](const std::string &locals) {
    return refusal_of(Around{.locals = locals}.text());
  };
  EXPECT_THAT(with_globals("enum E { A }"), HasSubstr("a.p4:3: outside the subset"));
  EXPECT_THAT(with_globals("extern void f();"), HasSubstr("outside the subset"));
  EXPECT_THAT(with_globals("@name(\"x\") const bit<8> c = 1;"), HasSubstr("outside the subset"));
  EXPECT_THAT(with_globals("header h_t { bit<7> x; }"), HasSubstr("no whole bytes"));
  EXPECT_THAT(with_globals("header h_t { varbit<8> x; }"), HasSubstr("type varbit"));
  EXPECT_THAT(with_globals("struct s_t { bit<8>[2] x; }"), HasSubstr("array of headers"));
  EXPECT_THAT(with_globals("const bit<8> c = 300;"), HasSubstr("does not fit"));
  EXPECT_THAT(with_locals("table t { key = { meta.w : exact; } actions = { } }"),
              HasSubstr("table with a key"));
  EXPECT_THAT(with_locals("action a() { } table t { actions = { a; } entries = 4; default_action = a; }"),
              HasSubstr("entries of a table"));
  EXPECT_THAT(with_locals("action a() { } table t { actions = { a; } }"),
              HasSubstr("needs a default_action"));
  EXPECT_THAT(refusal_of(Around{.locals = "action a() { hdr.first.setInvalid(); }"
                                          "table t { actions = { a; } default_action = a; }",
                                .apply = "t.apply();"}
                             .text()),
              HasSubstr("setInvalid in the action of a table"));
  EXPECT_THAT(refusal_of(Around{.locals = "action a() { } table t { actions = { a; } default_action = a; }"
                                          "action b() { t.apply(); }",
                                .apply = "b();"}
                             .text()),
              HasSubstr("t is applied within an action"));
  EXPECT_THAT(with_locals("Hash<bit<32>>(PNA_HashAlgorithm_t.CRC32) h;"), HasSubstr("algorithm CRC32"));
  EXPECT_THAT(with_locals("Hash<bit<16>>(PNA_HashAlgorithm_t.IDENTITY) h;"), HasSubstr("Hash<bit<32>>"));
  EXPECT_THAT(with_locals("Register<bit<64>, bit<32>>(8) sink;"), HasSubstr("declared twice"));
  EXPECT_THAT(with_locals("Meter<bit<32>>(8, 1) m;"), HasSubstr("expected 'apply'"));
  EXPECT_THAT(with_locals("action a(bit<8> x) { a(x); }"), "none");
  EXPECT_THAT(refusal_of(Around{.locals = "action a() { a(); }", .apply = "a();"}.text()),
              HasSubstr("calls itself"));
}

TEST(P4Refusals, cover_parsers) {
  const auto with_parser = [](const std::string &parser) {
    return refusal_of(Around{.parser = parser}.text());
  };
  EXPECT_THAT(with_parser("transition start;"), HasSubstr("a loop of states"));
  EXPECT_THAT(with_parser("transition reject;"), HasSubstr("transition to reject"));
  EXPECT_THAT(with_parser("transition nowhere;"), HasSubstr("no state nowhere"));
  EXPECT_THAT(with_parser("transition accept; } state alone { transition accept;"),
              HasSubstr("no state goes to"));
  EXPECT_THAT(with_parser("verify(true, error.NoError); transition accept;"), HasSubstr("a call of verify"));
  EXPECT_THAT(with_parser("drop_packet(); transition accept;"), HasSubstr("belongs into the main control"));
  EXPECT_THAT(with_parser("pkt.extract(meta); transition accept;"),
              HasSubstr("something else than a header"));
  EXPECT_THAT(with_parser("transition select(hdr.first.high) { 16: accept; default: accept; }"),
              HasSubstr("does not fit bit<4>"));
  EXPECT_THAT(error_of_run({.globals = {},
                            .locals = {},
                            .apply = {},
                            .parser = "transition select(hdr.first.high) { 2: accept; }"}),
              HasSubstr("no case of the select matches"));
}

TEST(P4Refusals, name_a_file_that_is_not_there) {
  const auto program = Program::load("no/such.p4");
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().message, "no/such.p4: cannot be read");
}

} // namespace
} // namespace weir::test::p4_16::refusals_test
