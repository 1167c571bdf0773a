// The interpreter of the P4 subset: what each construct comes to, and what is refused.
#include "tests/support/p4_interpreter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rte_jhash.h>

#include <array>
#include <vector>

namespace weir::test::p4_16 {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A program around what a test is about. Input bytes: number_t; `sink` numbers appear in register `sink`.
struct Around {
  std::string globals = {}, locals = {}, apply = {}, parser = "transition accept;",
              deparser = "pkt.emit(hdr);";

  [[nodiscard]] std::string text() const {
    return "#include <core.p4>\n#include <pna.p4>\n" + globals + R"(
header number_t { bit<4> high; bit<12> low; bit<16> half; bit<32> word; bit<64> wide; }
struct headers_t { number_t first; number_t second; }
struct meta_t { bit<8> b; bit<16> h; bit<32> w; bit<32> w2; bit<32> w3; bit<64> d; bit<1> one; bool yes; }
parser P(packet_in pkt, out headers_t hdr, inout meta_t meta, in pna_main_parser_input_metadata_t istd) {
  state start { pkt.extract(hdr.first); )" +
           parser + R"( }
}
control Pre(in headers_t hdr, inout meta_t meta, in pna_pre_input_metadata_t istd,
            inout pna_pre_output_metadata_t ostd) { apply { } }
control C(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
          inout pna_main_output_metadata_t ostd) {
  Register<bit<64>, bit<32>>(8) sink;
  Hash<bit<32>>(PNA_HashAlgorithm_t.IDENTITY) jhash;
)" + locals +
           R"(
  apply {
    send_to_port((PortId_t)0);
)" + apply +
           R"(
  }
}
control D(packet_out pkt, in headers_t hdr, in meta_t meta, in pna_main_output_metadata_t ostd) { apply { )" +
           deparser + R"( } }
PNA_NIC(P(), Pre(), C(), D()) main;
)";
  }
};

const std::array<std::uint8_t, 18> sample{0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE, 0xF0, 0x01,
                                          0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0xAA, 0xBB};

Bytes sample_bytes(std::size_t count = sample.size()) {
  return Bytes(reinterpret_cast<const std::byte *>(sample.data()), count);
}

Machine machine_of(const std::string &text) {
  auto program = Program::parse(text, "a.p4");
  if (!program) throw std::runtime_error(program.error().message);
  return Machine(*program);
}

// What the statements leave in element 0 of `sink`.
std::uint64_t result_of(const Around &around) {
  Machine machine = machine_of(around.text());
  const auto outcome = machine.run(sample_bytes(), 3);
  if (!outcome) throw std::runtime_error(outcome.error().message);
  return machine.find("sink")->elements[0];
}

// The value of an expression of type bit<64>.
std::uint64_t value_of(const std::string &expression, const std::string &before = "") {
  return result_of({.apply = before + "sink.write(0, " + expression + ");"});
}

std::string error_of_run(const Around &around, std::size_t bytes = sample.size()) {
  Machine machine = machine_of(around.text());
  const auto outcome = machine.run(sample_bytes(bytes), 3);
  return outcome ? "none" : outcome.error().message;
}

std::string refusal_of(const std::string &text) {
  const auto program = Program::parse(text, "a.p4");
  return program ? "none" : program.error().message;
}

std::string refusal_of_statement(const std::string &statement) {
  return refusal_of(Around{.apply = statement}.text());
}

// ---- numbers

TEST(P4Numbers, are_as_wide_as_their_type) {
  EXPECT_EQ(value_of("(bit<64>)meta.b", "meta.b = 255; meta.b = meta.b + 1;"), 0u);
  EXPECT_EQ(value_of("(bit<64>)meta.h", "meta.h = 0; meta.h = meta.h - 1;"), 0xFFFFu);
  EXPECT_EQ(value_of("meta.d", "meta.d = 0; meta.d = meta.d - 1;"), ~0ull);
  EXPECT_EQ(value_of("(bit<64>)meta.w", "meta.w = 0x80000000; meta.w = meta.w << 1;"), 0u);
  EXPECT_EQ(value_of("(bit<64>)meta.one", "meta.one = 1; meta.one = meta.one + 1;"), 0u);
  EXPECT_EQ(value_of("(bit<64>)(-meta.b)", "meta.b = 1;"), 255u);
}

