// Lays out a cuckoo filter in a section. The same parameters and keys, in the order given, give the same
// bytes. filter/cuckoo.hpp says what it is.
#pragma once

#include "weir/filter/cuckoo_writer.hpp"

#include <cstring>
#include <span>
#include <string>

namespace weir::build {

struct CuckooParams {
  std::uint64_t planned_keys = 0;
  filter::CuckooShape shape;

  // For the allow side, see allow_filter_params.hpp.
  [[nodiscard]] Result<std::uint64_t> bytes() const;
  [[nodiscard]] HashFamily hash_family() const noexcept { return HashFamily::xxh3; }
  [[nodiscard]] Status build(std::span<const KeyHash> keys, std::span<const KeyHash>,
                             MutableBytes section) const;

  friend bool operator==(const CuckooParams &, const CuckooParams &) = default;
};

// Of the whole section. Errors: usage, when the parameters are outside their bounds.
[[nodiscard]] inline Result<std::uint64_t> cuckoo_bytes(const CuckooParams &params) {
  if (const char *objection = params.shape.objection())
    return fail(Errc::usage, std::string("cuckoo filter: ") + objection + ", choose other parameters");
  return filter::section_bytes(params.shape);
}

// Fills `section`, of cuckoo_bytes() bytes, aligned to 64. Errors: usage, when it is of another size;
// needs_rebuild, when the keys do not fit.
[[nodiscard]] inline Result<filter::CuckooLoad>
build_cuckoo(const CuckooParams &params, std::span<const KeyHash> keys, MutableBytes section) {
  const auto bytes = TRY(cuckoo_bytes(params));
  if (section.size() != bytes)
    return fail(Errc::usage, "cuckoo filter: the section has " + std::to_string(section.size()) +
                                 " bytes, give it the cuckoo_bytes() of its parameters");
  std::memset(section.data(), 0, section.size());
  filter::FilterHeader header{};
  header.magic = filter::filter_magic;
  header.kind = static_cast<std::uint32_t>(filter::CuckooShape::kind);
  header.shape = params.shape.as_words();
  header.planned_keys = params.planned_keys;
  std::memcpy(section.data(), &header, sizeof header);
  auto writer = TRY(filter::CuckooWriter::attach(section));
  for (const KeyHash key : keys)
    if (writer.insert(key) != filter::CuckooWriter::Put::in)
      return fail(Errc::needs_rebuild, "cuckoo filter: " + std::to_string(keys.size()) +
                                           " keys do not fit into " + std::to_string(params.shape.slots()) +
                                           " slots: give it more, or another seed");
  return writer.load();
}

inline Result<std::uint64_t> CuckooParams::bytes() const { return cuckoo_bytes(*this); }
inline Status CuckooParams::build(std::span<const KeyHash> keys, std::span<const KeyHash>,
                                  MutableBytes section) const {
  TRY(build_cuckoo(*this, keys, section));
  return {};
}

} // namespace weir::build
