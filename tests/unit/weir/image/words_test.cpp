// Denied IPv4 hosts in one word each, as a whole image has them: found by every set of kernels, changed in place, explained,
// refused where they cannot be.
#include "tests/support/image_memory.hpp"
#include "tests/support/seed.hpp"
#include "weir/image/writer.hpp"
#include "weir/lookup/burst_stream.hpp"
#include "weir/lookup/explain.hpp"
#include "weir/lookup/kernels/choose.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <unordered_map>

namespace weir {
namespace {

using image::Change;

constexpr unsigned burst_keys = lookup::BurstLookup::slots_max;

class HostsInWords : public testing::Test {
protected:
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

TEST_F(HostsInWords, are_found_with_their_lists_and_nothing_else_is) {
  WEIR_TRACE_SEED(seed);
  for (const std::uint32_t count : {20u, 3000u, 150'000u}) {
    hosts.clear();
    draw_hosts(count);
    const test::ImageMemory memory = test::ImageMemory::build(input());
    EXPECT_EQ(memory.report().words.hosts, count);
    EXPECT_EQ(memory.report().words.hosts_behind, memory.report().deny_v4.keys);
    ASSERT_FALSE(memory.view().v4[Side::deny].words.empty());
    expect_answers(memory.view(), 1'000'000);
  }
}

TEST_F(HostsInWords, of_a_list_that_no_word_can_name_stand_behind_them) {
  WEIR_TRACE_SEED(seed);
  draw_hosts(5000, 60'000);
  const test::ImageMemory memory = test::ImageMemory::build(input());
  EXPECT_GT(memory.report().words.hosts_behind, 4900u);
  expect_answers(memory.view(), 10'000);
}

TEST_F(HostsInWords, take_six_bytes_each_and_images_without_them_none) {
  draw_hosts(200'000);
  build::BuildInput in = input();
  const auto bytes = [&](build::HostHome home) {
    in.deny.hosts_v4 = home;
    return static_cast<double>(build::image_bytes(in));
  };
  in.deny.v4 = {};
  const double without = bytes(build::HostHome::table);
  in.deny.v4 = entries;
  const double overlay = static_cast<double>(build::overlay_lines<table::LineV4>(200'000)) * 64;
  EXPECT_NEAR((bytes(build::HostHome::words) - without - overlay) / 200'000, 6.05, 0.05);
  EXPECT_NEAR((bytes(build::HostHome::table) - without - overlay) / 200'000, 10.0, 0.2);
}

TEST_F(HostsInWords, stand_in_the_map_where_they_are_few_beside_its_prefixes) {
  hosts = {{1, bans}};
  for (std::uint32_t n = 0; n < 20; ++n) entries.push_back({n << 24, 8, 0, wide});
  entries.push_back({0x01020304, 32, 0, bans});
  std::ranges::sort(entries);
  const test::ImageMemory memory = test::ImageMemory::build(input());
  EXPECT_TRUE(memory.view().v4[Side::deny].words.empty());
  EXPECT_EQ(memory.report().words.hosts, 0u);
}

TEST_F(HostsInWords, are_refused_with_what_their_readers_do_not_ask) {
  draw_hosts(100);
  const auto refused = [](build::BuildInput in) {
    test::ImageMemory memory(build::image_bytes(in));
    const auto report = build::build_image(in, memory.bytes());
    return report ? std::string() : report.error().message;
  };
  EXPECT_EQ(refused(input()), "");
  build::BuildInput in = input();
  in.deny.front_filter = true;
  EXPECT_NE(refused(in).find("no filter stands in front of hosts in words"), std::string::npos);
  in = input();
  in.deny.predictor = build::Predictor::chained;
  EXPECT_NE(refused(in).find("no chained predictor"), std::string::npos);
  in = input();
  in.allow.hosts_v4 = build::HostHome::words;
  EXPECT_NE(refused(in).find("of the deny side alone"), std::string::npos);
  in = input();
  in.family = HashFamily::jhash;
  EXPECT_NE(refused(in).find("no form for hash family jhash"), std::string::npos);
}

// One line is filled, the table behind it takes the rest, and what is freed in the line is used again.
TEST_F(HostsInWords, that_come_to_a_full_line_stand_behind_it) {
  WEIR_TRACE_SEED(seed);
  draw_hosts(40, 3);
  const test::ImageMemory memory = test::ImageMemory::build(input());
  auto writer = image::ImageWriter::attach(memory.bytes(), [] {}).value();
  const image::ImageView &view = writer.view();
  const auto &side = view.v4[Side::deny];
  const auto come = of_line(view, 7, 30);
  for (const std::uint32_t host : come) {
    ASSERT_EQ(set(writer, host, bans), Change::in_place);
    ASSERT_EQ(set(writer, host, bans), Change::unchanged);
  }
  const auto stands_behind = [&](std::uint32_t host) { return side.words.find(byteswap32(host)).value == 0; };
  EXPECT_GE(std::ranges::count_if(come, stands_behind), 14);
  expect_answers(view, 1000);
  ASSERT_FALSE(stands_behind(come[0]));
  ASSERT_TRUE(stands_behind(come[29]));
  EXPECT_EQ(set(writer, come[29], 1), Change::in_place) << "where it stands";
  EXPECT_TRUE(stands_behind(come[29]));
  EXPECT_EQ(unset(writer, come[0]), Change::in_place);
  EXPECT_EQ(unset(writer, come[0]), Change::unchanged);
  EXPECT_EQ(set(writer, come[29], 2), Change::in_place) << "it does not come back";
  EXPECT_TRUE(stands_behind(come[29]));
  const std::uint32_t next = of_line(view, 7, 1)[0];
  EXPECT_EQ(set(writer, next, 1), Change::in_place);
  EXPECT_FALSE(stands_behind(next));
  expect_answers(view, 1000);
  for (const std::uint32_t host : come) (void)unset(writer, host);
  expect_answers(view, 1000);
}

TEST_F(HostsInWords, that_get_a_list_no_word_can_name_leave_their_line) {
  WEIR_TRACE_SEED(seed);
  draw_hosts(40, 3);
  const test::ImageMemory memory = test::ImageMemory::build(input());
  auto writer = image::ImageWriter::attach(memory.bytes(), [] {}).value();
  const auto &side = writer.view().v4[Side::deny];
  const std::uint32_t host = of_line(writer.view(), 3, 1)[0], wire = byteswap32(host);
  ASSERT_EQ(set(writer, host, bans), Change::in_place);
  ASSERT_NE(side.words.find(wire).value, 0u);
  ASSERT_EQ(set(writer, host, high), Change::in_place);
  EXPECT_EQ(side.words.find(wire).value, 0u);
  EXPECT_TRUE(side.words.find(wire).behind);
  expect_answers(writer.view(), 1000);
  ASSERT_EQ(set(writer, host, bans), Change::in_place);
  expect_answers(writer.view(), 1000);
  ASSERT_EQ(unset(writer, host), Change::in_place);
  expect_answers(writer.view(), 1000);
}

// In the middle of a change that has to make room behind words: a reader that comes then finds the host too.
TEST_F(HostsInWords, that_leave_their_line_are_found_at_every_moment) {
  WEIR_TRACE_SEED(seed);
  draw_hosts(40, 3);
  const test::ImageMemory memory = test::ImageMemory::build(input());
  std::function<void()> look = [] {};
  auto writer = image::ImageWriter::attach(memory.bytes(), [&] { look(); }).value();
  unsigned moments = 0, lost = 0;
  look = [&] {
    ++moments;
    for (const auto &[host, list] : hosts) {
      const std::uint32_t v = image::lookup_v4(writer.view(), Side::deny, byteswap32(host));
      lost += table::value::length_of(v) != 32 ? 1 : 0;
    }
  };
  const auto some_host = [&] { return std::next(hosts.begin(), random() % hosts.size())->first; };
  unsigned left = 0;
  for (unsigned n = 0; n < 3000; ++n) { // most of them behind, where 256 have room
    if (hosts.size() < 240)
      (void)set(writer, static_cast<std::uint32_t>(random()), bans);
    else
      (void)unset(writer, some_host());
    const std::uint32_t host = some_host();
    if (hosts[host] != high && set(writer, host, high) == Change::in_place) ++left;
  }
  EXPECT_EQ(lost, 0u);
  EXPECT_GT(moments, 20u);
  EXPECT_GT(left, 100u);
}

// What the table behind has no room for, another secret spreads.
TEST_F(HostsInWords, that_are_chosen_to_fall_into_one_line_get_another_secret) {
  constexpr std::uint32_t count = 20'000;
  const std::uint32_t lines = build::word_lines(count);
  const table::WordLine nothing{};
  const table::WordTableView words(&nothing, lines, length_seed(seed, 32));
  const auto first = static_cast<std::uint32_t>(((std::uint64_t{5} << 32) + lines - 1) / lines);
  for (std::uint32_t i = 0; i < count; ++i) hosts[byteswap32(words.scatter.undone(first + i))] = bans;
  draw_hosts(count);
  const test::ImageMemory memory = test::ImageMemory::build(input());
  EXPECT_EQ(memory.report().attempts, 2u);
  EXPECT_LT(memory.report().words.hosts_behind, count / 50);
  expect_answers(memory.view(), 10'000);
}

// What the table behind is sized for.
TEST_F(HostsInWords, grow_by_a_sixteenth_in_place) {
  WEIR_TRACE_SEED(seed);
  draw_hosts(60'000);
  const test::ImageMemory memory = test::ImageMemory::build(input());
  auto writer = image::ImageWriter::attach(memory.bytes(), [] {}).value();
  std::vector<image::Delta> deltas;
  while (hosts.size() < 60'000 + 60'000 / 16) {
    const auto host = static_cast<std::uint32_t>(random());
    if (!hosts.emplace(host, bans).second) continue;
    deltas.push_back(delta(host, bans));
  }
  const auto done = writer.apply_batch(deltas);
  EXPECT_EQ(done.applied, deltas.size());
  EXPECT_EQ(done.in_overlay, 0u);
  expect_answers(writer.view(), 100'000);
}

// Until nothing takes any more: table, stash, overlay, and everything is still found.
TEST_F(HostsInWords, ask_for_a_rebuild_when_overlay_and_table_are_full_and_lose_nothing) {
  WEIR_TRACE_SEED(seed);
  draw_hosts(40, 3);
  const test::ImageMemory memory = test::ImageMemory::build(input());
  auto writer = image::ImageWriter::attach(memory.bytes(), [] {}).value();
  unsigned seen[5] = {};
  for (Change change = Change::in_place; change != Change::needs_rebuild;) {
    change = set(writer, static_cast<std::uint32_t>(random()), random() % 4 == 0 ? high : bans);
    ++seen[static_cast<unsigned>(change)];
  }
  EXPECT_GT(seen[static_cast<unsigned>(Change::in_place)], 300u);
  EXPECT_GT(seen[static_cast<unsigned>(Change::overlay)], 100u);
  expect_answers(writer.view(), 10'000);
  std::vector<std::uint32_t> all;
  for (const auto &[host, list] : hosts) all.push_back(host);
  for (std::size_t n = 0; n < all.size(); n += 2) { // some have to be taken out of words below the overlay
    if (set(writer, all[n], high) == Change::needs_rebuild) continue;
    ASSERT_NE(unset(writer, all[n]), Change::needs_rebuild);
  }
  expect_answers(writer.view(), 10'000);
}

TEST_F(HostsInWords, answer_either_address_of_a_packet_beside_an_allow_side) {
  draw_hosts(500, 3);
  const std::vector<build::EntryV4> allowed{{entries[100].host, 32, 0, ListId(7)}};
  build::BuildInput in = input();
  in.lists.push_back({"ops", 7, Side::allow});
  in.allow.v4 = allowed;
  in.policy.match = Match::either;
  const test::ImageMemory memory = test::ImageMemory::build(in);
  const image::ImageView view = memory.view();
  const auto burst = std::make_unique<lookup::BurstLookup>();
  for (const lookup::Kernels *kernels : lookup::available_kernels()) {
    burst->begin(view, *kernels);
    const Address v6 = parse_address("2001:db8::1").value();
    burst->ask_v4(0, byteswap32(entries[100].host));
    burst->ask_v6(1, v6.bytes.data());
    burst->ask_v4(2, byteswap32(entries[101].host));
    burst->ask_v4(3, byteswap32(entries[101].host + 1));
    burst->send();
    burst->probe_first();
    burst->finish();
    EXPECT_NE(burst->allow(0), 0u);
    EXPECT_EQ(burst->deny(0), expected(entries[100].host));
    EXPECT_EQ(burst->deny(1), 0u);
    EXPECT_EQ(burst->deny(2), expected(entries[101].host));
    EXPECT_EQ(burst->allow(2), 0u);
    EXPECT_EQ(burst->deny(3), expected(entries[101].host + 1));
  }
}

TEST_F(HostsInWords, are_explained_by_line_and_slot) {
  draw_hosts(40, 3);
  const test::ImageMemory memory = test::ImageMemory::build(input());
  auto writer = image::ImageWriter::attach(memory.bytes(), [] {}).value();
  const auto step = [&](std::uint32_t host, lookup::Explanation &e) {
    e = lookup::explain(writer.view(), Address::from_host(host));
    for (const auto &s : e.path)
      if (s.step == "deny /32") return s.text;
    return std::string("(no such step)");
  };
  lookup::Explanation e;
  const auto come = of_line(writer.view(), 9, 20);
  for (const std::uint32_t host : come) (void)set(writer, host, bans);
  EXPECT_EQ(step(come[0], e).find("word line 0x9: slot "), 0u) << step(come[0], e);
  EXPECT_TRUE(step(come[0], e).ends_with(": match"));
  EXPECT_EQ(e.list, "bans");
  EXPECT_EQ(e.entry, to_string(Address::from_host(come[0])));
  EXPECT_EQ(step(come[19], e).find("word line 0x9: no match, group bit set; table 1 line 0x"), 0u)
      << step(come[19], e);
  EXPECT_EQ(e.list, "bans");
  const std::string near = step(of_line(writer.view(), 2, 1)[0], e);
  EXPECT_TRUE(near == "word line 0x2: no match, group bit clear: absent" ||
              near == "no hosts near it: absent")
      << near;
}

struct Forgery {
  const char *name, *words;
  std::function<void(image::ImageHeader &, image::SectionEntry &, table::WordHeader &)> forge;
};
void PrintTo(const Forgery &f, std::ostream *out) { *out << f.name; }

class ForgedWords : public HostsInWords, public testing::WithParamInterface<Forgery> {
protected:
  static image::SectionEntry *entries_of(const test::ImageMemory &m) {
    return reinterpret_cast<image::SectionEntry *>(m.bytes().data() + sizeof(image::ImageHeader));
  }
  static image::ImageHeader &header_of(const test::ImageMemory &m) {
    return *reinterpret_cast<image::ImageHeader *>(m.bytes().data());
  }
  static void reseal(const test::ImageMemory &m) {
    image::ImageHeader &h = header_of(m);
    for (std::uint32_t i = 0; i < h.section_count; ++i) {
      image::SectionEntry &e = entries_of(m)[i];
      e.checksum = checksum(m.bytes().subspan(e.offset, e.bytes));
    }
    h.section_checksum = checksum(m.bytes().subspan(sizeof h, h.section_count * sizeof(image::SectionEntry)));
    h.header_checksum = checksum(m.bytes().first(offsetof(image::ImageHeader, header_checksum)));
  }
};

TEST_P(ForgedWords, are_refused_although_their_checksums_are_right) {
  draw_hosts(300, 3);
  const test::ImageMemory m = test::ImageMemory::build(input());
  for (std::uint32_t i = 0; i < header_of(m).section_count; ++i)
    if (image::SectionEntry &e = entries_of(m)[i]; e.kind == 52)
      GetParam().forge(header_of(m), e, *reinterpret_cast<table::WordHeader *>(m.bytes().data() + e.offset));
  reseal(m);
  const auto view = image::attach(m.bytes());
  ASSERT_FALSE(view.has_value());
  EXPECT_NE(view.error().message.find(GetParam().words), std::string::npos) << view.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Words, ForgedWords,
    testing::Values(
        Forgery{"form", "deny_v4_hosts: lines of form 2", [](auto &, auto &, auto &h) { h.form = 2; }},
        Forgery{"more_lines", "size does not match its lines", [](auto &, auto &, auto &h) { ++h.lines; }},
        Forgery{"fewer_lines", "size does not match its lines", [](auto &, auto &, auto &h) { --h.lines; }},
        Forgery{"no_lines", "0 lines, it may have", [](auto &, auto &, auto &h) { h.lines = 0; }},
        Forgery{"too_many_lines", "lines, it may have", [](auto &, auto &, auto &h) { h.lines = ~0u; }},
        Forgery{"reserved", "reserved bytes", [](auto &, auto &, auto &h) { h.reserved[40] = 1; }},
        Forgery{"short", "too short", [](auto &, auto &e, auto &) { e.bytes = 32; }},
        Forgery{"of_another_side", "of kind 54 is unknown", [](auto &, auto &e, auto &) { e.kind = 54; }},
        Forgery{"of_a_family_without_them", "family jhash does not go with",
                [](auto &h, auto &, auto &) { h.hash_family = 2; }}),
    [](const auto &forgery) { return std::string(forgery.param.name); });

// No content of a line leads a reader anywhere: every bit of it may be anything.
TEST_F(HostsInWords, of_random_bits_are_harmless_and_read_alike_by_all_kernels) {
  WEIR_TRACE_SEED(seed);
  draw_hosts(3000, 3);
  const test::ImageMemory memory = test::ImageMemory::build(input());
  const image::ImageView view = memory.view();
  const table::WordTableView &words = view.v4[Side::deny].words;
  auto *lines = const_cast<table::WordLine *>(words.lines);
  for (std::uint32_t n = 0; n < words.count; ++n)
    for (std::uint32_t &word : lines[n].word) word = static_cast<std::uint32_t>(random());
  std::vector<std::uint32_t> wires(burst_keys * 500), first;
  for (std::uint32_t i = 0; i < wires.size(); ++i) { // half of them stand there, some twice
    const auto line = static_cast<std::uint32_t>(random() % words.count);
    const unsigned slot = static_cast<unsigned>(random() % 16);
    wires[i] =
        i % 2 != 0 ? static_cast<std::uint32_t>(random()) : words.wire_of(line, lines[line].word[slot]);
    if (random() % 8 == 0) lines[line].word[(slot + 8 * (i % 3)) % 16] = lines[line].word[slot] ^ 4;
  }
  lookup::BurstStream stream;
  for (const lookup::Kernels *kernels : lookup::available_kernels()) {
    std::vector<std::uint32_t> said;
    stream.run(
        view, *kernels, wires.size() / burst_keys,
        [&](lookup::BurstLookup &burst, std::size_t i) {
          burst.ask_all_v4(&wires[i * burst_keys], burst_keys);
        },
        [&](const lookup::BurstLookup &burst, std::size_t) {
          said.insert(said.end(), burst.deny_v4(), burst.deny_v4() + burst_keys);
        });
    if (first.empty()) first = said;
    EXPECT_EQ(said, first) << kernels->name;
  }
}

} // namespace
} // namespace weir
