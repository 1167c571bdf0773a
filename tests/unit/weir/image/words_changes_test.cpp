// Denied IPv4 hosts in words under single changes: to the line, behind it, to the overlay, and back out.
#include "tests/support/hosts_in_words.hpp"

#include <functional>

namespace weir::words_changes_test {
namespace {

class ChangedWords : public test::HostsInWords {};

// One line is filled, the table behind it takes the rest, and what is freed in the line is used again.
TEST_F(ChangedWords, that_come_to_a_full_line_stand_behind_it) {
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

TEST_F(ChangedWords, that_get_a_list_no_word_can_name_leave_their_line) {
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
TEST_F(ChangedWords, that_leave_their_line_are_found_at_every_moment) {
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

// What the table behind is sized for.
TEST_F(ChangedWords, grow_by_a_sixteenth_in_place) {
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
TEST_F(ChangedWords, ask_for_a_rebuild_when_overlay_and_table_are_full_and_lose_nothing) {
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

} // namespace
} // namespace weir::words_changes_test
