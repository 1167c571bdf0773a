// What may not happen by accident, and what whoever writes into a feed may not bring about: a reload that
// changes most of a list, at once or a little at a time; a line that covers a large part of all addresses;
// lists that together do; a rule set without rules.
//
//   shortest_prefix   new entries of fewer bits are refused, unless the configuration names them itself
//   max_change        the share of a list that may change within a day: of its lines, and of the addresses
//                     that they cover (change_account.hpp keeps the sums)
//   max_covered       the share of all addresses of a family that a list, or all deny lists, may cover
//   max_nested, max_lengths   what lines make each lookup cost (lookup_cost.hpp)
//
// What is in force already was accepted once: it is warned of and not refused again. Every refusal names the
// lines that caused it and says how to let them through. never_deny is in normalise.hpp, since it is a list.
#pragma once

#include "control/rules/coverage.hpp"
#include "control/rules/normalise.hpp"
#include "weir/base/result.hpp"
#include "weir/config/config.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::rules {

inline constexpr std::size_t change_examples_max = 5; // also of the lines that a refusal names

// The difference between two contents of one list.
struct ListChange {
  std::uint64_t before = 0, after = 0; // entries
  std::uint64_t added = 0, removed = 0;
  std::vector<std::string> added_examples, removed_examples; // the first few
  std::vector<Prefix> widest;                                // of the added ones, the widest first
  Covered covered_before, covered_after;                     // addresses
  Covered gained, lost;                                      // no longer and not yet covered ones

  [[nodiscard]] double share() const noexcept { // of the list as it was; above 1 when much is added
    return before == 0 ? 0 : static_cast<double>(added + removed) / static_cast<double>(before);
  }
};

[[nodiscard]] ListChange change_of(const ListSource &before, const ListSource &after);

// Addresses of one family that a list came to cover and no longer covers: how many, and as shares of those
// that it covered before, each time.
struct Moved {
  double gained = 0, lost = 0;
  double gained_share = 0, lost_share = 0;

  Moved &operator+=(const Moved &other) noexcept;
};

// How much of a list has changed.
struct Spent {
  double lines = 0; // as a share of what there was, each time
  Moved v4{}, v6{};

  Spent &operator+=(const Spent &other) noexcept;
  [[nodiscard]] bool nothing() const noexcept {
    return lines == 0 && v4.gained + v4.lost == 0 && v6.gained + v6.lost == 0;
  }
};
[[nodiscard]] Spent spent_on(const ListChange &change);

inline constexpr std::uint64_t guarded_entries_min =
    1000;                                        // smaller deny lists may change freely, but not gain
inline constexpr double guarded_v4_min = 0x1p16; // more addresses than a /16 or,
inline constexpr double guarded_v6_min = 0x1p96; // of IPv6, a /32; larger ones may not change by more

// The entries that a list of the configuration names itself, sorted.
struct Named {
  explicit Named(const config::List &list);
  std::vector<EntryV4> v4;
  std::vector<EntryV6> v6;
};

// Why something may not come into force, and which lines are to blame.
struct Objection {
  std::string sentence;        // with the remedy
  std::vector<Prefix> lines{}; // the first few, the widest first
  std::uint64_t more = 0;      // lines like them
  bool accepted = false;       // it is in force already: only to be told
};

// guard.max_change: `change.before` is the last content; a first load is not asked. `earlier` is what has
// changed within the day before. `fed`: the content comes from a file. A list that had entries and comes
// back empty is refused whatever max_change says.
[[nodiscard]] std::optional<Objection> object_to_change(const config::List &list, const ListChange &change,
                                                        double max_change, const Spent &earlier, bool fed);

// `before`: what is in force on the same side. Entries that stand there are accepted.
[[nodiscard]] std::optional<Objection> object_to_lengths(const config::List &list, const Entries &after,
                                                         const Entries &before,
                                                         const config::ShortestPrefix &shortest);

// `key` is the setting, `whose` what covers the addresses; `widest` are lines of it.
[[nodiscard]] std::optional<Objection> object_to_covered(std::string_view whose, std::string_view key,
                                                         const Covered &after, const Covered &before,
                                                         const config::MaxCovered &most,
                                                         std::vector<Prefix> widest, std::uint64_t added);

// shortest_prefix for entries that are added by hand: those that are too short are told to the object.
class ShortEntries {
public:
  ShortEntries(const config::List &list, const config::ShortestPrefix &shortest)
      : list_(list), shortest_(shortest) {}
  void see(const Prefix &prefix) {
    if (prefix.length < (prefix.family() == Family::ipv4 ? shortest_.v4 : shortest_.v6)) take(prefix);
  }
  [[nodiscard]] Status refused() const;

private:
  void take(const Prefix &prefix);

  const config::List &list_;
  config::ShortestPrefix shortest_;
  std::optional<Named> named_;
  std::vector<Prefix> first_; // the first few
  std::uint64_t count_ = 0;
};

// Refuses a rule set without a single entry beside never_deny, unless the configuration has dynamic
// lists alone, which start empty by nature.
[[nodiscard]] Status check_not_empty(const config::Config &config, const Effective &rules, bool force);

// Wider first: by the share of its family that a prefix covers.
[[nodiscard]] bool is_wider(const Prefix &a, const Prefix &b) noexcept;

} // namespace weir::rules
