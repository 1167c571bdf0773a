// Feeds as somebody would write them who has got hold of one.
#pragma once

#include "tests/attack/feed_model.hpp"
#include "tests/support/random_rules.hpp"

namespace weir::attack {

struct Hostile {
  std::string list, story;
  Feed feed;
  bool adds = false; // lines, so that a refusal has some to name
};

[[nodiscard]] FeedMap first_feeds(test::Random &random);
// Made of what is in force: with wide lines, many, nested ones, a little growth, or less of everything.
[[nodiscard]] Hostile hostile_feed(test::Random &random, const FeedMap &in_force);

[[nodiscard]] const std::string &any_line(test::Random &random, const Feed &feed);
[[nodiscard]] std::string first_address(const std::string &line);
[[nodiscard]] std::string address_in(test::Random &random, const std::string &line);

} // namespace weir::attack
