#include "p4/swx/flow.hpp"

#include "p4/swx/window.hpp"

#include <algorithm>
#include <bitset>
#include <fmt/format.h>
#include <map>
#include <set>
#include <unordered_map>

namespace weir::p4::swx {
namespace {

constexpr std::size_t fields_max = 256;  // a field begins at each of the 256 bytes that can be addressed
constexpr std::size_t headers_max = 64;  // DPDK's own limit
constexpr std::size_t states_max = 4096; // sets of valid headers at one instruction

using Headers = std::bitset<headers_max>;
struct LessHeaders {
  bool operator()(const Headers &a, const Headers &b) const { return a.to_ullong() < b.to_ullong(); }
};

struct State {
  std::bitset<fields_max> written, touched;
  unsigned taken = 0;
  bool asked = false; // a table, on every path
  Headers made;       // on some path

  friend bool operator==(const State &, const State &) = default;

  // True if this state changed.
  bool meet(const State &other) {
    const State before = *this;
    written &= other.written;
    touched |= other.touched;
    taken = std::max(taken, other.taken);
    asked &= other.asked;
    made |= other.made;
    return before != *this;
  }
};

using States = std::map<Headers, State, LessHeaders>; // by the set of valid headers

void meet_at(States &states, const Headers &valid, const State &state, bool &changed) {
  const auto [at, inserted] = states.try_emplace(valid, state);
  changed |= inserted || at->second.meet(state);
}

// A state in which an action was entered. Large programs call the same few from a thousand places.
struct Entry {
  unsigned action = 0;
  Headers valid;
  State state;

  friend bool operator==(const Entry &, const Entry &) = default;
};
struct HashOfEntry {
  std::size_t operator()(const Entry &entry) const {
    std::size_t hash = entry.action + entry.state.taken * 31;
    hash = hash * 0x9E3779B97F4A7C15 + std::hash<Headers>{}(entry.valid);
    return hash * 0x9E3779B97F4A7C15 + std::hash<std::bitset<fields_max>>{}(entry.state.written);
  }
};

class Walk {
public:
  Walk(const Spec &spec, std::vector<Finding> &findings)
      : spec_(spec), findings_(findings), metadata_(spec.structs[*spec.metadata]),
        port_header_(spec.header_named(port_header_name)),
        limit_(window_bytes + (port_header_ ? port_header_bytes : 0)) {}

  // The states in which a packet leaves the block by return.
  States walk(const Block &block, const States &entry);

private:
  struct Here {
    const Instruction &instruction;
    Headers valid;
    State state;
  };

  void execute(Here &here);
  void extract(Here &here);
  void read(Here &here, const FieldRef &field);
  void write(Here &here, const FieldRef &field);
  void read_range(Here &here, const FieldRef &first, const FieldRef &last);
  void need_valid(const Here &here, const FieldRef &field);
  States call(const Table &table, Here &here);
  [[nodiscard]] static bool may_fall_through(const Here &here);
  [[nodiscard]] static bool may_jump(const Here &here);

  template <class... Args>
  void find(Rule rule, unsigned line, fmt::format_string<Args...> form, Args &&...args) {
    Finding finding{rule, line, fmt::format(form, std::forward<Args>(args)...)};
    if (std::ranges::find(findings_, finding) == findings_.end()) findings_.push_back(std::move(finding));
  }

