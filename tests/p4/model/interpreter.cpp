#include "tests/p4/model/interpreter.hpp"

#include "tests/p4/model/compiler.hpp"
#include "tests/p4/model/parser.hpp"
#include "tests/p4/model/preprocessor.hpp"

#include <rte_jhash.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

namespace weir::test::p4_16 {
namespace {

std::string spell(const std::string &file, Place place) {
  std::string out = file + ":" + std::to_string(place.line);
  if (place.macro_line != 0) out += " (in the macro at line " + std::to_string(place.macro_line) + ")";
  return out;
}

// `width` bits of `from`, of which the first stands `offset` bits from its beginning.
std::uint64_t load_bits(const std::byte *from, std::uint64_t offset, unsigned width) {
  unsigned __int128 all = 0;
  const std::uint64_t begin = offset / 8, end = (offset + width + 7) / 8;
  for (std::uint64_t i = begin; i < end; ++i) all = all << 8 | std::to_integer<std::uint8_t>(from[i]);
  return static_cast<std::uint64_t>(all >> (end * 8 - offset - width)) & low_bits(width);
}

// Bits that were written keep their place; the byte that is begun counts as zero behind them.
void store_bits(std::byte *to, std::uint64_t offset, unsigned width, std::uint64_t value) {
  for (unsigned left = width; left > 0;) {
    const unsigned room = 8 - static_cast<unsigned>(offset % 8), now = std::min(room, left);
    const auto part = static_cast<unsigned>(value >> (left - now) & low_bits(now));
    to[offset / 8] |= static_cast<std::byte>(part << (room - now));
    offset += now;
    left -= now;
  }
}

} // namespace

Result<Program> Program::parse(std::string_view text, const std::string &file) {
  try {
    const Tokens tokens = preprocess(lex(text));
    return Program(file, compile(parse_source(tokens)));
  } catch (const SourceError &error) {
    return fail(Errc::parse, spell(file, error.place) + ": " + error.what());
  }
}

Result<Program> Program::load(const std::string &path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) return fail(Errc::io, path + ": cannot be read");
  return parse(text.view(), path);
}

std::string Program::describe(Place place) const { return spell(file_, place); }

Machine::Machine(const Program &program)
    : program_(program), slots_(program.code().slots), given_(program.code().slots) {
  const Code &code = program_.code();
  std::ranges::copy(code.constants, slots_.begin());
  for (const ArrayLayout &array : code.arrays)
    arrays_.push_back({array.name, array.width, std::vector<std::uint64_t>(array.elements, array.initial)});
}

RegisterArray *Machine::find(std::string_view name) {
  const auto found = std::ranges::find(arrays_, name, &RegisterArray::name);
  return found == arrays_.end() ? nullptr : &*found;
}

Result<Outcome> Machine::run(Bytes packet, std::uint32_t input_port) {
  const Code &code = program_.code();
  std::fill(given_.begin() + first_variable, given_.end(), std::uint8_t{0});
  for (const std::uint32_t slot : code.validity) slots_[slot] = 0;
  slots_[code.input_port] = input_port;
  cursor_ = 0;
  decided_ = false;
  outcome_ = {};
  output_.clear();
  changes_.clear();
  if (const auto failure = execute(packet)) return fail(Errc::refused, explain(*failure));
  return outcome_;
}

std::string Machine::explain(const Failure &failure) const {
  std::string out = program_.describe(program_.code().places[failure.at]) + ": " + failure.what;
  return failure.detail.empty() ? out : out + ": " + failure.detail;
}

bool Machine::extract(const Instr &instr, Bytes packet) {
  const HeaderLayout &header = program_.code().headers[instr.a];
  if (cursor_ + header.bits > packet.size() * 8) return false;
  std::uint32_t slot = instr.to;
  slots_[slot++] = 1;
  for (const HeaderLayout::Bits &field : header.fields) {
    slots_[slot] = load_bits(packet.data(), cursor_ + field.offset, field.width);
    given_[slot++] = 1;
  }
  cursor_ += header.bits;
  return true;
}

bool Machine::emit(const Instr &instr) {
  if (slots_[instr.b] == 0) return true;
  const HeaderLayout &header = program_.code().headers[instr.a];
  const std::uint64_t begin = output_.size() * 8;
  output_.resize(output_.size() + header.bits / 8);
  std::uint32_t slot = instr.b + 1;
  for (const HeaderLayout::Bits &field : header.fields) {
    if (given_[slot] == 0) return false;
    store_bits(output_.data(), begin + field.offset, field.width, slots_[slot++]);
  }
  return true;
}

// What was not parsed follows what was emitted. False: the parser stopped within a byte.
bool Machine::finish(Bytes packet) {
  if (cursor_ % 8 != 0) return false;
  const Bytes rest = packet.subspan(cursor_ / 8);
  output_.insert(output_.end(), rest.begin(), rest.end());
  return true;
}

std::uint32_t Machine::hash(const Instr &instr) const {
  const std::vector<std::uint32_t> &slots = program_.code().hashed[instr.a];
  std::array<std::uint32_t, hash_words_max> words;
  for (std::size_t i = 0; i < slots.size(); ++i) words[i] = static_cast<std::uint32_t>(slots_[slots[i]]);
  return rte_jhash_32b(words.data(), static_cast<std::uint32_t>(slots.size()), 0);
}

void Machine::change(const Instr &instr, std::uint64_t after) {
  std::uint64_t &element = arrays_[instr.a].elements[slots_[instr.b]];
  changes_.push_back({instr.a, slots_[instr.b], element, after});
  element = after;
}

