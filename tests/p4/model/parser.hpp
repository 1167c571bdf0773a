// From tokens to the syntax tree, by recursive descent. The grammar is that of the P4_16 language
// specification as far as p4/acl.p4 uses it; what else P4 knows (keys of tables, switch, loops, annotations,
// int<W>, varbit<W>, header stacks, enum, extern, arithmetic with saturation ...) is refused by name.
#pragma once

#include "tests/p4/model/ast.hpp"

#include <algorithm>
#include <set>
#include <span>

namespace weir::test::p4_16 {

// `tokens` come from the preprocessor.
[[nodiscard]] Source parse_source(const Tokens &tokens);

// What the two halves of the parser share: a position in the tokens, and the names that are types.
class TokenReader {
public:
  explicit TokenReader(const Tokens &tokens) : tokens_(tokens) {}

  [[nodiscard]] const Token &peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  [[nodiscard]] Place place() const { return peek().place; }
  [[nodiscard]] bool is(std::string_view text) const {
    return peek().text == text && peek().kind != Token::Kind::text;
  }
  bool take(std::string_view text) {
    if (!is(text)) return false;
    ++at_;
    return true;
  }
  const Token &next() {
    const Token &token = peek();
    ++at_;
    return token;
  }
  void expect(std::string_view text);
  std::string name(const char *what);

private:
  const Tokens &tokens_;
  std::size_t at_ = 0;
};

// Expressions and the names of types.
class ExpressionParser : public TokenReader {
public:
  explicit ExpressionParser(const Tokens &tokens);

  ExprPtr expression() { return ternary(); }
  ExprPtr keyset(); // of a select: an expression, default, _, a &&& b, a .. b
  TypeName type();
  [[nodiscard]] bool at_type() const { return peek().is_name() && types_.contains(peek().text); }
  void declare_type(Place place, const std::string &name);

private:
  ExprPtr ternary();
  ExprPtr binary(unsigned level);
  ExprPtr unary();
  ExprPtr postfix();
  ExprPtr primary();
  ExprPtr number();
  [[nodiscard]] std::string operator_at(unsigned level) const;

  std::set<std::string, std::less<>> types_;
};

[[nodiscard]] inline ExprPtr make_expr(Expr::Kind kind, Place place, std::string text = {}) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->place = place;
  expr->text = std::move(text);
  return expr;
}

} // namespace weir::test::p4_16
