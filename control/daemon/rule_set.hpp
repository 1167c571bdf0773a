// The rules of one generation in memory, and what `weirctl list add` put beside them.
//
//   RuleSet         configuration and the content of its files: never changed once made, so any
//                   thread may read it while the loop goes on
//   DynamicEntries  (list, prefix) -> times; belongs to the loop. Comments stay in the store
//   Snapshot        both, at one sequence: what an image is built from
//
// Effective state of a prefix is the first list in configuration order that holds it, in its file
// or dynamically (rules::effective_list): the same rule makes images and deltas.
#pragma once

#include "control/config/config.hpp"
#include "control/rules/feed.hpp"
#include "control/rules/normalise.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weir::control {

struct EntryCounts {
  std::uint64_t v4_hosts = 0, v4_prefixes = 0, v6 = 0;
  void add(const Prefix &prefix, std::int64_t by);
  [[nodiscard]] std::uint64_t total() const { return v4_hosts + v4_prefixes + v6; }
};

// What a list's file and inline entries say; sorted and unique.
struct ListBody {
  std::vector<rules::EntryV4> v4;
  std::vector<rules::EntryV6> v6;
  EntryCounts counts;

  [[nodiscard]] std::uint64_t size() const { return v4.size() + v6.size(); }
  void count(); // after filling
};

struct RuleList {
  config::List definition;
  std::uint16_t number = 0;
  std::uint64_t content_version = 0;
  std::uint64_t fingerprint = 0;
  std::uint64_t updated_at = 0;
  std::string format = {};              // as found; empty: no file
  std::shared_ptr<const ListBody> body; // never null
};

struct RuleSet {
  config::Config config;
  std::string config_text;
  std::vector<RuleList> lists; // in configuration order
  std::unique_ptr<const rules::NeverDeny> never_deny;
  std::vector<rules::ListSource> sources; // never_deny, if any, then the lists; without dynamic entries

  void make_sources(std::uint16_t never_deny_number); // after filling; the object must not move afterwards
  [[nodiscard]] const RuleList *find(std::string_view name) const;
  [[nodiscard]] const RuleList *find(std::uint16_t number) const;
};

struct EntryTimes {
  std::uint64_t added_at = 0, expires_at = 0; // 0: never
};

class DynamicEntries {
public:
  using OfList = std::map<Prefix, EntryTimes>;

  void put(std::uint16_t list, const Prefix &prefix, EntryTimes times);
  bool erase(std::uint16_t list, const Prefix &prefix);
  void drop(std::uint16_t list); // all its entries
  [[nodiscard]] const EntryTimes *find(std::uint16_t list, const Prefix &prefix) const;
  [[nodiscard]] const OfList &of(std::uint16_t list) const;
  [[nodiscard]] const EntryCounts &counts(std::uint16_t list) const;

  struct Expiry {
    std::uint64_t at = 0;
    std::uint16_t list = 0;
    Prefix prefix;
    friend auto operator<=>(const Expiry &, const Expiry &) = default;
  };
  [[nodiscard]] std::optional<std::uint64_t> next_expiry() const;
  [[nodiscard]] std::vector<Expiry> expired(std::uint64_t now, std::size_t most) const;

private:
  struct List {
    OfList entries;
    EntryCounts counts;
  };
  std::map<std::uint16_t, List> lists_;
  std::set<Expiry> expiries_;
};

struct Snapshot {
  std::shared_ptr<const RuleSet> rules;
  std::map<std::uint16_t, ListBody> dynamic;
  std::uint64_t sequence = 0;
};

[[nodiscard]] Snapshot take_snapshot(std::shared_ptr<const RuleSet> rules, const DynamicEntries &dynamic,
                                     std::uint64_t sequence);
[[nodiscard]] Result<rules::Effective> effective_of(const Snapshot &snapshot);

// What the image must say about a prefix now.
[[nodiscard]] std::optional<std::uint16_t> effective_list(const RuleSet &rules, const DynamicEntries &dynamic,
                                                          image::Side side, const Prefix &prefix);

} // namespace weir::control
