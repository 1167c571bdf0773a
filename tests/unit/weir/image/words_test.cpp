// Denied IPv4 hosts in one word each, as a whole image has them: found by every set of kernels, explained, refused where they
// cannot be.
#include "tests/support/hosts_in_words.hpp"
#include "weir/lookup/explain.hpp"

#include <memory>

namespace weir::words_test {
namespace {

using test::HostsInWords;

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

} // namespace
} // namespace weir::words_test