TEST(P4Numbers, take_every_operator_of_the_subset) {
  const std::string ab = "meta.d = 0xF0F0; meta.w = 12;";
  EXPECT_EQ(value_of("meta.d + 16", ab), 0xF100u);
  EXPECT_EQ(value_of("meta.d & 0xFF00", ab), 0xF000u);
  EXPECT_EQ(value_of("meta.d | 0xF", ab), 0xF0FFu);
  EXPECT_EQ(value_of("meta.d ^ 0xFFFF", ab), 0x0F0Fu);
  EXPECT_EQ(value_of("meta.d >> meta.w", ab), 0xFu);
  EXPECT_EQ(value_of("meta.d << 4", ab), 0xF0F00u);
  EXPECT_EQ(value_of("meta.d << 3 >> 3", ab), 0xF0F0u);
  EXPECT_EQ(value_of("meta.w ++ meta.w", ab), 12ull << 32 | 12);
  EXPECT_EQ(value_of("meta.w == 12 && !(meta.w > 12) ? 64w5 : 64w6", ab), 5u);
}

TEST(P4Numbers, bind_bits_more_tightly_than_comparisons) {
  EXPECT_EQ(value_of("meta.w & 4 == 4 ? 64w1 : 64w2", "meta.w = 12;"), 1u);
  EXPECT_EQ(value_of("(bit<64>)(meta.w + 1 << 1)", "meta.w = 12;"), 26u);
  EXPECT_EQ(value_of("(bit<64>)(meta.w | 1 ^ 1 & 0)", "meta.w = 12;"), 13u);
}

TEST(P4Numbers, shift_away_all_bits_of_a_narrow_number) {
  EXPECT_EQ(value_of("(bit<64>)(meta.w2 >> meta.w)", "meta.w = 32; meta.w2 = 0xFFFFFFFF;"), 0u);
  EXPECT_EQ(value_of("(bit<64>)(meta.w2 << meta.w)", "meta.w = 32; meta.w2 = 0xFFFFFFFF;"), 0u);
}

TEST(P4Numbers, are_written_in_every_base) {
  EXPECT_EQ(value_of("0xFFFF_FFFF_FFFF_FFFF"), ~0ull);
  EXPECT_EQ(value_of("0b1010 + 0o17 + 64w0x10"), 10u + 15 + 16);
}

TEST(P4Numbers, are_cut_and_joined_by_casts_and_slices) {
  EXPECT_EQ(value_of("(bit<64>)(bit<8>)hdr.first.half"), 0x78u);
  EXPECT_EQ(value_of("(bit<64>)hdr.first.half[11:4]"), 0x67u);
  EXPECT_EQ(value_of("(bit<64>)(bit<1>)(meta.w == 7)", "meta.w = 7;"), 1u);
  EXPECT_EQ(value_of("(bool)meta.one ? 64w8 : 64w9", "meta.one = 1;"), 8u);
  EXPECT_EQ(value_of("meta.d", "meta.d = 0xFFFF; meta.d[11:4] = 0x12;"), 0xF12Fu);
  EXPECT_EQ(value_of("meta.d[63:32] ++ meta.d[31:0]", "meta.d = 0x123456789ABCDEF0;"), 0x123456789ABCDEF0u);
}

