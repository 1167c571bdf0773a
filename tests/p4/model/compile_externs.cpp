#include "tests/p4/model/compiler.hpp"

#include <algorithm>
#include <set>

namespace weir::test::p4_16 {
namespace {

// Algorithms of PNA that p4c-dpdk makes `hash jhash` of: it tells them apart by their number.
const std::set<std::string, std::less<>> jhash_names{"IDENTITY", "ONES_COMPLEMENT16"};

// The M of PNA_SomeEnum_t.M.
const std::string &member_of_enum(const Expr &expr, const std::string &name) {
  if (expr.kind != Expr::Kind::member || expr.children[0]->kind != Expr::Kind::name ||
      expr.children[0]->text != name)
    wrong(expr.place, "expected a member of " + name);
  return expr.text;
}

} // namespace

void Compiler::takes(const Expr &call, std::size_t arguments) const {
  if (call.children.size() != arguments + 1)
    wrong(call.place, call.children[0]->text + " takes " + std::to_string(arguments) +
                          " arguments here, not " + std::to_string(call.children.size() - 1));
}

const Symbol *Compiler::object_of(const Expr &call) const {
  const Expr &callee = *call.children[0];
  if (callee.kind != Expr::Kind::member || callee.children[0]->kind != Expr::Kind::name) return nullptr;
  return scope_->find(callee.children[0]->text);
}

// ---- calls

Value Compiler::call_value(const Expr &call) {
  const Expr &callee = *call.children[0];
  if (callee.kind != Expr::Kind::member) refuse(call.place, "a function that gives a value");
  if (const Symbol *object = object_of(call)) {
    using Kind = Symbol::Kind;
    if (object->kind == Kind::array && callee.text == "read") return register_read(*object, call);
    if (object->kind == Kind::hash && callee.text == "get_hash") return get_hash(call);
    if (object->type.kind == Type::Kind::packet_in) return packet_in_value(call);
    if (object->kind != Kind::variable) refuse(call.place, callee.text + " of " + callee.children[0]->text);
  }
  const Location from = location(*callee.children[0]);
  const bool header = from.type.kind == Type::Kind::record && types_.record(from.type).header;
  if (!header || callee.text != "isValid") refuse(call.place, callee.text + " of " + from.path);
  takes(call, 0);
  return {Type::boolean(), false, 0, from.slot};
}

void Compiler::call(const Expr &call) {
  const Expr &callee = *call.children[0];
  if (callee.kind == Expr::Kind::name) {
    if (forward(call)) return;
    const Symbol *symbol = scope_->find(callee.text);
    if (!symbol || symbol->kind != Symbol::Kind::action) refuse(call.place, "a call of " + callee.text);
    return call_action(*symbol, call);
  }
  if (callee.kind != Expr::Kind::member) wrong(call.place, "this cannot be called");
  if (const Symbol *object = object_of(call)) {
    using Kind = Symbol::Kind;
    if (object->kind == Kind::array && callee.text == "write") return register_write(*object, call);
    if (object->kind == Kind::counter && callee.text == "count") return counter_count(*object, call);
    if (object->kind == Kind::table && callee.text == "apply") return call_table(*object, call);
    if (object->kind == Kind::block && callee.text == "apply") return call_control(*object, call);
    if (object->type.kind == Type::Kind::packet_in) return packet_in_call(call);
    if (object->type.kind == Type::Kind::packet_out) return packet_out_emit(call);
    if (object->kind != Kind::variable)
      refuse(call.place, callee.text + " of " + callee.children[0]->text + " as a statement");
  }
  set_validity(call);
}

// send_to_port(port) and drop_packet(). False: it is neither.
bool Compiler::forward(const Expr &call) {
  const std::string &name = call.children[0]->text;
  const bool send = name == "send_to_port";
  if (!send && name != "drop_packet") return false;
  if (part_ != Part::control) wrong(call.place, name + " belongs into the main control");
  takes(call, send ? 1 : 0);
  Instr instr{send ? Op::send : Op::drop};
  if (send) instr.a = slot_of(*call.children[1], Type{Type::Kind::port, 32, 0});
  writer_.write(instr, call.place);
  return true;
}

void Compiler::set_validity(const Expr &call) {
  const Expr &callee = *call.children[0];
  const Location header = writable_location(*callee.children[0]);
  if (header.type.kind != Type::Kind::record || !types_.record(header.type).header)
    wrong(call.place, callee.text + " needs a header");
  takes(call, 0);
  const std::uint32_t fields = types_.slots(header.type) - 1;
  if (callee.text == "setValid") {
    writer_.write({Op::validate, 64, 0, 0, header.slot, 0}, call.place);
    writer_.learn(header.slot);
  } else if (callee.text == "setInvalid") {
    if (in_subroutine_) refuse(call.place, "setInvalid in the action of a table");
    writer_.write({Op::invalidate, 64, 0, 0, header.slot, fields}, call.place);
    writer_.forget(header.slot, 1 + fields);
  } else {
    refuse(call.place, callee.text + " of " + header.path);
  }
}

// ---- Register, Counter, Hash

void Compiler::declare_instance(const Instance &instance, Scope &scope) {
  Symbol symbol;
  symbol.path = instance.name;
  const std::string &type = instance.type.name;
  const auto block = std::ranges::find(source_.blocks, type, &Block::name);
  if (block != source_.blocks.end()) {
    if (block->parser || !instance.arguments.empty()) refuse(instance.place, "a parser within another");
    symbol.kind = Symbol::Kind::block;
    symbol.block = &*block;
  } else if (type == "Register") {
    declare_array(instance, symbol);
  } else if (type == "Counter") {
    declare_counter(instance, symbol);
  } else if (type == "Hash") {
    symbol.kind = Symbol::Kind::hash;
    const auto evaluate = [this](const Expr &width) { return constant_of(width); };
    if (instance.type.arguments.size() != 1 || instance.arguments.size() != 1 ||
        types_.resolve(instance.type.arguments[0], evaluate) != Type::bits(32))
      refuse(instance.place, "a Hash that is not Hash<bit<32>>(algorithm)");
    const std::string &algorithm = member_of_enum(*instance.arguments[0], "PNA_HashAlgorithm_t");
    if (!jhash_names.contains(algorithm)) refuse(instance.place, "the hash algorithm " + algorithm);
  } else {
    refuse(instance.place, "an instance of " + type);
  }
  scope.add(instance.place, instance.name, std::move(symbol));
}

std::uint32_t Compiler::add_array(const Instance &instance, const std::string &name, unsigned width,
                                  std::uint64_t initial) {
  if (depth_ > 0) refuse(instance.place, name + " within a control that another calls: declare it outside");
  for (const ArrayLayout &array : code_.arrays)
    if (array.name == name) wrong(instance.place, name + " is declared twice");
  const std::uint64_t elements = number_of_constant(*instance.arguments[0]);
  if (elements == 0 || elements > 1u << 30) wrong(instance.place, name + " needs 1 to 2^30 elements");
  code_.arrays.push_back({name, width, elements, initial});
  return static_cast<std::uint32_t>(code_.arrays.size() - 1);
}

// Register<bit<W>, bit<I>>(size), with an initial value as second argument if need be.
void Compiler::declare_array(const Instance &instance, Symbol &symbol) {
  const auto evaluate = [this](const Expr &width) { return constant_of(width); };
  symbol.kind = Symbol::Kind::array;
  if (instance.type.arguments.size() != 2 || instance.arguments.empty() || instance.arguments.size() > 2)
    wrong(instance.place, "expected Register<bit<W>, bit<I>>(size)");
  symbol.element = types_.resolve(instance.type.arguments[0], evaluate);
  symbol.index = types_.resolve(instance.type.arguments[1], evaluate);
  if (symbol.element.kind != Type::Kind::bits || symbol.index.kind != Type::Kind::bits)
    refuse(instance.place, "a Register that is not Register<bit<W>, bit<I>>(size)");
  std::uint64_t initial = 0;
  if (instance.arguments.size() == 2)
    initial = static_cast<std::uint64_t>(
        convert(constant_of(*instance.arguments[1]), symbol.element, instance.place).number);
  symbol.array = add_array(instance, instance.name, symbol.element.width, initial);
}

// Counter<bit<W>, bit<I>>(size, PNA_CounterType_t.PACKETS, BYTES or PACKETS_AND_BYTES). The target keeps
// both in two arrays, name_packets and name_bytes.
void Compiler::declare_counter(const Instance &instance, Symbol &symbol) {
  const auto evaluate = [this](const Expr &width) { return constant_of(width); };
  symbol.kind = Symbol::Kind::counter;
  if (instance.type.arguments.size() != 2 || instance.arguments.size() != 2)
    wrong(instance.place, "expected Counter<bit<W>, bit<I>>(size, what)");
  symbol.element = types_.resolve(instance.type.arguments[0], evaluate);
  symbol.index = types_.resolve(instance.type.arguments[1], evaluate);
  if (symbol.element.kind != Type::Kind::bits || symbol.index.kind != Type::Kind::bits)
    refuse(instance.place, "a Counter that is not Counter<bit<W>, bit<I>>(size, what)");
  const std::string &what = member_of_enum(*instance.arguments[1], "PNA_CounterType_t");
  symbol.packets = what == "PACKETS" || what == "PACKETS_AND_BYTES";
  symbol.bytes = what == "BYTES" || what == "PACKETS_AND_BYTES";
  if (!symbol.packets && !symbol.bytes) wrong(instance.place, "PNA_CounterType_t has no " + what);
  const bool two = symbol.packets && symbol.bytes;
  const unsigned width = symbol.element.width;
  symbol.array = add_array(instance, instance.name + (two ? "_packets" : ""), width, 0);
  if (two) add_array(instance, instance.name + "_bytes", width, 0);
}

Value Compiler::register_read(const Symbol &array, const Expr &call) {
  takes(call, 1);
  const std::uint32_t index = slot_of(*call.children[1], array.index);
  const std::uint32_t to = writer_.result(call.place);
  writer_.write({Op::read, static_cast<std::uint8_t>(array.element.width), 0, to, array.array, index},
                call.place);
  return {array.element, false, 0, to};
}

void Compiler::register_write(const Symbol &array, const Expr &call) {
  takes(call, 2);
  const std::uint32_t index = slot_of(*call.children[1], array.index);
  const std::uint32_t from = slot_of(*call.children[2], array.element);
  writer_.write({Op::write, 64, 0, from, array.array, index}, call.place);
}

// count(index) of packets; count(index, bytes) where bytes are counted, since the target knows no length.
void Compiler::counter_count(const Symbol &counter, const Expr &call) {
  takes(call, counter.bytes ? 2 : 1);
  const std::uint32_t index = slot_of(*call.children[1], counter.index);
  const auto width = static_cast<std::uint8_t>(counter.element.width);
  std::uint32_t array = counter.array;
  if (counter.packets)
    writer_.write({Op::count, width, 0, writer_.constant(1, call.place), array++, index}, call.place);
  if (!counter.bytes) return;
  const std::uint32_t bytes = slot_of(*call.children[2], Type::bits(32));
  writer_.write({Op::count, width, 0, bytes, array, index}, call.place);
}

// One word of a hash, or both of a bit<64>, the low one first: so it lies in the target's memory.
void Compiler::hash_word(const Expr &word, bool alone, std::vector<std::uint32_t> &words) {
  const bool named = word.kind == Expr::Kind::name || word.kind == Expr::Kind::member;
  const Value of = value(word);
  if (of.type != Type::bits(32) && !(alone && of.type == Type::bits(64)))
    refuse(word.place, "a hash over " + types_.spell(of.type) + (alone ? "" : " beside other words"));
  if (named && !of.constant && location(word).in_header)
    refuse(word.place, "a hash over a header's field, whose bytes the target takes in network order");
  const std::uint32_t slot = slot_of(of, word.place);
  if (of.type.width == 32) return words.push_back(slot);
  for (const std::uint8_t low : {0, 32}) {
    words.push_back(writer_.result(word.place));
    writer_.write({Op::cut, 32, low, words.back(), slot, 0}, word.place);
  }
}

Value Compiler::get_hash(const Expr &call) {
  takes(call, 1);
  const Expr &data = *call.children[1];
  std::vector<std::uint32_t> words;
  if (data.kind == Expr::Kind::list) {
    if (data.children.size() > hash_words_max) refuse(data.place, "a hash over more than 64 words");
    for (const ExprPtr &word : data.children) hash_word(*word, false, words);
  } else {
    hash_word(data, true, words);
  }
  const std::uint32_t to = writer_.result(call.place);
  writer_.write({Op::hash, 64, 0, to, static_cast<std::uint32_t>(code_.hashed.size()), 0}, call.place);
  code_.hashed.push_back(std::move(words));
  return {Type::bits(32), false, 0, to};
}

// ---- the packet

Value Compiler::packet_in_value(const Expr &call) {
  const Expr &callee = *call.children[0];
  const std::uint32_t to = writer_.result(call.place);
  takes(call, 0);
  if (callee.text == "length") {
    writer_.write({Op::length, 64, 0, to, 0, 0}, call.place);
    return {Type::bits(32), false, 0, to};
  }
  if (callee.text != "lookahead" || callee.types.empty()) refuse(call.place, callee.text + " of a packet");
  const auto evaluate = [this](const Expr &width) { return constant_of(width); };
  const Type type = types_.resolve(callee.types[0], evaluate);
  if (type.kind != Type::Kind::bits) refuse(call.place, "lookahead<" + types_.spell(type) + ">");
  writer_.write({Op::lookahead, static_cast<std::uint8_t>(type.width), 0, to, 0, 0}, call.place);
  return {type, false, 0, to};
}

void Compiler::packet_in_call(const Expr &call) {
  const std::string &method = call.children[0]->text;
  if (method != "extract" && method != "advance") refuse(call.place, method + " of a packet as a statement");
  takes(call, 1);
  if (method == "advance") {
    writer_.write({Op::advance, 64, 0, 0, slot_of(*call.children[1], Type::bits(32)), 0}, call.place);
    return;
  }
  const Location to = writable_location(*call.children[1]);
  if (to.type.kind != Type::Kind::record || !types_.record(to.type).header)
    refuse(call.place, "an extract into something else than a header");
  writer_.write({Op::extract, 64, 0, to.slot, types_.record(to.type).layout, 0}, call.place);
  writer_.learn(to.slot, types_.slots(to.type));
}

void Compiler::packet_out_emit(const Expr &call) {
  const std::string &method = call.children[0]->text;
  if (method != "emit") refuse(call.place, method + " of a packet that goes out");
  takes(call, 1);
  emit(location(*call.children[1]), call.place);
}

void Compiler::emit(const Location &from, Place place) {
  if (from.type.kind != Type::Kind::record) refuse(place, "an emit of " + from.path);
  const RecordLayout &record = types_.record(from.type);
  if (record.header) return writer_.write({Op::emit, 64, 0, 0, record.layout, from.slot}, place);
  for (const RecordLayout::Member &member : record.members) {
    Location inner = from;
    inner.type = member.type;
    inner.slot += member.slot;
    inner.path += "." + member.name;
    emit(inner, place);
  }
}

} // namespace weir::test::p4_16
