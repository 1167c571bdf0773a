#include "p4/swx/lint.hpp"

#include "p4/swx/flow.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace weir::p4::swx {
namespace {

class Lines {
public:
  Lines(const Spec &spec, std::vector<Finding> &findings) : spec_(spec), findings_(findings) {}

  void structs();
  void arrays();
  void block(const Block &block, unsigned head_line, std::string_view name, bool in_action);

private:
  void registers(const Instruction &instruction);
  void addressable(const Struct &type, std::string_view prefix);
  void hash(const Instruction &instruction);
  void compare(const Instruction &instruction);
  void shift(const Instruction &instruction);

  template <class... Args>
  void find(Rule rule, unsigned line, fmt::format_string<Args...> form, Args &&...args) {
    findings_.push_back({rule, line, fmt::format(form, std::forward<Args>(args)...)});
  }

  const Spec &spec_;
  std::vector<Finding> &findings_;
};

constexpr unsigned offset_max = 255; // an operand keeps its offset in eight bits

void Lines::addressable(const Struct &type, std::string_view prefix) {
  for (const Field &field : type.fields)
    if (field.offset > offset_max) {
      find(Rule::metadata_byte, field.line,
           "{}.{} begins at byte {} of {}, 255 is the last that can be addressed: keep less in it", prefix,
           field.name, field.offset, type.name);
      return; // those behind it as well
    }
}

void Lines::structs() {
  addressable(spec_.structs[*spec_.metadata], "m");
  for (const Action &action : spec_.actions)
    if (action.arguments) addressable(spec_.structs[*action.arguments], "t");
  for (const Header &header : spec_.headers)
    if (const Struct &type = spec_.type_of(header); type.bytes > offset_max)
      find(Rule::header_bytes, header.line, "header {} has {} bytes, at most 255 can be extracted: split it",
           header.name, type.bytes);
}

void Lines::arrays() {
  for (const RegisterArray &array : spec_.arrays)
    if (!std::has_single_bit(array.size))
      find(Rule::register_size, array.line,
           "regarray {} has {} registers, which is no power of two: declare {}", array.name, array.size,
           std::bit_ceil(std::uint64_t{array.size}));
}

void Lines::registers(const Instruction &instruction) {
  const std::vector<Operand> &operands = instruction.operands;
  const bool reads = instruction.op == Op::regrd;
  const Operand &array = operands[reads ? 1 : 0], &index = operands[reads ? 2 : 1];
  const RegisterArray &declared = spec_.arrays[array.number];
  if (!index.field && index.number >= declared.size)
    find(Rule::register_index, instruction.line, "'{}': {} has {} registers, the last is number {}",
         instruction.text, declared.name, declared.size, declared.size - 1);
  const bool writes = instruction.op == Op::regwr || instruction.op == Op::regadd;
  if (writes && !index.field && !operands[2].field)
    find(
        Rule::register_immediates, instruction.line,
        "'{}' has numbers for index and value, for which DPDK takes the array declared first, {}: mov one of "
        "them to metadata first",
        instruction.text, spec_.arrays[0].name);
}

void Lines::hash(const Instruction &instruction) {
  const FieldRef &to = *instruction.operands[1].field;
  if (to.space == Space::metadata && to.offset >= 32)
    find(Rule::hash_destination, instruction.line,
         "'{}' writes metadata byte {}, DPDK writes byte {} instead: declare the field among the first 32 "
         "bytes",
         instruction.text, to.offset, to.offset & 31);
}

void Lines::compare(const Instruction &instruction) {
  const FieldRef &field = *instruction.operands[1].field;
  const Operand &with = instruction.operands[2];
  if (field.space == Space::header && !with.field && field.bits < 64 && with.number >> field.bits)
    find(Rule::number_width, instruction.line,
         "'{}' compares {} bits with a number that has more: write one that fits", instruction.text,
         field.bits);
}

void Lines::shift(const Instruction &instruction) {
  const Operand &by = instruction.operands[1];
  if (!by.field && by.number >= 64)
    find(Rule::shift, instruction.line, "'{}' shifts by {}, DPDK shifts by {} instead: mov 0",
         instruction.text, by.number, by.number & 63);
}

void Lines::block(const Block &block, unsigned head_line, std::string_view name, bool in_action) {
  if (!block.back().ends())
    find(Rule::block_end, block.back().line,
         "{} (line {}) runs on behind its last instruction '{}': end it with {}", name, head_line,
         block.back().text, in_action ? "return" : "tx");
  for (std::size_t i = 0; i < block.size(); ++i) {
    const Instruction &instruction = block[i];
    if (instruction.jumps() && instruction.op != Op::jmp && instruction.operands[0].number == i + 1)
      find(Rule::empty_branch, instruction.line,
           "'{}' decides nothing, so the compiler has dropped what stood behind it: write that as an "
           "operation on "
           "the field",
           instruction.text);
    switch (instruction.op) {
    case Op::regprefetch:
    case Op::regrd:
    case Op::regwr:
    case Op::regadd: registers(instruction); break;
    case Op::hash: hash(instruction); break;
    case Op::jmpeq:
    case Op::jmpneq: compare(instruction); break;
    case Op::shl:
    case Op::shr: shift(instruction); break;
    default: break;
    }
  }
}

} // namespace

std::vector<Finding> lint(const Spec &spec) {
  std::vector<Finding> findings;
  Lines lines(spec, findings);
  lines.structs();
  lines.arrays();
  for (const Action &action : spec.actions)
    lines.block(action.block, action.line, "action " + action.name, true);
  lines.block(spec.apply, spec.apply.front().line, "apply", false);
  check_flow(spec, findings);
  std::ranges::stable_sort(findings, {}, &Finding::line);
  return findings;
}

Status check(const Spec &spec) {
  std::string text;
  for (const Finding &finding : lint(spec))
    text += fmt::format("{}{}:{}: {}", text.empty() ? "" : "\n", spec.file, finding.line, finding.what);
  if (text.empty()) return {};
  return fail(Errc::refused, std::move(text));
}

} // namespace weir::p4::swx
