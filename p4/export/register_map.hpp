// The registers of p4/acl.p4: which arrays there are, how large they are unless the loader is told otherwise,
// and which element of `cfg` means what. The one list: acl.p4 has the same numbers as #defines, and a test
// holds the two together.
//
// Elements have 64 bits, those of `bank` and `cfg` use 32; narrower numbers stand in the low bits. Array
// sizes are powers of two. Arrays of a generation hold two banks, each in a half of its own; packets use the
// bank that the array `bank` names, and the exporter fills the other one before it changes that name.
//
//   array      half of bank b    content
//   bank       -                 element 0: 0 or 1, the bank that packets use
//   cfg        from b * 512      parameters, numbered below
//   lmap       from b << 17      IPv4 length map: element b << 17 | side << 16 | top 16 bits of the address.
//                                Bits 0..31: value of the longest prefix of 1 to 16 bits around them, or 0;
//                                bits 32..47: lengths to be asked for, length l in bit 32 + l - 17
//   slots4     half of the size  IPv4 lines of 8 elements, one a slot: address << 32 | value
//   slots6     half of the size  IPv6 lines of 16 elements; of slot s = 0, 1, 2: elements 3 s and 3 s + 1 the
//                                halves of the address, 3 s + 2 its value; elements 9 to 15 are 0
//   chain      half of the size  bits of the location predictors, 64 an element, lowest first
//   filter     half of the size  words of the Seesaw filter: cells, then modulator
//   stack      half of the size  words of the Bloom layers of the stack of denied hosts
//   packets    -                 counters: packets by reason, elements numbered as weir::Reason
//   bytes      -                 counters: their bytes
//   list_hits  -                 counters: packets by list number + 1
//
// Addresses are numbers: 10.0.0.1 is 0x0A000001, the halves of an IPv6 address are its bytes 0 to 7 and 8 to
// 15, first byte highest. Values are those of image/layout.hpp (list number + 1, prefix length << 16, bit 24
// of an overlay's value: tombstone); the group bit, bit 31, is cleared. An empty slot has the address 0 and
// the value empty_slot, which has the length 255 and so never equals what is asked for.
//
// Parameters that are called `base` name the first element of a table in its array, the bank's half included.
// `shift` parameters turn a 32-bit hash into a number below 2^k: hash >> shift, shift = 32 - k, so 0 to 32;
// those of stack layers turn 64 bits into the number of a bit: hash >> shift, shift = 64 - k, k at least 6.
// A 64-bit number stands in two parameters, its low half first.
//
// Hashes are those of image family jhash: h0 = jhash(low seed, words), h1 = jhash(high seed, words); under a
// salt g0 = jhash(low salt, h0, h1), g1 = jhash(high salt, h0, h1), together g = g0 << 32 | g1. A deep layer
// of a predictor reads the element g0 >> shift and there the bits g1 & 63, g1 >> 6 & 63 and g1 >> 12 & 63. A
// layer of the stack reads bits at g, g + step, ..., where step = g1 << 32 | g0 and step += growth every
// time. The Seesaw filter takes a g for every line and one for the modulator (filter/seesaw_shape.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weir::p4 {

inline constexpr unsigned banks = 2;

// ---- arrays ------------------------------------------------------------------------------------

enum class Array : std::uint8_t {
  bank,
  cfg,
  lmap,
  slots4,
  slots6,
  chain,
  filter,
  stack,
  packets,
  bytes,
  list_hits
};

struct ArrayInfo {
  Array array;
  std::string_view name;  // of the register in acl.p4
  std::uint32_t elements; // unless the loader is told otherwise; both banks together
  bool banked;            // bank b has its half
  bool fixed;             // the program computes with this size: the loader cannot enlarge it
  std::string_view what;  // for messages
};

inline constexpr std::uint32_t cfg_elements = 512;         // of one bank
inline constexpr std::uint32_t lmap_elements = 2 * 65'536; // of one bank: two sides

