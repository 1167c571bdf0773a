// Reading .spec texts: what is in them, and where a text is wrong.
#include "p4/swx/spec.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weir::p4::swx::spec_test {
namespace {

const std::string declarations = R"(
; what p4c writes in front

struct ethernet_t {
	bit<48> dst
	bit<48> src
	bit<16> type
}

struct metadata_t {
	bit<32> port
	bit<8> small
	bit<64> wide
}
metadata instanceof metadata_t

header ethernet instanceof ethernet_t

regarray counts size 0x40 initval 0x7
)";

const std::string forward = R"(apply {
	rx m.port
	extract h.ethernet
	jmpeq IS_IP h.ethernet.type 0x800
	jmp DONE
	IS_IP :	regadd counts m.port 1
	DONE :	emit h.ethernet
	tx m.port
}
)";

std::string error_of(const std::string &text) {
  const auto spec = parse_spec(text, "acl.spec");
  return spec ? "" : spec.error().message;
}

std::string with_line(const std::string &line) {
  return declarations + "apply {\n\trx m.port\n\t" + line + "\n\ttx m.port\n}\n";
}

TEST(SwxSpec, reads_structs_headers_metadata_and_register_arrays) {
  const Spec spec = parse_spec(declarations + forward, "acl.spec").value();
  ASSERT_EQ(spec.structs.size(), 2u);
  EXPECT_EQ(spec.structs[0].bytes, 14u);
  EXPECT_EQ(spec.structs[1].fields[2].name, "wide");
  EXPECT_EQ(spec.structs[1].fields[2].offset, 5u);
  EXPECT_EQ(spec.metadata, 1u);
  EXPECT_EQ(spec.type_of(spec.headers[0]).name, "ethernet_t");
  EXPECT_EQ(spec.arrays[0].size, 64u);
  EXPECT_EQ(spec.arrays[0].initial, 7u);
}

TEST(SwxSpec, resolves_fields_arrays_and_labels_of_instructions) {
  const Spec spec = parse_spec(declarations + forward, "acl.spec").value();
  ASSERT_EQ(spec.apply.size(), 7u);
  const Instruction &jump = spec.apply[2];
  EXPECT_EQ(jump.op, Op::jmpeq);
  EXPECT_EQ(jump.operands[0].number, 4u); // the instruction labelled IS_IP
  EXPECT_EQ(jump.operands[1].field->space, Space::header);
  EXPECT_EQ(jump.operands[1].field->offset, 12u);
  EXPECT_EQ(jump.operands[2].number, 0x800u);
  EXPECT_EQ(spec.apply[4].label, "IS_IP");
  EXPECT_EQ(spec.apply[4].text, "regadd counts m.port 1");
  EXPECT_EQ(spec.apply[4].line, 25u);
}

TEST(SwxSpec, reads_actions_with_arguments_and_tables_with_keys) {
  const Spec spec = parse_spec(declarations + R"(
struct hop_args_t {
	bit<32> vport
}
action hop args instanceof hop_args_t {
	mov m.port t.vport
	return
}
action no args none {
	return
}
table routes {
	key {
		h.ethernet.dst exact
	}
	actions {
		hop @tableonly
		no @defaultonly
	}
	default_action no args none const
	size 0x400
}
)" + forward,
                               "acl.spec")
                        .value();
  ASSERT_EQ(spec.tables.size(), 1u);
  const Table &table = spec.tables[0];
  EXPECT_EQ(table.key[0].name, "h.ethernet.dst");
  EXPECT_TRUE(table.actions[0].entries && !table.actions[0].by_default);
  EXPECT_TRUE(!table.actions[1].entries && table.actions[1].by_default);
  EXPECT_TRUE(table.default_is_const);
  EXPECT_EQ(table.size, 0x400u);
  EXPECT_EQ(spec.actions[0].block[0].operands[1].field->space, Space::argument);
}

TEST(SwxSpec, reads_a_table_without_a_key_which_is_how_p4c_writes_a_subroutine) {
  const Spec spec = parse_spec(declarations + R"(
action probe args none {
	mov m.small 1
	return
}
table do_probe {
	actions {
		probe
	}
	default_action probe args none const
	size 0x1
}
)" + with_line("table do_probe").substr(declarations.size()),
                               "acl.spec")
                        .value();
  EXPECT_TRUE(spec.tables[0].key.empty());
  EXPECT_EQ(spec.apply[1].op, Op::table);
}

TEST(SwxSpec, names_the_line_of_an_unknown_instruction) {
  EXPECT_EQ(error_of(with_line("frobnicate m.port")),
            "acl.spec:22: there is no instruction 'frobnicate' in DPDK 22.11");
}

