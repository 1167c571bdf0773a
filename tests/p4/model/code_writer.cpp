#include "tests/p4/model/code_writer.hpp"

#include <algorithm>

namespace weir::test::p4_16 {

std::uint32_t CodeWriter::constant(std::uint64_t value, Place place) {
  const auto [at, fresh] = constants_.try_emplace(value, static_cast<std::uint32_t>(code_.constants.size()));
  if (fresh) {
    if (code_.constants.size() == constant_slots) refuse(place, "more than 16384 different constants");
    code_.constants.push_back(value);
  }
  return at->second;
}

std::uint32_t CodeWriter::result(Place place) {
  if (results_ == result_slots) refuse(place, "a statement with more than 256 intermediate results");
  return first_result + results_++;
}

std::uint32_t CodeWriter::variables(std::uint32_t count) {
  const std::uint32_t first = next_variable_;
  next_variable_ += count;
  code_.slots = std::max(code_.slots, next_variable_);
  known_.resize(std::max<std::size_t>(known_.size(), next_variable_ - first_variable));
  forget(first, count);
  return first;
}

void CodeWriter::drop_variables(std::uint32_t from) {
  forget(from, next_variable_ - from);
  next_variable_ = from;
}

std::uint32_t CodeWriter::name(const std::string &text) {
  const auto [at, fresh] = names_.try_emplace(text, static_cast<std::uint32_t>(code_.names.size()));
  if (fresh) code_.names.push_back(text);
  return at->second;
}

void CodeWriter::write(Instr instr, Place place) {
  code_.instrs.push_back(instr);
  code_.places.push_back(place);
  if (instr.op == Op::fail || instr.op == Op::back) reachable_ = false;
}

void CodeWriter::jump(Op op, std::uint32_t a, std::uint32_t b, Label &label, Place place) {
  label.jumps.push_back(code_.instrs.size());
  write({op, 64, 0, 0, a, b}, place);
  if (reachable_) {
    if (label.known)
      keep_common(*label.known, known_);
    else
      label.known = known_;
  }
  if (op == Op::jump) reachable_ = false;
}

void CodeWriter::bind(Label &label) {
  label.at = last_bound_ = code_.instrs.size();
  for (const std::size_t from : label.jumps) code_.instrs[from].to = static_cast<std::uint32_t>(*label.at);
  if (!label.known) return;
  if (reachable_)
    keep_common(known_, *label.known);
  else
    known_ = *label.known;
  reachable_ = true;
}

bool CodeWriter::redirect(std::uint32_t from, std::uint32_t to) {
  if (code_.instrs.size() == last_bound_ || from < first_result || from >= first_variable) return false;
  Instr &last = code_.instrs.back();
  const bool computes = last.op <= Op::at_most && last.op != Op::put;
  const bool fetches = last.op == Op::hash || last.op == Op::read;
  if ((!computes && !fetches) || last.to != from) return false;
  last.to = to;
  return true;
}

bool CodeWriter::knows(std::uint32_t slot) const {
  return slot < first_variable || (slot - first_variable < known_.size() && known_[slot - first_variable]);
}

void CodeWriter::learn(std::uint32_t slot, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) known_[slot - first_variable + i] = true;
}

void CodeWriter::forget(std::uint32_t slot, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) known_[slot - first_variable + i] = false;
}

void CodeWriter::need(std::uint32_t slot, const std::string &text, Place place) {
  if (knows(slot)) return;
  write({Op::need, 64, 0, 0, slot, name(text)}, place);
  learn(slot);
}

void CodeWriter::keep_common(Known &into, const Known &other) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = into[i] && i < other.size() && other[i];
}

} // namespace weir::test::p4_16
