// Types, the records of a program, and the names in force at a place of it.
//
// bit<W> has 1 to 64 bits; a number without a width takes the width that is wanted and must fit it.
// PortId_t is bit<32> by another name and, as in P4, mixes with it through a cast only.
#pragma once

#include "tests/p4/model/ast.hpp"
#include "tests/p4/model/code.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weir::test::p4_16 {

struct Type {
  enum class Kind : std::uint8_t { integer, boolean, bits, port, record, packet_in, packet_out };

  Kind kind = Kind::integer;
  unsigned width = 0; // of bits and port
  unsigned index = 0; // of a record

  friend bool operator==(const Type &, const Type &) = default;
  static Type bits(unsigned width) { return {Kind::bits, width, 0}; }
  static Type boolean() { return {Kind::boolean, 1, 0}; }
  [[nodiscard]] bool is_scalar() const {
    return kind == Kind::boolean || kind == Kind::bits || kind == Kind::port;
  }
};

// A header or struct with its place in slots: a header's validity comes first.
struct RecordLayout {
  struct Member {
    std::string name;
    Type type;
    std::uint32_t slot; // counted from the record's first
  };

  std::string name;
  bool header = false;
  std::uint32_t slots = 0;
  std::uint32_t layout = 0; // of a header: its number among the layouts of the code
  std::vector<Member> members;

  [[nodiscard]] const Member *find(const std::string &member) const;
};

// What a computation came to: a constant, or a slot.
struct Value {
  Type type;
  bool constant = false;
  Int number = 0;
  std::uint32_t slot = 0;
};

struct Scope;

struct Symbol {
  enum class Kind : std::uint8_t { constant, variable, action, table, array, counter, hash, block };

  Kind kind = Kind::variable;
  Type type;
  Value value;            // of a constant
  std::uint32_t slot = 0; // of a variable
  bool writable = true;
  bool in_header = false;
  std::string path;        // as errors name it
  std::uint32_t array = 0; // of Register; of Counter: its packets or bytes, or both in order
  bool packets = false, bytes = false;
  Type element, index; // of Register
  const Action *action = nullptr;
  const Table *table = nullptr;
  const Block *block = nullptr;
  const Scope *home = nullptr; // where the names of an action's body are looked up
};

struct Scope {
  const Scope *outer = nullptr;
  std::map<std::string, Symbol> names;

  [[nodiscard]] const Symbol *find(const std::string &name) const;
  void add(Place place, const std::string &name, Symbol symbol);
};

class TypeTable {
public:
  using Evaluate = std::function<Value(const Expr &)>; // of a constant

  TypeTable();
  void add(const Alias &alias, const Evaluate &evaluate) {
    names_[alias.name] = resolve(alias.type, evaluate);
  }
  void add(const Record &record, Code &code, const Evaluate &evaluate);
  [[nodiscard]] Type resolve(const TypeName &name, const Evaluate &evaluate) const;
  [[nodiscard]] const RecordLayout &record(const Type &type) const { return records_[type.index]; }
  [[nodiscard]] std::uint32_t slots(const Type &type) const {
    return type.kind == Type::Kind::record ? record(type).slots : 1;
  }
  [[nodiscard]] std::string spell(const Type &type) const;

private:
  std::map<std::string, Type> names_;
  std::vector<RecordLayout> records_;
};

[[nodiscard]] constexpr std::uint64_t low_bits(unsigned width) {
  return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

} // namespace weir::test::p4_16
