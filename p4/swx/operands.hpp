// The instructions of SWX and what they take: from the words of a line to an Instruction with operands.
//
// Labels are resolved in a second step, when the block is complete. DPDK reads a word as a field if there is
// one of that name and as a number otherwise, saturating where the number is too large; here it is an error.
#pragma once

#include "p4/swx/spec.hpp"

#include <span>

namespace weir::p4::swx {

struct Words {
  std::vector<std::string> words; // of one line
  unsigned line = 0;
};

[[nodiscard]] std::unexpected<Error> fail_at(const Spec &spec, unsigned line, std::string what);

// A number as C writes it, of at most `bits` bits.
[[nodiscard]] std::optional<std::uint64_t> number_of(const std::string &word, unsigned bits = 64);

// m.field, h.header.field, t.field; `arguments` is the struct behind t, if there is one.
[[nodiscard]] std::optional<FieldRef> find_field(const Spec &spec, std::optional<unsigned> arguments,
                                                 const std::string &word);

// The instructions of an action (inside one: `in_action`) or of apply.
[[nodiscard]] Result<Block> read_block(const Spec &spec, std::optional<unsigned> arguments, bool in_action,
                                       std::span<const Words> lines);

} // namespace weir::p4::swx
