// Lays out a Seesaw counting filter: guarded negatives first, then the keys, in the order given. The
// same parameters, keys and negatives give the same bytes. filter/seesaw.hpp says what it is.
#pragma once

#include "weir/filter/seesaw_writer.hpp"

#include <span>

namespace weir::build {

// [SSCF Table 2], sizes in words of 64 bits; bounds in filter/seesaw_shape.hpp.
struct SeesawParams {
  std::uint64_t planned_keys = 0;
  std::uint64_t cell_words = 1;
  std::uint64_t modulator_words = 1;
  unsigned hashes = 5;
  unsigned backups = 2;
  unsigned negative_bits = 1;
  unsigned positive_bits = 2;
  bool adaptive = false;
  unsigned count_bits = 3;
  unsigned index_bits = 1;
  HashFamily family = HashFamily::xxh3; // jhash: of one kind of shape alone, see filter/seesaw_shape.hpp

  // For the allow side, see allow_filter_params.hpp.
  [[nodiscard]] Result<std::uint64_t> bytes() const;
  [[nodiscard]] HashFamily hash_family() const noexcept { return family; }
  [[nodiscard]] Status build(std::span<const KeyHash> keys, std::span<const KeyHash> guarded,
                             MutableBytes section) const;

  friend bool operator==(const SeesawParams &, const SeesawParams &) = default;
};

// Divides a budget: `modulator_share` of the words to the modulator, at least one to each, and whole lines to
// the cells where there is a line's worth: functions that share less than a line err alike too often.
[[nodiscard]] inline SeesawParams seesaw_split(SeesawParams params, std::uint64_t bits_total,
                                               double modulator_share) {
  const std::uint64_t words = std::max<std::uint64_t>(bits_total / 64, 2);
  const auto asked = static_cast<std::uint64_t>(modulator_share * static_cast<double>(words));
  params.modulator_words = std::clamp<std::uint64_t>(asked, 1, words - 1);
  params.cell_words = words - params.modulator_words;
  if (const std::uint64_t over = params.cell_words % 8; params.cell_words > 8) {
    params.cell_words -= over;
    params.modulator_words += over;
  }
  return params;
}

// Errors: usage, when the parameters are outside their bounds.
[[nodiscard]] inline Result<filter::SeesawHeader> seesaw_header(const SeesawParams &p) {
  constexpr std::uint64_t words_max = 0xFFFF'FFFF;
  if (p.cell_words > words_max || p.modulator_words > words_max)
    return fail(Errc::usage, "seesaw filter: more than 2^32 words, divide the keys over several filters");
  const auto byte = [](unsigned v) { return static_cast<std::uint8_t>(std::min(v, 255u)); };
  filter::SeesawHeader h{};
  h.magic = filter::filter_magic;
  h.kind = static_cast<std::uint32_t>(filter::FilterKind::seesaw);
  h.cell_words = static_cast<std::uint32_t>(p.cell_words);
  h.modulator_words = static_cast<std::uint32_t>(p.modulator_words);
  h.hashes = byte(p.hashes);
  h.backups = byte(p.backups);
  h.negative_bits = byte(p.negative_bits);
  h.positive_bits = byte(p.positive_bits);
  h.adaptive = p.adaptive ? 1 : 0;
  h.count_bits = byte(p.count_bits);
  h.index_bits = byte(p.index_bits);
  h.hash_family = static_cast<std::uint8_t>(stored_family(p.family));
  h.planned_keys = p.planned_keys;
  if (const char *objection = filter::seesaw_objection(h))
    return fail(Errc::usage, std::string("seesaw filter: ") + objection + ", choose other parameters");
  return h;
}

// Of the whole section. Errors: as seesaw_header().
[[nodiscard]] inline Result<std::uint64_t> seesaw_bytes(const SeesawParams &params) {
  const auto header = TRY(seesaw_header(params));
  return filter::seesaw_section_bytes(header);
}

// Fills `section`, of seesaw_bytes() bytes, aligned to 64. Errors: usage, when it is of another size.
[[nodiscard]] inline Result<filter::SeesawLoad> build_seesaw(const SeesawParams &params,
                                                             std::span<const KeyHash> keys,
                                                             std::span<const KeyHash> guarded,
                                                             MutableBytes section) {
  const auto header = TRY(seesaw_header(params));
  if (section.size() != filter::seesaw_section_bytes(header))
    return fail(Errc::usage, "seesaw filter: the section has " + std::to_string(section.size()) +
                                 " bytes, give it the seesaw_bytes() of its parameters");
  std::memset(section.data(), 0, section.size());
  std::memcpy(section.data(), &header, sizeof header);
  auto writer = TRY(filter::SeesawWriter::attach(section));
  for (const KeyHash negative : guarded) writer.learn(negative);
  for (const KeyHash key : keys) writer.insert(key);
  return writer.load();
}

inline Result<std::uint64_t> SeesawParams::bytes() const { return seesaw_bytes(*this); }
inline Status SeesawParams::build(std::span<const KeyHash> keys, std::span<const KeyHash> guarded,
                                  MutableBytes section) const {
  TRY(build_seesaw(*this, keys, guarded, section));
  return {};
}

} // namespace weir::build
