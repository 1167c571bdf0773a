// Ranges of addresses by country, a line each: `first,last,CC`; IPv4 addresses are decimal numbers, IPv6 addresses
// are text. What belongs to no country is marked `??` and left out.
#include "tests/bench/prefix_sets.hpp"
#include "tests/support/process.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>

namespace weir::bench {
namespace {

struct Range {
  Wide first = 0, last = 0;
  std::string country;
};

std::optional<Wide> parse_address(const std::string &text, Family family) {
  if (family == Family::ipv4) {
    std::uint32_t number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
  }
  build::EntryV6 entry;
  if (inet_pton(AF_INET6, text.c_str(), entry.address.data()) != 1) return std::nullopt;
  return OfFamily<WireV6>::number(entry);
}

std::vector<Range> parse_ranges(const std::string &path, Family family) {
  const std::string text = test::read_text(path);
  std::vector<Range> ranges;
  unsigned number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const std::size_t comma1 = line.find(','), comma2 = line.rfind(',');
    const auto first = parse_address(line.substr(0, comma1), family);
    const auto last =
        parse_address(line.substr(std::min(comma1, comma2 - 1) + 1, comma2 - comma1 - 1), family);
    if (comma1 == comma2 || !first || !last || *last < *first)
      give_up(
          fmt::format("{}:{}: '{}' is no range of addresses: fetch tor-geoipdb again", path, number, line));
    std::string country = line.substr(comma2 + 1);
    if (country != "??") ranges.push_back({*first, *last, std::move(country)});
  }
  return ranges;
}

// Appends the prefixes that are all of the range.
template <class Wire> void append(const Range &range, std::uint16_t list, PrefixSet<Wire> &to) {
  using Of = OfFamily<Wire>;
  for (Wide first = range.first;;) {
    unsigned host_bits = 0;
    while (host_bits + 1 < Of::bits && (first >> host_bits & 1) == 0 &&
           first + (Wide{2} << host_bits) - 1 <= range.last)
      ++host_bits;
    to.entries.push_back(Of::entry(first, Of::bits - host_bits, list));
    const Wide last = first + ((Wide{1} << host_bits) - 1);
    if (last == range.last) return;
    first = last + 1;
  }
}

template <class Wire> void sort_entries(PrefixSet<Wire> &set, std::size_t lists) {
  std::ranges::sort(set.entries);
  set.lists = static_cast<unsigned>(lists);
}

} // namespace

std::optional<Geo> load_geo() {
  for (const std::string folder : {"build/geo/usr/share/tor/", "/usr/share/tor/"}) {
    if (!std::filesystem::exists(folder + "geoip") || !std::filesystem::exists(folder + "geoip6")) continue;
    const auto v4 = parse_ranges(folder + "geoip", Family::ipv4);
    const auto v6 = parse_ranges(folder + "geoip6", Family::ipv6);
    std::map<std::string, std::uint16_t> lists; // by country
    for (const auto *ranges : {&v4, &v6})
      for (const Range &range : *ranges) lists.emplace(range.country, 0);
    std::uint16_t number = 0;
    for (auto &[country, list] : lists) list = number++;
    constexpr std::array few_countries{"BY", "CN", "IR", "KP", "RU", "SY"};
    Geo geo{{"geo", {}, 1}, {"six countries", {}, 1}, {"geo", {}, 1}};
    for (const Range &range : v4) {
      append(range, lists.at(range.country), geo.v4);
      if (std::ranges::count(few_countries, range.country) > 0)
        append(range, lists.at(range.country), geo.few);
    }
    for (const Range &range : v6) append(range, lists.at(range.country), geo.v6);
    sort_entries(geo.v4, lists.size());
    sort_entries(geo.few, lists.size());
    sort_entries(geo.v6, lists.size());
    return geo;
  }
  return std::nullopt;
}

} // namespace weir::bench
