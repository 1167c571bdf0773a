// The text of a P4 program as tokens: the first of five passes of the interpreter, each in files of
// its own and each knowing only the one before.
//
//   text -> lexer -> preprocessor -> parser -> compiler -> interpreter
//           tokens      tokens, macros     syntax tree  flat code      runs packets
//
// Comments vanish, a backslash before the end of a line joins it with the next. Whatever these passes
// do not know, they refuse with a SourceError that names the line: nothing is skipped over. The error
// never leaves Program::parse(), which makes a Result of it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace weir::test::p4_16 {

__extension__ using Int = __int128; // constants of the compiler; whatever a packet carries has 64 bits

// Where a token stands. What a macro wrote stands where the macro is called, and has a line of the
// macro's body besides.
struct Place {
  unsigned line = 0;
  unsigned macro_line = 0; // 0: not from a macro
};

struct Token {
  enum class Kind : std::uint8_t { name, number, symbol, text, end };

  Kind kind = Kind::end;
  bool opens_line = false; // the first of its line, where a directive may begin
  bool glued = false;      // nothing between it and the token before it
  Place place;
  std::string text;
  unsigned hidden = 0; // macros that must not be expanded in it: a set known to the preprocessor

  [[nodiscard]] bool is(std::string_view symbol) const { return kind == Kind::symbol && text == symbol; }
  [[nodiscard]] bool is_name() const { return kind == Kind::name; }
};

using Tokens = std::vector<Token>;

struct SourceError : std::runtime_error {
  SourceError(Place at, const std::string &what) : std::runtime_error(what), place(at) {}
  Place place;
};

[[noreturn]] inline void refuse(Place at, const std::string &what) {
  throw SourceError(at, "outside the subset of P4 that is interpreted: " + what);
}
[[noreturn]] inline void wrong(Place at, const std::string &what) { throw SourceError(at, what); }

// Ends with a token of kind end.
[[nodiscard]] Tokens lex(std::string_view text, unsigned first_line = 1);

// The value of an integer literal without a width: decimal, 0x, 0o, 0b, with _ between digits.
[[nodiscard]] Int number_of(const Token &token, std::string_view digits);

} // namespace weir::test::p4_16
