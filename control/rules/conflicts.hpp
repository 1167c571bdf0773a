// Finds what contradicts itself between the deny and the allow side. Private to control/rules.
//
// One walk over both sorted sides. Prefixes nest or are disjoint, and one sorts before what it
// covers, so the prefixes around the current place are a stack for each side: a deny entry is
// compared with the allow prefixes still open above it, and a never_deny entry with the deny
// prefixes still open.
#pragma once

#include "control/rules/normalise.hpp"

#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

namespace weir::rules {

class ConflictFinder {
public:
  explicit ConflictFinder(std::span<const ListSource> sources) noexcept : sources_(sources) {}

  // Entries with the places of their lists in `sources` (place_of()).
  template <class Entry> void find(std::span<const Entry> deny, std::span<const Entry> allow);

  // Entries of deny lists that go on (on_match) inside prefixes of those that decide.
  template <class Entry> void find_going_on(std::span<const Entry> deny);

  [[nodiscard]] std::vector<Conflict> take(); // in the order of kinds, then lists

private:
  template <class Entry> [[nodiscard]] const Entry &telling(const std::vector<Entry> &open) const;
  template <class Entry> void judge(const Entry &deny, const Entry &allow, bool deny_outside);
  template <class Entry>
  void add(ConflictKind kind, const Entry &deny, const Entry &other, std::string_view how);

  std::span<const ListSource> sources_;
  std::map<std::tuple<ConflictKind, std::size_t, std::size_t>, Conflict> found_;
};

} // namespace weir::rules
