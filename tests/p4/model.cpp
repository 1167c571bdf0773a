#include "tests/p4/model.hpp"

#include "weir/image/layout.hpp"
#include "weir/key/parse.hpp"

#include <rte_jhash.h>

#include <array>

namespace weir::test {
namespace {

namespace at = p4::cfg;
using p4::Array;
using Hash = P4Model::Hash;

[[nodiscard]] constexpr std::uint32_t low(std::uint64_t wide) noexcept {
  return static_cast<std::uint32_t>(wide);
}
[[nodiscard]] constexpr std::uint32_t high(std::uint64_t wide) noexcept {
  return static_cast<std::uint32_t>(wide >> 32);
}

[[nodiscard]] std::uint64_t salted(const Hash &hash, std::uint64_t salt) {
  const auto half = [&](std::uint32_t first) {
    const std::array<std::uint32_t, 3> words{first, hash.h0, hash.h1};
    return rte_jhash_32b(words.data(), words.size(), 0);
  };
  return std::uint64_t{half(low(salt))} << 32 | half(high(salt));
}

[[nodiscard]] std::uint32_t word_of(const Address &address, unsigned n) noexcept {
  return byteswap32(load_unaligned<std::uint32_t>(address.bytes.data() + std::size_t{4} * n));
}

constexpr std::uint32_t list_bits = 0xFFFF, tombstone = 1u << 24;

} // namespace

// One question: this key at this length, of one side of one family.
struct P4Model::Probe {
  unsigned side = 0;
  bool v6 = false;
  std::uint64_t key[2] = {}; // IPv4: the address; IPv6: both halves
  unsigned length = 0;
  Hash hash;

