#include "tests/p4/model/lexer.hpp"

#include <array>
#include <cctype>

namespace weir::test::p4_16 {
namespace {

// Longest first. `>>` is left as two tokens, glued: it may close two brackets as well as shift.
constexpr std::array<std::string_view, 15> long_symbols{
    "&&&", "|+|", "|-|", "<<=", "..", "&&", "||", "==", "!=", "<=", ">=", "<<", "++", "##", "::"};
constexpr std::string_view short_symbols = "(){}[]<>;:,.=+-*/%&|^~!?#@";

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool continues_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class Lexer {
public:
  Lexer(std::string_view text, unsigned line) : text_(text), line_(line) {}

  Tokens run() {
    while (skip_blanks()) next();
    add(Token::Kind::end, "");
    return std::move(tokens_);
  }

private:
  [[nodiscard]] bool at(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  // False at the end of the text.
  bool skip_blanks() {
    while (at_ < text_.size()) {
      if (at("\\\n")) {
        ++line_;
        at_ += 2;
      } else if (peek() == '\n') {
        ++line_;
        ++at_;
        opens_line_ = true;
      } else if (std::isspace(static_cast<unsigned char>(peek())) != 0) {
        ++at_;
      } else if (at("//")) {
        skip_line_comment();
      } else if (at("/*")) {
        skip_block_comment();
      } else {
        return true;
      }
      glued_ = false;
    }
    return false;
  }

  void skip_line_comment() {
    while (at_ < text_.size() && peek() != '\n') {
      if (at("\\\n")) wrong({line_}, "a comment that goes on after a backslash: give it lines of its own");
      ++at_;
    }
  }

  void skip_block_comment() {
    const unsigned begun = line_;
    const std::size_t close = text_.find("*/", at_ + 2);
    if (close == std::string_view::npos) wrong({begun}, "a comment that is never closed");
    for (; at_ < close + 2; ++at_)
      if (peek() == '\n') ++line_;
  }

  void next() {
    const std::size_t begin = at_;
    if (begins_name(peek())) {
      while (continues_name(peek())) ++at_;
      return add(Token::Kind::name, text_.substr(begin, at_ - begin));
    }
    if (std::isdigit(static_cast<unsigned char>(peek())) != 0) {
      while (continues_name(peek())) ++at_;
      return add(Token::Kind::number, text_.substr(begin, at_ - begin));
    }
    if (peek() == '"') return quoted();
    for (const std::string_view symbol : long_symbols)
      if (at(symbol)) return symbol_of(symbol.size());
    if (short_symbols.find(peek()) != std::string_view::npos) return symbol_of(1);
    wrong({line_}, std::string("a character that P4 does not use: ") + peek());
  }

  void symbol_of(std::size_t characters) {
    at_ += characters;
    add(Token::Kind::symbol, text_.substr(at_ - characters, characters));
  }

  void quoted() {
    const std::size_t close = text_.find_first_of("\"\\\n", at_ + 1);
    if (close == std::string_view::npos || text_[close] != '"')
      wrong({line_}, "a string that does not end on its line, or holds a backslash");
    const std::string_view inside = text_.substr(at_ + 1, close - at_ - 1);
    at_ = close + 1;
    add(Token::Kind::text, inside);
  }

  void add(Token::Kind kind, std::string_view text) {
    tokens_.push_back({kind, opens_line_, glued_, {line_}, std::string(text)});
    opens_line_ = false;
    glued_ = true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  unsigned line_;
  bool opens_line_ = true;
  bool glued_ = false;
  Tokens tokens_;
};

} // namespace

Tokens lex(std::string_view text, unsigned first_line) { return Lexer(text, first_line).run(); }

Int number_of(const Token &token, std::string_view digits) {
  unsigned base = 10;
  if (digits.size() > 1 && digits[0] == '0' && std::string_view("xXbBoO").contains(digits[1])) {
    const char letter = digits[1];
    base = letter == 'x' || letter == 'X' ? 16 : letter == 'b' || letter == 'B' ? 2 : 8;
    digits.remove_prefix(2);
  }
  Int value = 0;
  bool any = false;
  for (const char c : digits) {
    if (c == '_') continue;
    const int low = c | 0x20;
    const unsigned digit = c >= '0' && c <= '9'       ? unsigned(c - '0')
                           : low >= 'a' && low <= 'f' ? unsigned(low - 'a' + 10)
                                                      : 99;
    if (digit >= base) wrong(token.place, "not a number: " + token.text);
    value = value * base + digit;
    any = true;
    if (value >> 64 != 0) refuse(token.place, "a number of more than 64 bits: " + token.text);
  }
  if (!any) wrong(token.place, "not a number: " + token.text);
  return value;
}

} // namespace weir::test::p4_16
