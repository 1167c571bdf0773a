#include "control/store/store.hpp"

#include "tests/support/damaged_store.hpp"
#include "tests/support/process.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace weir::store::store_test {
namespace {

using test::TempDir;

Prefix prefix(std::string_view text) { return parse_prefix(text).value(); }

DynamicChange adding(ListId list, std::string_view text, std::string comment = {}) {
  DynamicChange change;
  change.put.push_back({{list, prefix(text)}, std::move(comment), 100, 0});
  change.touched.push_back({Side::deny, prefix(text)});
  return change;
}

std::uint64_t write_content(Store &store, const std::vector<std::pair<std::string, std::string>> &entries) {
  auto writer = store.begin_contents().value();
  const std::uint64_t version = writer.begin_version();
  for (const auto &[text, comment] : entries) EXPECT_TRUE(writer.add(prefix(text), comment));
  EXPECT_TRUE(writer.finish());
  return version;
}

// As a change does: live, then what nobody needs is forgotten.
Status go_live(Store &store, const GenerationRecord &record, unsigned keep, Generation replaced = {}) {
  TRY(store.make_live(record));
  return store.prune(keep, {}, replaced);
}

std::vector<std::string> content_of(const Store &store, std::uint64_t version) {
  std::vector<std::string> entries;
  EXPECT_TRUE(store.read_content(version, [&](const Prefix &p, std::string_view comment) {
    entries.push_back(to_string(p) + (comment.empty() ? "" : " " + std::string(comment)));
  }));
  return entries;
}

bool can_read(const Store &store, std::uint64_t version) {
  return store.read_content(version, [](const Prefix &, std::string_view) {}).has_value();
}

GenerationRecord generation(std::uint64_t id, std::uint64_t version) {
  GenerationRecord record;
  record.id = Generation(id);
  record.config_text = "version: 1";
  record.lists.push_back({.number = 3, .name = "bans", .content_version = version});
  return record;
}

TEST(Store, keeps_its_id_and_numbers_over_a_restart) {
  const TempDir folder;
  image::StoreId id{};
  {
    auto store = Store::open(folder.path()).value();
    id = store.id();
    EXPECT_NE(id, image::StoreId{});
    EXPECT_EQ(store.never_deny_number(), 0);
    EXPECT_EQ(store.take_generation_number().value(), 1u);
    EXPECT_EQ(store.take_generation_number(7).value(), 8u);
  }
  auto store = Store::open(folder.path()).value();
  EXPECT_EQ(store.id(), id);
  EXPECT_EQ(store.never_deny_number(), 0);
  EXPECT_EQ(store.take_generation_number().value(), 9u);
}

TEST(Store, two_stores_have_different_ids) {
  const TempDir one, two;
  EXPECT_NE(Store::open(one.path()).value().id(), Store::open(two.path()).value().id());
}

TEST(Store, a_second_process_is_refused_with_a_reason) {
  const TempDir folder;
  const auto store = Store::open(folder.path());
  ASSERT_TRUE(store);
  const auto second = Store::open(folder.path());
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another weir-control"), std::string::npos);
}

TEST(Store, dynamic_entries_and_their_comments_come_back) {
  const TempDir folder;
  {
    auto store = Store::open(folder.path()).value();
    EXPECT_EQ(store.write(adding(3, "203.0.113.9", "ssh")).value(), 1u);
    EXPECT_EQ(store.write(adding(3, "2001:db8::/32")).value(), 2u);
    DynamicChange removal;
    removal.erase.push_back({3, prefix("2001:db8::/32")});
    removal.touched.push_back({Side::deny, prefix("2001:db8::/32")});
    EXPECT_EQ(store.write(removal).value(), 3u);
  }
  auto store = Store::open(folder.path()).value();
  EXPECT_EQ(store.sequence(), 3u);
  std::vector<DynamicEntry> entries;
  ASSERT_TRUE(store.read_dynamic([&](const DynamicEntry &e) { entries.push_back(e); }));
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].key.list, 3);
  EXPECT_EQ(to_string(entries[0].key.prefix), "203.0.113.9");
  EXPECT_EQ(entries[0].comment, "ssh");
  EXPECT_EQ(store.dynamic_entry({3, prefix("203.0.113.9")}).value()->added_at, 100u);
  EXPECT_FALSE(store.dynamic_entry({4, prefix("203.0.113.9")}).value());
}

