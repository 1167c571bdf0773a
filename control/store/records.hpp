// Keys and values of the store's records. Every key starts with a tag; contents live apart and
// start with their version. Byte order of keys is the order in which they are read.
#pragma once

#include "control/store/codec.hpp"
#include "control/store/store.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::store {

inline constexpr char meta_tag = 'm', list_tag = 'l', dynamic_tag = 'd', log_tag = 'q', generation_tag = 'g',
                      sum_tag = 'c', audit_tag = 'a';

// What a content version must read back as.
struct ContentSum {
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};
  std::uint64_t entries = unknown; // unknown: written by a version of weir that kept no sums
  std::uint64_t checksum = 0;
  friend bool operator==(const ContentSum &, const ContentSum &) = default;
};

[[nodiscard]] std::string meta_key(std::string_view name);
[[nodiscard]] std::string log_key(std::uint64_t sequence);
[[nodiscard]] std::string generation_key(Generation id);
[[nodiscard]] std::string dynamic_key(const DynamicKey &key);
[[nodiscard]] std::string dynamic_range(ListId list);     // what all its keys begin with
[[nodiscard]] std::string dynamic_range_end(ListId list); // above all its keys
[[nodiscard]] std::string content_key(std::uint64_t version, const Prefix &prefix);
[[nodiscard]] std::string sum_key(std::uint64_t version);
[[nodiscard]] std::string audit_key(AuditKind kind, std::uint64_t number);
[[nodiscard]] std::string number_text(std::uint64_t value);

[[nodiscard]] std::string encode(const DynamicEntry &entry);
[[nodiscard]] std::string encode(const GenerationRecord &record);
[[nodiscard]] std::string encode(const ContentSum &sum);
[[nodiscard]] std::string encode(const AuditRecord &record);

// Nothing when the bytes are not such a record.
[[nodiscard]] std::optional<DynamicEntry> decode_dynamic(std::string_view key, std::string_view value);
[[nodiscard]] std::optional<GenerationRecord> decode_generation(std::string_view text);
[[nodiscard]] std::optional<ContentSum> decode_sum(std::string_view text);
[[nodiscard]] std::optional<AuditRecord> decode_audit(std::string_view text);

} // namespace weir::store
