// From the syntax tree to code: names looked up, types checked, constants computed, actions and controls
// written out where they are called. What the target does otherwise than P4 says is refused here or made
// an error of the run: a hash over a header's fields (the target takes their bytes as they lie in the
// packet), reading what has no value, an extract past the packet's end, a shift by 64 bits or more, an
// index past the end of an array.
#pragma once

#include "tests/p4/model/code_writer.hpp"
#include "tests/p4/model/types.hpp"

#include <functional>

namespace weir::test::p4_16 {

// Throws SourceError.
[[nodiscard]] Code compile(const Source &source);

class Compiler {
public:
  Compiler(const Source &source, Code &code) : source_(source), code_(code), writer_(code) {}
  void run();

private:
  using Label = CodeWriter::Label;
  enum class Part : std::uint8_t { parser, control, deparser };

  // A variable, or one field or record within it.
  struct Location {
    Type type;
    std::uint32_t slot = 0;
    std::uint32_t header = 0; // slot of the validity of the header that it is a field of
    bool in_header = false;
    bool writable = true;
    std::string path;
  };

  // ---- expressions (p4_compile_expressions.cpp)
  Value value(const Expr &expr);
  Value value_as(const Expr &expr, const Type &wanted);
  Value convert(Value from, const Type &wanted, Place place);
  Value constant_of(const Expr &expr);
  std::uint64_t number_of_constant(const Expr &expr);
  std::uint32_t slot_of(const Value &value, Place place);
  std::uint32_t slot_of(const Expr &expr, const Type &wanted) {
    return slot_of(value_as(expr, wanted), expr.place);
  }
  Value name(const Expr &expr);
  Value unary(const Expr &expr);
  Value binary(const Expr &expr);
  Value shift(const Expr &expr);
  Value join(const Expr &expr);
  Value choice(const Expr &expr);
  Value cast(const Expr &expr);
  Value slice(const Expr &expr);
  Value compute(Op op, const Type &type, std::uint32_t a, std::uint32_t b, Place place);
  std::pair<Value, Value> operands(const Expr &expr);
  std::pair<unsigned, unsigned> slice_bounds(const Expr &expr, const Type &of);
  void condition(const Expr &expr, bool when, Label &target);
  bool compare(const Expr &expr, bool when, Label &target);
  static Value make_constant(Type type, Int number) { return {type, true, number, 0}; }

  // ---- externs (p4_compile_externs.cpp)
  Value call_value(const Expr &call);
  void call(const Expr &call);
  void declare_instance(const Instance &instance, Scope &scope);
  void declare_array(const Instance &instance, Symbol &symbol);
  void declare_counter(const Instance &instance, Symbol &symbol);
  std::uint32_t add_array(const Instance &instance, const std::string &name, unsigned width,
                          std::uint64_t initial);
  const Symbol *object_of(const Expr &call) const; // the x of x.method(...), if x is a bare name
  Value register_read(const Symbol &array, const Expr &call);
  void register_write(const Symbol &array, const Expr &call);
  void counter_count(const Symbol &counter, const Expr &call);
  void hash_word(const Expr &word, bool alone, std::vector<std::uint32_t> &words);
  Value get_hash(const Expr &call);
  Value packet_in_value(const Expr &call);
  void packet_in_call(const Expr &call);
  void packet_out_emit(const Expr &call);
  void emit(const Location &from, Place place);
  void set_validity(const Expr &call);
  bool forward(const Expr &call);
  void takes(const Expr &call, std::size_t arguments) const;

  // ---- statements (p4_compile_statements.cpp)
  void statement(const Stmt &stmt);
  void block(const Stmt &stmt);
  void variable(const Stmt &stmt);
  void constant(const Stmt &stmt);
  void assign(const Stmt &stmt);
  void branch(const Stmt &stmt);
  void store(const Value &from, const Location &to, Place place);
  void call_action(const Symbol &action, const Expr &call);
  void call_table(const Symbol &table, const Expr &call);
  void write_subroutines();
  void call_control(const Symbol &control, const Expr &call);
  void bind_parameters(const std::vector<Parameter> &parameters, const Expr &call, Scope &inner,
                       std::vector<std::pair<Location, Location>> &results);
  void in_scope(const Scope *outer, const std::function<void()> &body);
  Location location(const Expr &expr);
  Location writable_location(const Expr &expr);
  Location location_of(const Symbol &symbol) const;

  // ---- blocks (p4_compiler.cpp)
  void declare_globals();
  const Instance &package() const;
  const Block &block_of(const Expr &argument, bool parser) const;
  void allocate(const Block &parser);
  void parser(const Block &block);
  void state(const State &state, std::map<std::string, Label> &labels);
  void select(const State &state, std::map<std::string, Label> &labels);
  void match(const Expr &key, const Value &subject, Label &miss);
  void control_body(const Block &block);
  void declare_locals(const Block &block);
  void bind(const Block &block, std::initializer_list<const char *> shapes);
  static std::vector<const State *> in_order(const Block &block);

  const Source &source_;
  Code &code_;
  CodeWriter writer_;
  TypeTable types_;
  Scope globals_;
  Scope *scope_ = &globals_;
  Part part_ = Part::parser;
  Type headers_type_, metadata_type_;
  std::uint32_t headers_ = 0, metadata_ = 0;
  Label *leave_ = nullptr; // where return goes
  Label *exit_ = nullptr;
  struct Subroutine {
    const Symbol *action;
    Label begin;
  };
  std::vector<Subroutine> subroutines_; // called, to be written at the end of the control
  bool in_action_ = false;
  bool in_subroutine_ = false;
  unsigned open_results_ = 0; // actions underway that must copy something out
  unsigned depth_ = 0;        // of calls
};

} // namespace weir::test::p4_16
