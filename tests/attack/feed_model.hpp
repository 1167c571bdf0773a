// What the guards promise of lists that come from feeds, computed beside them: which contents are in force,
// how much of IPv4 they cover, and what changed within the day that a test lasts.
#pragma once

#include "tests/support/oracle.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weir::attack {

using Feed = std::vector<std::string>;       // lines, each an address or a prefix
using FeedMap = std::map<std::string, Feed>; // list -> what is in it

[[nodiscard]] inline bool is_allow(const std::string &list) { return list.starts_with("ops"); }
[[nodiscard]] std::string text_of(const Feed &feed);
[[nodiscard]] std::uint64_t covered_v4(const std::vector<const Feed *> &feeds); // each address once

class FeedModel {
public:
  FeedModel(FeedMap first, double max_change) : in_force_(std::move(first)), max_change_(max_change) {}

  [[nodiscard]] const FeedMap &in_force() const { return in_force_; }
  // Takes it as in force; says which promise is broken thereby, or nothing.
  std::string accept(const std::string &list, const Feed &feed);
  [[nodiscard]] double denied_share() const; // of IPv4, by all deny lists together
  [[nodiscard]] test::Oracle oracle() const;

private:
  struct Spent {
    double lines = 0, gained = 0, gained_share = 0;
  };
  FeedMap in_force_;
  double max_change_;
  std::map<std::string, Spent> spent_;
};

} // namespace weir::attack
