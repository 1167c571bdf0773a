#include "tests/attack/hostile_feeds.hpp"

#include "weir/key/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace weir::attack {

namespace {

using test::Random;

std::string host_line(Random &random, std::uint32_t net) {
  return to_string(Address::from_host(net << 24 | random.below(1 << 24)));
}

std::string net_line(Random &random, unsigned length) {
  const Address address = Address::from_host(static_cast<std::uint32_t>(random.bits()));
  return to_string(Prefix{masked(address, length), static_cast<std::uint8_t>(length)});
}

void grow(Random &random, Feed &feed, double share) {
  const auto more = static_cast<std::size_t>(share * static_cast<double>(feed.size()));
  for (std::size_t i = 0; i < more; ++i) feed.push_back(host_line(random, 20 + random.below(100)));
}

} // namespace

FeedMap first_feeds(Random &random) {
  FeedMap feeds;
  for (const char *name : {"drop", "heavy"}) {
    Feed &feed = feeds[name];
    for (unsigned i = 0; i < 40 + random.below(60); ++i)
      feed.push_back(net_line(random, 12 + random.below(13)));
    const unsigned hosts = random.one_in(2) ? 2000 + random.below(2000) : 500;
    for (unsigned i = 0; i < hosts; ++i) feed.push_back(host_line(random, 11));
  }
  for (unsigned i = 0; i < 50; ++i) feeds["ops"].push_back(host_line(random, 12));
  for (unsigned i = 0; i < 10; ++i) feeds["ops"].push_back(net_line(random, 20));
  for (auto &[name, feed] : feeds) {
    const std::set<std::string> once(feed.begin(), feed.end());
    feed.assign(once.begin(), once.end());
  }
  return feeds;
}

Hostile hostile_feed(Random &random, const FeedMap &in_force) {
  Hostile hostile;
  hostile.list =
      std::next(in_force.begin(), random.below(static_cast<std::uint32_t>(in_force.size())))->first;
  hostile.feed = in_force.at(hostile.list);
  Feed &feed = hostile.feed;
  const std::size_t lines = feed.size();
  switch (random.below(8)) {
  case 0:
    hostile.story = "a few short prefixes";
    for (unsigned i = 1 + random.below(4); i > 0; --i) feed.push_back(net_line(random, 1 + random.below(12)));
    break;
  case 1:
    hostile.story = "everything in one line";
    feed.push_back(random.one_in(3) ? "::/0" : "0.0.0.0/0");
    break;
  case 2:
    hostile.story = "halves of everything";
    for (const char *line : {"0.0.0.0/1", "128.0.0.0/1"}) feed.push_back(line);
    break;
  case 3:
    hostile.story = "many prefixes, each long enough";
    for (unsigned i = 20 + random.below(5000); i > 0; --i)
      feed.push_back(net_line(random, 16 - (hostile.list == "ops" ? 0 : random.below(6))));
    break;
  case 4: {
    hostile.story = "nested prefixes";
    const Address inside = Address::from_host(static_cast<std::uint32_t>(random.bits()));
    for (unsigned length = 8; length <= 32; ++length)
      feed.push_back(to_string(Prefix{masked(inside, length), static_cast<std::uint8_t>(length)}));
    break;
  }
  case 5:
    hostile.story = "growth a little below max_change";
    grow(random, feed, 0.29);
    break;
  case 6:
    hostile.story = "a little growth";
    grow(random, feed, 0.01 + 0.01 * random.below(8));
    break;
  default:
    hostile.story = "less of everything";
    feed.resize(lines - random.below(static_cast<std::uint32_t>(lines)));
  }
  hostile.story += " on " + hostile.list;
  hostile.adds = feed.size() > lines;
  return hostile;
}

const std::string &any_line(Random &random, const Feed &feed) {
  return feed[random.below(static_cast<std::uint32_t>(feed.size()))];
}

std::string first_address(const std::string &line) { return to_string(parse_prefix(line)->address); }

std::string address_in(Random &random, const std::string &line) {
  const Prefix prefix = *parse_prefix(line);
  if (prefix.family() != Family::ipv4) return first_address(line);
  const std::uint64_t size = std::uint64_t{1} << (32 - prefix.length);
  return to_string(
      Address::from_host(static_cast<std::uint32_t>(prefix.address.host() + random.bits() % size)));
}

} // namespace weir::attack
