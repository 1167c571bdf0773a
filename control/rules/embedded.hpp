// IPv6 entries that carry an IPv4 address: people who write them often mean the IPv4 host, and weir judges a
// packet by the addresses of its own header.
//
//   mapped   ::ffff:192.0.2.1           the last 32 bits
//   NAT64    64:ff9b::192.0.2.1         the same; 64:ff9b::/96 is the well-known prefix
//   6to4     2002:c000:201::/48         the 32 bits behind 2002
//   Teredo   2001:0:SERVER:...:CLIENT   the last 32 bits, inverted
#pragma once

#include "control/rules/feed.hpp"

#include <optional>
#include <string_view>

namespace weir::rules {

struct EmbeddedV4 {
  std::string_view kind; // "IPv4-mapped", "NAT64", "6to4" or "Teredo"
  Prefix prefix;         // of IPv4
};

// Nothing for other entries, and for those too short to say a single bit of the IPv4 address.
[[nodiscard]] std::optional<EmbeddedV4> embedded_v4(const EntryV6 &entry) noexcept;

struct EmbeddedEntries {
  std::uint64_t count = 0;
  std::optional<EntryV6> first{};
};

[[nodiscard]] EmbeddedEntries embedded_in(const ListContent &content);

// Adds the IPv4 prefixes to the content (`mapped: both`), with the notes of their entries.
void expand_embedded(ListContent &content);

// For people: what these entries do as they are written. Empty without any.
[[nodiscard]] std::string embedded_text(const config::List &list, const EmbeddedEntries &entries);

} // namespace weir::rules
