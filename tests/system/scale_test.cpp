// Ten million entries, and a list that only grows.
#include "tests/system/gate.hpp"

#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace weir::test::scale_test {

namespace {

using Json = nlohmann::json;

constexpr double mib = 1024.0 * 1024.0;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// More 2 MiB pages for as long as it lives, when we are root.
class Hugepages {
public:
  explicit Hugepages(unsigned pages) : before_(read_text(file)) {
    if (geteuid() == 0) write_text(file, std::to_string(std::strtoul(before_.c_str(), nullptr, 10) + pages));
  }
  ~Hugepages() {
    if (geteuid() == 0) write_text(file, before_);
  }
  Hugepages(const Hugepages &) = delete;
  Hugepages &operator=(const Hugepages &) = delete;

private:
  static constexpr const char *file = "/proc/sys/vm/nr_hugepages";
  std::string before_;
};

} // namespace

TEST(Scale, a_rule_file_of_ten_million_addresses_loads_builds_and_is_enforced) {
  constexpr std::uint64_t entries = 10'000'000;
  const TempDir folder;
  const auto file = folder / "ten_million.txt";
  write_addresses(file, 0, entries);
  const Hugepages pages(640);
  PairSetup setup = PairSetup::idle();
  setup.hugepages = true;
  setup.lists = "- {name: first, action: deny, entries: [203.0.113.1]}\n";
  WeirPair pair(std::move(setup));
  ASSERT_NO_FATAL_FAILURE(pair.start());
  const long control_before_kib = pair.control().rss_kib();

  pair.write_config("- {name: first, action: deny, entries: [203.0.113.1]}\n" +
                    fmt::format("- {{name: big, action: deny, file: {}}}\n", file.string()));
  auto begin = std::chrono::steady_clock::now();
  const Json plan = pair.must({"plan", pair.config()});
  std::cout << fmt::format("plan took {:.1f} s and says: memory {}\n", seconds_since(begin),
                           plan.value("memory", Json::object()).dump());

  begin = std::chrono::steady_clock::now();
  const Json applied = pair.must({"apply", pair.config()});
  const double enforced_s = seconds_since(begin);
  EXPECT_EQ(pair.verdict(numbered_address(0)), "drop");
  EXPECT_EQ(pair.verdict(numbered_address(entries / 2)), "drop");
  EXPECT_EQ(pair.verdict(numbered_address(entries - 1)), "drop");
  EXPECT_EQ(pair.verdict(numbered_address(entries)), "pass");
  EXPECT_EQ(pair.verdict(numbered_address(entries + 1'000'000)), "pass");
  const Json status = pair.must({"status"});
  EXPECT_EQ(status.value("counts", Json::object()).value("ipv4_hosts", std::uint64_t{0}), entries + 1);
  const Json memory = status.value("memory", Json::object());
  const double image_bytes = memory.value("image_bytes", 0.0);
  std::cout << fmt::format(
      "file to enforced {:.1f} s; image {:.1f} MiB ({:.2f} bytes an entry, {}); control peak {} MiB, "
      "before {} "
      "MiB, after {} MiB; dataplane resident {} MiB; swap {} ns\n",
      enforced_s, image_bytes / mib, image_bytes / static_cast<double>(entries), memory.value("kind", "?"),
      pair.control().peak_rss_kib() / 1024, control_before_kib / 1024, pair.control().rss_kib() / 1024,
      pair.dataplane().rss_kib() / 1024, applied.value("swap_ns", std::uint64_t{0}));
  EXPECT_GT(image_bytes, 0);

  // A restart of the dataplane does not need control: the last image kept is attached.
  pair.dataplane().stop(SIGKILL, 10s);
  begin = std::chrono::steady_clock::now();
  pair.start_dataplane();
  ASSERT_TRUE(pair.ready());
  std::cout << fmt::format("dataplane killed; restarted and in step again after {:.2f} s\n",
                           seconds_since(begin));
  EXPECT_EQ(pair.verdict(numbered_address(entries - 1)), "drop");

  // One more entry costs what one entry costs.
  const Reply add = [&] {
    pair.write_config("- {name: first, action: deny, entries: [203.0.113.1]}\n"
                      "- {name: bans, action: deny, dynamic: true}\n" +
                      fmt::format("- {{name: big, action: deny, file: {}}}\n", file.string()));
    pair.must({"apply", pair.config()});
    return pair.ctl({"list", "add", "bans", "203.0.113.7"});
  }();
  EXPECT_TRUE(add.ok()) << add.out << add.err;
  std::cout << fmt::format("list add over ten million entries: in force after {} ms\n",
                           add.json().value("in_force_ms", 0.0));
  EXPECT_EQ(pair.verdict("203.0.113.7"), "drop");
}

TEST(Scale, a_list_that_grows_past_every_earlier_size_never_meets_a_fixed_limit) {
  const auto pair = idle_pair("- {name: bans, action: deny, dynamic: true}\n");
  ASSERT_NO_FATAL_FAILURE(pair->start());
  const TempDir folder;
  const auto socket = pair->folder() / "run" / "control.sock";
  std::uint64_t total = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (const std::uint64_t batch : {1u, 9u, 90u, 900u, 9'000u, 20'000u, 70'000u, 100'000u}) {
    const auto file = folder / "batch.txt";
    write_addresses(file, total, batch);
    const Outcome added = run({"sh", "-c",
                               fmt::format("'{}' -j -s '{}' list add bans - <'{}'",
                                           program("weirctl").string(), socket.string(), file.string())});
    ASSERT_TRUE(added.ok()) << "at " << total << " entries, adding " << batch << ": " << added.out
                            << added.err;
    total += batch;
    for (const std::uint64_t index : {std::uint64_t{0}, total / 2, total - 1})
      ASSERT_EQ(pair->verdict(numbered_address(index)), "drop") << index << " of " << total;
    ASSERT_EQ(pair->verdict(numbered_address(total)), "pass");
  }
  std::cout << fmt::format("0 to {} entries by list add in {:.1f} s\n", total, seconds_since(begin));
  // Every entry is there, on both sides of the socket.
  const auto exported = folder / "export.txt";
  EXPECT_EQ(pair->must({"list", "export", "bans", exported}).value("entries", std::uint64_t{0}), total);
  for (std::uint64_t index = 0; index < total; index += 997)
    ASSERT_EQ(pair->verdict(numbered_address(index)), "drop") << index;
}

} // namespace weir::test::scale_test
