// Lists to effective state: for each side one sorted, unique run of prefixes, each with the number
// of the list that names it.
//
//   lists in configuration order            effective state
//   ops    allow  10.0.0.7                  allow  10.0.0.7 -> ops
//   drop   deny   10.0.0.0/8 192.0.2.1  =>  deny   10.0.0.0/8 -> drop, 192.0.2.1 -> drop
//   bans   deny   192.0.2.1                 (bans keeps 192.0.2.1 for the day that drop loses it)
//
// A prefix that stands in several lists of a side is named by the first of them in configuration
// order, lists that only count or limit (on_match) behind all others. Nothing else is folded: a host inside a denied prefix stays, so that counters name its list.
// guard.never_deny enters as an allow list of its own in front of all others (never_deny_source()),
// so that no feed can cut off what stands there.
//
// Deltas are computed from the same rule for one prefix: effective_list().
#pragma once

#include "control/rules/entry.hpp"
#include "weir/base/number.hpp"
#include "weir/base/result.hpp"
#include "weir/build/list_input.hpp"
#include "weir/image/delta.hpp"
#include "weir/image/identity.hpp"
#include "weir/image/lists.hpp"
#include "weir/key/policy.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::build {
struct BuildInput;
}

namespace weir::rules {

inline constexpr std::string_view never_deny_name = "never_deny"; // no list of the configuration may use it

// One list with its content. The memory behind the spans belongs to the caller.
struct ListSource {
  std::string name;
  ListId number{}; // stable while the store lives; given by the caller
  Side side = Side::deny;
  std::span<const EntryV4> v4{}; // sorted, unique; the `list` field is not read
  std::span<const EntryV6> v6{};
  bool goes_on = false; // a deny list that only counts or limits (on_match)
};

// Deny lists that decide come before those that go on, so that of equal prefixes the one that decides names the list.
void put_deciding_first(std::vector<ListSource> &sources);

// The prefixes of all sources of a side, sorted and unique, each with the place of the first source that has it.
template <class Entry>
[[nodiscard]] std::vector<Entry> first_places(std::span<const ListSource> sources, Side side);
// In such entries, as in those that normalise() works on, `list` holds that place and not the list's number.
template <class Entry> [[nodiscard]] constexpr std::size_t place_of(const Entry &entry) noexcept {
  return entry.list.value();
}

struct SideState {
  std::vector<EntryV4> v4;
  std::vector<EntryV6> v6;
};

enum class ConflictKind : std::uint8_t {
  same_prefix,       // on a deny and an allow list: the deny entry has no effect
  inside_allow,      // a deny entry inside an allowed prefix: no effect
  inside_never_deny, // the same, and the prefix is guard.never_deny
  goes_on_inside,    // an entry of a deny list that goes on, inside one that decides: such packets go on
  covers_never_deny, // a deny entry reaches over a never_deny prefix: that part is exempt
};

// One kind of contradiction between two lists.
struct Conflict {
  ConflictKind kind{};
  std::string deny_list;
  std::string allow_list; // of goes_on_inside the other deny list
  std::uint64_t count = 0;
  std::vector<std::string> examples; // "10.0.0.7 inside 10.0.0.0/8"; at most conflict_examples_max

  [[nodiscard]] std::string text() const; // a sentence for people
};
inline constexpr std::size_t conflict_examples_max = 3;

struct ListCounts { // in the order of the sources
  std::string name;
  std::uint64_t v4_hosts = 0, v4_prefixes = 0, v6 = 0;
  std::uint64_t shared = 0; // entries that an earlier list of the same side names
};

struct Effective {
  SideState deny, allow;
  std::vector<build::ListInput> lists; // every source, in order
  std::vector<ListCounts> counts;
  std::vector<Conflict> conflicts;

  [[nodiscard]] std::uint64_t entries() const noexcept {
    return deny.v4.size() + deny.v6.size() + allow.v4.size() + allow.v6.size();
  }
};

// Faults: a source out of order or with duplicates, two sources of one number or name, too many
// lists.
[[nodiscard]] Result<Effective> normalise(std::span<const ListSource> sources);

// guard.never_deny as sorted entries; `number` as for any list. The source's spans point into the
// object, so it must outlive them and not move.
struct NeverDeny {
  explicit NeverDeny(std::span<const Prefix> prefixes);
  NeverDeny(const NeverDeny &) = delete;
  NeverDeny &operator=(const NeverDeny &) = delete;
  [[nodiscard]] ListSource source(ListId number) const;

  std::vector<EntryV4> v4;
  std::vector<EntryV6> v6;
};

[[nodiscard]] bool contains(const ListSource &source, const Prefix &prefix) noexcept;

// The number of the list that names `prefix` on `side`, or none. `has(i)` tells whether source i
// holds the prefix now: a caller whose dynamic lists live elsewhere answers for them itself.
template <class Has>
[[nodiscard]] std::optional<ListId> effective_list(std::span<const ListSource> sources, Side side, Has has) {
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (sources[i].side == side && has(i)) return sources[i].number;
  return std::nullopt;
}
[[nodiscard]] inline std::optional<ListId> effective_list(std::span<const ListSource> sources, Side side,
                                                          const Prefix &prefix) {
  return effective_list(sources, side, [&](std::size_t i) { return contains(sources[i], prefix); });
}

// `set` with the list's number, or `unset`.
[[nodiscard]] image::Delta make_delta(Side side, const Prefix &prefix, std::optional<ListId> list) noexcept;

// Identifies policy, lists and effective entries: two XXH3-128 over the same bytes with different
// seeds. Equal rules give equal digests; it is no defence against somebody who crafts rules.
[[nodiscard]] image::Digest rules_digest(const Effective &rules, const Policy &policy);
[[nodiscard]] std::string to_hex(const image::Digest &digest);

// The parts of a BuildInput that the rules decide: lists, sides, policy, digest. Spans point into
// `rules`.
[[nodiscard]] build::BuildInput build_input(const Effective &rules, const Policy &policy);

} // namespace weir::rules
