#include "tests/attack/feed_model.hpp"

#include "weir/key/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace weir::attack {

namespace {

constexpr double all_v4 = 0x1p32;
constexpr double deny_share_max = 0.25, allow_share_max = 0x1p-4; // the defaults of guard.max_covered
constexpr std::size_t lines_asked_from = 1000;                    // of a deny list, by max_change
constexpr double addresses_asked_from = 0x1p16;

std::size_t shortest(const std::string &list, Family family) {
  if (family == Family::ipv4) return is_allow(list) ? 16 : 8;
  return is_allow(list) ? 32 : 16;
}

} // namespace

std::string text_of(const Feed &feed) {
  std::string text;
  for (const std::string &line : feed) text += line + '\n';
  return text;
}

std::uint64_t covered_v4(const std::vector<const Feed *> &feeds) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const Feed *feed : feeds)
    for (const std::string &line : *feed) {
      const Prefix prefix = *parse_prefix(line);
      if (prefix.family() != Family::ipv4) continue;
      const std::uint64_t first = prefix.address.host();
      ranges.emplace_back(first, first + (std::uint64_t{1} << (32 - prefix.length)));
    }
  std::ranges::sort(ranges);
  std::uint64_t covered = 0, end = 0;
  for (const auto &[first, beyond] : ranges) {
    if (beyond <= end) continue;
    covered += beyond - std::max(first, end);
    end = beyond;
  }
  return covered;
}

std::string FeedModel::accept(const std::string &list, const Feed &feed) {
  const Feed old = std::exchange(in_force_.at(list), feed);
  for (const std::string &line : feed) {
    const Prefix prefix = *parse_prefix(line);
    if (prefix.length < shortest(list, prefix.family())) return line + " is shorter than shortest_prefix";
  }
  const auto before = static_cast<double>(covered_v4({&old})),
             after = static_cast<double>(covered_v4({&feed}));
  if (is_allow(list) && after > allow_share_max * all_v4)
    return fmt::format("{} covers {:.2f} % of IPv4", list, 100 * after / all_v4);
  if (denied_share() > deny_share_max)
    return fmt::format("deny lists cover {:.2f} % of IPv4 together", 100 * denied_share());
  if (max_change_ >= 1) return {};

  const std::set<std::string> lines_old(old.begin(), old.end()), lines_new(feed.begin(), feed.end());
  std::size_t changed = 0;
  for (const std::string &line : lines_new) changed += !lines_old.contains(line);
  for (const std::string &line : lines_old) changed += !lines_new.contains(line);
  Spent &spent = spent_[list];
  const bool lines_count = is_allow(list) || std::max(lines_old.size(), lines_new.size()) > lines_asked_from;
  if (lines_count) spent.lines += static_cast<double>(changed) / static_cast<double>(lines_old.size());
  const double gained = static_cast<double>(covered_v4({&old, &feed})) - before;
  spent.gained += gained;
  spent.gained_share += gained / std::max(before, 1.0);
  if (changed == 0) return {};
  if (lines_count && spent.lines > max_change_)
    return fmt::format("{:.1f} % of the lines of {} have changed within the day", 100 * spent.lines, list);
  if (gained > 0 && (is_allow(list) || spent.gained > addresses_asked_from) &&
      spent.gained_share > max_change_)
    return fmt::format("{} has gained {:.1f} % of its addresses within the day", list,
                       100 * spent.gained_share);
  return {};
}

double FeedModel::denied_share() const {
  std::vector<const Feed *> denied;
  for (const auto &[name, feed] : in_force_)
    if (!is_allow(name)) denied.push_back(&feed);
  return static_cast<double>(covered_v4(denied)) / all_v4;
}

test::Oracle FeedModel::oracle() const {
  test::Oracle oracle;
  for (const auto &[name, feed] : in_force_)
    for (const std::string &line : feed) is_allow(name) ? oracle.allow(line, name) : oracle.deny(line, name);
  return oracle;
}

} // namespace weir::attack
