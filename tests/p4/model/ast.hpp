// The syntax tree of a P4 program: what was written, with nothing looked up yet. Nodes own their
// children and know the place that an error about them names.
#pragma once

#include "tests/p4/model/lexer.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weir::test::p4_16 {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

// bit<W>, bool, a declared name, or a name with arguments as in Register<bit<64>, bit<32>>.
struct TypeName {
  Place place;
  std::string name;
  ExprPtr width; // of bit
  std::vector<TypeName> arguments;
};

struct Expr {
  enum class Kind : std::uint8_t {
    number,  // `number`, `width` bits wide; width 0: takes the width that is wanted
    boolean, // number 0 or 1
    name,    // text
    member,  // children[0].text
    call,    // children[0](children[1..])
    unary,   // text is the operator
    binary,  // text is the operator; in a select also &&& and ..
    ternary, // children[0] ? [1] : [2]
    cast,    // (type) children[0]
    slice,   // children[0][children[1]:children[2]]
    list,    // { children }
    any,     // default or _ in a select
  };

  Kind kind = Kind::name;
  Place place;
  std::string text;
  Int number = 0;
  unsigned width = 0;
  std::vector<TypeName> types; // of a cast; type arguments of a member that is called
  std::vector<ExprPtr> children;
};

struct Stmt;
using StmtPtr = std::unique_ptr<Stmt>;

struct Stmt {
  enum class Kind : std::uint8_t {
    block,    // statements
    variable, // type name = value; value may be missing
    constant, // const type name = value
    assign,   // target = value
    call,     // value
    branch,   // if (value) statements[0] else statements[1], which may be missing
    leave,    // return
    exit,
  };

  Kind kind = Kind::block;
  Place place;
  TypeName type;
  std::string name;
  ExprPtr target, value;
  std::vector<StmtPtr> statements;
};

struct Field {
  Place place;
  TypeName type;
  std::string name;
};

struct Record {
  Place place;
  bool header = false; // otherwise a struct
  std::string name;
  std::vector<Field> fields;
};

struct Alias {
  Place place;
  TypeName type;
  std::string name;
};

// type(arguments) name;
struct Instance {
  Place place;
  TypeName type;
  std::vector<ExprPtr> arguments;
  std::string name;
};

struct Parameter {
  enum class Direction : std::uint8_t { none, in, out, inout };
  Place place;
  Direction direction = Direction::none;
  TypeName type;
  std::string name;
};

struct Action {
  Place place;
  std::string name;
  std::vector<Parameter> parameters;
  StmtPtr body;
};

// A table without a key: its default action, always.
struct Table {
  Place place;
  std::string name;
  std::vector<std::string> actions;
  std::string default_action;
};

struct SelectCase {
  Place place;
  std::vector<ExprPtr> keys;
  std::string state;
};

struct State {
  Place place;
  std::string name;
  std::vector<StmtPtr> statements;
  std::vector<ExprPtr> keys; // of the select; empty: goes to `next`
  std::vector<SelectCase> cases;
  std::string next;
};

// A parser (states) or a control (actions, body).
struct Block {
  Place place;
  bool parser = false;
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<StmtPtr> locals; // variables and constants
  std::vector<Instance> instances;
  std::vector<Action> actions;
  std::vector<Table> tables;
  std::vector<State> states;
  StmtPtr body;
};

struct Source {
  enum class Kind : std::uint8_t { alias, constant, record };
  std::vector<std::pair<Kind, std::size_t>> order; // in which the first three lists were written

  std::vector<Alias> aliases;
  std::vector<StmtPtr> constants;
  std::vector<Record> records;
  std::vector<Instance> instances; // the last one is the package
  std::vector<Action> actions;
  std::vector<Block> blocks;
};

} // namespace weir::test::p4_16
