// What `weirctl list add` put beside the files of the lists: (list, prefix) -> times. Belongs to the loop.
// Comments stay in the store.
//
//   entries    a B-tree for each list and family, an entry of 16 (IPv4) or 28 (IPv6) bytes in nodes that are
//              half full to full
//   expiries   the next few thousand in order of time; when they are used up, one walk over all entries finds
//              the next. An order of all of them would cost three times what the entries do
//
// Times are seconds since the epoch, by the clock that the caller goes by (rule_clock.hpp), and are kept in
// 32 bits: until the year 2106.
#pragma once

#include "control/rules/entry.hpp"
#include "control/rules/lengths.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace weir::control {

struct EntryCounts {
  std::uint64_t v4_hosts = 0, v4_prefixes = 0, v6 = 0;
  void add(const Prefix &prefix, std::int64_t by);
  [[nodiscard]] std::uint64_t total() const { return v4_hosts + v4_prefixes + v6; }
};

struct EntryTimes {
  std::uint64_t added_at = 0, expires_at = 0; // 0: never
  friend bool operator==(const EntryTimes &, const EntryTimes &) = default;
};

class DynamicEntries {
public:
  // What weir-control holds for an entry, its place in a node that is not full included: measured, and held
  // by tests. `plan` shows it.
  static constexpr std::uint64_t v4_bytes = 24, v6_bytes = 40;

  DynamicEntries();
  ~DynamicEntries();

  void put(ListId list, const Prefix &prefix, EntryTimes times);
  bool erase(ListId list, const Prefix &prefix);
  void drop(ListId list); // with all of its entries

  [[nodiscard]] std::optional<EntryTimes> find(ListId list, const Prefix &prefix) const;
  [[nodiscard]] bool contains(ListId list, const Prefix &prefix) const;
  [[nodiscard]] bool empty(ListId list) const { return counts(list).total() == 0; }
  [[nodiscard]] const EntryCounts &counts(ListId list) const;
  [[nodiscard]] EntryCounts counts() const; // of all lists
  [[nodiscard]] std::uint64_t bytes() const;
  // Of the entries there are, and perhaps of some that have gone.
  [[nodiscard]] const rules::Lengths &lengths() const { return lengths_; }

  // The entries of a list, IPv4 first, in order, until `each` returns false.
  using Each = std::function<bool(const Prefix &, EntryTimes)>;
  void visit(ListId list, const Each &each) const;
  // The same as sorted entries, at the end of the vectors.
  void append_to(ListId list, std::vector<rules::EntryV4> &v4, std::vector<rules::EntryV6> &v6) const;
  // The lists that hold exactly this prefix.
  void holders(const Prefix &prefix, const std::function<void(ListId list)> &each) const;

  struct Expiry {
    std::uint64_t at = 0;
    ListId list{};
    Prefix prefix;
    friend auto operator<=>(const Expiry &, const Expiry &) = default;
  };
  [[nodiscard]] std::optional<std::uint64_t> next_expiry();
  [[nodiscard]] std::vector<Expiry> expired(std::uint64_t now, std::size_t most);

private:
  struct List;
  struct Soon; // the expiries at hand
  [[nodiscard]] const List *list_of(ListId list) const;
  void look_ahead();

  std::map<ListId, std::unique_ptr<List>> lists_; // none of them is empty
  rules::Lengths lengths_;
  std::unique_ptr<Soon> soon_;
  std::uint64_t timed_ = 0; // entries that expire
};

} // namespace weir::control