inline constexpr std::array<ArrayInfo, 11> arrays{{
    {Array::bank, "bank", 1, false, true, "the bank in use"},
    {Array::cfg, "cfg", banks *cfg_elements, true, true, "parameters"},
    {Array::lmap, "lmap", banks *lmap_elements, true, true, "IPv4 length maps"},
    {Array::slots4, "slots4", 1u << 20, true, false, "IPv4 tables and overlays"},
    {Array::slots6, "slots6", 1u << 18, true, false, "IPv6 tables and overlays"},
    {Array::chain, "chain", 1u << 17, true, false, "location predictors"},
    {Array::filter, "filter", 1u << 17, true, false, "the allow filter"},
    {Array::stack, "stack", 1u << 17, true, false, "the stack of denied hosts"},
    {Array::packets, "packets", 64, false, true, "packets by reason"},
    {Array::bytes, "bytes", 64, false, true, "bytes by reason"},
    {Array::list_hits, "list_hits", 65'536, false, true, "packets by list"},
}};
inline constexpr std::size_t array_count = arrays.size();

[[nodiscard]] constexpr const ArrayInfo &info_of(Array array) noexcept {
  return arrays[static_cast<std::size_t>(array)];
}
static_assert(
    [] {
      for (std::size_t i = 0; i < array_count; ++i)
        if (static_cast<std::size_t>(arrays[i].array) != i) return false;
      return true;
    }(),
    "arrays stand in the order of the enumeration");

inline constexpr std::uint32_t line4_elements = 8;
inline constexpr std::uint32_t line6_elements = 16;
inline constexpr std::uint32_t empty_slot = 0x00FF'FFFF; // a value

// ---- what acl.p4 is unrolled for ---------------------------------------------------------------

namespace limits {
inline constexpr unsigned ports = 64;      // input ports that can have a side
inline constexpr unsigned lengths_v6 = 8;  // prefix lengths in use, of one side
inline constexpr unsigned deep_layers = 6; // of one location predictor
inline constexpr unsigned seesaw_hashes_min = 2, seesaw_hashes = 6;
inline constexpr unsigned stack_layers = 7;
inline constexpr unsigned stack_hashes = 16; // of one layer
} // namespace limits

// ---- parameters: elements of cfg ---------------------------------------------------------------

namespace cfg {
inline constexpr std::uint32_t valid = 0; // 1: there is an image; everything else is meant then
inline constexpr std::uint32_t verdict_no_image =
    1; // verdicts: 0 pass, 1 drop. This one is read when valid is 0
inline constexpr std::uint32_t verdict_malformed = 2;
inline constexpr std::uint32_t verdict_non_ip = 3;
inline constexpr std::uint32_t verdict_link_local = 4;
inline constexpr std::uint32_t verdict_default = 5;
inline constexpr std::uint32_t generation = 6; // low half first; for people
inline constexpr std::uint32_t verdict_too_many_tags = 8;

// Lookups: lookup + lookup_stride * (2 * side + family) + one of the numbers under `side`;
// side: deny 0, allow 1; family: IPv4 0, IPv6 1.
inline constexpr std::uint32_t lookup = 32;
inline constexpr std::uint32_t lookup_stride = 32;

// Salts of the deeper predictor layers, the same for all tables: deep_salt + 2 * layer, low half first.
inline constexpr std::uint32_t deep_salt = 160;
inline constexpr std::uint32_t deep_salt_stride = 2;

// The Seesaw filter in front of the allow tables.
inline constexpr std::uint32_t guard = 176;      // 1: ask it before every probe of the allow side
inline constexpr std::uint32_t guard_late = 177; // 1: ask the allow side only for what the deny side matched
inline constexpr std::uint32_t guard_hashes =
    178; // 2 to 6; up to 4 stand two to a line, more three to a line
inline constexpr std::uint32_t guard_cells_base = 179;
inline constexpr std::uint32_t guard_cells_shift = 180; // to lines of 8 elements
inline constexpr std::uint32_t guard_modulator_base = 181;
inline constexpr std::uint32_t guard_modulator_shift = 182; // to elements
inline constexpr std::uint32_t guard_salt =
    184; // of lines 0 and 1 and of the modulator: 2 * n, low half first
inline constexpr std::uint32_t guard_salt_stride = 2;

// The stack of denied hosts, asked about /32 and /128 between overlay and table of the deny side.
inline constexpr std::uint32_t stack_depth = 192;       // layers, odd; 0: none, do not ask it
inline constexpr std::uint32_t stack_step_growth = 194; // low half first: position i+1 = position i + step,
                                                        // step += growth
inline constexpr std::uint32_t stack_layer = 200; // + stack_layer_stride * layer + a number under `layer`
inline constexpr std::uint32_t stack_layer_stride = 8;

// IPv4 lengths 17 to 32: length_v4 + length_v4_stride * (length - 17) + a number under `length_v4_at`.
inline constexpr std::uint32_t length_v4 = 256;
inline constexpr std::uint32_t length_v4_stride = 4;

// IPv6 lengths in use, longest first: length_v6 + length_v6_side_stride * side + length_v6_stride * n + a
// number under `length_v6_at`; n below side::lengths.
inline constexpr std::uint32_t length_v6 = 320;
inline constexpr std::uint32_t length_v6_side_stride = 64;
inline constexpr std::uint32_t length_v6_stride = 8;

// By input port: 0: judge the source address, 1: the destination.
inline constexpr std::uint32_t port_judges = 448;

// Of one side of one family.
namespace side {
inline constexpr std::uint32_t in_use = 0;        // 0: no probe, the answer is default_value
inline constexpr std::uint32_t default_value = 1; // IPv4: value of 0.0.0.0/0, or 0
inline constexpr std::uint32_t table1_base = 2;
inline constexpr std::uint32_t table1_shift = 3; // of h0, to lines
inline constexpr std::uint32_t table2_base = 4;
inline constexpr std::uint32_t table2_shift = 5; // of h1
inline constexpr std::uint32_t chain_base = 6;   // first layer: bit (h0 >> table1_shift) << group_shift |
inline constexpr std::uint32_t group_shift = 7;  //   (h1 & group_mask)
inline constexpr std::uint32_t group_mask = 8;
inline constexpr std::uint32_t deep_layers = 9;
inline constexpr std::uint32_t overlay_keys = 10; // 0: the overlay is empty
inline constexpr std::uint32_t overlay_base = 11;
inline constexpr std::uint32_t overlay_shift = 12; // of h0, then of h1
inline constexpr std::uint32_t lengths = 13;       // IPv6: how many lengths are in use
inline constexpr std::uint32_t deep = 16;          // + deep_stride * layer: base, then
inline constexpr std::uint32_t deep_shift = 17; //   shift of the upper half of the salted hash, to elements
inline constexpr std::uint32_t deep_stride = 2;
} // namespace side

// Of one layer of the stack.
namespace layer {
inline constexpr std::uint32_t base = 0;
inline constexpr std::uint32_t shift = 1; // of 64 bits, to bits
inline constexpr std::uint32_t hashes = 2;
inline constexpr std::uint32_t salt = 3; // low half, then
inline constexpr std::uint32_t salt_high = 4;
} // namespace layer

namespace length_v4_at {
inline constexpr std::uint32_t mask = 0;
inline constexpr std::uint32_t seed = 1; // low half, then
inline constexpr std::uint32_t seed_high = 2;
} // namespace length_v4_at

namespace length_v6_at {
inline constexpr std::uint32_t mask = 0; // four of them, 32 bits each, first bytes first
inline constexpr std::uint32_t seed = 4; // low half, then
inline constexpr std::uint32_t seed_high = 5;
inline constexpr std::uint32_t length = 6;
} // namespace length_v6_at
} // namespace cfg

// ---- the same for programs that read acl.p4 ----------------------------------------------------

struct NamedNumber {
  std::string_view name; // of the #define
  std::uint32_t number;
};

// Every parameter under the name that acl.p4 has for it. acl.p4 may leave out what it does not read.
inline constexpr std::array<NamedNumber, 61> parameter_names{{
    {"CFG_VALID", cfg::valid},
    {"CFG_VERDICT_NO_IMAGE", cfg::verdict_no_image},
    {"CFG_VERDICT_MALFORMED", cfg::verdict_malformed},
    {"CFG_VERDICT_NON_IP", cfg::verdict_non_ip},
    {"CFG_VERDICT_LINK_LOCAL", cfg::verdict_link_local},
    {"CFG_VERDICT_DEFAULT", cfg::verdict_default},
    {"CFG_GENERATION", cfg::generation},
    {"CFG_VERDICT_TOO_MANY_TAGS", cfg::verdict_too_many_tags},
    {"CFG_LOOKUP", cfg::lookup},
    {"CFG_LOOKUP_STRIDE", cfg::lookup_stride},
    {"CFG_LOOKUP_ALLOW", cfg::lookup + 2 * cfg::lookup_stride},
    {"CFG_DEEP_SALT", cfg::deep_salt},
    {"CFG_DEEP_SALT_STRIDE", cfg::deep_salt_stride},
    {"CFG_GUARD", cfg::guard},
    {"CFG_GUARD_LATE", cfg::guard_late},
    {"CFG_GUARD_HASHES", cfg::guard_hashes},
    {"CFG_GUARD_CELLS_BASE", cfg::guard_cells_base},
    {"CFG_GUARD_CELLS_SHIFT", cfg::guard_cells_shift},
    {"CFG_GUARD_MODULATOR_BASE", cfg::guard_modulator_base},
    {"CFG_GUARD_MODULATOR_SHIFT", cfg::guard_modulator_shift},
    {"CFG_GUARD_SALT", cfg::guard_salt},
    {"CFG_GUARD_SALT_STRIDE", cfg::guard_salt_stride},
    {"CFG_GUARD_MODULATOR_SALT", cfg::guard_salt + 2 * cfg::guard_salt_stride},
    {"CFG_STACK_DEPTH", cfg::stack_depth},
    {"CFG_STACK_STEP_GROWTH", cfg::stack_step_growth},
    {"CFG_STACK_LAYER", cfg::stack_layer},
    {"CFG_STACK_LAYER_STRIDE", cfg::stack_layer_stride},
    {"CFG_LENGTH_V4", cfg::length_v4},
    {"CFG_LENGTH_V4_STRIDE", cfg::length_v4_stride},
    {"CFG_LENGTH_V6", cfg::length_v6},
    {"CFG_LENGTH_V6_SIDE_STRIDE", cfg::length_v6_side_stride},
    {"CFG_LENGTH_V6_STRIDE", cfg::length_v6_stride},
    {"CFG_PORT_JUDGES", cfg::port_judges},
    {"SIDE_IN_USE", cfg::side::in_use},
    {"SIDE_DEFAULT_VALUE", cfg::side::default_value},
    {"SIDE_TABLE1_BASE", cfg::side::table1_base},
    {"SIDE_TABLE1_SHIFT", cfg::side::table1_shift},
    {"SIDE_TABLE2_BASE", cfg::side::table2_base},
    {"SIDE_TABLE2_SHIFT", cfg::side::table2_shift},
    {"SIDE_CHAIN_BASE", cfg::side::chain_base},
    {"SIDE_GROUP_SHIFT", cfg::side::group_shift},
    {"SIDE_GROUP_MASK", cfg::side::group_mask},
    {"SIDE_DEEP_LAYERS", cfg::side::deep_layers},
    {"SIDE_OVERLAY_KEYS", cfg::side::overlay_keys},
    {"SIDE_OVERLAY_BASE", cfg::side::overlay_base},
    {"SIDE_OVERLAY_SHIFT", cfg::side::overlay_shift},
    {"SIDE_LENGTHS", cfg::side::lengths},
    {"SIDE_DEEP", cfg::side::deep},
    {"SIDE_DEEP_SHIFT", cfg::side::deep_shift},
    {"SIDE_DEEP_STRIDE", cfg::side::deep_stride},
    {"LAYER_BASE", cfg::layer::base},
    {"LAYER_SHIFT", cfg::layer::shift},
    {"LAYER_HASHES", cfg::layer::hashes},
    {"LAYER_SALT", cfg::layer::salt},
    {"LENGTH_V4_MASK", cfg::length_v4_at::mask},
    {"LENGTH_V4_SEED", cfg::length_v4_at::seed},
    {"LENGTH_V4_LAST", 15 * cfg::length_v4_stride},
    {"LENGTH_V6_MASK", cfg::length_v6_at::mask},
    {"LENGTH_V6_SEED", cfg::length_v6_at::seed},
    {"LENGTH_V6_LENGTH", cfg::length_v6_at::length},
    {"EMPTY_SLOT", empty_slot},
}};

// Nothing overlaps, and all of it lies within a bank.
static_assert(cfg::lookup + 4 * cfg::lookup_stride <= cfg::deep_salt);
static_assert(cfg::side::deep + cfg::side::deep_stride * limits::deep_layers <= cfg::lookup_stride);
static_assert(cfg::deep_salt + cfg::deep_salt_stride * limits::deep_layers <= cfg::guard);
static_assert(cfg::guard_salt + cfg::guard_salt_stride * 3 <= cfg::stack_depth);
static_assert(cfg::stack_layer + cfg::stack_layer_stride * limits::stack_layers <= cfg::length_v4);
static_assert(cfg::length_v4 + cfg::length_v4_stride * 16 <= cfg::length_v6);
static_assert(limits::lengths_v6 * cfg::length_v6_stride <= cfg::length_v6_side_stride);
static_assert(cfg::length_v6 + 2 * cfg::length_v6_side_stride <= cfg::port_judges);
static_assert(cfg::port_judges + limits::ports <= cfg_elements);

} // namespace weir::p4
