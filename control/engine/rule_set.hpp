// The rules of one generation in memory, and what `weirctl list add` put beside them.
//
//   RuleSet         configuration and the content of its files: never changed once made, so any
//                   thread may read it while the loop goes on
//   DynamicEntries  (list, prefix) -> times; belongs to the loop (dynamic_entries.hpp)
//   Snapshot        both, at one sequence: what an image is built from
//
// Effective state of a prefix is the first list in configuration order that holds it, in its file
// or dynamically (rules::effective_list): the same rule makes images and deltas.
#pragma once

#include "control/engine/dynamic_entries.hpp"
#include "control/rules/coverage.hpp"
#include "control/rules/feed.hpp"
#include "control/rules/flows.hpp"
#include "control/rules/lengths.hpp"
#include "control/rules/normalise.hpp"
#include "weir/config/config.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::control {

// What a list's file and inline entries say; sorted and unique.
struct ListBody {
  std::vector<rules::EntryV4> v4;
  std::vector<rules::EntryV6> v6;
  EntryCounts counts;
  rules::Covered covered;
  rules::Lengths lengths;

  [[nodiscard]] rules::Entries entries() const { return {.v4 = v4, .v6 = v6}; }
  [[nodiscard]] std::uint64_t size() const { return v4.size() + v6.size(); }
  [[nodiscard]] std::uint64_t bytes() const {
    return v4.size() * sizeof(rules::EntryV4) + v6.size() * sizeof(rules::EntryV6);
  }
  void count(); // after filling
};

struct RuleList {
  config::List definition;
  ListId number{};
  std::uint64_t content_version = 0;
  std::uint64_t fingerprint = 0;
  std::uint64_t updated_at = 0;
  std::string format = {};              // as found; empty: no file
  std::shared_ptr<const ListBody> body; // never null
};

struct RuleSet {
  config::Config config;
  std::string config_text;
  std::vector<RuleList> lists;         // in configuration order
  std::vector<rules::RuleFlows> flows; // of the packet rules that have a file, likewise
  std::unique_ptr<const rules::NeverDeny> never_deny;
  std::vector<rules::ListSource> sources; // never_deny, if any, then the lists; without dynamic entries

  void make_sources(ListId never_deny_number); // after filling; the object must not move afterwards
  [[nodiscard]] const RuleList *find(std::string_view name) const;
  [[nodiscard]] const RuleList *find(ListId number) const;
  [[nodiscard]] const rules::RuleFlows *flows_of(std::string_view rule) const;

  // The first source of the side whose file holds the prefix; sources.size(): none.
  [[nodiscard]] std::size_t first_source(Side side, const Prefix &prefix) const;
  [[nodiscard]] std::size_t source_of(ListId number) const; // sources.size(): none
  // What the lists take in memory, but for contents that `other` (may be null) holds as well.
  [[nodiscard]] std::uint64_t bytes_beside(const RuleSet *other) const;
  // Whether the file of a deny list has a prefix around the address.
  [[nodiscard]] bool denies(const Address &address) const;

private:
  // Prefixes with the place of the first source that has them: asked in place of many lists.
  struct FirstSource {
    std::vector<rules::EntryV4> v4;
    std::vector<rules::EntryV6> v6;
    [[nodiscard]] std::uint64_t bytes() const {
      return v4.size() * sizeof(rules::EntryV4) + v6.size() * sizeof(rules::EntryV6);
    }
  };
  rules::Lengths deny_lengths_;
  std::unordered_map<std::string_view, std::size_t> by_name_; // into lists
  std::unordered_map<ListId, std::size_t> by_number_;         // into lists
  std::unordered_map<ListId, std::size_t> source_by_number_;
  FirstSource first_deny_, first_allow_; // empty with few lists: these are asked one by one
};

struct Snapshot {
  std::shared_ptr<const RuleSet> rules;
  std::map<ListId, ListBody> dynamic;
  std::uint64_t sequence = 0;
};

[[nodiscard]] Snapshot take_snapshot(std::shared_ptr<const RuleSet> rules, const DynamicEntries &dynamic,
                                     std::uint64_t sequence);
[[nodiscard]] Result<rules::Effective> effective_of(const Snapshot &snapshot);

// What the image must say about a prefix now.
[[nodiscard]] std::optional<ListId> effective_list(const RuleSet &rules, const DynamicEntries &dynamic,
                                                   Side side, const Prefix &prefix);
// Whether an entry of `list add` in a deny list of these rules is around the address.
[[nodiscard]] bool denies_dynamically(const RuleSet &rules, const DynamicEntries &dynamic,
                                      const Address &address);

} // namespace weir::control
