// What a P4 program becomes: a flat list of instructions over numbered slots, every name resolved.
// Actions and controls are written out where they are called; the action of a table stands once.
//
// A slot holds an unsigned number of 1 to 64 bits (bool: 0 or 1), upper bits zero. Slots of constants
// come first, then those of intermediate results, then variables: fields of headers and metadata, locals.
// A header has a slot for its validity and then one for each field. Each slot of a variable has a flag
// besides: whether this packet has given it a value. Reading one that has none ends the run with an
// error, since on the target it would be whatever an earlier packet left there.
#pragma once

#include "tests/p4/model/lexer.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::test::p4_16 {

enum class Op : std::uint8_t {
  move,     // to = a
  add,      // to = a + b, `width` bits, as the next
  subtract, //
  both,     // to = a & b
  either,   // to = a | b
  differ,   // to = a ^ b
  left,     // to = a << b, `width` bits
  right,    // to = a >> b
  cut,      // to = `width` bits of a from bit `low`
  put,      // `width` bits of to from bit `low` = a
  join,     // to = a ++ b, b has `width` bits
  invert,   // to = !a
  equal,    // to = a == b, and so on
  unequal,
  less,
  at_most,

  jump, // to instruction `to`
  jump_if,
  jump_unless,
  jump_equal,
  jump_unequal,
  jump_less,
  jump_at_most,
  call, // goes to instruction `to`; back comes here again. Never one within another
  back,

  need,       // slot a must have a value; b: its name
  need_valid, // the header at a must be valid
  unset,      // the `b` slots from a have no value

  hash,  // to = jhash of the slots in list a
  read,  // to = array a [slot b], `width` bits
  write, // array a [slot b] = slot to
  count, // array a [slot b] += slot to, `width` bits

  extract,    // header of layout a, into slots from `to`
  lookahead,  // to = the next `width` bits
  advance,    // by slot a bits
  length,     // to = bytes of the packet
  validate,   // the header at a
  invalidate, // the header at a, layout b
  emit,       // header of layout a, from slots from b, if it is valid

  send,   // to port a
  drop,   //
  decide, // end of the main control: a dropped packet ends here
  finish,
  fail, // b: why
};

struct Instr {
  Op op = Op::finish;
  std::uint8_t width = 64;
  std::uint8_t low = 0;
  std::uint32_t to = 0, a = 0, b = 0;
};

struct HeaderLayout {
  struct Bits {
    std::uint32_t offset, width;
  };
  std::string name;
  std::uint32_t bits = 0;
  std::vector<Bits> fields;
};

// An array of the externs Register and Counter.
struct ArrayLayout {
  std::string name;
  unsigned width = 0; // bits of an element
  std::uint64_t elements = 0;
  std::uint64_t initial = 0;
};

inline constexpr std::uint32_t constant_slots = 1u << 14;
inline constexpr std::uint32_t result_slots = 1u << 8;
inline constexpr std::uint32_t first_result = constant_slots;
inline constexpr std::uint32_t first_variable = constant_slots + result_slots;

inline constexpr std::size_t hash_words_max = 64; // of one hash

struct Code {
  std::vector<Instr> instrs;
  std::vector<Place> places; // of each instruction
  std::vector<std::uint64_t> constants;
  std::uint32_t slots = first_variable; // all of them
  std::uint32_t input_port = 0;         // slot of it
  std::vector<std::uint32_t> validity;  // slots of it
  std::vector<HeaderLayout> headers;
  std::vector<ArrayLayout> arrays;
  std::vector<std::vector<std::uint32_t>> hashed;
  std::vector<std::string> names;
};

} // namespace weir::test::p4_16
