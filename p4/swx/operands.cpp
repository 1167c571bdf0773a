#include "p4/swx/operands.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>

namespace weir::p4::swx {
namespace {

constexpr unsigned operands_max = 4;

struct Shape {
  std::string_view name;
  Op op;
  unsigned count = 0;
  std::array<Use, operands_max> uses{};
};

constexpr std::array shapes{
    Shape{"rx", Op::rx, 1, {Use::write}},
    Shape{"tx", Op::tx, 1, {Use::value}},
    Shape{"drop", Op::drop},
    Shape{"extract", Op::extract, 1, {Use::header}},
    Shape{"lookahead", Op::lookahead, 1, {Use::header}},
    Shape{"emit", Op::emit, 1, {Use::header}},
    Shape{"validate", Op::validate, 1, {Use::header}},
    Shape{"invalidate", Op::invalidate, 1, {Use::header}},
    Shape{"mov", Op::mov, 2, {Use::write, Use::value}},
    Shape{"add", Op::add, 2, {Use::update, Use::value}},
    Shape{"sub", Op::sub, 2, {Use::update, Use::value}},
    Shape{"and", Op::and_, 2, {Use::update, Use::value}},
    Shape{"or", Op::or_, 2, {Use::update, Use::value}},
    Shape{"xor", Op::xor_, 2, {Use::update, Use::value}},
    Shape{"shl", Op::shl, 2, {Use::update, Use::value}},
    Shape{"shr", Op::shr, 2, {Use::update, Use::value}},
    Shape{"regprefetch", Op::regprefetch, 2, {Use::array, Use::value}},
    Shape{"regrd", Op::regrd, 3, {Use::write, Use::array, Use::value}},
    Shape{"regwr", Op::regwr, 3, {Use::array, Use::value, Use::value}},
    Shape{"regadd", Op::regadd, 3, {Use::array, Use::value, Use::value}},
    Shape{"table", Op::table, 1, {Use::table}},
    Shape{"hash", Op::hash, 4, {Use::function, Use::write, Use::read, Use::read}},
    Shape{"jmp", Op::jmp, 1, {Use::label}},
    Shape{"jmpv", Op::jmpv, 2, {Use::label, Use::header}},
    Shape{"jmpnv", Op::jmpnv, 2, {Use::label, Use::header}},
    Shape{"jmph", Op::jmph, 1, {Use::label}},
    Shape{"jmpnh", Op::jmpnh, 1, {Use::label}},
    Shape{"jmpa", Op::jmpa, 2, {Use::label, Use::action}},
    Shape{"jmpna", Op::jmpna, 2, {Use::label, Use::action}},
    Shape{"jmpeq", Op::jmpeq, 3, {Use::label, Use::read, Use::value}},
    Shape{"jmpneq", Op::jmpneq, 3, {Use::label, Use::read, Use::value}},
    Shape{"jmplt", Op::jmplt, 3, {Use::label, Use::read, Use::value}},
    Shape{"jmpgt", Op::jmpgt, 3, {Use::label, Use::read, Use::value}},
    Shape{"return", Op::return_},
};

struct Refused {
  std::string_view name;
  std::string_view remedy;
};

constexpr std::string_view no_complement = "DPDK has no instruction for ~: write x ^ 0xFF..FF";
constexpr std::string_view no_checksum = "the gate changes no packet, so leave checksums alone";
constexpr std::string_view no_meter = "meters are not taken: count in a register array";
constexpr std::string_view no_learner = "learner tables are not taken: keep the state in a register array";
constexpr std::string_view no_copies = "a packet leaves the gate once: take the mirror or recirculation out";

constexpr std::array refused{
    Refused{"compl", no_complement},
    Refused{"neg", "DPDK has no instruction for unary minus: write 0 - x"},
    Refused{"lnot", "DPDK has no instruction for !: compare with 0"},
    Refused{"extern", "extern objects and functions are not taken: compute it with instructions"},
    Refused{"ckadd", no_checksum},
    Refused{"cksub", no_checksum},
    Refused{"meter", no_meter},
    Refused{"metprefetch", no_meter},
    Refused{"learn", no_learner},
    Refused{"rearm", no_learner},
    Refused{"forget", no_learner},
    Refused{"entryid", "entry numbers are not taken: give the action an argument"},
    Refused{"mirror", no_copies},
    Refused{"recirculate", no_copies},
    Refused{"recircid", no_copies},
    Refused{"verify", "DPDK has no instruction for verify(): compare and jump"},
};

constexpr std::array hash_functions{"jhash", "crc32"};

template <class List> std::optional<unsigned> index_of(const List &list, std::string_view name) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].name == name) return static_cast<unsigned>(i);
  return std::nullopt;
}