TEST(P4Numbers, compare_without_sign) {
  const std::string big = "meta.w = 0xFFFFFFFF; meta.w2 = 1; meta.yes = ";
  for (const auto &[text, expected] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"<", 0}, {"<=", 0}, {">", 1}, {">=", 1}, {"==", 0}, {"!=", 1}}) {
    EXPECT_EQ(value_of("(bit<64>)(bit<1>)meta.yes", big + "meta.w " + text + " meta.w2;"), expected) << text;
    EXPECT_EQ(value_of("meta.w " + text + " meta.w2 ? 64w1 : 64w0", big + "true;"), expected) << text;
    EXPECT_EQ(value_of("!(meta.w " + text + " meta.w2) ? 64w0 : 64w1", big + "true;"), expected) << text;
  }
}

// ---- statements

TEST(P4Statements, take_one_branch) {
  const std::string chain =
      "if (meta.w == 1) { meta.d = 10; } else if (meta.w < 3 || meta.w == 9) meta.d = 20; "
      "else { meta.d = 30; }";
  for (const auto &[w, expected] : {std::pair(1, 10), {2, 20}, {9, 20}, {3, 30}})
    EXPECT_EQ(value_of("meta.d", "meta.w = " + std::to_string(w) + ";" + chain),
              static_cast<unsigned>(expected));
}

TEST(P4Statements, do_not_ask_the_second_side_when_the_first_settles_it) {
  // meta.w2 has no value: asking for it would end the run.
  EXPECT_EQ(value_of("meta.d", "meta.w = 1; meta.d = 0; if (meta.w == 2 && meta.w2 == 1) meta.d = 1;"), 0u);
  EXPECT_EQ(value_of("meta.d", "meta.w = 1; meta.d = 0; if (meta.w == 1 || meta.w2 == 1) meta.d = 1;"), 1u);
}

TEST(P4Statements, copy_in_and_out_of_actions) {
  Around around;
  around.locals = R"(
  action add(in bit<32> by, inout bit<32> what) { what = what + by; }
  action split(bit<64> from, out bit<32> high, out bit<32> low) { high = from[63:32]; low = from[31:0]; }
  action early() { meta.w3 = 1; if (meta.w == 5) { return; } meta.w3 = 2; })";
  around.apply = "meta.w = 2; add(meta.w, meta.w); add(1, meta.w); split(0x1200000034, meta.w2, meta.h2);"
                 "early(); sink.write(0, meta.w2 ++ meta.w3);";
  EXPECT_THAT(refusal_of(around.text()), HasSubstr("has no member h2"));
  around.apply = "meta.w = 2; add(meta.w, meta.w); add(1, meta.w); split(0x1200000034, meta.w2, meta.w3);"
                 "sink.write(1, meta.w2 ++ meta.w3); early(); sink.write(0, meta.w ++ meta.w3);";
  EXPECT_EQ(result_of(around), 5ull << 32 | 1);
}

TEST(P4Statements, apply_a_table_without_a_key_as_its_default_action) {
  Around around;
  around.locals = "action add() { meta.d = meta.d + 3; }\n"
                  "table more { actions = { add; } const default_action = add(); size = 1; }";
  around.apply = "meta.d = 1; more.apply(); more.apply(); sink.write(0, meta.d);";
  EXPECT_EQ(result_of(around), 7u);
}

TEST(P4Statements, come_back_from_a_table_to_where_it_was_applied) {
  Around around;
  around.locals =
      "action add_action() { bit<64> by = 3; if (meta.d == 4) { return; } meta.d = meta.d + by; }\n"
      "table add { actions = { add_action; } const default_action = add_action; }\n"
      "action stop_action() { if (meta.d == 4) { exit; } }\n"
      "table stop { actions = { stop_action; } const default_action = stop_action; }";
  around.apply = "bit<64> mine = 7; meta.d = 1; stop.apply(); add.apply(); if (meta.d == 4) { add.apply(); }"
                 "sink.write(0, meta.d + mine); stop.apply(); sink.write(0, 99);";
  EXPECT_EQ(result_of(around), 11u);
}