  [[nodiscard]] std::uint32_t parameters() const noexcept {
    return at::lookup + at::lookup_stride * (2 * side + (v6 ? 1u : 0u));
  }
  [[nodiscard]] bool is_host() const noexcept { return length == (v6 ? 128u : 32u); }
};

std::uint64_t P4Model::element(Array array, std::uint64_t index) const {
  return registers_.of(array).at(index);
}

std::uint64_t P4Model::cfg(std::uint32_t parameter) const {
  const std::uint64_t bank = element(Array::bank, 0);
  return element(Array::cfg, bank * p4::cfg_elements + parameter);
}
std::uint64_t P4Model::cfg_wide(std::uint32_t parameter) const {
  return cfg(parameter) | cfg(parameter + 1) << 32;
}

Hash P4Model::hash_v4(std::uint32_t address, std::uint64_t seed) {
  const auto half = [&](std::uint32_t first) {
    const std::array<std::uint32_t, 2> words{first, address};
    return rte_jhash_32b(words.data(), words.size(), 0);
  };
  return {half(low(seed)), half(high(seed))};
}

Hash P4Model::hash_v6(const Address &address, std::uint64_t seed) {
  const auto half = [&](std::uint32_t first) {
    std::array<std::uint32_t, 5> words{first};
    for (unsigned n = 0; n < 4; ++n) words[n + 1] = word_of(address, n);
    return rte_jhash_32b(words.data(), words.size(), 0);
  };
  return {half(low(seed)), half(high(seed))};
}

P4Model::Answer P4Model::judge(std::span<const std::uint8_t> frame, unsigned port) const {
  const auto verdict = [&](std::uint32_t parameter) {
    return cfg(parameter) == 0 ? Verdict::pass : Verdict::drop;
  };
  if (cfg(at::valid) == 0) return {verdict(at::verdict_no_image), Reason::no_image};
  const ParsedPacket parsed = parse_packet(frame.data(), frame.size());
  if (parsed.kind == PacketKind::malformed) return {verdict(at::verdict_malformed), Reason::malformed};
  if (parsed.kind == PacketKind::non_ip) return {verdict(at::verdict_non_ip), Reason::non_ip};
  if (parsed.kind == PacketKind::too_many_tags)
    return {verdict(at::verdict_too_many_tags), Reason::too_many_tags};
  if (parsed.link_local) return {verdict(at::verdict_link_local), Reason::link_local};
  const bool destination = cfg(at::port_judges + port) != 0;
  return judge_address(
      address_at(parsed, frame.data(), destination ? parsed.destination_offset : parsed.source_offset));
}

P4Model::Answer P4Model::judge_address(const Address &address) const {
  const Verdict fallthrough = cfg(at::verdict_default) == 0 ? Verdict::pass : Verdict::drop;
  const bool late = cfg(at::guard_late) != 0;
  std::uint32_t deny = late ? lookup(Side::deny, address) : 0;
  if (late && deny == 0) return {fallthrough, Reason::fallthrough};
  if (const std::uint32_t allow = lookup(Side::allow, address); allow != 0)
    return {Verdict::pass, Reason::allow, allow & list_bits};
  if (!late) deny = lookup(Side::deny, address);
  if (deny != 0) return {Verdict::drop, Reason::deny, deny & list_bits};
  return {fallthrough, Reason::fallthrough};
}

std::uint32_t P4Model::lookup(Side side, const Address &address) const {
  const auto n = static_cast<unsigned>(side);
  return address.family == Family::ipv4 ? lookup_v4(n, address.host()) : lookup_v6(n, address);
}

std::uint32_t P4Model::lookup_v4(unsigned side, std::uint32_t address) const {
  Probe p;
  p.side = side;
  const auto otherwise = low(cfg(p.parameters() + at::side::default_value));
  if (cfg(p.parameters() + at::side::in_use) == 0) return otherwise;
  const std::uint64_t cell =
      element(Array::lmap, element(Array::bank, 0) << 17 | std::uint64_t{side} << 16 | address >> 16);
  for (p.length = 32; p.length >= 17; --p.length) {
    if ((cell >> (32 + p.length - 17) & 1) == 0) continue;
    const std::uint32_t of = at::length_v4 + at::length_v4_stride * (p.length - 17);
    const std::uint32_t key = address & low(cfg(of + at::length_v4_at::mask));
    p.key[0] = key;
    p.hash = hash_v4(key, cfg_wide(of + at::length_v4_at::seed));
    if (const std::uint32_t value = probe(p); value != 0) return value;
  }
  return low(cell) != 0 ? low(cell) : otherwise;
}

std::uint32_t P4Model::lookup_v6(unsigned side, const Address &address) const {
  Probe p;
  p.side = side;
  p.v6 = true;
  if (cfg(p.parameters() + at::side::in_use) == 0) return 0;
  const std::uint64_t lengths = cfg(p.parameters() + at::side::lengths);
  for (std::uint32_t n = 0; n < lengths; ++n) {
    const std::uint32_t of = at::length_v6 + at::length_v6_side_stride * side + at::length_v6_stride * n;
    Address key = address;
    for (unsigned word = 0; word < 4; ++word) {
      const std::uint32_t masked = word_of(address, word) & low(cfg(of + at::length_v6_at::mask + word));
      const std::uint32_t wire = byteswap32(masked);
      std::memcpy(key.bytes.data() + std::size_t{4} * word, &wire, sizeof wire);
      std::uint64_t &half = p.key[word / 2];
      half = half << 32 | masked;
    }
    p.length = low(cfg(of + at::length_v6_at::length));
    p.hash = hash_v6(key, cfg_wide(of + at::length_v6_at::seed));
    if (const std::uint32_t value = probe(p); value != 0) return value;
  }
  return 0;
}

std::uint32_t P4Model::probe(const Probe &p) const {
  const std::uint32_t of = p.parameters();
  const Hash &h = p.hash;
  const auto line = [&](std::uint32_t half, std::uint32_t shift) {
    return std::uint64_t{half} >> cfg(of + shift);
  };
  if (p.side == 1 && has_allow_filter() && !guard_accepts(h)) return 0;
  if (cfg(of + at::side::overlay_keys) != 0) {
    const std::uint64_t base = cfg(of + at::side::overlay_base);
    std::uint32_t value = find_in_line(p, base, line(h.h0, at::side::overlay_shift));
    if (value == 0) value = find_in_line(p, base, line(h.h1, at::side::overlay_shift));
    if (value != 0) return (value & tombstone) != 0 ? 0 : value;
  }
  if (p.side == 0 && p.is_host() && has_stack() && !stack_accepts(h)) return 0;
  if (in_table2(of, h))
    return find_in_line(p, cfg(of + at::side::table2_base), line(h.h1, at::side::table2_shift));
  return find_in_line(p, cfg(of + at::side::table1_base), line(h.h0, at::side::table1_shift));
}

std::uint32_t P4Model::find_in_line(const Probe &p, std::uint64_t base, std::uint64_t line) const {
  if (p.v6) {
    for (std::uint64_t slot = base + line * p4::line6_elements, n = 0; n < 3; ++n, slot += 3) {
      const auto value = low(element(Array::slots6, slot + 2));
      const bool same =
          element(Array::slots6, slot) == p.key[0] && element(Array::slots6, slot + 1) == p.key[1];
      if (same && (value >> 16 & 0xFF) == p.length) return value;
    }
    return 0;
  }
  for (std::uint64_t slot = base + line * p4::line4_elements, n = 0; n < p4::line4_elements; ++n, ++slot) {
    const std::uint64_t e = element(Array::slots4, slot);
    if (e >> 32 == p.key[0] && (e >> 16 & 0xFF) == p.length) return low(e);
  }
  return 0;
}

bool P4Model::in_table2(std::uint32_t of, const Hash &h) const {
  const std::uint64_t line = std::uint64_t{h.h0} >> cfg(of + at::side::table1_shift);
  const std::uint64_t bit = line << cfg(of + at::side::group_shift) | (h.h1 & cfg(of + at::side::group_mask));
  if ((element(Array::chain, cfg(of + at::side::chain_base) + (bit >> 6)) >> (bit & 63) & 1) == 0)
    return false;
  const std::uint64_t layers = cfg(of + at::side::deep_layers);
  for (std::uint32_t n = 0; n < layers; ++n) {
    const std::uint64_t g = salted(h, cfg_wide(at::deep_salt + at::deep_salt_stride * n));
    const std::uint32_t deep = of + at::side::deep_stride * n;
    const std::uint64_t word =
        element(Array::chain,
                cfg(deep + at::side::deep) + (std::uint64_t{high(g)} >> cfg(deep + at::side::deep_shift)));
    if ((word >> (g & 63) & word >> (g >> 6 & 63) & word >> (g >> 12 & 63) & 1) == 0) return n % 2 == 0;
  }
  return layers % 2 == 0;
}

bool P4Model::layer_holds(std::uint32_t of, const Hash &h) const {
  std::uint64_t g = salted(h, cfg_wide(of + at::layer::salt));
  std::uint64_t step = g << 32 | g >> 32;
  for (std::uint64_t n = cfg(of + at::layer::hashes); n > 0; --n) {
    const std::uint64_t bit = g >> cfg(of + at::layer::shift);
    if ((element(Array::stack, cfg(of + at::layer::base) + (bit >> 6)) >> (bit & 63) & 1) == 0) return false;
    g += step;
    step += cfg_wide(at::stack_step_growth);
  }
  return true;
}

// Layers 1, 3, ... hold positives: who is missing there is absent. Who is missing in layers 2, 4, ... is
// present.
bool P4Model::stack_accepts(const Hash &h) const {
  const std::uint64_t depth = cfg(at::stack_depth);
  for (std::uint32_t n = 0; n < depth; ++n)
    if (!layer_holds(at::stack_layer + at::stack_layer_stride * n, h)) return n % 2 != 0;
  return true;
}

// Cells have two bits of count and a seal above them; 16 of them an element, 8 elements a line.
bool P4Model::guard_accepts(const Hash &h) const {
  const auto hashes = static_cast<unsigned>(cfg(at::guard_hashes));
  const unsigned a_line = hashes <= 4 ? 2 : 3;
  struct Spot {
    std::uint64_t number; // of a line or of a modulator element
    std::uint32_t rest;   // chooses the cell
  };
  const auto divide = [&](unsigned salt, std::uint32_t shift) {
    const std::uint64_t g = salted(h, cfg_wide(at::guard_salt + at::guard_salt_stride * salt));
    return Spot{std::uint64_t{high(g)} >> cfg(shift), low(g >> cfg(shift))};
  };
  const auto cell = [&](std::uint64_t line, std::uint32_t rest) {
    const std::uint64_t word =
        element(Array::filter, cfg(at::guard_cells_base) + line * 8 + (rest >> 25 & 7));
    return low(word >> (rest >> 28) * 4);
  };

  bool sealed_any = false, barred = false, old_vacant = false;
  Spot spot{};
  std::uint64_t first_line = 0;
  for (unsigned i = 0; i < hashes; ++i) {
    if (i % a_line == 0) spot = divide(i / a_line, at::guard_cells_shift);
    if (i == 0) first_line = spot.number;
    const std::uint32_t seen = cell(spot.number, spot.rest);
    spot.rest <<= 7;
    const bool sealed = (seen & 4) != 0, vacant = (seen & 3) == 0, old = sealed && !sealed_any;
    barred |= vacant && !old;
    old_vacant |= vacant && old;
    sealed_any |= sealed;
  }
  if (barred) return false;
  if (!sealed_any) return true;
  spot = divide(2, at::guard_modulator_shift);
  const std::uint64_t counts = element(Array::filter, cfg(at::guard_modulator_base) + spot.number);
  if ((counts >> (spot.rest >> 27) * 2 & 3) == 0) return false;
  const std::uint32_t backup = cell(first_line, spot.rest << 5);
  if ((backup & 7) == 0) return false;
  return (backup & 4) == 0 || !old_vacant; // a sealed backup: the key is counted in its old position
}

} // namespace weir::test
