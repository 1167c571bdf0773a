#include "control/rules/embedded.hpp"

#include "control/rules/sink.hpp"
#include "weir/config/config.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir::rules {
namespace {

struct Kind {
  std::string_view name;
  std::array<std::uint8_t, 12> begins;
  unsigned prefix_bits; // of `begins` that an entry must have
  unsigned place;       // of the first bit of the IPv4 address
  bool inverted;
};

constexpr std::array kinds{
    Kind{"IPv4-mapped", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}, 96, 96, false},
    Kind{"NAT64", {0, 0x64, 0xFF, 0x9B}, 96, 96, false},
    Kind{"6to4", {0x20, 0x02}, 16, 16, false},
    Kind{"Teredo", {0x20, 0x01}, 32, 96, true},
};

} // namespace

std::optional<EmbeddedV4> embedded_v4(const EntryV6 &entry) noexcept {
  for (const Kind &kind : kinds) {
    if (entry.length <= kind.place) continue;
    if (!std::equal(entry.address.begin(), entry.address.begin() + kind.prefix_bits / 8, kind.begins.begin()))
      continue;
    std::uint32_t host = 0;
    for (unsigned i = 0; i < 4; ++i) host = host << 8 | entry.address[kind.place / 8 + i];
    const unsigned length = std::min(entry.length - kind.place, 32u);
    if (kind.inverted) host = ~host & (~std::uint32_t{0} << (32 - length));
    return EmbeddedV4{kind.name, {Address::from_host(host), static_cast<std::uint8_t>(length)}};
  }
  return std::nullopt;
}

EmbeddedEntries embedded_in(const ListContent &content) {
  EmbeddedEntries found;
  for (const EntryV6 &e : content.v6)
    if (embedded_v4(e)) {
      if (!found.first) found.first = e;
      ++found.count;
    }
  return found;
}

void expand_embedded(ListContent &content) {
  const std::size_t before = content.v4.size();
  for (const EntryV6 &e : content.v6)
    if (const auto v4 = embedded_v4(e)) content.v4.push_back(to_entry_v4(v4->prefix));
  if (content.v4.size() == before) return;
  for (const Note<EntryV6> &note : content.notes_v6)
    if (const auto v4 = embedded_v4(note.entry))
      content.notes_v4.push_back({to_entry_v4(v4->prefix), note.ttl_s, note.comment_place});
  const std::uint64_t duplicates = content.duplicates; // an IPv4 host beside its mapped form is none
  Sink sink;
  sink.content = std::move(content);
  sink.finish();
  content = std::move(sink.content);
  content.duplicates = duplicates;
}

std::string embedded_text(const config::List &list, const EmbeddedEntries &entries) {
  if (entries.count == 0) return {};
  const auto first = embedded_v4(*entries.first);
  const std::string example = fmt::format("{} is {} for {}", to_string(to_prefix(*entries.first)),
                                          first->kind, to_string(first->prefix));
  if (list.mapped_both)
    return fmt::format("list {}: {} IPv6 entries carry an IPv4 address and stand for both (mapped: both): {}",
                       list.name, entries.count, example);
  return fmt::format("list {}: {} IPv6 entries carry an IPv4 address and match IPv6 packets alone: {}; write "
                     "mapped: both for the list to match that, too",
                     list.name, entries.count, example);
}

} // namespace weir::rules