std::optional<Machine::Failure> Machine::execute(Bytes packet) {
  const Code &code = program_.code();
  const Instr *const begin = code.instrs.data();
  const Instr *next = begin, *back = nullptr;
  std::uint64_t *const v = slots_.data();
  std::uint8_t *const given = given_.data();
  const auto failed = [&](const char *what, std::string detail = {}) {
    return Failure{static_cast<std::size_t>(next - begin - 1), what, std::move(detail)};
  };
  const auto inside = [&](const Instr &i) { return v[i.b] < arrays_[i.a].elements.size(); };
  const auto outside = [&](const Instr &i) {
    const RegisterArray &array = arrays_[i.a];
    return failed("an index past the end", array.name + "[" + std::to_string(v[i.b]) + "] of " +
                                               std::to_string(array.elements.size()));
  };
  for (;;) {
    const Instr &i = *next++;
    switch (i.op) {
    case Op::move: v[i.to] = v[i.a]; break;
    case Op::add: v[i.to] = (v[i.a] + v[i.b]) & low_bits(i.width); break;
    case Op::subtract: v[i.to] = (v[i.a] - v[i.b]) & low_bits(i.width); break;
    case Op::both: v[i.to] = v[i.a] & v[i.b]; break;
    case Op::either: v[i.to] = v[i.a] | v[i.b]; break;
    case Op::differ: v[i.to] = v[i.a] ^ v[i.b]; break;
    case Op::left:
      if (v[i.b] > 63) return failed("a shift by 64 bits or more");
      v[i.to] = v[i.a] << v[i.b] & low_bits(i.width);
      break;
    case Op::right:
      if (v[i.b] > 63) return failed("a shift by 64 bits or more");
      v[i.to] = v[i.a] >> v[i.b];
      break;
    case Op::cut: v[i.to] = v[i.a] >> i.low & low_bits(i.width); break;
    case Op::put: v[i.to] = (v[i.to] & ~(low_bits(i.width) << i.low)) | v[i.a] << i.low; break;
    case Op::join: v[i.to] = v[i.a] << i.width | v[i.b]; break;
    case Op::invert: v[i.to] = v[i.a] ^ 1; break;
    case Op::equal: v[i.to] = v[i.a] == v[i.b]; break;
    case Op::unequal: v[i.to] = v[i.a] != v[i.b]; break;
    case Op::less: v[i.to] = v[i.a] < v[i.b]; break;
    case Op::at_most: v[i.to] = v[i.a] <= v[i.b]; break;

    case Op::jump: next = begin + i.to; continue;
    case Op::jump_if:
      if (v[i.a] != 0) next = begin + i.to;
      continue;
    case Op::jump_unless:
      if (v[i.a] == 0) next = begin + i.to;
      continue;
    case Op::jump_equal:
      if (v[i.a] == v[i.b]) next = begin + i.to;
      continue;
    case Op::jump_unequal:
      if (v[i.a] != v[i.b]) next = begin + i.to;
      continue;
    case Op::jump_less:
      if (v[i.a] < v[i.b]) next = begin + i.to;
      continue;
    case Op::jump_at_most:
      if (v[i.a] <= v[i.b]) next = begin + i.to;
      continue;
    case Op::call:
      back = next;
      next = begin + i.to;
      continue;
    case Op::back: next = back; continue;

    case Op::need:
      if (given[i.a] == 0) return failed("read before this packet gave it a value", code.names[i.b]);
      continue;
    case Op::need_valid:
      if (v[i.a] == 0) return failed("a field of a header that is not valid", code.names[i.b]);
      continue;
    case Op::unset: std::fill_n(given + i.a, i.b, std::uint8_t{0}); continue;

    case Op::hash: v[i.to] = hash(i); break;
    case Op::read:
      if (!inside(i)) return outside(i);
      v[i.to] = arrays_[i.a].elements[v[i.b]];
      if (v[i.to] > low_bits(i.width))
        return failed("an element that is wider than its type", arrays_[i.a].name);
      break;
    case Op::write:
      if (!inside(i)) return outside(i);
      change(i, v[i.to]);
      continue;
    case Op::count:
      if (!inside(i)) return outside(i);
      change(i, (arrays_[i.a].elements[v[i.b]] + v[i.to]) & low_bits(i.width));
      continue;

    case Op::extract:
      if (!extract(i, packet)) return failed("an extract past the packet's end", code.headers[i.a].name);
      continue;
    case Op::lookahead:
      if (cursor_ + i.width > packet.size() * 8) return failed("a lookahead past the packet's end");
      v[i.to] = load_bits(packet.data(), cursor_, i.width);
      break;
    case Op::advance:
      cursor_ += v[i.a];
      if (cursor_ > packet.size() * 8) return failed("an advance past the packet's end");
      continue;
    case Op::length: v[i.to] = packet.size(); break;
    case Op::validate: v[i.a] = 1; continue;
    case Op::invalidate:
      v[i.a] = 0;
      std::fill_n(given + i.a, i.b + 1, std::uint8_t{0});
      continue;
    case Op::emit:
      if (!emit(i)) return failed("an emit of a header without values", code.headers[i.a].name);
      continue;

    case Op::send:
      outcome_ = {false, static_cast<std::uint32_t>(v[i.a])};
      decided_ = true;
      continue;
    case Op::drop:
      outcome_ = {true, 0};
      decided_ = true;
      continue;
    case Op::decide:
      if (!decided_) return failed("neither send_to_port nor drop_packet was called");
      if (outcome_.dropped) return std::nullopt;
      continue;
    case Op::finish:
      if (!finish(packet)) return failed("the parser stopped within a byte");
      return std::nullopt;
    case Op::fail: return failed(code.names[i.b].c_str());
    }
    given[i.to] = 1;
  }
}

} // namespace weir::test::p4_16
