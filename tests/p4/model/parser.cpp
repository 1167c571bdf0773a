#include "tests/p4/model/parser.hpp"

#include <algorithm>

namespace weir::test::p4_16 {
namespace {

class Parser : ExpressionParser {
public:
  using ExpressionParser::ExpressionParser;
  Source run();

private:
  void declaration();
  void alias();
  void record();
  Block block();
  void control_body(Block &block);
  void parser_body(Block &block);
  Action action();
  Table table();
  State state();
  void transition(State &state);
  std::vector<Parameter> parameters();
  Instance instance();
  StmtPtr constant();
  StmtPtr variable();
  StmtPtr statement();
  StmtPtr braces();
  StmtPtr branch();
  StmtPtr assignment_or_call();
  [[noreturn]] void refuse_here() { refuse(place(), peek().text); }

  Source source_;
};

StmtPtr make_stmt(Stmt::Kind kind, Place place) {
  auto stmt = std::make_unique<Stmt>();
  stmt->kind = kind;
  stmt->place = place;
  return stmt;
}

Source Parser::run() {
  while (peek().kind != Token::Kind::end) declaration();
  return std::move(source_);
}

void Parser::declaration() {
  if (take(";")) return;
  if (is("typedef")) return alias();
  if (is("header") || is("struct")) return record();
  if (is("const")) {
    source_.order.emplace_back(Source::Kind::constant, source_.constants.size());
    return source_.constants.push_back(constant());
  }
  if (is("action")) return source_.actions.push_back(action());
  if (is("parser") || is("control")) return source_.blocks.push_back(block());
  if (is("PNA_NIC") || at_type()) return source_.instances.push_back(instance());
  if (peek().is_name() || is("@")) refuse_here(); // enum, extern, error, type, annotations ...
  wrong(place(), "expected a declaration, found '" + peek().text + "'");
}

void Parser::alias() {
  Alias out;
  out.place = next().place;
  out.type = type();
  out.name = name("the name of a type");
  expect(";");
  declare_type(out.place, out.name);
  source_.order.emplace_back(Source::Kind::alias, source_.aliases.size());
  source_.aliases.push_back(std::move(out));
}

void Parser::record() {
  Record out;
  out.place = place();
  out.header = next().text == "header";
  out.name = name("the name of a type");
  expect("{");
  while (!take("}")) {
    if (is("@")) refuse_here();
    Field field;
    field.place = place();
    field.type = type();
    field.name = name("a field");
    expect(";");
    out.fields.push_back(std::move(field));
  }
  declare_type(out.place, out.name);
  source_.order.emplace_back(Source::Kind::record, source_.records.size());
  source_.records.push_back(std::move(out));
}

std::vector<Parameter> Parser::parameters() {
  std::vector<Parameter> out;
  expect("(");
  if (take(")")) return out;
  do {
    using Direction = Parameter::Direction;
    Parameter parameter;
    parameter.place = place();
    parameter.direction = take("in")      ? Direction::in
                          : take("out")   ? Direction::out
                          : take("inout") ? Direction::inout
                                          : Direction::none;
    parameter.type = type();
    parameter.name = name("a parameter");
    out.push_back(std::move(parameter));
  } while (take(","));
  expect(")");
  return out;
}

Block Parser::block() {
  Block out;
  out.place = place();
  out.parser = next().text == "parser";
  out.name = name("a name");
  if (is("<")) refuse(place(), "type parameters");
  out.parameters = parameters();
  if (is("(")) refuse(place(), "parameters of a constructor");
  expect("{");
  for (;;) {
    if (is("const"))
      out.locals.push_back(constant());
    else if (at_type() && (peek(1).is("(") || (peek(1).is("<") && !is("bit"))))
      out.instances.push_back(instance());
    else if (at_type())
      out.locals.push_back(variable());
    else if (is("action") && !out.parser)
      out.actions.push_back(action());
    else if (is("table") && !out.parser)
      out.tables.push_back(table());
    else
      break;
  }
  if (out.parser)
    parser_body(out);
  else
    control_body(out);
  declare_type(out.place, out.name);
  return out;
}

void Parser::control_body(Block &out) {
  if (is("@")) refuse_here();
  expect("apply");
  out.body = braces();
  expect("}");
}

void Parser::parser_body(Block &out) {
  if (is("value_set") || is("@")) refuse_here();
  do out.states.push_back(state());
  while (!take("}"));
}

Action Parser::action() {
  Action out;
  out.place = next().place;
  out.name = name("an action");
  out.parameters = parameters();
  out.body = braces();
  return out;
}

Table Parser::table() {
  Table out;
  out.place = next().place;
  out.name = name("a table");
  expect("{");
  while (!take("}")) {
    const bool constant = take("const");
    const Place at = place();
    const std::string property = name("a property");
    expect("=");
    if (property == "actions" && !constant) {
      expect("{");
      while (!take("}")) {
        out.actions.push_back(name("an action"));
        expect(";");
      }
      take(";");
    } else if (property == "key" && !constant && take("{")) {
      if (!is("}")) refuse(at, "a table with a key");
      next();
      take(";");
    } else if (property == "default_action") {
      out.default_action = name("an action");
      if (take("(")) expect(")");
      expect(";");
    } else if (property == "size" && !constant) { // of entries that it never has
      expression();
      expect(";");
    } else {
      refuse(at, property + " of a table");
    }
  }
  if (std::ranges::find(out.actions, out.default_action) == out.actions.end())
    wrong(out.place, out.name + " needs a default_action that is among its actions");
  return out;
}

State Parser::state() {
  State out;
  out.place = place();
  expect("state");
  out.name = name("a state");
  expect("{");
  while (!is("transition")) {
    if (is("}")) refuse(out.place, "a state without a transition");
    out.statements.push_back(statement());
  }
  next();
  transition(out);
  expect("}");
  return out;
}

void Parser::transition(State &out) {
  if (!take("select")) {
    out.next = name("a state");
    return expect(";");
  }
  expect("(");
  do out.keys.push_back(expression());
  while (take(","));
  expect(")");
  expect("{");
  while (!take("}")) {
    SelectCase one;
    one.place = place();
    if (is("(") && out.keys.size() > 1) {
      next();
      do one.keys.push_back(keyset());
      while (take(","));
      expect(")");
    } else {
      one.keys.push_back(keyset());
    }
    expect(":");
    one.state = name("a state");
    expect(";");
    out.cases.push_back(std::move(one));
  }
}

Instance Parser::instance() {
  Instance out;
  out.place = place();
  if (is("PNA_NIC"))
    out.type = {place(), next().text, nullptr, {}};
  else
    out.type = type();
  expect("(");
  if (!is(")")) do
      out.arguments.push_back(expression());
    while (take(","));
  expect(")");
  if (is("=")) refuse(place(), "an instance with a body");
  out.name = name("a name");
  expect(";");
  return out;
}

StmtPtr Parser::constant() {
  StmtPtr out = make_stmt(Stmt::Kind::constant, next().place);
  out->type = type();
  out->name = name("a constant");
  expect("=");
  out->value = expression();
  expect(";");
  return out;
}

StmtPtr Parser::variable() {
  StmtPtr out = make_stmt(Stmt::Kind::variable, place());
  out->type = type();
  out->name = name("a variable");
  if (take("=")) out->value = expression();
  expect(";");
  return out;
}

StmtPtr Parser::braces() {
  StmtPtr out = make_stmt(Stmt::Kind::block, place());
  expect("{");
  while (!take("}")) out->statements.push_back(statement());
  return out;
}

StmtPtr Parser::statement() {
  static const std::set<std::string, std::less<>> unknown{"int",   "varbit", "tuple",    "switch", "for",
                                                          "while", "break",  "continue", "table",  "@"};
  if (unknown.contains(peek().text)) refuse_here();
  if (is("{")) return braces();
  if (is("if")) return branch();
  if (is("const")) return constant();
  if (is("return") || is("exit")) {
    StmtPtr out = make_stmt(is("exit") ? Stmt::Kind::exit : Stmt::Kind::leave, place());
    next();
    if (!is(";")) refuse(place(), "a value to return");
    next();
    return out;
  }
  if (is(";")) return make_stmt(Stmt::Kind::block, next().place);
  return at_type() ? variable() : assignment_or_call();
}

StmtPtr Parser::branch() {
  StmtPtr out = make_stmt(Stmt::Kind::branch, next().place);
  expect("(");
  out->value = expression();
  expect(")");
  out->statements.push_back(statement());
  if (take("else")) out->statements.push_back(statement());
  return out;
}

StmtPtr Parser::assignment_or_call() {
  StmtPtr out = make_stmt(Stmt::Kind::call, place());
  ExprPtr left = expression();
  if (is("=")) {
    out->kind = Stmt::Kind::assign;
    out->place = next().place;
    out->target = std::move(left);
    out->value = expression();
  } else {
    if (left->kind != Expr::Kind::call) wrong(place(), "expected '=' or a call, found '" + peek().text + "'");
    out->value = std::move(left);
  }
  expect(";");
  return out;
}

} // namespace

Source parse_source(const Tokens &tokens) { return Parser(tokens).run(); }

} // namespace weir::test::p4_16
