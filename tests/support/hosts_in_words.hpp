// Denied IPv4 hosts in words beside a wide prefix, and what an image of them has to answer.
#pragma once

#include "tests/support/image_memory.hpp"
#include "tests/support/seed.hpp"
#include "weir/image/writer.hpp"
#include "weir/lookup/burst_stream.hpp"
#include "weir/lookup/kernels/choose.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <unordered_map>
#include <vector>

namespace weir::test {

class HostsInWords : public testing::Test {
protected:
  using Change = image::Change;
  static constexpr unsigned burst_keys = lookup::BurstLookup::slots_max;
  static constexpr ListId wide = 1, bans = 2, high = 60'000; // which no word of a small table can name
  const std::uint64_t seed = test::seed_or(52);
  std::mt19937_64 random{seed};
  std::unordered_map<std::uint32_t, ListId> hosts; // by number
  std::vector<build::EntryV4> entries;

  // And a wide prefix.
  void draw_hosts(std::uint32_t count, unsigned lists = 200) {
    while (hosts.size() < count)
      hosts.emplace(static_cast<std::uint32_t>(random()),
                    ListId(static_cast<std::uint16_t>(random() % lists)));
    entries.assign(1, {10u << 24, 8, 0, wide});
    for (const auto &[host, list] : hosts) entries.push_back({host, 32, 0, list});
    std::ranges::sort(entries);
  }
  [[nodiscard]] build::BuildInput input() const {
    build::BuildInput in;
    in.lists = {{"wide", wide}, {"bans", bans}, {"high", high}};
    in.deny.v4 = entries;
    in.deny.hosts_v4 = build::HostHome::words;
    in.seed = seed;
    return in;
  }
  [[nodiscard]] std::uint32_t expected(std::uint32_t host) const {
    if (const auto it = hosts.find(host); it != hosts.end()) return table::value::make(it->second, 32);
    return host >> 24 == 10 ? table::value::make(wide, 8) : 0;
  }
  // Every host and as many others, which may be neighbours of hosts, by each set of kernels.
  void expect_answers(const image::ImageView &view, std::size_t others) {
    std::vector<std::uint32_t> asked;
    for (const auto &[host, list] : hosts) asked.push_back(host);
    for (std::size_t n = 0; n < others; ++n) {
      const auto any = static_cast<std::uint32_t>(random());
      asked.push_back(n % 4 != 0 ? any : asked[random() % hosts.size()] ^ 1u << any % 32);
    }
    std::ranges::shuffle(asked, random);
    asked.resize(round_up(asked.size(), burst_keys), 0);
    std::vector<std::uint32_t> wires;
    for (const std::uint32_t host : asked) wires.push_back(byteswap32(host));
    lookup::BurstStream stream;
    for (const lookup::Kernels *kernels : lookup::available_kernels()) {
      std::size_t wrong = 0;
      stream.run(
          view, *kernels, wires.size() / burst_keys,
          [&](lookup::BurstLookup &burst, std::size_t i) {
            burst.ask_all_v4(&wires[i * burst_keys], burst_keys);
          },
          [&](const lookup::BurstLookup &burst, std::size_t i) {
            for (unsigned k = 0; k < burst_keys; ++k)
              wrong += burst.deny_v4()[k] != expected(asked[i * burst_keys + k]);
          });
      EXPECT_EQ(wrong, 0u) << kernels->name << ", of " << asked.size();
    }
    for (std::size_t n = 0; n < asked.size(); n += 97)
      ASSERT_EQ(image::lookup_v4(view, Side::deny, wires[n]), expected(asked[n]));
  }

  [[nodiscard]] static image::Delta delta(std::uint32_t host, std::optional<ListId> list) {
    image::Delta d;
    d.op = list ? image::DeltaOp::set : image::DeltaOp::unset;
    d.length = 32;
    d.list = list.value_or(ListId());
    d.address = Address::from_host(host).bytes;
    return d;
  }
  Change set(image::ImageWriter &writer, std::uint32_t host, ListId list) {
    const Change change = writer.apply(delta(host, list));
    if (change != Change::needs_rebuild) hosts[host] = list;
    return change;
  }
  Change unset(image::ImageWriter &writer, std::uint32_t host) {
    hosts.erase(host);
    return writer.apply(delta(host, std::nullopt));
  }
  // Hosts that come to one line.
  [[nodiscard]] std::vector<std::uint32_t> of_line(const image::ImageView &view, std::uint32_t line,
                                                   std::size_t count) {
    std::vector<std::uint32_t> out;
    const table::WordTableView &words = view.v4[Side::deny].words;
    for (std::uint32_t host = 0x50000000; out.size() < count; ++host)
      if (words.spot(byteswap32(host)).line == line && !hosts.contains(host)) out.push_back(host);
    return out;
  }
};

} // namespace weir::test
