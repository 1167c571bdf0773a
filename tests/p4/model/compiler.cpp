#include "tests/p4/model/compiler.hpp"

#include <algorithm>
#include <tuple>

namespace weir::test::p4_16 {

void Compiler::run() {
  declare_globals();
  const Instance &nic = package();
  const Block &first = block_of(*nic.arguments[0], true);
  allocate(first);
  parser(first);

  const Block &pre = block_of(*nic.arguments[1], false);
  if (!pre.body->statements.empty() || !pre.locals.empty())
    refuse(pre.place, "a pre control that does something");

  const Block &main = block_of(*nic.arguments[2], false);
  const Block &deparser = block_of(*nic.arguments[3], false);
  part_ = Part::control;
  in_scope(&globals_, [&] {
    bind(main, {"inout headers", "inout metadata", "in pna_main_input_metadata_t",
                "inout pna_main_output_metadata_t"});
    control_body(main);
  });
  writer_.write({Op::decide}, main.place);
  part_ = Part::deparser;
  in_scope(&globals_, [&] {
    bind(deparser, {"packet_out", "in headers", "in metadata", "in pna_main_output_metadata_t"});
    control_body(deparser);
  });
  writer_.write({Op::finish}, deparser.place);
}

void Compiler::declare_globals() {
  const auto evaluate = [this](const Expr &width) { return constant_of(width); };
  for (const auto &[kind, index] : source_.order) switch (kind) {
    case Source::Kind::alias: types_.add(source_.aliases[index], evaluate); break;
    case Source::Kind::record: types_.add(source_.records[index], code_, evaluate); break;
    case Source::Kind::constant: constant(*source_.constants[index]); break;
    }
  for (const Instance &instance : source_.instances)
    if (instance.type.name != "PNA_NIC") declare_instance(instance, globals_);
  for (const Action &action : source_.actions) {
    Symbol symbol;
    symbol.kind = Symbol::Kind::action;
    symbol.path = action.name;
    symbol.action = &action;
    symbol.home = &globals_;
    globals_.add(action.place, action.name, std::move(symbol));
  }
  code_.input_port = writer_.variables(1);
}

const Instance &Compiler::package() const {
  const auto found = std::ranges::find(source_.instances, "PNA_NIC",
                                       [](const Instance &instance) { return instance.type.name; });
  if (found == source_.instances.end()) wrong({1}, "there is no PNA_NIC(...) main;");
  if (found->arguments.size() != 4 || found->name != "main")
    wrong(found->place, "expected PNA_NIC(parser, pre control, control, deparser) main;");
  return *found;
}

const Block &Compiler::block_of(const Expr &argument, bool parser) const {
  const bool instance = argument.kind == Expr::Kind::call && argument.children.size() == 1 &&
                        argument.children[0]->kind == Expr::Kind::name;
  const auto found = instance ? std::ranges::find(source_.blocks, argument.children[0]->text, &Block::name)
                              : source_.blocks.end();
  if (found == source_.blocks.end() || found->parser != parser)
    wrong(argument.place,
          std::string("expected the name of a ") + (parser ? "parser" : "control") + " and ()");
  return *found;
}

// The slots of headers and metadata, which all parts of the program share.
void Compiler::allocate(const Block &parser) {
  const auto evaluate = [this](const Expr &width) { return constant_of(width); };
  if (parser.parameters.size() != 4) wrong(parser.place, parser.name + " needs 4 parameters");
  const auto take = [&](const Parameter &parameter) {
    const Type type = types_.resolve(parameter.type, evaluate);
    if (type.kind != Type::Kind::record || types_.record(type).header)
      wrong(parameter.place, parameter.name + " is no struct");
    return std::pair(type, writer_.variables(types_.slots(type)));
  };
  std::tie(headers_type_, headers_) = take(parser.parameters[1]);
  std::tie(metadata_type_, metadata_) = take(parser.parameters[2]);
  const std::function<void(const Type &, std::uint32_t)> note = [&](const Type &type, std::uint32_t slot) {
    if (type.kind != Type::Kind::record) return;
    if (types_.record(type).header) code_.validity.push_back(slot);
    for (const RecordLayout::Member &member : types_.record(type).members)
      note(member.type, slot + member.slot);
  };
  note(headers_type_, headers_);
  note(metadata_type_, metadata_);
}

// Gives the parameters of a block of the architecture their variables. Each shape is a direction and a
// type; headers and metadata are the program's own types, the same ones in every block.
void Compiler::bind(const Block &block, std::initializer_list<const char *> shapes) {
  using Direction = Parameter::Direction;
  const auto evaluate = [this](const Expr &width) { return constant_of(width); };
  if (block.parameters.size() != shapes.size())
    wrong(block.place, block.name + " needs " + std::to_string(shapes.size()) + " parameters");
  auto shape = shapes.begin();
  for (const Parameter &parameter : block.parameters) {
    std::string wanted = *shape++;
    const std::string direction = parameter.direction == Direction::none    ? ""
                                  : parameter.direction == Direction::in    ? "in "
                                  : parameter.direction == Direction::inout ? "inout "
                                                                            : "out ";
    if (!wanted.starts_with(direction) || (direction.empty() && wanted.contains(' ')))
      wrong(parameter.place, parameter.name + " has the wrong direction: expected " + wanted);
    wanted.erase(0, direction.size());

    Symbol symbol;
    symbol.type = types_.resolve(parameter.type, evaluate);
    symbol.path = parameter.name;
    symbol.writable = parameter.direction != Direction::in;
    symbol.slot = code_.input_port;
    if (wanted == "headers" || wanted == "metadata") {
      if (symbol.type != (wanted == "headers" ? headers_type_ : metadata_type_))
        wrong(parameter.place, parameter.name + " is not the struct of " + wanted + " that the parser has");
      symbol.slot = wanted == "headers" ? headers_ : metadata_;
    } else if (parameter.type.name != wanted) {
      wrong(parameter.place, parameter.name + " has the wrong type: expected " + wanted);
    }
    scope_->add(parameter.place, parameter.name, std::move(symbol));
  }
}

void Compiler::declare_locals(const Block &block) {
  for (const StmtPtr &local : block.locals) statement(*local);
  for (const Instance &instance : block.instances) declare_instance(instance, *scope_);
  for (const Action &action : block.actions) {
    Symbol symbol;
    symbol.kind = Symbol::Kind::action;
    symbol.path = action.name;
    symbol.action = &action;
    symbol.home = scope_;
    scope_->add(action.place, action.name, std::move(symbol));
  }
  for (const Table &table : block.tables) {
    Symbol symbol;
    symbol.kind = Symbol::Kind::table;
    symbol.path = table.name;
    symbol.table = &table;
    symbol.home = scope_;
    scope_->add(table.place, table.name, std::move(symbol));
  }
}

// Also of a control that another one applies: then exit goes on to the end of the outer one.
void Compiler::control_body(const Block &block) {
  Label end;
  Label *const leave_before = std::exchange(leave_, &end);
  Label *const exit_before = exit_;
  if (!exit_) exit_ = &end;
  declare_locals(block);
  statement(*block.body);
  if (!subroutines_.empty()) {
    writer_.jump(end, block.place);
    write_subroutines();
  }
  writer_.bind(end);
  exit_ = exit_before;
  leave_ = leave_before;
}

// ---- the parser

// States such that every one stands before those that it goes to. The target runs loops; here a loop
// would have to be bounded, and none is needed.
std::vector<const State *> Compiler::in_order(const Block &block) {
  std::map<std::string, unsigned> mark; // 1: underway, 2: done
  std::vector<const State *> out;
  const std::function<void(const std::string &, Place)> visit = [&](const std::string &name, Place from) {
    if (name == "accept") return;
    if (name == "reject") refuse(from, "transition to reject");
    const auto found = std::ranges::find(block.states, name, &State::name);
    if (found == block.states.end()) wrong(from, "there is no state " + name);
    unsigned &at = mark[name];
    if (at == 1) refuse(from, "a loop of states, back to " + name);
    if (at == 2) return;
    at = 1;
    if (found->keys.empty()) visit(found->next, found->place);
    for (const SelectCase &one : found->cases) visit(one.state, one.place);
    mark[name] = 2;
    out.push_back(&*found);
  };
  visit("start", block.place);
  for (const State &state : block.states)
    if (mark[state.name] == 0) wrong(state.place, "no state goes to " + state.name);
  std::ranges::reverse(out);
  return out;
}

void Compiler::parser(const Block &block) {
  in_scope(&globals_, [&] {
    bind(block, {"packet_in", "out headers", "inout metadata", "in pna_main_parser_input_metadata_t"});
    writer_.learn(code_.input_port);

    declare_locals(block);
    std::map<std::string, Label> labels;
    for (const State *one : in_order(block)) {
      if (one->name != "start") writer_.bind(labels[one->name]);
      in_scope(scope_, [&] { state(*one, labels); });
    }
    writer_.bind(labels["accept"]);
  });
}

void Compiler::state(const State &state, std::map<std::string, Label> &labels) {
  for (const StmtPtr &one : state.statements) statement(*one);
  writer_.release_results();
  if (state.keys.empty()) return writer_.jump(labels[state.next], state.place);
  select(state, labels);
}

void Compiler::select(const State &state, std::map<std::string, Label> &labels) {
  std::vector<Value> subjects;
  for (const ExprPtr &key : state.keys) subjects.push_back(value(*key));
  for (const SelectCase &one : state.cases) {
    const bool rest = one.keys.size() == 1 && one.keys[0]->kind == Expr::Kind::any;
    if (!rest && one.keys.size() != subjects.size())
      wrong(one.place, "a case needs " + std::to_string(subjects.size()) + " values");
    Label miss;
    for (std::size_t i = 0; i < one.keys.size(); ++i) match(*one.keys[i], subjects[i], miss);
    writer_.jump(labels[one.state], one.place);
    writer_.bind(miss);
  }
  writer_.write({Op::fail, 64, 0, 0, 0, writer_.name("no case of the select matches")}, state.place);
}

void Compiler::match(const Expr &key, const Value &subject, Label &miss) {
  if (key.kind == Expr::Kind::any) return;
  const auto slot = [&](const Expr &expr) {
    return slot_of(convert(constant_of(expr), subject.type, expr.place), expr.place);
  };
  const std::uint32_t of = slot_of(subject, key.place);
  const bool masked = key.kind == Expr::Kind::binary && key.text == "&&&";
  const bool range = key.kind == Expr::Kind::binary && key.text == "..";
  if (masked) {
    const Value bits = compute(Op::both, subject.type, of, slot(*key.children[1]), key.place);
    const Value wanted =
        compute(Op::both, subject.type, slot(*key.children[0]), slot(*key.children[1]), key.place);
    writer_.jump(Op::jump_unequal, bits.slot, wanted.slot, miss, key.place);
  } else if (range) {
    writer_.jump(Op::jump_less, of, slot(*key.children[0]), miss, key.place);
    writer_.jump(Op::jump_less, slot(*key.children[1]), of, miss, key.place);
  } else {
    writer_.jump(Op::jump_unequal, of, slot(key), miss, key.place);
  }
}

Code compile(const Source &source) {
  Code code;
  Compiler(source, code).run();
  return code;
}

} // namespace weir::test::p4_16