TEST(Store, the_log_is_trimmed_to_its_bound_and_stays_without_gaps) {
  const TempDir folder;
  {
    auto store = Store::open(folder.path(), {.log_entries_max = 64}).value();
    for (unsigned i = 0; i < 500; ++i)
      ASSERT_TRUE(store.write(adding(0, "10.0." + std::to_string(i % 250) + ".1")));
  }
  auto store = Store::open(folder.path(), {.log_entries_max = 64}).value();
  std::vector<std::uint64_t> sequences;
  ASSERT_TRUE(store.read_log([&](std::uint64_t s, const Touched &) { sequences.push_back(s); }));
  ASSERT_GE(sequences.size(), 64u);
  EXPECT_LE(sequences.size(), 72u);
  EXPECT_EQ(sequences.back(), 500u);
  for (std::size_t i = 1; i < sequences.size(); ++i) EXPECT_EQ(sequences[i], sequences[i - 1] + 1);
}

TEST(Store, a_content_is_read_back_in_order_with_its_comments) {
  const TempDir folder;
  auto store = Store::open(folder.path()).value();
  const std::uint64_t version = write_content(store, {{"0.0.0.0/0", ""},
                                                      {"10.0.0.0/8", "SBL1"},
                                                      {"10.0.0.0/16", ""},
                                                      {"255.255.255.255", "last"},
                                                      {"::/0", "six"}});
  EXPECT_EQ(content_of(store, version),
            (std::vector<std::string>{"0.0.0.0/0", "10.0.0.0/8 SBL1", "10.0.0.0/16", "255.255.255.255 last",
                                      "::/0 six"}));
  EXPECT_EQ(store.content_comment(version, prefix("10.0.0.0/8")).value(), "SBL1");
  EXPECT_EQ(store.content_comment(version, prefix("10.0.0.0/9")).value(), std::nullopt);
}

TEST(Store, an_empty_content_is_a_version_too) {
  const TempDir folder;
  auto store = Store::open(folder.path()).value();
  const std::uint64_t version = write_content(store, {});
  EXPECT_GT(version, 0u);
  EXPECT_TRUE(content_of(store, version).empty());
}

TEST(Store, a_content_that_was_never_finished_leaves_nothing) {
  const TempDir folder;
  auto store = Store::open(folder.path()).value();
  {
    auto writer = store.begin_contents().value();
    writer.begin_version();
    ASSERT_TRUE(writer.add(prefix("10.0.0.1"), ""));
  }
  const std::uint64_t version = write_content(store, {{"10.0.0.2", ""}});
  EXPECT_EQ(content_of(store, version), std::vector<std::string>{"10.0.0.2"});
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "ingest"));
}

TEST(Store, versions_that_no_kept_generation_names_are_dropped) {
  const TempDir folder;
  auto store = Store::open(folder.path()).value();
  std::vector<std::uint64_t> versions;
  for (std::uint64_t id = 1; id <= 4; ++id) {
    versions.push_back(write_content(store, {{"10.0.0." + std::to_string(id), ""}}));
    ASSERT_TRUE(go_live(store, generation(id, versions.back()), 2));
  }
  EXPECT_EQ(store.live(), 4u);
  const auto kept = store.generations().value();
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].id, 3u);
  EXPECT_FALSE(can_read(store, versions[0]));
  EXPECT_FALSE(can_read(store, versions[1]));
  EXPECT_EQ(content_of(store, versions[2]).size(), 1u);
  EXPECT_EQ(content_of(store, versions[3]).size(), 1u);
}

TEST(Store, a_version_that_never_went_live_is_gone_after_a_restart) {
  const TempDir folder;
  std::uint64_t orphan = 0, used = 0;
  {
    auto store = Store::open(folder.path()).value();
    orphan = write_content(store, {{"10.0.0.1", ""}});
    used = write_content(store, {{"10.0.0.2", ""}});
    ASSERT_TRUE(go_live(store, generation(1, used), 5));
    EXPECT_EQ(content_of(store, orphan).size(), 1u) << "a change at hand may still need it";
  }
  auto store = Store::open(folder.path()).value();
  EXPECT_FALSE(can_read(store, orphan));
  EXPECT_EQ(content_of(store, used).size(), 1u);
}