TEST(P4Statements, know_in_a_table_what_all_who_apply_it_know) {
  Around around;
  around.locals = "action a() { sink.write(0, meta.d); } table t { actions = { a; } default_action = a; }";
  around.apply = "if (hdr.first.high == 1) { meta.d = 1; t.apply(); } else { t.apply(); }";
  EXPECT_EQ(result_of(around), 1u);
  around.apply = "if (hdr.first.high == 2) { meta.d = 1; t.apply(); } else { t.apply(); }";
  EXPECT_THAT(error_of_run(around), HasSubstr("meta.d"));
}

TEST(P4Statements, apply_a_control_within_another) {
  Around around;
  around.globals = R"(struct pair_t { bit<64> a; bit<64> b; }
control Swap(inout pair_t p) { bit<64> old = p.a; apply { if (p.a == 9) { exit; } p.a = p.b; p.b = old; } })";
  around.locals = "Swap() swap;";
  around.apply = "pair_t p; p.a = 1; p.b = 2; swap.apply(p); sink.write(0, p.a); p.a = 9; swap.apply(p);"
                 "sink.write(0, 77);";
  EXPECT_EQ(result_of(around), 2u);
}

TEST(P4Statements, keep_names_within_their_braces) {
  Around around;
  around.globals = "const bit<64> N = 40 + 1; typedef bit<64> long_t;";
  around.apply =
      "long_t x = N; { bit<64> y = x + 1; { bit<64> x = y; sink.write(0, x); } } sink.write(1, x);";
  EXPECT_EQ(result_of(around), 42u);
}

TEST(P4Statements, leave_a_local_of_an_earlier_scope_without_a_value) {
  EXPECT_THAT(error_of_run({.globals = {},
                            .locals = {},
                            .apply = "{ bit<64> x = 1; sink.write(0, x); }"
                                     "{ bit<64> y; sink.write(0, y); }"}),
              HasSubstr("read before this packet gave it a value: y"));
}

// ---- preprocessor

TEST(P4Preprocessor, expands_macros_as_c_does) {
  Around around;
  around.globals = R"(
#define ONE 1
#define ADD(a, b) ((a) + \
                   (b))
#define TWICE(f, x) f(x, x)
#define FIELD(n) meta.w##n
const bit<64> five = 5;
#define five five + ONE)";
  around.apply =
      "FIELD(2) = 7; sink.write(0, five + TWICE(ADD, 64w20) + ADD(ADD(ONE, (bit<64>)FIELD(2)), ONE));";
  EXPECT_EQ(result_of(around), 5u + 1 + 40 + 9);
}

TEST(P4Preprocessor, takes_the_branch_that_holds) {
  Around around;
  around.globals = R"(
#define LEVEL 2
#if LEVEL > 2 || !defined(LEVEL)
#error not this one
#elif LEVEL == 2 && defined LEVEL
#define N 11
#else
#error nor this one
#endif
#ifndef N
#define N 12
#endif
#ifdef OTHER
#define N 13
#if LEVEL
#error within what is left out
#endif
#endif
#undef LEVEL)";
  around.apply = "sink.write(0, N);";
  EXPECT_EQ(result_of(around), 11u);
}

TEST(P4Preprocessor, names_both_lines_of_a_macro) {
  EXPECT_THAT(refusal_of("#define BAD \\\n  const bit<4> x = 99;\n\nBAD\n"),
              StartsWith("a.p4:4 (in the macro at line 2): the number does not fit bit<4>"));
}

