#include "tests/p4/model/compiler.hpp"

namespace weir::test::p4_16 {
namespace {

const std::map<std::string, Op, std::less<>> arithmetic{
    {"+", Op::add}, {"-", Op::subtract}, {"&", Op::both}, {"|", Op::either}, {"^", Op::differ}};

bool is_comparison(const std::string &text) {
  return text == "==" || text == "!=" || text == "<" || text == "<=" || text == ">" || text == ">=";
}

Int fold(const std::string &symbol, Int a, Int b) {
  if (symbol == "+") return a + b;
  if (symbol == "-") return a - b;
  if (symbol == "&") return a & b;
  if (symbol == "|") return a | b;
  if (symbol == "^") return a ^ b;
  if (symbol == "==") return a == b;
  if (symbol == "!=") return a != b;
  if (symbol == "<") return a < b;
  if (symbol == "<=") return a <= b;
  if (symbol == ">") return a > b;
  return a >= b;
}

Int wrapped(Int number, const Type &type) {
  return type.kind == Type::Kind::integer ? number : number & Int{low_bits(type.width)};
}

} // namespace

Value Compiler::value(const Expr &expr) {
  using Kind = Expr::Kind;
  switch (expr.kind) {
  case Kind::number: return make_constant(expr.width == 0 ? Type{} : Type::bits(expr.width), expr.number);
  case Kind::boolean: return make_constant(Type::boolean(), expr.number);
  case Kind::name:
  case Kind::member: return name(expr);
  case Kind::call: return call_value(expr);
  case Kind::unary: return unary(expr);
  case Kind::binary: return binary(expr);
  case Kind::ternary: return choice(expr);
  case Kind::cast: return cast(expr);
  case Kind::slice: return slice(expr);
  case Kind::list: refuse(expr.place, "a list that is not what a hash is made of");
  case Kind::any: break;
  }
  wrong(expr.place, "default and _ belong into a select");
}

Value Compiler::value_as(const Expr &expr, const Type &wanted) {
  return convert(value(expr), wanted, expr.place);
}

// Only what P4 does without a cast: a number without a width takes one.
Value Compiler::convert(Value from, const Type &wanted, Place place) {
  if (from.type == wanted) return from;
  if (from.type.kind == Type::Kind::integer && wanted.kind == Type::Kind::bits) {
    if (from.number < 0 || from.number > Int{low_bits(wanted.width)})
      wrong(place, "the number does not fit " + types_.spell(wanted));
    from.type = wanted;
    return from;
  }
  wrong(place, "is " + types_.spell(from.type) + " where " + types_.spell(wanted) + " is needed: cast it");
}

Value Compiler::constant_of(const Expr &expr) {
  Value out = value(expr);
  if (!out.constant) wrong(expr.place, "a constant is needed here");
  return out;
}

std::uint64_t Compiler::number_of_constant(const Expr &expr) {
  const Value out = constant_of(expr);
  if (out.type.kind == Type::Kind::boolean || out.number < 0) wrong(expr.place, "a number is needed here");
  return static_cast<std::uint64_t>(out.number);
}

std::uint32_t Compiler::slot_of(const Value &from, Place place) {
  if (!from.constant) return from.slot;
  if (from.type.kind == Type::Kind::integer) wrong(place, "a number needs a width here, as in 32w7");
  return writer_.constant(static_cast<std::uint64_t>(from.number), place);
}

Value Compiler::name(const Expr &expr) {
  if (expr.kind == Expr::Kind::name)
    if (const Symbol *symbol = scope_->find(expr.text); symbol && symbol->kind == Symbol::Kind::constant)
      return symbol->value;
  const Location from = location(expr);
  if (!from.type.is_scalar()) refuse(expr.place, from.path + " as a whole, where a number is needed");
  writer_.need(from.slot, from.path, expr.place);
  return {from.type, false, 0, from.slot};
}

Value Compiler::compute(Op op, const Type &type, std::uint32_t a, std::uint32_t b, Place place) {
  const std::uint32_t to = writer_.result(place);
  writer_.write({op, static_cast<std::uint8_t>(type.width), 0, to, a, b}, place);
  return {type, false, 0, to};
}

Value Compiler::unary(const Expr &expr) {
  if (expr.text == "~" || expr.text == "+") refuse(expr.place, "the operator " + expr.text);
  const Value of = value(*expr.children[0]);
  if (expr.text == "!") {
    if (of.type.kind != Type::Kind::boolean) wrong(expr.place, "! needs a bool");
    if (of.constant) return make_constant(of.type, of.number == 0);
    return compute(Op::invert, of.type, of.slot, 0, expr.place);
  }
  if (of.type.kind != Type::Kind::integer && of.type.kind != Type::Kind::bits)
    wrong(expr.place, "- needs a number");
  if (of.constant) return make_constant(of.type, wrapped(-of.number, of.type));
  return compute(Op::subtract, of.type, writer_.constant(0, expr.place), of.slot, expr.place);
}

// Both sides of an operator, of one type.
std::pair<Value, Value> Compiler::operands(const Expr &expr) {
  Value a = value(*expr.children[0]), b = value(*expr.children[1]);
  if (a.type.kind == Type::Kind::integer && b.type.kind == Type::Kind::bits)
    a = convert(a, b.type, expr.children[0]->place);
  else if (b.type.kind == Type::Kind::integer && a.type.kind == Type::Kind::bits)
    b = convert(b, a.type, expr.children[1]->place);
  if (a.type != b.type)
    wrong(expr.place, expr.text + " between " + types_.spell(a.type) + " and " + types_.spell(b.type) +
                          ": cast one of them");
  return {a, b};
}

Value Compiler::binary(const Expr &expr) {
  const std::string &symbol = expr.text;
  if (symbol == "<<" || symbol == ">>") return shift(expr);
  if (symbol == "++") return join(expr);
  const bool logical = symbol == "&&" || symbol == "||";
  if (logical) return choice(expr);
  const auto op = arithmetic.find(symbol);
  const bool comparison = is_comparison(symbol);
  if (op == arithmetic.end() && !comparison) refuse(expr.place, "the operator " + symbol);

  const auto [a, b] = operands(expr);
  const bool numbers = a.type.kind == Type::Kind::integer || a.type.kind == Type::Kind::bits;
  const bool alike = symbol == "==" || symbol == "!=";
  if (!numbers && !alike) wrong(expr.place, symbol + " on " + types_.spell(a.type));
  const Type type = comparison ? Type::boolean() : a.type;
  if (a.constant && b.constant) return make_constant(type, wrapped(fold(symbol, a.number, b.number), type));

  std::uint32_t left = slot_of(a, expr.place), right = slot_of(b, expr.place);
  if (!comparison) return compute(op->second, type, left, right, expr.place);
  if (symbol == ">" || symbol == ">=") std::swap(left, right);
  const Op compare = symbol == "=="       ? Op::equal
                     : symbol == "!="     ? Op::unequal
                     : symbol.size() == 1 ? Op::less
                                          : Op::at_most;
  return compute(compare, type, left, right, expr.place);
}

Value Compiler::shift(const Expr &expr) {
  const Value a = value(*expr.children[0]), by = value(*expr.children[1]);
  const auto is_number = [](const Value &v) {
    return v.type.kind == Type::Kind::integer || v.type.kind == Type::Kind::bits;
  };
  if (!is_number(a) || !is_number(by)) wrong(expr.place, expr.text + " needs numbers");
  if (by.constant && (by.number < 0 || by.number > 63)) refuse(expr.place, "a shift by 64 bits or more");
  if (a.constant && by.constant) {
    const auto bits = static_cast<unsigned>(by.number);
    return make_constant(a.type, wrapped(expr.text == "<<" ? a.number << bits : a.number >> bits, a.type));
  }
  if (a.type.kind == Type::Kind::integer)
    wrong(expr.place, "a number that is shifted by a variable needs a width");
  const std::uint32_t amount =
      by.constant ? writer_.constant(static_cast<std::uint64_t>(by.number), expr.place) : by.slot;
  return compute(expr.text == "<<" ? Op::left : Op::right, a.type, slot_of(a, expr.place), amount,
                 expr.place);
}

Value Compiler::join(const Expr &expr) {
  const Value a = value(*expr.children[0]), b = value(*expr.children[1]);
  if (a.type.kind != Type::Kind::bits || b.type.kind != Type::Kind::bits)
    wrong(expr.place, "++ needs bit<W> on both sides");
  if (a.type.width + b.type.width > 64) refuse(expr.place, "++ to more than 64 bits");
  const Type type = Type::bits(a.type.width + b.type.width);
  if (a.constant && b.constant) return make_constant(type, a.number << b.type.width | b.number);
  Value out = compute(Op::join, b.type, slot_of(a, expr.place), slot_of(b, expr.place), expr.place);
  out.type = type;
  return out;
}

// a ? b : c, and && and || where a value is needed: the sides are computed only when they are asked for.
Value Compiler::choice(const Expr &expr) {
  const bool ternary = expr.kind == Expr::Kind::ternary;
  const std::uint32_t to = writer_.result(expr.place);
  Type type = Type::boolean();
  Label otherwise, end;
  condition(ternary ? *expr.children[0] : expr, false, otherwise);
  Value first = ternary ? value(*expr.children[1]) : make_constant(type, 1);
  if (first.type.kind == Type::Kind::integer) {
    const Expr &second = *expr.children[2];
    if (second.kind != Expr::Kind::number || second.width == 0)
      wrong(expr.place, "the first number of ? : needs a width");
    first = convert(first, Type::bits(second.width), expr.place);
  }
  type = first.type;
  if (!type.is_scalar()) wrong(expr.place, "? : on " + types_.spell(type));
  writer_.write({Op::move, 64, 0, to, slot_of(first, expr.place), 0}, expr.place);
  writer_.jump(end, expr.place);
  writer_.bind(otherwise);
  const Value second = ternary ? value_as(*expr.children[2], type) : make_constant(type, 0);
  writer_.write({Op::move, 64, 0, to, slot_of(second, expr.place), 0}, expr.place);
  writer_.bind(end);
  return {type, false, 0, to};
}

Value Compiler::cast(const Expr &expr) {
  const auto evaluate = [this](const Expr &width) { return constant_of(width); };
  const Type to = types_.resolve(expr.types[0], evaluate);
  Value from = value(*expr.children[0]);
  const auto impossible = [&] {
    wrong(expr.place, "no cast from " + types_.spell(from.type) + " to " + types_.spell(to));
  };
  using Kind = Type::Kind;
  const bool same_width = from.type.width == to.width;
  if (from.type.kind == Kind::boolean || to.kind == Kind::boolean) {
    const Kind other = from.type.kind == Kind::boolean ? to.kind : from.type.kind;
    if ((other != Kind::bits && other != Kind::boolean) || !same_width) impossible();
  } else if (from.type.kind == Kind::port || to.kind == Kind::port) {
    const bool literal = from.type.kind == Kind::integer;
    if (!to.is_scalar() || (!literal && !same_width)) impossible();
  } else if (to.kind != Kind::bits) {
    impossible();
  }
  if (from.constant) return make_constant(to, from.number & Int{low_bits(to.width)});
  if (to.width >= from.type.width) return {to, false, 0, from.slot};
  return compute(Op::cut, to, from.slot, 0, expr.place);
}

std::pair<unsigned, unsigned> Compiler::slice_bounds(const Expr &expr, const Type &of) {
  if (of.kind != Type::Kind::bits) wrong(expr.place, "a slice of " + types_.spell(of));
  const std::uint64_t high = number_of_constant(*expr.children[1]),
                      low = number_of_constant(*expr.children[2]);
  if (high < low || high >= of.width) wrong(expr.place, "a slice that does not lie in " + types_.spell(of));
  return {static_cast<unsigned>(high), static_cast<unsigned>(low)};
}

Value Compiler::slice(const Expr &expr) {
  const Value of = value(*expr.children[0]);
  const auto [high, low] = slice_bounds(expr, of.type);
  const Type type = Type::bits(high - low + 1);
  if (of.constant) return make_constant(type, wrapped(of.number >> low, type));
  const std::uint32_t to = writer_.result(expr.place);
  writer_.write(
      {Op::cut, static_cast<std::uint8_t>(type.width), static_cast<std::uint8_t>(low), to, of.slot, 0},
      expr.place);
  return {type, false, 0, to};
}

// ---- conditions as jumps

// Goes to `target` if `expr` comes to `when`; otherwise goes on.
void Compiler::condition(const Expr &expr, bool when, Label &target) {
  if (expr.kind == Expr::Kind::unary && expr.text == "!") return condition(*expr.children[0], !when, target);
  if (expr.kind == Expr::Kind::binary && (expr.text == "&&" || expr.text == "||")) {
    const bool decides = expr.text == "||"; // what one side alone settles
    if (when == decides) {
      condition(*expr.children[0], when, target);
      return condition(*expr.children[1], when, target);
    }
    Label past;
    condition(*expr.children[0], decides, past);
    condition(*expr.children[1], when, target);
    return writer_.bind(past);
  }
  if (compare(expr, when, target)) return;
  const Value of = value_as(expr, Type::boolean());
  if (!of.constant) return writer_.jump(when ? Op::jump_if : Op::jump_unless, of.slot, 0, target, expr.place);
  if ((of.number != 0) == when) writer_.jump(target, expr.place);
}

// A comparison of numbers becomes one jump. False: it is none.
bool Compiler::compare(const Expr &expr, bool when, Label &target) {
  if (expr.kind != Expr::Kind::binary || !is_comparison(expr.text)) return false;
  const auto [a, b] = operands(expr);
  if (a.constant && b.constant) {
    if ((fold(expr.text, a.number, b.number) != 0) == when) writer_.jump(target, expr.place);
    return true;
  }
  std::uint32_t left = slot_of(a, expr.place), right = slot_of(b, expr.place);
  if (expr.text == "==" || expr.text == "!=") {
    const bool equal = (expr.text == "==") == when;
    writer_.jump(equal ? Op::jump_equal : Op::jump_unequal, left, right, target, expr.place);
    return true;
  }
  if (a.type.kind != Type::Kind::bits) wrong(expr.place, expr.text + " on " + types_.spell(a.type));
  if (expr.text.front() == '>') std::swap(left, right);
  const bool strict = expr.text.size() == 1;
  if (when)
    writer_.jump(strict ? Op::jump_less : Op::jump_at_most, left, right, target, expr.place);
  else // not a < b is b <= a
    writer_.jump(strict ? Op::jump_at_most : Op::jump_less, right, left, target, expr.place);
  return true;
}

} // namespace weir::test::p4_16
