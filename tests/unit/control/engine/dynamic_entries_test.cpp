// Dynamic entries beside a plain map of the same.
#include "control/engine/dynamic_entries.hpp"
#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <malloc.h>
#include <map>
#include <random>
#include <set>

namespace weir::control::dynamic_entries_test {
namespace {

using Key = std::pair<ListId, Prefix>;

Prefix some_prefix(std::mt19937_64 &random) {
  if (random() % 3 == 0) {
    Address address;
    address.family = Family::ipv6;
    address.bytes[0] = 0x20;
    address.bytes[15] = static_cast<std::uint8_t>(random());
    return {address, 128};
  }
  const unsigned length = random() % 4 == 0 ? 24 : 32;
  return {masked(Address::from_host(0x0A000000 + static_cast<std::uint32_t>(random() % 4096)), length),
          static_cast<std::uint8_t>(length)};
}

TEST(DynamicEntries, are_as_a_map_of_them_says_after_any_puts_and_erasures) {
  const std::uint64_t seed = test::seed_or(13);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  DynamicEntries entries;
  std::map<Key, EntryTimes> all;
  for (int i = 0; i < 30'000; ++i) {
    const Key key{ListId(random() % 3), some_prefix(random)};
    const auto known = all.find(key);
    ASSERT_EQ(entries.contains(key.first, key.second), known != all.end());
    ASSERT_EQ(entries.find(key.first, key.second),
              known == all.end() ? std::nullopt : std::optional(known->second));
    switch (random() % 5) {
    case 0:
    case 1: {
      const EntryTimes times{100 + random() % 100, random() % 2 == 0 ? 0 : 200 + random() % 1000};
      entries.put(key.first, key.second, times);
      all[key] = times;
      break;
    }
    case 2:
      EXPECT_EQ(entries.erase(key.first, key.second), known != all.end());
      if (known != all.end()) all.erase(known);
      break;
    default: break;
    }
    if (random() % 5000 == 0) {
      entries.drop(key.first);
      std::erase_if(all, [&](const auto &one) { return one.first.first == key.first; });
    }
    std::optional<std::uint64_t> next;
    if (i % 100 == 0) {
      for (const auto &[k, times] : all)
        if (times.expires_at != 0) next = std::min(next.value_or(~0ull), times.expires_at);
      ASSERT_EQ(entries.next_expiry(), next);
    }
  }
  ASSERT_EQ(entries.counts().total(), all.size());
  std::map<Key, EntryTimes> seen;
  for (ListId list = 0; list < 3; ++list)
    entries.visit(list, [&](const Prefix &prefix, EntryTimes times) {
      seen[{list, prefix}] = times;
      return true;
    });
  EXPECT_EQ(seen, all);
}

TEST(DynamicEntries, expire_in_order_of_time_however_many_there_are) {
  const std::uint64_t seed = test::seed_or(7);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  constexpr std::uint32_t count = 100'000; // more than are kept in order
  DynamicEntries entries;
  for (std::uint32_t i = 0; i < count; ++i)
    entries.put(1, {Address::from_host(i), 32}, {1, i % 3 == 0 ? 500 : 1 + random() % 1000});
  std::uint64_t last = 0, expired = 0;
  for (;;) {
    const auto due = entries.expired(1000, 4096);
    if (due.empty()) break;
    for (const DynamicEntries::Expiry &one : due) {
      ASSERT_GE(one.at, last);
      last = one.at;
      ASSERT_TRUE(entries.erase(one.list, one.prefix));
      ++expired;
    }
  }
  EXPECT_EQ(expired, count);
  EXPECT_EQ(entries.next_expiry(), std::nullopt);
}

TEST(DynamicEntries, take_the_memory_that_is_stated_after_any_history) {
  if (mallinfo2().uordblks == 0) GTEST_SKIP() << "a sanitizer has an allocator of its own";
  const std::uint64_t seed = test::seed_or(3);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  const auto used = [] { return static_cast<double>(mallinfo2().uordblks); };
  for (const bool sorted : {true, false}) {
    const double before = used();
    DynamicEntries entries;
    for (std::uint32_t i = 0; i < 300'000; ++i)
      entries.put(1, {Address::from_host(sorted ? i : static_cast<std::uint32_t>(random())), 32}, {1, 0});
    const auto check = [&](const char *when) {
      const double share = (used() - before) / static_cast<double>(entries.bytes());
      EXPECT_GT(share, 0.75) << when << (sorted ? ", sorted" : ", in no order");
      EXPECT_LT(share, 1.25) << when << (sorted ? ", sorted" : ", in no order");
    };
    check("added");
    for (int cycle = 0; cycle < 3; ++cycle) {
      for (std::uint32_t i = 0; i < 100'000; ++i) entries.put(2, {Address::from_host(i * 77), 32}, {1, 0});
      for (std::uint32_t i = 0; i < 100'000; ++i) entries.erase(2, {Address::from_host(i * 77), 32});
    }
    check("after cycles");
  }
}

} // namespace
} // namespace weir::control::dynamic_entries_test
