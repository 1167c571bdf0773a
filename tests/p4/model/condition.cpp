#include "tests/p4/model/preprocessor.hpp"

namespace weir::test::p4_16 {
namespace {

// The expression of an #if, its macros expanded.
class Condition {
public:
  Condition(std::span<const Token> tokens, Place place) : tokens_(tokens), place_(place) {}

  bool holds() {
    const Int value = binary(0);
    if (!tokens_.empty()) wrong(place_, "#if: cannot read " + tokens_.front().text);
    return value != 0;
  }

private:
  bool take(std::string_view symbol) {
    if (tokens_.empty() || !tokens_.front().is(symbol)) return false;
    tokens_ = tokens_.subspan(1);
    return true;
  }

  Int binary(unsigned level) {
    static const std::vector<std::vector<std::string_view>> levels{
        {"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*"}};
    if (level == levels.size()) return primary();
    Int left = binary(level + 1);
    for (bool more = true; more;) {
      more = false;
      for (const std::string_view symbol : levels[level])
        if (take(symbol)) {
          left = apply(symbol, left, binary(level + 1));
          more = true;
          break;
        }
    }
    return left;
  }

  static Int apply(std::string_view symbol, Int a, Int b) {
    if (symbol == "||") return a != 0 || b != 0;
    if (symbol == "&&") return a != 0 && b != 0;
    if (symbol == "==") return a == b;
    if (symbol == "!=") return a != b;
    if (symbol == "<=") return a <= b;
    if (symbol == ">=") return a >= b;
    if (symbol == "<") return a < b;
    if (symbol == ">") return a > b;
    if (symbol == "+") return a + b;
    return symbol == "-" ? a - b : a * b;
  }

  Int primary() {
    if (take("!")) return primary() == 0;
    if (take("-")) return -primary();
    if (take("(")) {
      const Int value = binary(0);
      if (!take(")")) wrong(place_, "#if: a parenthesis is not closed");
      return value;
    }
    if (tokens_.empty()) wrong(place_, "#if: the expression ends too early");
    const Token token = tokens_.front();
    tokens_ = tokens_.subspan(1);
    if (token.is_name()) return 0; // as in C: what no macro replaced
    if (token.kind != Token::Kind::number) wrong(place_, "#if: cannot read " + token.text);
    return number_of(token, token.text);
  }

  std::span<const Token> tokens_;
  Place place_;
};

} // namespace

bool condition_holds(std::span<const Token> tokens, Place place) { return Condition(tokens, place).holds(); }

} // namespace weir::test::p4_16
