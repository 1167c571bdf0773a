#include "tests/p4/model/types.hpp"

#include <algorithm>
#include <array>

namespace weir::test::p4_16 {
namespace {

// Structs of the architecture. Of their fields a program may read the port alone.
constexpr std::array<std::pair<const char *, bool>, 5> architecture{{
    {"pna_pre_input_metadata_t", false},
    {"pna_pre_output_metadata_t", false},
    {"pna_main_parser_input_metadata_t", true},
    {"pna_main_input_metadata_t", true},
    {"pna_main_output_metadata_t", false},
}};

} // namespace

const RecordLayout::Member *RecordLayout::find(const std::string &member) const {
  const auto found = std::ranges::find(members, member, &Member::name);
  return found == members.end() ? nullptr : &*found;
}

const Symbol *Scope::find(const std::string &name) const {
  for (const Scope *scope = this; scope != nullptr; scope = scope->outer)
    if (const auto found = scope->names.find(name); found != scope->names.end()) return &found->second;
  return nullptr;
}

void Scope::add(Place place, const std::string &name, Symbol symbol) {
  if (!names.emplace(name, std::move(symbol)).second) wrong(place, name + " is declared twice");
}

TypeTable::TypeTable() {
  const Type port{Type::Kind::port, 32, 0};
  names_ = {{"PortId_t", port},
            {"packet_in", {Type::Kind::packet_in, 0, 0}},
            {"packet_out", {Type::Kind::packet_out, 0, 0}}};
  for (const auto &[name, has_port] : architecture) {
    names_[name] = {Type::Kind::record, 0, static_cast<unsigned>(records_.size())};
    records_.push_back({name, false, 1, 0, {}});
    if (has_port) records_.back().members.push_back({"input_port", port, 0});
  }
}

void TypeTable::add(const Record &record, Code &code, const Evaluate &evaluate) {
  RecordLayout out{record.name, record.header, 0, 0, {}};
  HeaderLayout header{record.name, 0, {}};
  if (record.header) out.slots = 1;
  for (const Field &field : record.fields) {
    const Type type = resolve(field.type, evaluate);
    if (out.find(field.name)) wrong(field.place, field.name + " is declared twice");
    if (record.header && type.kind != Type::Kind::bits)
      refuse(field.place, "a field of a header that is not bit<W>: " + field.name);
    if (!type.is_scalar() && type.kind != Type::Kind::record)
      refuse(field.place, "a field of type " + spell(type));
    out.members.push_back({field.name, type, out.slots});
    out.slots += slots(type);
    header.fields.push_back({header.bits, type.width});
    header.bits += type.width;
  }
  if (record.header) {
    if (header.bits % 8 != 0)
      wrong(record.place, record.name + " has " + std::to_string(header.bits) + " bits: no whole bytes");
    out.layout = static_cast<std::uint32_t>(code.headers.size());
    code.headers.push_back(std::move(header));
  }
  names_[record.name] = {Type::Kind::record, 0, static_cast<unsigned>(records_.size())};
  records_.push_back(std::move(out));
}

Type TypeTable::resolve(const TypeName &name, const Evaluate &evaluate) const {
  if (name.name == "bool") return Type::boolean();
  if (name.name == "bit") {
    const Value width = evaluate(*name.width);
    if (width.type.kind == Type::Kind::boolean || width.number < 1 || width.number > 64)
      refuse(name.place, "bit<W> with W outside 1 to 64");
    return Type::bits(static_cast<unsigned>(width.number));
  }
  const auto found = names_.find(name.name);
  if (found == names_.end() || !name.arguments.empty()) wrong(name.place, name.name + " cannot be used here");
  return found->second;
}

std::string TypeTable::spell(const Type &type) const {
  switch (type.kind) {
  case Type::Kind::integer: return "a number without a width";
  case Type::Kind::boolean: return "bool";
  case Type::Kind::bits: return "bit<" + std::to_string(type.width) + ">";
  case Type::Kind::port: return "PortId_t";
  case Type::Kind::record: return record(type).name;
  case Type::Kind::packet_in: return "packet_in";
  case Type::Kind::packet_out: return "packet_out";
  }
  return "unknown";
}

} // namespace weir::test::p4_16
