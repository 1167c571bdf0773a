// Registers that no image would fill like that, so that every branch of the P4 program is taken.
#pragma once

#include "p4/export/text_sink.hpp"
#include "tests/support/random_rules.hpp"

#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace weir::test {

// Random parameters and words in place of those of the bank in use, wherever the program can take any: deep
// layers of predictors, filters, verdicts, sides of ports. Tables stay: what is found in them tells which
// way the program went.
class P4Chance {
public:
  P4Chance(Random &random, p4::Registers &registers) : random_(random), registers_(registers) {}

  // Overlays of one line each, in which every key is looked for: copies of slots of the tables, of another
  // list or with the flag that there is none. They change slots4 and slots6, nothing else does.
  void add_overlays() {
    for (unsigned n = 0; n < 4; ++n) {
      const std::uint32_t of = p4::cfg::lookup + p4::cfg::lookup_stride * n;
      if (cfg(of + p4::cfg::side::in_use) == 0) continue;
      const bool v6 = n % 2 == 1;
      const p4::Array array = v6 ? p4::Array::slots6 : p4::Array::slots4;
      const std::uint32_t line = v6 ? p4::line6_elements : p4::line4_elements;
      const std::uint64_t to = half(array) + elements(array).size() / p4::banks - line * (1 + n / 2);
      fill_overlay(of, v6, to);
      cfg(of + p4::cfg::side::overlay_keys) = 1;
      cfg(of + p4::cfg::side::overlay_base) = to;
      cfg(of + p4::cfg::side::overlay_shift) = 32;
    }
  }

  void disturb() {
    for (std::uint32_t n = p4::cfg::verdict_malformed; n <= p4::cfg::verdict_default; ++n)
      cfg(n) = random_.below(2);
    for (unsigned port = 0; port < p4::limits::ports; ++port)
      cfg(p4::cfg::port_judges + port) = random_.below(2);
    for (unsigned n = 0; n < 4; ++n) predictor(p4::cfg::lookup + p4::cfg::lookup_stride * n);
    for (unsigned n = 0; n < p4::limits::deep_layers; ++n)
      salt(p4::cfg::deep_salt + p4::cfg::deep_salt_stride * n);
    guard();
    stack();
    for (const p4::Array array : {p4::Array::chain, p4::Array::filter, p4::Array::stack})
      fill(array, array == p4::Array::filter ? 1 : 1 + random_.below(6));
  }

private:
  static constexpr std::uint32_t window = 4096;

  [[nodiscard]] std::vector<std::uint64_t> &elements(p4::Array array) {
    return registers_.elements[static_cast<std::size_t>(array)];
  }
  [[nodiscard]] std::uint64_t &cfg(std::uint32_t parameter) {
    const std::uint64_t bank = registers_.of(p4::Array::bank)[0];
    return elements(p4::Array::cfg)[bank * p4::cfg_elements + parameter];
  }
  [[nodiscard]] std::uint32_t word() { return static_cast<std::uint32_t>(random_.bits()); }
  void salt(std::uint32_t parameter) { cfg(parameter) = word(), cfg(parameter + 1) = word(); }
  // Where the bank's elements of an array begin; from there on `window` elements are random.
  [[nodiscard]] std::uint64_t half(p4::Array array) {
    return p4::half_of(array, static_cast<unsigned>(registers_.of(p4::Array::bank)[0]),
                       registers_.capacities);
  }
  [[nodiscard]] std::uint64_t base(p4::Array array, std::uint32_t room) {
    return half(array) + random_.below(window - room);
  }
  // A bit is 0 with probability 2^-density.
  void fill(p4::Array array, unsigned density) {
    for (std::uint64_t &element : std::span(elements(array)).subspan(half(array), window)) {
      element = random_.bits();
      for (unsigned n = 1; n < density; ++n) element |= random_.bits();
    }
  }

