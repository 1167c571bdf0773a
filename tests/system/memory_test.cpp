// What weir-control holds is what its entries take, whatever came before.
#include "tests/system/gate.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weir::test::memory_test {

namespace {

void change(const WeirPair &pair, const TempDir &folder, const char *verb, std::uint64_t first,
            std::uint64_t count) {
  const auto file = folder / "entries.txt";
  write_addresses(file, first, count);
  const Outcome done =
      run({"sh", "-c",
           fmt::format("'{}' -j -s '{}' list {} bans - <'{}'", program("weirctl").string(),
                       (pair.folder() / "run" / "control.sock").string(), verb, file.string())});
  ASSERT_TRUE(done.ok()) << verb << " " << count << ": " << done.out << done.err;
}

} // namespace

TEST(Memory, of_control_after_any_history_is_what_it_is_after_a_restart) {
  constexpr std::uint64_t entries = 280'000, more = 100'000; // so many fill the log of changes
  const auto pair = idle_pair("- {name: bans, action: deny, dynamic: true}\n");
  ASSERT_NO_FATAL_FAILURE(pair->start());
  const TempDir folder;
  ASSERT_NO_FATAL_FAILURE(change(*pair, folder, "add", 0, entries));
  ASSERT_TRUE(pair->ready());
  pair->control().stop(SIGTERM, 10s);
  pair->start_control();
  ASSERT_TRUE(pair->ready());
  const long fresh_kib = pair->control().rss_kib();
  for (int cycle = 0; cycle < 2; ++cycle) {
    ASSERT_NO_FATAL_FAILURE(change(*pair, folder, "add", entries, more));
    ASSERT_NO_FATAL_FAILURE(change(*pair, folder, "del", entries, more));
  }
  ASSERT_TRUE(pair->ready());
  const nlohmann::json stated = pair->must({"plan"}).value("control", nlohmann::json::object());
  EXPECT_GT(stated.value("v4_entry_bytes", std::uint64_t{0}), 0u);
  EXPECT_EQ(stated.value("entries_bytes", std::uint64_t{0}),
            entries * stated.value("v4_entry_bytes", std::uint64_t{0}));
  pair->must({"list", "add", "bans", "192.0.2.1"}); // a write makes the store empty its buffer
  long lived_kib = 0;
  EXPECT_TRUE(wait_until( // what large work leaves is given back by a thread, soon
      [&] {
        lived_kib = pair->control().rss_kib();
        return static_cast<double>(lived_kib) < 1.25 * static_cast<double>(fresh_kib);
      },
      20s))
      << lived_kib << " KiB after two cycles of " << more << " beside " << entries << " entries, "
      << fresh_kib << " after a restart";
}

} // namespace weir::test::memory_test
