#include "tests/p4/model/compiler.hpp"
#include "tests/p4/model/parser.hpp"

#include <algorithm>
#include <utility>

namespace weir::test::p4_16 {

void Compiler::statement(const Stmt &stmt) {
  using Kind = Stmt::Kind;
  writer_.release_results();
  switch (stmt.kind) {
  case Kind::block: return block(stmt);
  case Kind::variable: return variable(stmt);
  case Kind::constant: return constant(stmt);
  case Kind::assign: return assign(stmt);
  case Kind::call: return call(*stmt.value);
  case Kind::branch: return branch(stmt);
  case Kind::leave:
    if (!leave_) wrong(stmt.place, "there is nothing to return from");
    return writer_.jump(*leave_, stmt.place);
  case Kind::exit:
    if (!exit_) wrong(stmt.place, "exit belongs into a control");
    if (open_results_ > 0) refuse(stmt.place, "exit from an action with out or inout parameters");
    return writer_.jump(*exit_, stmt.place);
  }
}

void Compiler::in_scope(const Scope *outer, const std::function<void()> &body) {
  Scope inner{outer, {}};
  Scope *const before = std::exchange(scope_, &inner);
  const std::uint32_t mark = writer_.variables_end();
  body();
  writer_.drop_variables(mark);
  scope_ = before;
}

void Compiler::block(const Stmt &stmt) {
  in_scope(scope_, [&] {
    for (const StmtPtr &one : stmt.statements) statement(*one);
  });
}

void Compiler::variable(const Stmt &stmt) {
  const auto evaluate = [this](const Expr &width) { return constant_of(width); };
  Symbol symbol;
  symbol.type = types_.resolve(stmt.type, evaluate);
  symbol.path = stmt.name;
  const bool record = symbol.type.kind == Type::Kind::record;
  if (!symbol.type.is_scalar() && (!record || types_.record(symbol.type).header))
    refuse(stmt.place, "a variable of type " + types_.spell(symbol.type));
  if (record && stmt.value) refuse(stmt.place, "a struct with an initial value");
  Value first;
  if (stmt.value) first = value_as(*stmt.value, symbol.type);
  const std::uint32_t slots = types_.slots(symbol.type);
  symbol.slot = writer_.variables(slots);
  if (stmt.value)
    store(first, location_of(symbol), stmt.place);
  else
    writer_.write({Op::unset, 64, 0, 0, symbol.slot, slots}, stmt.place);
  scope_->add(stmt.place, stmt.name, std::move(symbol));
}

void Compiler::constant(const Stmt &stmt) {
  const auto evaluate = [this](const Expr &width) { return constant_of(width); };
  Symbol symbol;
  symbol.kind = Symbol::Kind::constant;
  symbol.type = types_.resolve(stmt.type, evaluate);
  symbol.value = convert(constant_of(*stmt.value), symbol.type, stmt.place);
  scope_->add(stmt.place, stmt.name, std::move(symbol));
}

void Compiler::branch(const Stmt &stmt) {
  Label otherwise, end;
  condition(*stmt.value, false, otherwise);
  const auto part = [&](const Stmt &inner) { in_scope(scope_, [&] { statement(inner); }); };
  part(*stmt.statements[0]);
  if (stmt.statements.size() == 1) return writer_.bind(otherwise);
  writer_.jump(end, stmt.place);
  writer_.bind(otherwise);
  part(*stmt.statements[1]);
  writer_.bind(end);
}

// ---- what stands on the left of =

Compiler::Location Compiler::location_of(const Symbol &symbol) const {
  return {symbol.type, symbol.slot, 0, false, symbol.writable, symbol.path};
}

Compiler::Location Compiler::location(const Expr &expr) {
  if (expr.kind == Expr::Kind::name) {
    const Symbol *symbol = scope_->find(expr.text);
    if (!symbol) wrong(expr.place, "nothing is called " + expr.text + " here");
    if (symbol->kind != Symbol::Kind::variable) wrong(expr.place, expr.text + " is no variable");
    return location_of(*symbol);
  }
  if (expr.kind != Expr::Kind::member) refuse(expr.place, "something else than a variable or a field here");
  Location of = location(*expr.children[0]);
  if (of.type.kind != Type::Kind::record) wrong(expr.place, of.path + " has no members");
  const RecordLayout &record = types_.record(of.type);
  const RecordLayout::Member *member = record.find(expr.text);
  if (!member)
    wrong(expr.place, of.path + " (" + record.name + ") has no member " + expr.text + " to be used");
  of.in_header = record.header;
  of.header = of.slot;
  of.slot += member->slot;
  of.type = member->type;
  of.path += "." + expr.text;
  return of;
}

Compiler::Location Compiler::writable_location(const Expr &expr) {
  Location to = location(expr);
  if (!to.writable) wrong(expr.place, to.path + " cannot be changed here");
  return to;
}

void Compiler::assign(const Stmt &stmt) {
  if (stmt.target->kind != Expr::Kind::slice) {
    const Location to = writable_location(*stmt.target);
    if (!to.type.is_scalar()) refuse(stmt.place, "an assignment to " + to.path + " as a whole");
    return store(value_as(*stmt.value, to.type), to, stmt.place);
  }
  const Location to = writable_location(*stmt.target->children[0]);
  const auto [high, low] = slice_bounds(*stmt.target, to.type);
  const std::uint32_t from = slot_of(*stmt.value, Type::bits(high - low + 1));
  writer_.need(to.slot, to.path, stmt.place);
  writer_.write(
      {Op::put, static_cast<std::uint8_t>(high - low + 1), static_cast<std::uint8_t>(low), to.slot, from, 0},
      stmt.place);
}

void Compiler::store(const Value &from, const Location &to, Place place) {
  if (to.in_header && !writer_.knows(to.header)) {
    // Before the value is moved: it may stand in an intermediate result that nothing else must disturb.
    writer_.write({Op::need_valid, 64, 0, 0, to.header, writer_.name(to.path)}, place);
    writer_.learn(to.header);
  }
  const std::uint32_t slot = slot_of(from, place);
  if (!writer_.redirect(slot, to.slot)) writer_.write({Op::move, 64, 0, to.slot, slot, 0}, place);
  writer_.learn(to.slot);
}

// ---- actions and controls, written out where they are called

void Compiler::bind_parameters(const std::vector<Parameter> &parameters, const Expr &call, Scope &inner,
                               std::vector<std::pair<Location, Location>> &results) {
  using Direction = Parameter::Direction;
  const auto evaluate = [this](const Expr &width) { return constant_of(width); };
  takes(call, parameters.size());
  std::vector<Location> records;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter &parameter = parameters[i];
    const Expr &argument = *call.children[i + 1];
    const bool comes_back = parameter.direction == Direction::out || parameter.direction == Direction::inout;
    Symbol symbol;
    symbol.type = types_.resolve(parameter.type, evaluate);
    symbol.path = parameter.name;
    symbol.writable = comes_back;
    if (symbol.type.is_scalar()) {
      Value first;
      if (parameter.direction != Direction::out) first = value_as(argument, symbol.type);
      symbol.slot = writer_.variables(1);
      const Location own{symbol.type, symbol.slot, 0, false, true, symbol.path};
      if (parameter.direction == Direction::out)
        writer_.write({Op::unset, 64, 0, 0, symbol.slot, 1}, argument.place);
      else
        store(first, own, argument.place);
      if (comes_back) results.emplace_back(own, writable_location(argument));
    } else {
      // Records are not copied: without a second name for the same one nobody can tell.
      const Location of = comes_back ? writable_location(argument) : location(argument);
      if (of.type != symbol.type) wrong(argument.place, of.path + " is no " + types_.spell(symbol.type));
      if (parameter.direction == Direction::out) refuse(parameter.place, "an out parameter of a record");
      for (const Location &other : records)
        if (of.slot < other.slot + types_.slots(other.type) && other.slot < of.slot + types_.slots(of.type))
          refuse(argument.place, of.path + " and " + other.path + " as arguments of one call");
      records.push_back(of);
      symbol.slot = of.slot;
    }
    inner.add(parameter.place, parameter.name, std::move(symbol));
  }
  for (const auto &[own, target] : results)
    if (own.type != target.type) wrong(call.place, target.path + " has another type than " + own.path);
}

