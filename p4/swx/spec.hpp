// The text of a SWX program (.spec), as p4c-dpdk 1.2.4.2 writes it for DPDK 22.11, read into plain data.
//
//   struct NAME {                      fields, one a line: bit<N> NAME; N a multiple of 8
//   header NAME instanceof STRUCT      what extract and emit take, in packets in network order
//   metadata instanceof STRUCT         one for the program, in host order
//   regarray NAME size N initval N     64-bit registers
//   action NAME args none|instanceof STRUCT {      instructions, one a line: [LABEL :] NAME OPERAND...
//   table NAME {                       key { ... } actions { ... } default_action ... size N
//   apply {                            the program itself, instructions
//
// A line may be a comment (from ; or #). Names are resolved here: an operand knows its field, header, array,
// table or the instruction that a label stands at, and an instruction has the operands that DPDK takes. What
// is well formed but must not run is lint.hpp's matter.
//
// Not taken, each with what to write instead: extern objects and functions, learner and selector tables,
// meters, varbit fields, header checksums, mirroring, recirculation, and the instructions that p4c writes
// for ~, unary minus and ! (DPDK has none of them).
//
// Errors: Errc::parse with file, line, what stands there and what to do; the first one only.
#pragma once

#include "weir/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::p4::swx {

struct Field {
  std::string name;
  unsigned bits = 0;
  unsigned offset = 0; // bytes from the beginning of its struct
  unsigned line = 0;
};

struct Struct {
  std::string name;
  std::vector<Field> fields;
  unsigned bytes = 0;
  unsigned line = 0;
};

struct Header {
  std::string name;
  unsigned type = 0; // of Spec::structs
  unsigned line = 0;
};

struct RegisterArray {
  std::string name;
  std::uint32_t size = 0;
  std::uint64_t initial = 0;
  unsigned line = 0;
};

enum class Space : std::uint8_t { metadata, header, argument }; // m.field, h.header.field, t.field

struct FieldRef {
  Space space = Space::metadata;
  unsigned header = 0; // of Spec::headers, if that is the space
  unsigned index = 0;  // of the struct's fields
  unsigned bits = 0;
  unsigned offset = 0; // bytes

  friend bool operator==(const FieldRef &, const FieldRef &) = default;
};

// What an instruction does with an operand.
enum class Use : std::uint8_t {
  read,     // a field
  value,    // a field, read, or a number
  write,    // a field
  update,   // a field, read and written
  header,   // h.header
  label,    // number = index of the instruction in the same block
  array,    // number = index in Spec::arrays
  table,    // number = index in Spec::tables
  action,   // number = index in Spec::actions
  function, // a hash function
};

struct Operand {
  Use use = Use::read;
  std::optional<FieldRef> field; // of read, value, write and update; a value without is a number
  std::uint64_t number = 0;      // a value, or an index as said above; of a header: in Spec::headers
};

enum class Op : std::uint8_t {
  rx,
  tx,
  drop,
  extract,
  lookahead,
  emit,
  validate,
  invalidate,
  mov,
  add,
  sub,
  and_,
  or_,
  xor_,
  shl,
  shr,
  regprefetch,
  regrd,
  regwr,
  regadd,
  table,
  hash,
  jmp,
  jmpv,
  jmpnv,
  jmph,
  jmpnh,
  jmpa,
  jmpna,
  jmpeq,
  jmpneq,
  jmplt,
  jmpgt,
  return_,
};

struct Instruction {
  Op op = Op::return_;
  std::string label; // empty: none
  std::string text;  // without the label, as DPDK takes it
  std::vector<Operand> operands;
  unsigned line = 0;

  [[nodiscard]] bool jumps() const noexcept { return op >= Op::jmp && op <= Op::jmpgt; }
  // Nothing follows it in its block.
  [[nodiscard]] bool ends() const noexcept {
    return op == Op::tx || op == Op::drop || op == Op::return_ || op == Op::jmp;
  }
};

using Block = std::vector<Instruction>;

struct Action {
  std::string name;
  std::optional<unsigned> arguments; // of Spec::structs
  Block block;
  unsigned line = 0;
};

enum class MatchKind : std::uint8_t { exact, lpm, wildcard };

struct KeyField {
  std::string name;
  FieldRef field;
  MatchKind kind = MatchKind::exact;
};

struct TableAction {
  unsigned action = 0; // of Spec::actions
  bool entries = true;
  bool by_default = true;
};

struct Table {
  std::string name;
  std::vector<KeyField> key;
  std::vector<TableAction> actions;
  std::string default_action;
  std::string default_arguments; // "NAME VALUE ...", empty: none
  bool default_is_const = false;
  std::uint32_t size = 0;
  unsigned line = 0;
};

struct Spec {
  std::string file; // for messages
  std::vector<Struct> structs;
  std::vector<Header> headers;
  std::optional<unsigned> metadata; // of structs; always set after parsing
  std::vector<RegisterArray> arrays;
  std::vector<Action> actions;
  std::vector<Table> tables;
  Block apply;

  [[nodiscard]] const Struct &type_of(const Header &header) const { return structs[header.type]; }
  [[nodiscard]] std::optional<unsigned> header_named(std::string_view name) const;
};

[[nodiscard]] Result<Spec> parse_spec(std::string_view text, std::string file);
[[nodiscard]] Result<Spec> read_spec(const std::filesystem::path &path);

} // namespace weir::p4::swx
