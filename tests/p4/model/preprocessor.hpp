// What the C preprocessor does to a P4 program, as far as acl.p4 needs it:
//
//   #define NAME tokens             #define NAME(a, b) tokens, with a ## b to join two tokens
//   #undef NAME                     #if EXPR, #ifdef, #ifndef, #elif, #else, #endif, #error
//   #include <core.p4>, <pna.p4>    taken as read: their declarations are built in
//
// A macro is expanded by the rules of C: arguments first, except beside ##; the result once more with
// what follows; never itself within itself. EXPR takes numbers, macros, defined(NAME), ! + - * and the
// comparisons and logical operators. Every other directive is refused, as is # before a parameter.
#pragma once

#include "tests/p4/model/lexer.hpp"

#include <span>

namespace weir::test::p4_16 {

// `tokens` and the result end with a token of kind end.
[[nodiscard]] Tokens preprocess(const Tokens &tokens);

// What an #if says: its tokens without `defined`, macros expanded.
[[nodiscard]] bool condition_holds(std::span<const Token> tokens, Place place);

} // namespace weir::test::p4_16