TEST(Store, a_rebuild_takes_the_place_of_its_generation) {
  const TempDir folder;
  auto store = Store::open(folder.path()).value();
  const std::uint64_t version = write_content(store, {{"10.0.0.1", ""}});
  ASSERT_TRUE(go_live(store, generation(1, version), 2));
  ASSERT_TRUE(go_live(store, generation(2, version), 2));
  ASSERT_TRUE(go_live(store, generation(3, version), 2, 2));
  const auto kept = store.generations().value();
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].id, 1u);
  EXPECT_EQ(kept[1].id, 3u);
  EXPECT_EQ(content_of(store, version).size(), 1u);
}

TEST(Store, notes_outlive_the_process_until_they_are_cleared) {
  const TempDir folder;
  {
    auto store = Store::open(folder.path()).value();
    ASSERT_TRUE(store.set_note("unconfirmed", "3 17"));
  }
  auto store = Store::open(folder.path()).value();
  EXPECT_EQ(store.note("unconfirmed"), "3 17");
  ASSERT_TRUE(store.set_note("unconfirmed", ""));
  EXPECT_EQ(store.note("unconfirmed"), "");
}

TEST(Store, a_content_that_reads_back_shorter_or_otherwise_is_an_error) {
  const TempDir folder;
  std::uint64_t shorter = 0, other = 0, whole = 0;
  {
    auto store = Store::open(folder.path()).value();
    shorter = write_content(store, {{"10.0.0.1", ""}, {"10.0.0.2", ""}});
    other = write_content(store, {{"10.0.0.1", "one"}, {"10.0.0.2", ""}});
    whole = write_content(store, {{"10.0.0.1", "one"}});
    GenerationRecord record = generation(1, shorter);
    record.lists.push_back({.number = 4, .name = "other", .content_version = other});
    record.lists.push_back({.number = 5, .name = "whole", .content_version = whole});
    ASSERT_TRUE(store.make_live(record));
  }
  {
    test::DamagedStore harm(folder.path());
    harm.lose_entry(shorter);
    harm.change_entry(other);
  }
  auto store = Store::open(folder.path()).value();
  const auto read = [&](std::uint64_t version) {
    return store.read_content(version, [](const Prefix &, std::string_view) {});
  };
  const Status lost = read(shorter), changed = read(other);
  ASSERT_FALSE(lost);
  EXPECT_NE(lost.error().message.find("1 entries, and 2 were written"), std::string::npos)
      << lost.error().message;
  ASSERT_FALSE(changed);
  EXPECT_NE(changed.error().message.find("another checksum"), std::string::npos) << changed.error().message;
  EXPECT_TRUE(read(whole));
  EXPECT_FALSE(store.has_content(shorter));
  EXPECT_TRUE(store.has_content(whole));
}

TEST(Store, a_store_of_version_1_opens_with_its_contents_unchecked) {
  const TempDir folder;
  std::uint64_t version = 0;
  {
    auto store = Store::open(folder.path()).value();
    version = write_content(store, {{"10.0.0.1", ""}, {"10.0.0.2", ""}});
    ASSERT_TRUE(store.make_live(generation(1, version)));
  }
  {
    test::DamagedStore old(folder.path());
    old.make_version_1();
  }
  for (int again = 0; again < 2; ++again) {
    auto store = Store::open(folder.path()).value();
    EXPECT_EQ(content_of(store, version).size(), 2u);
    EXPECT_TRUE(store.has_content(version));
  }
}