  // Copies of slots of table 1, none of them twice.
  void fill_overlay(std::uint32_t of, bool v6, std::uint64_t line) {
    std::vector<std::uint64_t> &all = elements(v6 ? p4::Array::slots6 : p4::Array::slots4);
    const std::uint32_t slots = v6 ? 3 : 8, words = v6 ? 3 : 1;
    const auto bits = 32 - static_cast<std::uint32_t>(cfg(of + p4::cfg::side::table1_shift));
    std::set<std::uint64_t> taken;
    for (unsigned tries = 0; tries < 60 && taken.size() < slots; ++tries) {
      const std::uint64_t from =
          cfg(of + p4::cfg::side::table1_base) + words * random_.below(slots) +
          std::uint64_t{v6 ? p4::line6_elements : p4::line4_elements} * random_.below(1u << bits);
      if (static_cast<std::uint32_t>(all[from + words - 1]) == p4::empty_slot || taken.contains(from))
        continue;
      const std::uint64_t to = line + words * taken.size();
      for (std::uint32_t i = 0; i < words; ++i) all[to + i] = all[from + i];
      all[to + words - 1] ^= random_.one_in(2) ? 1u << 24 : 1u << 15;
      taken.insert(from);
    }
    for (std::uint64_t n = taken.size(); n < slots; ++n) all[line + words * n + words - 1] = p4::empty_slot;
  }

  void predictor(std::uint32_t of) {
    cfg(of + p4::cfg::side::deep_layers) = random_.below(p4::limits::deep_layers + 1);
    for (unsigned n = 0; n < p4::limits::deep_layers; ++n) {
      const unsigned bits = random_.below(9);
      const std::uint32_t at = of + p4::cfg::side::deep_stride * n;
      cfg(at + p4::cfg::side::deep) = base(p4::Array::chain, 1u << bits);
      cfg(at + p4::cfg::side::deep_shift) = 32 - bits;
    }
  }
  void guard() {
    const unsigned line_bits = random_.below(5), modulator_bits = random_.below(5);
    cfg(p4::cfg::guard) = random_.below(2);
    cfg(p4::cfg::guard_late) = cfg(p4::cfg::guard) != 0 ? random_.below(2) : 0;
    cfg(p4::cfg::guard_hashes) = 2 + random_.below(5);
    cfg(p4::cfg::guard_cells_base) = base(p4::Array::filter, 8u << line_bits);
    cfg(p4::cfg::guard_cells_shift) = 32 - line_bits;
    cfg(p4::cfg::guard_modulator_base) = base(p4::Array::filter, 1u << modulator_bits);
    cfg(p4::cfg::guard_modulator_shift) = 32 - modulator_bits;
    for (unsigned n = 0; n < 3; ++n) salt(p4::cfg::guard_salt + p4::cfg::guard_salt_stride * n);
  }
  void stack() {
    cfg(p4::cfg::stack_depth) =
        random_.one_in(3) ? 0 : 1 + 2 * random_.below((p4::limits::stack_layers + 1) / 2);
    cfg(p4::cfg::stack_step_growth) = 0x7F4A7C15;
    cfg(p4::cfg::stack_step_growth + 1) = 0x9E3779B9;
    for (unsigned n = 0; n < p4::limits::stack_layers; ++n) {
      const std::uint32_t at = p4::cfg::stack_layer + p4::cfg::stack_layer_stride * n;
      const unsigned bits = 6 + random_.below(8);
      cfg(at + p4::cfg::layer::base) = base(p4::Array::stack, 1u << (bits - 6));
      cfg(at + p4::cfg::layer::shift) = 64 - bits;
      cfg(at + p4::cfg::layer::hashes) =
          p4::limits::stack_hashes -
          random_.below(1 + random_.below(p4::limits::stack_hashes)); // rather many
      salt(at + p4::cfg::layer::salt);
    }
  }

  Random &random_;
  p4::Registers &registers_;
};

} // namespace weir::test