  const Spec &spec_;
  std::vector<Finding> &findings_;
  const Struct &metadata_;
  std::optional<unsigned> port_header_;
  unsigned limit_;
  std::unordered_map<Entry, States, HashOfEntry> known_; // what comes back from an action
};

void Walk::need_valid(const Here &here, const FieldRef &field) {
  if (here.valid[field.header]) return;
  const std::string &name = spec_.headers[field.header].name;
  find(Rule::invalid_header, here.instruction.line,
       "'{}' touches header {} where it may be invalid: ask isValid() first, or extract it on every path",
       here.instruction.text, name);
}

void Walk::read(Here &here, const FieldRef &field) {
  if (field.space == Space::header) {
    need_valid(here, field);
    if (here.valid[field.header] && here.state.made[field.header])
      find(Rule::invalid_header, here.instruction.line,
           "'{}' reads header {}, which validate made out of the last packet's: keep the value in metadata",
           here.instruction.text, spec_.headers[field.header].name);
  }
  if (field.space != Space::metadata || here.state.written[field.index]) return;
  const std::string &name = metadata_.fields[field.index].name;
  if (here.state.touched[field.index])
    find(Rule::unwritten, here.instruction.line,
         "'{}' reads m.{}, which not every path to here has written: set it before the paths part",
         here.instruction.text, name);
  else
    find(Rule::unwritten, here.instruction.line,
         "'{}' reads m.{}, which nothing has written: it holds what the last packet left, so set it first",
         here.instruction.text, name);
}

void Walk::read_range(Here &here, const FieldRef &first, const FieldRef &last) {
  FieldRef field = first;
  for (field.index = first.index; field.index <= last.index; ++field.index) read(here, field);
}

void Walk::write(Here &here, const FieldRef &field) {
  if (field.space == Space::header) need_valid(here, field);
  if (field.space != Space::metadata) return;
  here.state.written.set(field.index);
  here.state.touched.set(field.index);
}

void Walk::extract(Here &here) {
  const unsigned line = here.instruction.line;
  const auto number = static_cast<unsigned>(here.instruction.operands[0].number);
  const Header &header = spec_.headers[number];
  const unsigned bytes = spec_.type_of(header).bytes;
  const bool first = here.state.taken == 0;
  if (port_header_ && (number == *port_header_) != first)
    find(Rule::port_header, line, "'{}': {} is what the port puts in front, extract it first and only once",
         here.instruction.text, port_header_name);
  if (here.state.taken + bytes > limit_) {
    find(Rule::extract_window, line,
         "'{}' may read up to byte {} of what the port lends, {} bytes: extract less on the way here",
         here.instruction.text, here.state.taken + bytes, limit_);
  } else if (here.instruction.op == Op::extract) {
    here.state.taken += bytes;
  }
  here.valid.set(number);
  here.state.made.reset(number);
}

void Walk::execute(Here &here) {
  const std::vector<Operand> &operands = here.instruction.operands;
  if (here.instruction.op == Op::hash) {
    read_range(here, *operands[2].field, *operands[3].field);
    write(here, *operands[1].field);
    return;
  }
  for (const Operand &operand : operands)
    if (operand.field && operand.use != Use::write) read(here, *operand.field);
  for (const Operand &operand : operands)
    if (operand.field && (operand.use == Use::write || operand.use == Use::update))
      write(here, *operand.field);

  switch (here.instruction.op) {
  case Op::extract:
  case Op::lookahead: extract(here); break;
  case Op::validate:
    if (!here.valid[operands[0].number]) here.state.made.set(operands[0].number);
    here.valid.set(operands[0].number);
    break;
  case Op::invalidate: here.valid.reset(operands[0].number); break;
  case Op::jmph:
  case Op::jmpnh:
  case Op::jmpa:
  case Op::jmpna:
    if (!here.state.asked)
      find(Rule::unwritten, here.instruction.line,
           "'{}' takes the last packet's answer where no table was asked on the way: ask one on every path",
           here.instruction.text);
    break;
  default: break;
  }
}

States Walk::call(const Table &table, Here &here) {
  for (const KeyField &key : table.key) read(here, key.field);
  here.state.asked = true;
  States after;
  bool changed = false;
  for (const TableAction &action : table.actions) {
    const auto [at, fresh] = known_.try_emplace(Entry{action.action, here.valid, here.state});
    if (fresh) at->second = walk(spec_.actions[action.action].block, {{here.valid, here.state}});
    for (const auto &[valid, state] : at->second) meet_at(after, valid, state, changed);
  }
  return after;
}

bool Walk::may_jump(const Here &here) {
  const Instruction &instruction = here.instruction;
  if (instruction.op == Op::jmpv) return here.valid[instruction.operands[1].number];
  if (instruction.op == Op::jmpnv) return !here.valid[instruction.operands[1].number];
  return instruction.jumps();
}

bool Walk::may_fall_through(const Here &here) {
  const Instruction &instruction = here.instruction;
  if (instruction.op == Op::jmpv || instruction.op == Op::jmpnv) return !may_jump(here);
  return !instruction.ends();
}

States Walk::walk(const Block &block, const States &entry) {
  std::vector<States> at(block.size());
  States out;
  std::set<std::size_t> open;
  bool changed = false;
  if (block.empty()) return entry;
  for (const auto &[valid, state] : entry) meet_at(at[0], valid, state, changed);
  open.insert(0);

  const auto arrive = [&](std::size_t target, const Headers &valid, const State &state) {
    if (target >= block.size()) return; // block_end says so
    bool new_here = false;
    meet_at(at[target], valid, state, new_here);
    if (new_here) open.insert(target);
  };
  while (!open.empty()) {
    const std::size_t i = *open.begin();
    open.erase(open.begin());
    if (at[i].size() > states_max) {
      find(Rule::loop, block[i].line, "more than {} sets of valid headers arrive here: merge some headers",
           states_max);
      return out;
    }
    for (const auto &[valid, state] : at[i]) { // a jump to itself may add to it, and is met again
      Here here{block[i], valid, state};
      if (here.instruction.op == Op::table) {
        for (const auto &[valid_after, after] : call(spec_.tables[block[i].operands[0].number], here))
          arrive(i + 1, valid_after, after);
        continue;
      }
      execute(here);
      if (here.instruction.op == Op::return_) meet_at(out, here.valid, here.state, changed);
      if (may_jump(here)) arrive(here.instruction.operands[0].number, here.valid, here.state);
      if (may_fall_through(here)) arrive(i + 1, here.valid, here.state);
    }
  }
  return out;
}

// Every loop contains a backward jump, and each instruction of a loop lies between one such jump and its
// target.
bool check_loops(const Block &block, std::vector<Finding> &findings) {
  const std::size_t before = findings.size();
  for (std::size_t from = 0; from < block.size(); ++from) {
    if (!block[from].jumps() || block[from].operands[0].number > from) continue;
    for (std::size_t i = block[from].operands[0].number; i <= from; ++i)
      if (block[i].op == Op::extract || block[i].op == Op::lookahead || block[i].op == Op::emit)
        findings.push_back(
            {Rule::loop, block[i].line,
             fmt::format("'{}' stands between line {} and the jump back from line {}: write the "
                         "repetitions out",
                         block[i].text, block[block[from].operands[0].number].line, block[from].line)});
  }
  return findings.size() == before;
}

void check_emits(const Spec &spec, std::vector<Finding> &findings) {
  std::map<std::uint64_t, unsigned> line_of;
  const auto look = [&](const Block &block) {
    for (const Instruction &instruction : block)
      if (instruction.op == Op::emit) {
        const auto [at, fresh] = line_of.try_emplace(instruction.operands[0].number, instruction.line);
        if (!fresh)
          findings.push_back({Rule::emit_twice, instruction.line,
                              fmt::format("'{}' stands at line {} too: emit each header once, at the end",
                                          instruction.text, at->second)});
      }
  };
  look(spec.apply);
  for (const Action &action : spec.actions) look(action.block);
}

bool check_port_header(const Spec &spec, std::vector<Finding> &findings) {
  const auto header = spec.header_named(port_header_name);
  if (!header) return true;
  const Struct &type = spec.type_of(spec.headers[*header]);
  const bool same = std::ranges::equal(type.fields, port_header_bits, {}, &Field::bits);
  if (!same)
    findings.push_back({Rule::port_header, spec.headers[*header].line,
                        fmt::format("header {} must have fields of 16, 16 and 32 bits: port, captured bytes, "
                                    "bytes on the wire",
                                    port_header_name)});
  return same;
}

} // namespace

void check_flow(const Spec &spec, std::vector<Finding> &findings) {
  if (spec.headers.size() > headers_max || spec.structs[*spec.metadata].fields.size() > fields_max) return;
  check_emits(spec, findings);
  bool finite = check_port_header(spec, findings);
  if (!check_loops(spec.apply, findings)) finite = false;
  for (const Action &action : spec.actions)
    if (!check_loops(action.block, findings)) finite = false;
  if (!finite) return;
  Walk(spec, findings).walk(spec.apply, {{Headers{}, State{}}});
}

} // namespace weir::p4::swx