std::optional<unsigned> find_header(const Spec &spec, const std::string &word) {
  return word.starts_with("h.") ? spec.header_named(std::string_view(word).substr(2)) : std::nullopt;
}

class Reader {
public:
  Reader(const Spec &spec, std::optional<unsigned> arguments, bool in_action)
      : spec_(spec), arguments_(arguments), in_action_(in_action) {}

  Result<Instruction> read(const Words &line) const;

private:
  Result<Operand> operand(Use use, const std::string &word, unsigned line) const;
  Result<Operand> field_or_number(Use use, const std::string &word, unsigned line) const;
  Status check_place(const Instruction &instruction) const;
  Status check_widths(const Instruction &instruction) const;

  const Spec &spec_;
  std::optional<unsigned> arguments_;
  bool in_action_;
};

Result<Operand> Reader::field_or_number(Use use, const std::string &word, unsigned line) const {
  if (const auto field = find_field(spec_, arguments_, word)) {
    if (field->space == Space::argument && (use == Use::write || use == Use::update))
      return fail_at(spec_, line, fmt::format("{} is an argument of the action and cannot be written", word));
    return Operand{use, *field, 0};
  }
  if (word.find('~') != std::string::npos)
    return fail_at(spec_, line, fmt::format("'{}': {}", word, no_complement));
  const bool looks_like_a_number = !word.empty() && std::isdigit(static_cast<unsigned char>(word[0]));
  if (!looks_like_a_number)
    return fail_at(spec_, line, fmt::format("there is no field '{}': declare it in its struct", word));
  if (use != Use::value)
    return fail_at(spec_, line,
                   fmt::format("'{}' must be a field here: swap the sides or mov it first", word));
  const auto number = number_of(word);
  if (!number)
    return fail_at(spec_, line, fmt::format("'{}' is no number of 64 bits: write 0x... or decimal", word));
  return Operand{use, std::nullopt, *number};
}

Result<Operand> Reader::operand(Use use, const std::string &word, unsigned line) const {
  const auto found = [&](std::optional<unsigned> index, std::string_view what) -> Result<Operand> {
    if (index) return Operand{use, std::nullopt, *index};
    return fail_at(spec_, line, fmt::format("there is no {} '{}': declare it", what, word));
  };
  switch (use) {
  case Use::header: return found(find_header(spec_, word), "header");
  case Use::array: return found(index_of(spec_.arrays, word), "register array");
  case Use::table: return found(index_of(spec_.tables, word), "table");
  case Use::action: return found(index_of(spec_.actions, word), "action");
  case Use::function:
    if (std::ranges::find(hash_functions, word) == hash_functions.end())
      return fail_at(spec_, line,
                     fmt::format("there is no hash function '{}': DPDK has jhash and crc32", word));
    return Operand{use, std::nullopt, 0};
  case Use::label: return Operand{use, std::nullopt, 0}; // when the block is complete
  default: return field_or_number(use, word, line);
  }
}

Status Reader::check_place(const Instruction &instruction) const {
  const bool outside_only = instruction.op == Op::rx || instruction.op == Op::extract ||
                            instruction.op == Op::lookahead || instruction.op == Op::table;
  if (in_action_ && outside_only)
    return fail_at(spec_, instruction.line,
                   fmt::format("'{}' cannot stand in an action: move it to apply", instruction.text));
  if (!in_action_ && instruction.op == Op::return_)
    return fail_at(spec_, instruction.line, "'return' stands outside of an action: jump to the end instead");
  return {};
}

// DPDK refuses these too, but does not say where they are.
Status Reader::check_widths(const Instruction &instruction) const {
  const std::vector<Operand> &operands = instruction.operands;
  if (instruction.op == Op::hash) {
    const FieldRef &first = *operands[2].field, &last = *operands[3].field;
    const bool same = first.space == last.space && first.header == last.header;
    if (same && first.offset <= last.offset && operands[1].field->bits <= 64) return {};
    return fail_at(spec_, instruction.line,
                   fmt::format("'{}': the hash reads from its first field to its last, which must be later "
                               "in the same struct",
                               instruction.text));
  }
  const bool equal_wide = instruction.op == Op::mov && operands[0].field && operands[1].field &&
                          operands[0].field->bits == operands[1].field->bits && operands[0].field->bits < 256;
  for (const Operand &operand : operands)
    if (operand.field && operand.field->bits > 64 && !equal_wide)
      return fail_at(spec_, instruction.line,
                     fmt::format("'{}' takes a field of {} bits, DPDK computes with 64: split the field",
                                 instruction.text, operand.field->bits));
  return {};
}

