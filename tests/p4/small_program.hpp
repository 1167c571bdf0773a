// Small P4 programs for tests of the interpreter: one construct, and all that a program needs around it.
#pragma once

#include "tests/p4/model/interpreter.hpp"

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace weir::test::p4_16 {

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

inline constexpr std::array<std::uint8_t, 18> sample{0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE, 0xF0, 0x01,
                                                     0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0xAA, 0xBB};

[[nodiscard]] inline Bytes sample_bytes(std::size_t count = sample.size()) {
  return Bytes(reinterpret_cast<const std::byte *>(sample.data()), count);
}

[[nodiscard]] inline Machine machine_of(const std::string &text) {
  auto program = Program::parse(text, "a.p4");
  if (!program) throw std::runtime_error(program.error().message);
  return Machine(*program);
}

// What the statements leave in element 0 of `sink`.
[[nodiscard]] inline std::uint64_t result_of(const Around &around) {
  Machine machine = machine_of(around.text());
  const auto outcome = machine.run(sample_bytes(), 3);
  if (!outcome) throw std::runtime_error(outcome.error().message);
  return machine.find("sink")->elements[0];
}

// The value of an expression of type bit<64>.
[[nodiscard]] inline std::uint64_t value_of(const std::string &expression, const std::string &before = "") {
  return result_of({.apply = before + "sink.write(0, " + expression + ");"});
}

[[nodiscard]] inline std::string error_of_run(const Around &around, std::size_t bytes = sample.size()) {
  Machine machine = machine_of(around.text());
  const auto outcome = machine.run(sample_bytes(bytes), 3);
  return outcome ? "none" : outcome.error().message;
}

[[nodiscard]] inline std::string refusal_of(const std::string &text) {
  const auto program = Program::parse(text, "a.p4");
  return program ? "none" : program.error().message;
}

[[nodiscard]] inline std::string refusal_of_statement(const std::string &statement) {
  return refusal_of(Around{.apply = statement}.text());
}

} // namespace weir::test::p4_16
