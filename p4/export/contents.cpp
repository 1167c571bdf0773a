#include "p4/export/contents.hpp"

#include "p4/export/program_fit.hpp"
#include "weir/filter/seesaw.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

namespace weir::p4 {
namespace {

constexpr std::size_t number_of(Array array) noexcept { return static_cast<std::size_t>(array); }

// Turns a 32-bit hash into a number below `size`, a power of two.
[[nodiscard]] constexpr unsigned shift_of(std::uint32_t size) noexcept {
  return 32 - static_cast<unsigned>(std::countr_zero(size));
}

[[nodiscard]] std::uint64_t slot4(const table::LineV4 &line, unsigned slot) noexcept {
  const std::uint32_t value = table::read_acquire(line.value[slot]) & ~table::value::group_bit;
  if (!table::value::is_set(value)) return empty_slot;
  return std::uint64_t{byteswap32(table::read_key(line.key[slot]))} << 32 | value;
}

struct Slot6 {
  std::uint64_t high = 0, low = 0, value = empty_slot;
};
[[nodiscard]] Slot6 slot6(const table::LineV6 &line, unsigned slot) noexcept {
  const std::uint32_t value = table::read_acquire(line.value[slot]) & ~table::value::group_bit;
  if (!table::value::is_set(value)) return {};
  const table::KeyV6 key = table::read_key(line.key[slot]);
  return {__builtin_bswap64(key.low), __builtin_bswap64(key.high), value};
}

// Fills the half of one bank, array by array; bases follow from what stands in an array already.
class BankWriteUp {
public:
  BankWriteUp(const Setting &setting, unsigned bank, const Capacities &capacities)
      : setting_(setting), bank_(bank), capacities_(capacities) {
    at(Array::cfg).resize(cfg_elements);
    at(Array::lmap).resize(lmap_elements);
    set(cfg::verdict_no_image, setting.no_image);
  }

  void write(const image::ImageView &view) {
    write_policy(view);
    for (const Side side : both_sides) {
      write_tables<table::LineV4>(view, side);
      write_tables<table::LineV6>(view, side);
      write_lengths_v4(view, side);
      write_lengths_v6(view, side);
    }
    for (const Side side : both_sides) { // behind the tables, whose bases stay when an overlay comes
      write_overlay<table::LineV4>(view, side);
      write_overlay<table::LineV6>(view, side);
    }
    write_seeds_v4(view);
    for (unsigned i = 0; i < limits::deep_layers; ++i)
      set_wide(cfg::deep_salt + cfg::deep_salt_stride * i, table::ChainedPredictor::salt(i));
    if (const filter::SeesawView *guard = view.allow_filter.as<filter::SeesawView>())
      write_allow_filter(*guard, view.policy);
    if (!view.deny_filter.empty()) write_stack(view.deny_filter);
    set(cfg::valid, 1);
  }

  [[nodiscard]] BankContents take() { return std::move(contents_); }

private:
  [[nodiscard]] std::vector<std::uint64_t> &at(Array array) noexcept { return contents_[number_of(array)]; }
  // Where the next element of an array will stand.
  [[nodiscard]] std::uint64_t base(Array array) noexcept {
    return half_of(array, bank_, capacities_) + at(array).size();
  }