Result<Instruction> Reader::read(const Words &line) const {
  std::span<const std::string> words(line.words);
  Instruction out;
  out.line = line.line;
  if (words.size() >= 2 && words[1] == ":") {
    out.label = words[0];
    words = words.subspan(2);
    if (words.empty()) return fail_at(spec_, line.line, "a label without an instruction: put it before one");
  }
  out.text = fmt::format("{}", fmt::join(words, " "));
  for (const std::string &word : line.words)
    if (word.size() > 63)
      return fail_at(spec_, line.line, fmt::format("'{}' is longer than 63 characters", word));

  const auto shape = std::ranges::find(shapes, words[0], &Shape::name);
  if (shape == shapes.end()) {
    const auto known = std::ranges::find(refused, words[0], &Refused::name);
    if (known != refused.end())
      return fail_at(spec_, line.line, fmt::format("'{}': {}", out.text, known->remedy));
    return fail_at(spec_, line.line, fmt::format("there is no instruction '{}' in DPDK 22.11", words[0]));
  }
  if (words.size() != shape->count + 1)
    return fail_at(spec_, line.line,
                   fmt::format("'{}' has {} operands, {} takes {}", out.text, words.size() - 1, shape->name,
                               shape->count));
  out.op = shape->op;
  for (unsigned i = 0; i < shape->count; ++i) {
    auto taken = TRY(operand(shape->uses[i], words[i + 1], line.line));
    out.operands.push_back(taken);
  }
  TRY(check_place(out));
  TRY(check_widths(out));
  return out;
}

Status resolve_labels(const Spec &spec, Block &block) {
  for (std::size_t i = 0; i < block.size(); ++i)
    for (std::size_t j = i + 1; j < block.size(); ++j)
      if (!block[i].label.empty() && block[i].label == block[j].label)
        return fail_at(spec, block[j].line,
                       fmt::format("label {} stands at line {} already", block[j].label, block[i].line));
  for (Instruction &instruction : block) {
    if (!instruction.jumps()) continue;
    const std::size_t from = instruction.text.find(' ') + 1;
    const std::string name = instruction.text.substr(from, instruction.text.find(' ', from) - from);
    const auto target = std::ranges::find(block, name, &Instruction::label);
    if (target == block.end())
      return fail_at(spec, instruction.line, fmt::format("there is no label {} in this block", name));
    instruction.operands[0].number = static_cast<std::uint64_t>(target - block.begin());
  }
  return {};
}

} // namespace

std::unexpected<Error> fail_at(const Spec &spec, unsigned line, std::string what) {
  return fail(Errc::parse, fmt::format("{}:{}: {}", spec.file, line, what));
}

std::optional<std::uint64_t> number_of(const std::string &word, unsigned bits) {
  if (word.empty() || !std::isdigit(static_cast<unsigned char>(word[0]))) return std::nullopt;
  char *end = nullptr;
  errno = 0;
  const std::uint64_t number = std::strtoull(word.c_str(), &end, 0);
  if (errno || *end || (bits < 64 && number >> bits)) return std::nullopt;
  return number;
}

std::optional<FieldRef> find_field(const Spec &spec, std::optional<unsigned> arguments,
                                   const std::string &word) {
  if (word.size() < 3 || word[1] != '.') return std::nullopt;
  FieldRef ref;
  std::string_view name = std::string_view(word).substr(2);
  std::optional<unsigned> type;
  switch (word[0]) {
  case 'm': type = spec.metadata; break;
  case 't':
    ref.space = Space::argument;
    type = arguments;
    break;
  case 'h': {
    const std::size_t dot = name.find('.');
    const auto header = dot == std::string_view::npos ? std::nullopt : spec.header_named(name.substr(0, dot));
    if (!header) return std::nullopt;
    ref.space = Space::header;
    ref.header = *header;
    type = spec.headers[*header].type;
    name.remove_prefix(dot + 1);
    break;
  }
  default: return std::nullopt;
  }
  if (!type) return std::nullopt;
  const auto index = index_of(spec.structs[*type].fields, name);
  if (!index) return std::nullopt;
  const Field &field = spec.structs[*type].fields[*index];
  ref.index = *index;
  ref.bits = field.bits;
  ref.offset = field.offset;
  return ref;
}

Result<Block> read_block(const Spec &spec, std::optional<unsigned> arguments, bool in_action,
                         std::span<const Words> lines) {
  const Reader reader(spec, arguments, in_action);
  Block block;
  for (const Words &line : lines) {
    auto instruction = TRY(reader.read(line));
    block.push_back(std::move(instruction));
  }
  TRY(resolve_labels(spec, block));
  return block;
}

} // namespace weir::p4::swx