TEST(P4Preprocessor, refuses_what_it_does_not_know) {
  EXPECT_THAT(refusal_of("#include \"mine.p4\"\n"), HasSubstr("a.p4:1: outside the subset"));
  EXPECT_THAT(refusal_of("\n#pragma once\n"), HasSubstr("a.p4:2: outside the subset"));
  EXPECT_THAT(refusal_of("#define F(x) #x\n"), HasSubstr("# before"));
  EXPECT_THAT(refusal_of("#define F(x) x\nF(1, 2)\n"), HasSubstr("a.p4:2: F takes 1 arguments, not 2"));
  EXPECT_THAT(refusal_of("#define F(x) x\nF(1\n"), HasSubstr("not closed"));
  EXPECT_THAT(refusal_of("#define N 1\n#define N 2\n"), HasSubstr("defined already"));
  EXPECT_THAT(refusal_of("#if 1\n"), HasSubstr("without its #endif"));
  EXPECT_THAT(refusal_of("/* "), HasSubstr("never closed"));
}

// ---- parser, deparser, packets

TEST(P4Packets, are_read_field_by_field) {
  EXPECT_EQ(value_of("(bit<64>)(bit<16>)(hdr.first.high ++ hdr.first.low)"), 0x1234u);
  EXPECT_EQ(value_of("(bit<64>)hdr.first.word"), 0x9ABCDEF0u);
  EXPECT_EQ(value_of("hdr.first.wide"), 0x0123456789ABCDEFu);
}

TEST(P4Packets, choose_their_states) {
  Around around;
  around.parser = R"(transition select(hdr.first.high, hdr.first.half) {
      (1, 0x5679): no;
      (2 .. 3, _): no;
      (1, 0x5008 &&& 0xF00F): peek;
      default: no;
    } }
  state no { meta.d = 1; transition accept; }
  state peek { meta.h = pkt.lookahead<bit<16>>(); pkt.advance(8); transition select(meta.h) { 0xAABB: yes; default: no; } }
  state yes { meta.d = (bit<64>)pkt.length(); transition accept;)";
  around.apply = "sink.write(0, meta.d);";
  EXPECT_EQ(result_of(around), 18u);
}

TEST(P4Packets, leave_as_they_came_unless_a_header_changes) {
  Machine same = machine_of(Around{}.text());
  ASSERT_TRUE(same.run(sample_bytes(), 3));
  EXPECT_TRUE(std::ranges::equal(same.output(), sample_bytes()));

  Machine changed = machine_of(Around{.apply = "hdr.first.low = 0xFED;"}.text());
  ASSERT_TRUE(changed.run(sample_bytes(), 3));
  EXPECT_EQ(changed.output()[0], std::byte{0x1F});
  EXPECT_EQ(changed.output()[1], std::byte{0xED});
  EXPECT_TRUE(std::ranges::equal(changed.output().subspan(2), sample_bytes().subspan(2)));
}

TEST(P4Packets, lose_and_gain_headers_by_validity) {
  Around around;
  around.apply =
      "if (!hdr.second.isValid()) { hdr.second.setValid(); hdr.second.high = 5; hdr.second.low = 1;"
      "hdr.second.half = 2; hdr.second.word = 3; hdr.second.wide = 4; } hdr.first.setInvalid();";
  Machine machine = machine_of(around.text());
  ASSERT_TRUE(machine.run(sample_bytes(), 3));
  ASSERT_EQ(machine.output().size(), 18u);
  EXPECT_EQ(machine.output()[0], std::byte{0x50});
  EXPECT_EQ(machine.output()[15], std::byte{4});
  EXPECT_EQ(machine.output()[16], std::byte{0xAA});
}

TEST(P4Packets, go_where_the_last_call_says) {
  const auto outcome_of = [](const std::string &apply) {
    Machine machine = machine_of(Around{.apply = apply}.text());
    return machine.run(sample_bytes(), 3).value();
  };
  EXPECT_EQ(outcome_of("send_to_port((PortId_t)7);").port, 7u);
  EXPECT_EQ(outcome_of("send_to_port(istd.input_port);").port, 3u);
  EXPECT_EQ(outcome_of("send_to_port((PortId_t)((bit<32>)istd.input_port + 1));").port, 4u);
  EXPECT_TRUE(outcome_of("drop_packet();").dropped);
  EXPECT_FALSE(outcome_of("drop_packet(); send_to_port((PortId_t)1);").dropped);
}