void Compiler::call_action(const Symbol &action, const Expr &call) {
  if (++depth_ > 64) wrong(call.place, action.path + " calls itself");
  Scope inner{action.home, {}};
  std::vector<std::pair<Location, Location>> results;
  const std::uint32_t mark = writer_.variables_end();
  bind_parameters(action.action->parameters, call, inner, results);

  Label end;
  Scope *const before = std::exchange(scope_, &inner);
  Label *const leave_before = std::exchange(leave_, &end);
  if (!results.empty()) ++open_results_;
  const bool in_action_before = std::exchange(in_action_, true);
  statement(*action.action->body);
  in_action_ = in_action_before;
  writer_.bind(end);
  if (!results.empty()) --open_results_;
  leave_ = leave_before;
  scope_ = before;

  for (const auto &[own, target] : results) {
    writer_.need(own.slot, own.path, call.place);
    store({own.type, false, 0, own.slot}, target, call.place);
  }
  writer_.drop_variables(mark);
  --depth_;
}

// The action of a table is written once, behind the control that the table belongs to. What it knows of
// variables is what all its callers know.
void Compiler::call_table(const Symbol &table, const Expr &call) {
  takes(call, 0);
  if (in_action_) wrong(call.place, table.path + " is applied within an action");
  const Symbol *action = table.home->find(table.table->default_action);
  if (!action || action->kind != Symbol::Kind::action)
    wrong(table.table->place, "nothing is called " + table.table->default_action);
  if (!action->action->parameters.empty()) refuse(table.table->place, "a default_action with parameters");
  auto found = std::ranges::find(subroutines_, action, &Subroutine::action);
  if (found == subroutines_.end()) found = subroutines_.insert(found, {action, {}});
  writer_.jump(Op::call, 0, 0, found->begin, call.place);
}

void Compiler::write_subroutines() {
  writer_.keep_variables(); // callers are underway: their variables stay
  in_subroutine_ = true;
  for (Subroutine &one : subroutines_) {
    const Action &action = *one.action->action;
    Expr call;
    call.place = action.place;
    call.children.push_back(make_expr(Expr::Kind::name, action.place, action.name));
    writer_.bind(one.begin);
    call_action(*one.action, call);
    writer_.write({Op::back}, action.place);
  }
  in_subroutine_ = false;
  subroutines_.clear();
}

void Compiler::call_control(const Symbol &control, const Expr &call) {
  if (++depth_ > 64) wrong(call.place, control.path + " calls itself");
  Scope inner{&globals_, {}};
  std::vector<std::pair<Location, Location>> results;
  const std::uint32_t mark = writer_.variables_end();
  bind_parameters(control.block->parameters, call, inner, results);
  if (!results.empty()) refuse(call.place, "a control that gives back a number: let it take a struct");

  Scope *const before = std::exchange(scope_, &inner);
  auto outer_subroutines = std::exchange(subroutines_, {});
  control_body(*control.block);
  subroutines_ = std::move(outer_subroutines);
  scope_ = before;
  writer_.drop_variables(mark);
  --depth_;
}

} // namespace weir::test::p4_16