TEST(SwxSpec, names_file_and_line_of_names_that_are_not_declared) {
  EXPECT_EQ(error_of(with_line("mov m.nobody 1")),
            "acl.spec:22: there is no field 'm.nobody': declare it in its struct");
  EXPECT_NE(error_of(with_line("extract h.ipv4")).find("acl.spec:22: there is no header 'h.ipv4'"),
            std::string::npos);
  EXPECT_NE(error_of(with_line("regadd hits m.port 1")).find("no register array 'hits'"), std::string::npos);
  EXPECT_NE(error_of(with_line("table routes")).find("no table 'routes'"), std::string::npos);
  EXPECT_NE(error_of(with_line("jmp AWAY")).find("acl.spec:22: there is no label AWAY"), std::string::npos);
  EXPECT_NE(error_of(with_line("hash md5 m.port m.port m.port")).find("DPDK has jhash and crc32"),
            std::string::npos);
}

TEST(SwxSpec, says_what_to_write_instead_of_what_it_does_not_take) {
  EXPECT_NE(error_of(with_line("compl m.port m.port")).find("no instruction for ~: write x ^ 0xFF..FF"),
            std::string::npos);
  EXPECT_NE(error_of(with_line("mov m.port ~0x3")).find("no instruction for ~"), std::string::npos);
  EXPECT_NE(error_of(with_line("neg m.port m.port")).find("write 0 - x"), std::string::npos);
  EXPECT_NE(error_of(with_line("lnot m.port m.port")).find("compare with 0"), std::string::npos);
  EXPECT_NE(error_of(with_line("extern f.my_func")).find("extern"), std::string::npos);
  EXPECT_NE(error_of("extobj e instanceof ipsec args none\n").find("extern objects are not taken"),
            std::string::npos);
  EXPECT_NE(error_of("learner l {\n}\n").find("acl.spec:1: 'learner l {': learner tables"),
            std::string::npos);
  EXPECT_NE(error_of("struct s {\n\tvarbit<320> options\n}\n").find("acl.spec:2: 'varbit<320>'"),
            std::string::npos);
  EXPECT_NE(error_of("metarray m size 0x10\n").find("meters"), std::string::npos);
}

TEST(SwxSpec, refuses_numbers_that_do_not_fit_where_dpdk_would_cut_them) {
  EXPECT_NE(error_of(with_line("mov m.wide 0x1FFFFFFFFFFFFFFFF")).find("is no number of 64 bits"),
            std::string::npos);
  EXPECT_NE(error_of(with_line("mov m.wide 12z")).find("is no number of 64 bits"), std::string::npos);
  EXPECT_NE(error_of(with_line("jmpeq X 0x0 m.port")).find("swap the sides"), std::string::npos);
}

TEST(SwxSpec, refuses_an_operand_too_many_and_one_too_few) {
  EXPECT_EQ(error_of(with_line("mov m.port")), "acl.spec:22: 'mov m.port' has 1 operands, mov takes 2");
  EXPECT_EQ(error_of(with_line("tx m.port m.port")),
            "acl.spec:22: 'tx m.port m.port' has 2 operands, tx takes 1");
}

TEST(SwxSpec, refuses_a_field_that_is_no_whole_number_of_bytes) {
  EXPECT_NE(error_of("struct s {\n\tbit<4> half\n}\n").find("acl.spec:2: half has 4 bits"),
            std::string::npos);
}

TEST(SwxSpec, refuses_names_declared_twice_and_blocks_left_open) {
  EXPECT_NE(
      error_of(declarations + "regarray counts size 0x1 initval 0\n").find("declared at line 19 already"),
      std::string::npos);
  EXPECT_NE(error_of("struct s {\n\tbit<8> a\n").find("acl.spec:1: the brace opened here"),
            std::string::npos);
  EXPECT_NE(error_of(with_line("A :\tmov m.port 1\n\tA :\tmov m.port 2"))
                .find("acl.spec:23: label A stands at line 22"),
            std::string::npos);
}

TEST(SwxSpec, needs_metadata_an_apply_block_and_rx_in_front) {
  EXPECT_NE(error_of("").find("no metadata"), std::string::npos);
  EXPECT_NE(error_of(declarations).find("no apply block"), std::string::npos);
  EXPECT_NE(error_of(declarations + "apply {\n\ttx m.port\n}\n").find("must begin with rx"),
            std::string::npos);
}

TEST(SwxSpec, refuses_to_take_a_second_packet_before_the_first_has_left) {
  EXPECT_NE(error_of(with_line("rx m.port")).find("acl.spec:22: 'rx m.port' takes another packet"),
            std::string::npos);
  EXPECT_NE(
      error_of(declarations + "apply {\n\tA :\trx m.port\n\tjmp A\n\ttx m.port\n}\n").find("'jmp A' takes"),
      std::string::npos);
}

TEST(SwxSpec, says_which_file_it_cannot_read) {
  const auto spec = read_spec("no/such/file.spec");
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().code, Errc::io);
  EXPECT_NE(spec.error().message.find("no/such/file.spec"), std::string::npos);
}

} // namespace
} // namespace weir::p4::swx::spec_test
