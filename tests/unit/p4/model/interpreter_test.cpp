// The interpreter of the P4 subset: what each construct comes to.
#include "tests/p4/small_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rte_jhash.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace weir::test::p4_16::interpreter_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

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

} // namespace
} // namespace weir::test::p4_16::interpreter_test
