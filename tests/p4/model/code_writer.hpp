// Writes instructions in order and knows, at each of them, which variables surely have a value: where
// that is known, no check is written. Where branches meet, only what all of them know stays known.
#pragma once

#include "tests/p4/model/code.hpp"

#include <map>
#include <optional>
#include <vector>

namespace weir::test::p4_16 {

class CodeWriter {
public:
  using Known = std::vector<bool>; // by slot, from first_variable

  struct Label {
    std::vector<std::size_t> jumps; // instructions that go to it
    std::optional<Known> known;     // by all of them
    std::optional<std::size_t> at;
  };

  explicit CodeWriter(Code &code) : code_(code) {}

  // ---- slots
  std::uint32_t constant(std::uint64_t value, Place place);
  std::uint32_t result(Place place); // until release_results()
  void release_results() { results_ = 0; }
  std::uint32_t variables(std::uint32_t count);
  [[nodiscard]] std::uint32_t variables_end() const { return next_variable_; }
  void drop_variables(std::uint32_t from);                // a scope ends
  void keep_variables() { next_variable_ = code_.slots; } // new ones share no slot with any before
  std::uint32_t name(const std::string &text);

  // ---- instructions
  void write(Instr instr, Place place);
  void jump(Op op, std::uint32_t a, std::uint32_t b, Label &label, Place place);
  void jump(Label &label, Place place) { jump(Op::jump, 0, 0, label, place); }
  void bind(Label &label);
  // `from` is what the last instruction computed: let it compute into `to` instead. False: it is not.
  bool redirect(std::uint32_t from, std::uint32_t to);

  // ---- what is known
  [[nodiscard]] bool knows(std::uint32_t slot) const;
  void learn(std::uint32_t slot, std::uint32_t count = 1);
  void forget(std::uint32_t slot, std::uint32_t count = 1);
  void forget_all() { known_.assign(known_.size(), false); }
  void need(std::uint32_t slot, const std::string &name, Place place);

private:
  static void keep_common(Known &into, const Known &other);

  Code &code_;
  std::map<std::uint64_t, std::uint32_t> constants_;
  std::map<std::string, std::uint32_t> names_;
  std::uint32_t results_ = 0;
  std::uint32_t next_variable_ = first_variable;
  std::size_t last_bound_ = 0; // nothing before it may be changed
  bool reachable_ = true;
  Known known_;
};

} // namespace weir::test::p4_16
