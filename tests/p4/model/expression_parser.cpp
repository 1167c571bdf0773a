#include "tests/p4/model/parser.hpp"

#include <array>

namespace weir::test::p4_16 {
namespace {

// Loosest first: unlike in C, the operators on bits bind more tightly than comparisons. `>>` is not among
// the symbols of the lexer: two `>` glued together.
const std::vector<std::vector<std::string>> levels{
    {"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"},         {"|"},
    {"^"},  {"&"},  {"<<", ">>"}, {"+", "-", "++", "|+|", "|-|"}, {"*", "/", "%"}};

const std::set<std::string, std::less<>> reserved{
    "action", "bit",    "bool",       "const",  "control", "default", "else",   "enum",
    "exit",   "extern", "false",      "for",    "header",  "if",      "in",     "inout",
    "int",    "out",    "package",    "parser", "return",  "select",  "struct", "switch",
    "table",  "this",   "transition", "true",   "tuple",   "typedef", "varbit", "void"};

// Types that are there before the program says anything, with those of the architecture.
constexpr std::array<std::string_view, 13> known_types{
    "bit",
    "bool",
    "PortId_t",
    "packet_in",
    "packet_out",
    "Register",
    "Counter",
    "Hash",
    "pna_pre_input_metadata_t",
    "pna_pre_output_metadata_t",
    "pna_main_parser_input_metadata_t",
    "pna_main_input_metadata_t",
    "pna_main_output_metadata_t",
};

} // namespace

void TokenReader::expect(std::string_view text) {
  if (!take(text))
    wrong(place(), "expected '" + std::string(text) + "', found " +
                       (peek().kind == Token::Kind::end ? "the end" : "'" + peek().text + "'"));
}

std::string TokenReader::name(const char *what) {
  if (!peek().is_name() || reserved.contains(peek().text))
    wrong(place(), std::string("expected ") + what + ", found '" + peek().text + "'");
  return next().text;
}

ExpressionParser::ExpressionParser(const Tokens &tokens)
    : TokenReader(tokens), types_(known_types.begin(), known_types.end()) {}

void ExpressionParser::declare_type(Place at, const std::string &name) {
  if (!types_.insert(name).second) wrong(at, name + " is a type already");
}

TypeName ExpressionParser::type() {
  TypeName out;
  out.place = place();
  if (is("int") || is("varbit") || is("string") || is("error") || is("tuple") || is("void"))
    refuse(out.place, "type " + peek().text);
  if (!at_type()) wrong(out.place, "expected a type, found '" + peek().text + "'");
  out.name = next().text;
  if (out.name == "bit") {
    if (!take("<")) { // bit alone has one bit
      out.width = make_expr(Expr::Kind::number, out.place);
      out.width->number = 1;
      return out;
    }
    out.width = primary();
    expect(">");
  } else if (take("<")) {
    do out.arguments.push_back(type());
    while (take(","));
    expect(">");
  }
  if (is("[")) refuse(place(), "an array of headers");
  return out;
}

ExprPtr ExpressionParser::keyset() {
  if (is("default") || is("_")) return make_expr(Expr::Kind::any, next().place);
  ExprPtr left = expression();
  if (!is("&&&") && !is("..")) return left;
  ExprPtr out = make_expr(Expr::Kind::binary, place(), next().text);
  out->children.push_back(std::move(left));
  out->children.push_back(expression());
  return out;
}

ExprPtr ExpressionParser::ternary() {
  ExprPtr condition = binary(0);
  if (!is("?")) return condition;
  ExprPtr out = make_expr(Expr::Kind::ternary, next().place);
  out->children.push_back(std::move(condition));
  out->children.push_back(ternary());
  expect(":");
  out->children.push_back(ternary());
  return out;
}

std::string ExpressionParser::operator_at(unsigned level) const {
  const bool shift = is(">") && peek(1).is(">") && peek(1).glued;
  for (const std::string &symbol : levels[level])
    if (symbol == ">>" ? shift : (is(symbol) && !(symbol == ">" && shift))) return symbol;
  return "";
}

ExprPtr ExpressionParser::binary(unsigned level) {
  if (level == levels.size()) return unary();
  ExprPtr left = binary(level + 1);
  for (std::string symbol; !(symbol = operator_at(level)).empty();) {
    ExprPtr out = make_expr(Expr::Kind::binary, next().place, symbol);
    if (symbol == ">>") next();
    out->children.push_back(std::move(left));
    out->children.push_back(binary(level + 1));
    left = std::move(out);
  }
  return left;
}

ExprPtr ExpressionParser::unary() {
  if (is("!") || is("-") || is("~") || is("+")) {
    ExprPtr out = make_expr(Expr::Kind::unary, place(), peek().text);
    next();
    out->children.push_back(unary());
    return out;
  }
  const Token &after = peek(1);
  if (is("(") && after.is_name() && types_.contains(after.text)) {
    ExprPtr out = make_expr(Expr::Kind::cast, next().place);
    out->types.push_back(type());
    expect(")");
    out->children.push_back(unary());
    return out;
  }
  return postfix();
}

ExprPtr ExpressionParser::postfix() {
  ExprPtr left = primary();
  for (;;) {
    if (is(".")) {
      ExprPtr out = make_expr(Expr::Kind::member, next().place);
      out->text = name("a member");
      out->children.push_back(std::move(left));
      if (out->text == "lookahead" && take("<")) {
        out->types.push_back(type());
        expect(">");
      }
      left = std::move(out);
    } else if (is("(")) {
      ExprPtr out = make_expr(Expr::Kind::call, next().place);
      out->children.push_back(std::move(left));
      if (!is(")")) do {
          if (peek().is_name() && peek(1).is("=")) refuse(place(), "an argument by name");
          out->children.push_back(expression());
        } while (take(","));
      expect(")");
      left = std::move(out);
    } else if (is("[")) {
      ExprPtr out = make_expr(Expr::Kind::slice, next().place);
      out->children.push_back(std::move(left));
      out->children.push_back(expression());
      if (is("]")) refuse(out->place, "an index into an array of headers");
      expect(":");
      out->children.push_back(expression());
      expect("]");
      left = std::move(out);
    } else {
      return left;
    }
  }
}

ExprPtr ExpressionParser::primary() {
  const Place at = place();
  if (peek().kind == Token::Kind::number) return number();
  if (take("(")) {
    ExprPtr inside = expression();
    expect(")");
    return inside;
  }
  if (take("{")) {
    ExprPtr out = make_expr(Expr::Kind::list, at);
    do {
      if (peek().is_name() && peek(1).is("=")) refuse(place(), "a list with names");
      out->children.push_back(expression());
    } while (take(","));
    expect("}");
    return out;
  }
  if (is("true") || is("false")) {
    ExprPtr out = make_expr(Expr::Kind::boolean, at);
    out->number = next().text == "true" ? 1 : 0;
    return out;
  }
  if (peek().kind == Token::Kind::text) refuse(at, "a string");
  return make_expr(Expr::Kind::name, at, name("an expression"));
}

// 17, 0x11, 32w17, 8w0x11.
ExprPtr ExpressionParser::number() {
  const Token &token = next();
  ExprPtr out = make_expr(Expr::Kind::number, token.place, token.text);
  std::string_view digits = token.text;
  const std::size_t letter = digits.find_first_not_of("0123456789_");
  if (letter != std::string_view::npos && digits[letter] == 's') refuse(token.place, "a signed number");
  if (letter != std::string_view::npos && digits[letter] == 'w') {
    const Int width = number_of(token, digits.substr(0, letter));
    digits.remove_prefix(letter + 1);
    if (width < 1 || width > 64) refuse(token.place, "a width outside 1 to 64: " + token.text);
    out->width = static_cast<unsigned>(width);
  }
  out->number = number_of(token, digits);
  if (out->width != 0 && out->number >> out->width != 0)
    wrong(token.place, token.text + " does not fit its width");
  return out;
}

} // namespace weir::test::p4_16
