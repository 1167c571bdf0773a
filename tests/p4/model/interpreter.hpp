// Runs a P4_16 program from its source text: the third opinion about p4/acl.p4, beside the program that
// p4c-dpdk made of it and the C++ dataplane. It shares no code with either.
//
// The subset is that of acl.p4: #define, #if and #include of the architecture; typedef, const, header,
// struct; a parser with extract, advance, lookahead and select; controls with actions, tables without a
// key, if and else; Register, Counter, Hash; a deparser. What lies outside is refused with file and line.
// Numbers are unsigned and exactly as wide as their types. A hash is DPDK's jhash over 32-bit words with
// the initial value 0, which is what p4c-dpdk makes of the algorithms that are accepted.
//
//   auto program = Program::load("p4/acl.p4");
//   Machine machine(*program);
//   machine.find("cfg")->elements[0] = 1;
//   auto outcome = machine.run(packet, port);     // Result<Outcome>
//
// A run ends with an error, which names the line, where the target would do something else than P4 says
// or nobody could tell what: reading what this packet has given no value, an index past the end of an
// array, a shift by 64 bits or more, an extract past the packet's end, leaving without a destination.
// One machine belongs to one thread; a program may have several machines.
#pragma once

#include "tests/p4/model/code.hpp"
#include "weir/base/bits.hpp"
#include "weir/base/result.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::test::p4_16 {

class Program {
public:
  [[nodiscard]] static Result<Program> load(const std::string &path);
  // `file` is what errors call it.
  [[nodiscard]] static Result<Program> parse(std::string_view text, const std::string &file);

  [[nodiscard]] const Code &code() const { return *code_; }
  [[nodiscard]] std::string describe(Place place) const; // "file:line"

private:
  Program(std::string file, Code code)
      : file_(std::move(file)), code_(std::make_shared<const Code>(std::move(code))) {}

  std::string file_;
  std::shared_ptr<const Code> code_;
};

// The elements of a Register or Counter. The caller may fill and enlarge them, as the loader does.
struct RegisterArray {
  std::string name;
  unsigned width = 0; // bits of an element
  std::vector<std::uint64_t> elements;
};

// One write of a run: a Register written or a Counter increased.
struct RegisterChange {
  std::uint32_t array = 0; // its number in Machine::arrays()
  std::uint64_t index = 0, before = 0, after = 0;
};

struct Outcome {
  bool dropped = false;
  std::uint32_t port = 0; // where it goes, unless it was dropped
};

class Machine {
public:
  explicit Machine(const Program &program);

  [[nodiscard]] Result<Outcome> run(Bytes packet, std::uint32_t input_port);

  // Of the last run: what goes out, headers written anew; writes in order.
  [[nodiscard]] Bytes output() const { return output_; }
  [[nodiscard]] std::span<const RegisterChange> changes() const { return changes_; }

  [[nodiscard]] std::span<RegisterArray> arrays() { return arrays_; }
  [[nodiscard]] RegisterArray *find(std::string_view name); // null: the program has none of that name

private:
  struct Failure {
    std::size_t at; // instruction
    const char *what;
    std::string detail;
  };

  std::optional<Failure> execute(Bytes packet);
  bool extract(const Instr &instr, Bytes packet);
  bool emit(const Instr &instr);
  bool finish(Bytes packet);
  [[nodiscard]] std::uint32_t hash(const Instr &instr) const;
  void change(const Instr &instr, std::uint64_t after);
  [[nodiscard]] std::string explain(const Failure &failure) const;

  Program program_;
  std::vector<RegisterArray> arrays_;
  std::vector<std::uint64_t> slots_;
  std::vector<std::uint8_t> given_; // 1: the slot has a value
  std::uint64_t cursor_ = 0;        // bits of the packet that are parsed
  bool decided_ = false;
  Outcome outcome_;
  std::vector<std::byte> output_;
  std::vector<RegisterChange> changes_;
};

} // namespace weir::test::p4_16