TEST(Store, the_contents_of_a_change_are_one_file_and_few_descriptors) {
  const TempDir folder;
  auto store = Store::open(folder.path()).value();
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = open_files();
  std::vector<std::uint64_t> versions;
  for (std::uint64_t id = 1; id <= 3; ++id) {
    GenerationRecord record;
    record.id = Generation(id);
    auto writer = store.begin_contents().value();
    for (ListId list = 1; list <= 400; ++list) {
      versions.push_back(writer.begin_version());
      ASSERT_TRUE(writer.add({Address::from_host(list.value()), 32}, ""));
      record.lists.push_back(
          {.number = list, .name = std::to_string(list.value()), .content_version = versions.back()});
    }
    ASSERT_TRUE(writer.finish());
    ASSERT_TRUE(store.make_live(record));
  }
  for (const std::uint64_t version : versions) EXPECT_EQ(content_of(store, version).size(), 1u);
  EXPECT_LT(open_files() - before, 80);
}

TEST(Store, a_pinned_generation_is_not_forgotten) {
  const TempDir folder;
  auto store = Store::open(folder.path()).value();
  const std::uint64_t pinned = write_content(store, {{"10.0.0.1", ""}});
  ASSERT_TRUE(store.make_live(generation(1, pinned)));
  for (std::uint64_t id = 2; id <= 4; ++id) {
    ASSERT_TRUE(store.make_live(generation(id, write_content(store, {{"10.0.0.2", ""}}))));
    ASSERT_TRUE(store.prune(2, {1}));
  }
  std::vector<Generation> ids;
  const auto kept = store.generations().value();
  for (const GenerationRecord &record : kept) ids.push_back(record.id);
  EXPECT_EQ(ids, (std::vector<Generation>{1, 3, 4}));
  EXPECT_EQ(content_of(store, pinned).size(), 1u);
}

TEST(Store, a_generation_that_is_taken_back_leaves_the_one_before_and_its_note) {
  const TempDir folder;
  const std::string note = "1 17";
  {
    auto store = Store::open(folder.path()).value();
    const GenerationRecord first = generation(1, write_content(store, {{"10.0.0.1", ""}}));
    ASSERT_TRUE(store.make_live(first, note));
    const std::uint64_t undone = write_content(store, {{"10.0.0.2", ""}});
    ASSERT_TRUE(store.make_live(generation(2, undone), ""));
    ASSERT_TRUE(store.take_back(2, first, note));
    EXPECT_FALSE(can_read(store, undone));
  }
  auto store = Store::open(folder.path()).value();
  EXPECT_EQ(store.live(), 1u);
  EXPECT_EQ(store.note("unconfirmed"), note);
  const auto kept = store.generations().value();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(content_of(store, kept[0].lists[0].content_version).size(), 1u);
}

TEST(Store, numbers_are_free_again_when_no_generation_names_them_and_their_entries_are_gone) {
  const TempDir folder;
  auto store = Store::open(folder.path()).value();
  const std::uint64_t version = write_content(store, {});
  EXPECT_EQ(store.free_numbers(2).value(), (std::vector<ListId>{1, 2}));
  EXPECT_EQ(store.free_numbers(1).value(), std::vector<ListId>{1}) << "asking takes nothing";
  GenerationRecord record = generation(1, version);
  record.lists[0].number = 1;
  ASSERT_TRUE(go_live(store, record, 2));
  ASSERT_TRUE(store.write(adding(1, "203.0.113.9")));
  record = generation(2, version);
  record.lists[0].number = 2;
  ASSERT_TRUE(go_live(store, record, 2));
  EXPECT_EQ(store.free_numbers(1).value(), std::vector<ListId>{3}) << "a rollback needs 1";
  EXPECT_TRUE(store.numbers_to_forget().empty());
  record.id = 3;
  ASSERT_TRUE(go_live(store, record, 2));
  EXPECT_EQ(store.numbers_to_forget(), std::vector<ListId>{1});
  EXPECT_EQ(store.free_numbers(1).value(), std::vector<ListId>{3}) << "its entries are still there";
  ASSERT_TRUE(store.forget_dynamic({1}));
  EXPECT_EQ(store.free_numbers(1).value(), std::vector<ListId>{1});
  EXPECT_FALSE(store.dynamic_entry({1, prefix("203.0.113.9")}).value());
  EXPECT_EQ(store.free_numbers(65'533).error().code, Errc::refused);
}

} // namespace
} // namespace weir::store::store_test