  void set(std::uint32_t parameter, std::uint64_t value) noexcept { at(Array::cfg)[parameter] = value; }
  void set(std::uint32_t parameter, Verdict verdict) noexcept {
    set(parameter, std::uint64_t{verdict == Verdict::drop});
  }
  void set_wide(std::uint32_t parameter, std::uint64_t value) noexcept {
    set(parameter, value & 0xFFFF'FFFF);
    set(parameter + 1, value >> 32);
  }

  template <class Line> [[nodiscard]] static constexpr std::uint32_t parameters_of(Side side) noexcept {
    constexpr std::uint32_t family = Line::family == Family::ipv4 ? 0 : 1;
    return cfg::lookup + cfg::lookup_stride * (2 * static_cast<std::uint32_t>(side) + family);
  }
  template <class Line>
  static constexpr Array slots = Line::family == Family::ipv4 ? Array::slots4 : Array::slots6;

  void write_policy(const image::ImageView &view) {
    const Policy &policy = view.policy;
    set(cfg::verdict_malformed, policy.malformed);
    set(cfg::verdict_non_ip, policy.non_ip);
    set(cfg::verdict_too_many_tags, policy.too_many_tags);
    set(cfg::verdict_link_local, policy.link_local);
    set(cfg::verdict_default, policy.fallthrough);
    set_wide(cfg::generation, view.generation.value());
    for (std::uint32_t port = 0; port < limits::ports; ++port) {
      const PortSide side = port < setting_.ports.size() ? setting_.ports[port] : PortSide::none;
      const bool destination =
          policy.match == Match::destination || (policy.match == Match::remote && side == PortSide::inside);
      set(cfg::port_judges + port, destination ? 1 : 0);
    }
  }

  void append(const table::LineV4 *lines, std::uint32_t count) {
    std::vector<std::uint64_t> &out = at(Array::slots4);
    out.reserve(out.size() + std::uint64_t{count} * line4_elements);
    for (std::uint32_t n = 0; n < count; ++n)
      for (unsigned slot = 0; slot < table::LineV4::slots; ++slot) out.push_back(slot4(lines[n], slot));
  }
  void append(const table::LineV6 *lines, std::uint32_t count) {
    std::vector<std::uint64_t> &out = at(Array::slots6);
    out.reserve(out.size() + std::uint64_t{count} * line6_elements);
    for (std::uint32_t n = 0; n < count; ++n) {
      for (unsigned slot = 0; slot < table::LineV6::slots; ++slot) {
        const Slot6 s = slot6(lines[n], slot);
        out.insert(out.end(), {s.high, s.low, s.value});
      }
      out.resize(out.size() + line6_elements - 3 * table::LineV6::slots);
    }
  }
  void append(Array array, const void *words, std::uint64_t count) {
    std::vector<std::uint64_t> &out = at(array);
    out.resize(out.size() + count);
    std::memcpy(out.data() + (out.size() - count), words, count * sizeof(std::uint64_t));
  }

  template <class Line> void write_tables(const image::ImageView &view, Side side) {
    const image::SideView<Line> &of = view.sides<Line>()[side];
    const std::uint32_t p = parameters_of<Line>(side);
    if constexpr (Line::family == Family::ipv4)
      set(p + cfg::side::default_value, table::read_acquire(*view.lengths_v4[side].default_value));
    if (!in_use<Line>(view, side)) return;
    set(p + cfg::side::in_use, 1);
    set(p + cfg::side::table1_base, base(slots<Line>));
    set(p + cfg::side::table1_shift, shift_of(of.table.count1));
    append(of.table.lines1, of.table.count1);
    set(p + cfg::side::table2_base, base(slots<Line>));
    set(p + cfg::side::table2_shift, shift_of(of.table.count2));
    append(of.table.lines2, of.table.count2);
    write_chain(of.chain, p);
  }

  void write_chain(const table::ChainedPredictor &chain, std::uint32_t p) {
    const table::ChainedPredictor::FirstLayer &first = chain.first();
    set(p + cfg::side::chain_base, base(Array::chain));
    set(p + cfg::side::group_shift, first.group_shift);
    set(p + cfg::side::group_mask, first.group_mask);
    append(Array::chain, first.words, ((std::uint64_t{first.lines} << first.group_shift) + 63) / 64);
    set(p + cfg::side::deep_layers, chain.deep_layers());
    for (unsigned i = 0; i < chain.deep_layers(); ++i) {
      const std::uint32_t deep = p + cfg::side::deep_stride * i;
      set(deep + cfg::side::deep, base(Array::chain));
      set(deep + cfg::side::deep_shift, shift_of(chain.deep_layer(i).count));
      append(Array::chain, chain.deep_layer(i).words, chain.deep_layer(i).count);
    }
  }

  template <class Line> void write_overlay(const image::ImageView &view, Side side) {
    if (!in_use<Line>(view, side)) return;
    const table::OverlayView<Line> &overlay = view.sides<Line>()[side].overlay;
    const std::uint32_t p = parameters_of<Line>(side);
    set(p + cfg::side::overlay_keys, table::read_acquire(*overlay.keys));
    set(p + cfg::side::overlay_base, base(slots<Line>));
    set(p + cfg::side::overlay_shift, shift_of(overlay.count));
    append(overlay.lines, overlay.count);
  }

  // A prefix that stands alone in its cell is in the table as well: the program asks for it there.
  void write_lengths_v4(const image::ImageView &view, Side side) {
    const table::LengthMapV4 &map = view.lengths_v4[side];
    std::uint64_t *out = at(Array::lmap).data() + static_cast<std::size_t>(side) * table::length_map_cells;
    for (std::uint32_t c = 0; c < table::length_map_cells; ++c) {
      const std::uint64_t cell = table::read_acquire(map.cells[c]);
      out[c] = (cell & table::cell_lengths) | table::short_value(cell);
    }
  }

  void write_seeds_v4(const image::ImageView &view) {
    for (unsigned length = table::short_length_max + 1; length <= 32; ++length) {
      const std::uint32_t p =
          cfg::length_v4 + cfg::length_v4_stride * (length - (table::short_length_max + 1));
      set(p + cfg::length_v4_at::mask, byteswap32(wire_mask_v4(length)));
      set_wide(p + cfg::length_v4_at::seed, view.seeds_v4[length]);
    }
  }

  void write_lengths_v6(const image::ImageView &view, Side side) {
    std::uint32_t count = 0;
    for (unsigned length = 129; length-- > 0;) {
      if (!view.lengths_v6[side].has(length)) continue;
      const std::uint32_t p = cfg::length_v6 + cfg::length_v6_side_stride * static_cast<std::uint32_t>(side) +
                              cfg::length_v6_stride * count++;
      Address mask;
      mask.bytes.fill(0xFF);
      mask = masked(mask, length);
      for (std::uint32_t word = 0; word < 4; ++word)
        set(p + cfg::length_v6_at::mask + word,
            byteswap32(load_unaligned<std::uint32_t>(mask.bytes.data() + 4 * word)));
      set_wide(p + cfg::length_v6_at::seed, view.seeds_v6[length]);
      set(p + cfg::length_v6_at::length, length);
    }
    set(parameters_of<table::LineV6>(side) + cfg::side::lengths, count);
  }

  void write_allow_filter(const filter::SeesawView &guard, const Policy &policy) {
    const filter::SeesawShape &shape = guard.shape();
    set(cfg::guard, 1);
    set(cfg::guard_late, policy.confirm == Confirm::on_conflict ? 1 : 0);
    set(cfg::guard_hashes, shape.hashes);
    set(cfg::guard_cells_base, base(Array::filter));
    set(cfg::guard_cells_shift, shift_of(shape.lines));
    append(Array::filter, guard.cells(), shape.cells.words);
    set(cfg::guard_modulator_base, base(Array::filter));
    set(cfg::guard_modulator_shift, shift_of(shape.modulator.words));
    append(Array::filter, guard.modulator(), shape.modulator.words);
    const unsigned a_line = filter::functions_a_line(shape.hashes);
    const unsigned lines = (shape.hashes + a_line - 1) / a_line; // of a key
    for (unsigned n = 0; n < lines; ++n)
      set_wide(cfg::guard_salt + cfg::guard_salt_stride * n, filter::SeesawWalk::factor(n));
    set_wide(cfg::guard_salt + cfg::guard_salt_stride * 2, filter::SeesawWalk::factor(lines));
  }

  void write_stack(const image::DenyFilterView &stack) {
    set(cfg::stack_depth, stack.depth());
    set_wide(cfg::stack_step_growth, filter::Positions::growth);
    for (std::uint32_t i = 0; i < stack.depth(); ++i) {
      const filter::BloomView &layer = *stack.bloom(i);
      const std::uint32_t p = cfg::stack_layer + cfg::stack_layer_stride * i;
      set(p + cfg::layer::base, base(Array::stack));
      set(p + cfg::layer::shift, 64 - static_cast<unsigned>(std::countr_zero(layer.shape().bits())));
      set(p + cfg::layer::hashes, layer.shape().hashes);
      set_wide(p + cfg::layer::salt, layer.salt());
      append(Array::stack, layer.words(), layer.shape().size);
    }
  }

  Setting setting_;
  unsigned bank_;
  const Capacities &capacities_;
  BankContents contents_;
};

// What an array has to have for a half of so many elements.
[[nodiscard]] std::uint64_t elements_for(const std::vector<std::uint64_t> &half) noexcept {
  return banks * std::bit_ceil(std::max<std::uint64_t>(half.size(), 1));
}

[[nodiscard]] Status check_capacities(const BankContents &contents, const Capacities &capacities) {
  std::vector<std::string> small, larger;
  for (const ArrayInfo &info : arrays) {
    const std::uint64_t has = capacities[number_of(info.array)];
    const std::uint64_t needs = std::max<std::uint64_t>(
        info.banked ? elements_for(contents[number_of(info.array)]) : 0, info.fixed ? info.elements : 0);
    if (has >= needs && std::has_single_bit(has)) continue;
    small.push_back(fmt::format("{} ({}) has {} elements and needs {}", info.name, info.what, has, needs));
    larger.push_back(fmt::format("{}={}", info.name, needs));
  }
  if (small.empty()) return {};
  return fail(Errc::refused, fmt::format("registers of the P4 program are too small: {}; load it with {}",
                                         fmt::join(small, ", "), fmt::join(larger, " ")));
}

} // namespace

Result<Capacities> capacities_for(const image::ImageView &view) {
  TRY(check_fit(view, {}));
  Capacities all = default_capacities();
  BankWriteUp write_up({}, 0, all);
  write_up.write(view);
  const BankContents contents = write_up.take();
  for (const ArrayInfo &info : arrays)
    if (info.banked && !info.fixed) {
      std::uint64_t &elements = all[number_of(info.array)];
      elements = std::max(elements, elements_for(contents[number_of(info.array)]));
    }
  return all;
}

Result<BankContents> contents_of(const image::ImageView &view, const Setting &setting, unsigned bank,
                                 const Capacities &capacities) {
  TRY(check_fit(view, setting));
  BankWriteUp write_up(setting, bank, capacities);
  write_up.write(view);
  BankContents contents = write_up.take();
  TRY(check_capacities(contents, capacities));
  return contents;
}

Result<BankContents> contents_without_image(const Setting &setting, const Capacities &capacities) {
  BankContents contents = BankWriteUp(setting, 0, capacities).take();
  TRY(check_capacities(contents, capacities));
  return contents;
}

} // namespace weir::p4