// ---- externs

TEST(P4Externs, hash_words_as_dpdk_does) {
  const std::array<std::uint32_t, 5> words{1, 2, 0xFFFFFFFF, 0x9ABCDEF0, 5};
  Around around;
  around.apply =
      "meta.w = 1; meta.w2 = 2; meta.w3 = hdr.first.word; bit<32> a = 0xFFFFFFFF;"
      "meta.w = jhash.get_hash({meta.w, meta.w2, a, meta.w3, 32w5}); sink.write(0, (bit<64>)meta.w);";
  EXPECT_EQ(result_of(around), rte_jhash_32b(words.data(), 5, 0));
  around.apply = "meta.w = 1; meta.w = jhash.get_hash({meta.w}); sink.write(0, (bit<64>)meta.w);";
  EXPECT_EQ(result_of(around), rte_jhash_32b(words.data(), 1, 0));
  around.apply = "meta.d = 0x200000001; meta.w = jhash.get_hash(meta.d); sink.write(0, (bit<64>)meta.w);";
  EXPECT_EQ(result_of(around), rte_jhash_32b(words.data(), 2, 0));
}

TEST(P4Externs, keep_registers_from_packet_to_packet) {
  Around around;
  around.apply = "meta.d = sink.read(0); sink.write(0, meta.d + 2); sink.write(7, 1);";
  Machine machine = machine_of(around.text());
  machine.find("sink")->elements[0] = 40;
  ASSERT_TRUE(machine.run(sample_bytes(), 3));
  EXPECT_EQ(machine.find("sink")->elements[0], 42u);
  ASSERT_EQ(machine.changes().size(), 2u);
  EXPECT_EQ(machine.changes()[0].before, 40u);
  EXPECT_EQ(machine.changes()[0].after, 42u);
  EXPECT_EQ(machine.changes()[1].index, 7u);
  ASSERT_TRUE(machine.run(sample_bytes(), 3));
  EXPECT_EQ(machine.find("sink")->elements[0], 44u);
  EXPECT_EQ(machine.find("none"), nullptr);
}

TEST(P4Externs, take_an_enlarged_array) {
  Around around;
  around.apply = "meta.w = 100; sink.write(meta.w, 1);";
  EXPECT_THAT(error_of_run(around), HasSubstr("an index past the end: sink[100] of 8"));
  Machine machine = machine_of(around.text());
  machine.find("sink")->elements.resize(128);
  ASSERT_TRUE(machine.run(sample_bytes(), 3));
  EXPECT_EQ(machine.find("sink")->elements[100], 1u);
}

TEST(P4Externs, count_packets_and_bytes) {
  Around around;
  around.locals = "Counter<bit<64>, bit<32>>(4, PNA_CounterType_t.PACKETS) seen;"
                  "Counter<bit<8>, bit<32>>(4, PNA_CounterType_t.PACKETS_AND_BYTES) both;"
                  "Counter<bit<64>, bit<32>>(4, PNA_CounterType_t.BYTES) volume;";
  around.apply = "meta.w = 2; seen.count(meta.w); both.count(3, 200); volume.count(1, 32w60);";
  Machine machine = machine_of(around.text());
  ASSERT_TRUE(machine.run(sample_bytes(), 3));
  ASSERT_TRUE(machine.run(sample_bytes(), 3));
  EXPECT_EQ(machine.find("seen")->elements[2], 2u);
  EXPECT_EQ(machine.find("both_packets")->elements[3], 2u);
  EXPECT_EQ(machine.find("both_bytes")->elements[3], 400u - 256);
  EXPECT_EQ(machine.find("volume")->elements[1], 120u);
}

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
} // namespace weir::test::p4_16
