// Two readers against one writer that keeps four lines of words full, so that hosts leave them for the table behind, and freed
// slots are used again at once, without a grace period.
//
// The order of memory operations is proven to matter: with a word cleared before its group bit is set, with the host
// in the table behind after that, and with the reader's group bit read before the words, the same run must lose hosts.
#include "tests/support/quiescence.hpp"
#include "tests/support/seed.hpp"
#include "weir/table/table_writer.hpp"
#include "weir/table/word_writer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace weir::table::word_race_test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned readers = 2, burst_keys = 32;
constexpr std::uint32_t word_lines = 4, hosts = 150;
constexpr std::uint64_t image_seed = 99;

using Quiescence = test::Quiescence<readers>;

void yield_now_and_then() noexcept {
  thread_local unsigned n = 0;
  if (++n % 32 == 0) std::this_thread::yield();
}

struct RightOrder { // with time for readers between the steps
  static constexpr bool group_bit_before_clearing = true;
  static void between() noexcept { yield_now_and_then(); }
};
struct ClearsFirst {
  static constexpr bool group_bit_before_clearing = false;
  static void between() noexcept { std::this_thread::yield(); }
};
enum class Way : std::uint8_t { right, table_last, group_bit_first };

// Lines of words, and a table behind them for as many hosts.
class Arena {
public:
  static constexpr std::uint32_t lines1 = 16, lines2 = 8;

  [[nodiscard]] static KeyHash hash(std::uint32_t wire) { return hash_of(wire, length_seed(image_seed, 32)); }
  [[nodiscard]] static std::uint32_t wire_of(std::uint32_t host) {
    return byteswap32(0x0A000000 + 97 * host);
  }
  // Of list 0, which a word can name, or of 9, which it cannot.
  [[nodiscard]] static bool is_value(std::uint32_t v) {
    return v == value::make(0, 32) || v == value::make(9, 32);
  }

  const WordTableView &words() const { return words_; }
  const TableView<LineV4> &behind() const { return behind_; }
  TableHeader &header() { return header_; }

private:
  TableHeader header_{};
  std::unique_ptr<WordLine[]> word_lines_ = std::make_unique<WordLine[]>(word_lines);
  std::unique_ptr<LineV4[]> lines_ = std::make_unique<LineV4[]>(lines1 + lines2 + 1);
  WordTableView words_{word_lines_.get(), word_lines, image_seed};
  TableView<LineV4> behind_{lines_.get(),
                            lines_.get() + lines1,
                            lines_.get() + lines1 + lines2,
                            &header_.stash_keys,
                            lines1,
                            lines2,
                            1};
};

struct Seen {
  std::uint64_t lookups = 0, missing = 0, wrong = 0;
};

// How often each host has come and gone: odd while it is on a list.
using Versions = std::array<std::atomic<std::uint64_t>, hosts>;

void read_until_stopped(const Arena &arena, const Versions &versions, Way way, Quiescence &quiescence,
                        unsigned self, std::uint64_t seed, Seen &seen) {
  std::mt19937_64 random(seed);
  const WordTableView &words = arena.words();
  while (!quiescence.stop.load()) {
    std::uint32_t number[burst_keys], found[burst_keys];
    std::uint64_t version[burst_keys];
    bool behind[burst_keys];
    for (unsigned i = 0; i < burst_keys; ++i) {
      number[i] = static_cast<std::uint32_t>(random() % hosts);
      version[i] = versions[number[i]].load();
      const auto at = words.spot(Arena::wire_of(number[i]));
      const WordLine &line = words.lines[at.line];
      if (way == Way::group_bit_first) {
        behind[i] = group_bit(line, at.group());
        compiler_fence();
        yield_now_and_then();
        found[i] = words.value_of(find_in(line, at.first_word, words.words_a_key()));
      } else {
        const auto said = words.find(Arena::wire_of(number[i]));
        found[i] = said.value;
        behind[i] = said.behind;
      }
    }
    if (random() % 8 == 0) std::this_thread::yield(); // other bursts are at work meanwhile
    for (unsigned i = 0; i < burst_keys; ++i) {
      const std::uint32_t wire = Arena::wire_of(number[i]);
      if (found[i] == 0 && behind[i]) found[i] = arena.behind().find(wire, 32, Arena::hash(wire));
      const bool was_there = version[i] % 2 != 0 && versions[number[i]].load() == version[i];
      seen.missing += found[i] == 0 && was_there ? 1 : 0;
      seen.wrong += found[i] != 0 && !Arena::is_value(found[i]) ? 1 : 0;
    }
    seen.lookups += burst_keys;
    quiescence.passed[self].fetch_add(1);
  }
}

template <class Protocol> class Churn {
public:
  Churn(Way way, std::uint64_t seed) : way_(way), seed_(seed), random_(seed + 100) {}

  // For so many changes, or, looking for trouble, until some is seen.
  Seen run(std::uint64_t changes, bool until_trouble) {
    std::array<Seen, readers> seen;
    std::vector<std::thread> threads;
    for (unsigned r = 0; r < readers; ++r)
      threads.emplace_back(
          [&, r] { read_until_stopped(arena_, versions_, way_, quiescence_, r, seed_ + r, seen[r]); });
    const auto trouble = [&] { // racy on purpose: a hint to stop early
      std::uint64_t n = 0;
      for (const Seen &s : seen)
        n += __atomic_load_n(&s.missing, __ATOMIC_RELAXED) + __atomic_load_n(&s.wrong, __ATOMIC_RELAXED);
      return n != 0;
    };
    const auto end = Clock::now() + std::chrono::minutes(5);
    for (std::uint64_t n = 0; Clock::now() < end && n < changes && !(until_trouble && trouble()); ++n)
      change();
    quiescence_.wait_for_rounds(50);
    quiescence_.stop = true;
    for (std::thread &t : threads) t.join();
    Seen all;
    for (const Seen &s : seen) {
      all.lookups += s.lookups;
      all.missing += s.missing;
      all.wrong += s.wrong;
    }
    return all;
  }
  [[nodiscard]] std::uint64_t left() const { return left_; } // hosts that left their line for the table
  [[nodiscard]] std::uint64_t full() const { return full_; } // hosts that came and found it full

private:
  void change() {
    const auto n = static_cast<std::uint32_t>(random_() % hosts);
    const bool there = versions_[n].load() % 2 != 0;
    if (!there) {
      set(n, ListId(0));
      ++versions_[n];
    } else if (random_() % 2 == 0) {
      set(n, random_() % 2 == 0 ? ListId(0) : ListId(9));
    } else {
      ++versions_[n];
      unset(n);
    }
    if (random_() % 64 != 0) return;
    quiescence_.wait();
    table_.grace_passed();
  }

  // As image/side_writer.hpp does it.
  void set(std::uint32_t host, ListId list) {
    const std::uint32_t wire = Arena::wire_of(host);
    const auto at = arena_.words().spot(wire);
    if (arena_.words().can_name(list)) {
      if (words_.change(at, list)) return;
      const bool is_behind = arena_.behind().find(wire, 32, Arena::hash(wire)) != 0;
      if (!is_behind && words_.add(at, list)) return;
      full_ += is_behind ? 0 : 1;
    }
    left_ += words_.has(at) ? 1 : 0;
    if (way_ == Way::table_last) {
      words_.lead_behind(at);
      std::this_thread::yield();
    }
    if (table_.put(wire, value::make(list, 32), Arena::hash(wire)) == TableWriter<LineV4>::Put::full)
      std::abort();
    if (way_ != Way::table_last) words_.lead_behind(at);
  }
  void unset(std::uint32_t host) {
    const std::uint32_t wire = Arena::wire_of(host);
    if (!words_.erase(arena_.words().spot(wire))) table_.erase(wire, 32, Arena::hash(wire));
  }

  Way way_;
  std::uint64_t seed_, left_ = 0, full_ = 0;
  std::mt19937_64 random_;
  Arena arena_;
  Versions versions_{};
  Quiescence quiescence_;
  WordWriterOf<Protocol> words_{arena_.words()};
  TableWriter<LineV4> table_{arena_.behind(), arena_.header(),
                             [](const std::uint32_t &wire, unsigned) { return Arena::hash(wire); },
                             [this] { quiescence_.wait(); }};
};

template <class Protocol> void expect_clean(std::uint64_t seed, std::uint64_t changes) {
  WEIR_TRACE_SEED(seed);
  Churn<Protocol> churn(Way::right, seed);
  const Seen seen = churn.run(changes, false);
  EXPECT_EQ(seen.missing, 0u) << "of " << seen.lookups << " lookups";
  EXPECT_EQ(seen.wrong, 0u) << "of " << seen.lookups << " lookups";
  EXPECT_GT(seen.lookups, 1000u);
  EXPECT_GT(churn.left(), changes / 100);
  EXPECT_GT(churn.full(), changes / 1000);
}
// A group bit is set once, so lines that are new again and again show more.
template <class Protocol> void expect_caught(Way way, std::uint64_t seed) {
  WEIR_TRACE_SEED(seed);
  Seen all;
  const auto end = Clock::now() + std::chrono::minutes(5);
  for (std::uint64_t round = 0; all.missing == 0 && Clock::now() < end; ++round) {
    const Seen seen = Churn<Protocol>(way, seed + round).run(2000, true);
    all.missing += seen.missing;
    all.lookups += seen.lookups;
  }
  EXPECT_GT(all.missing, 0u) << "of " << all.lookups << " lookups";
}

TEST(WordRace, no_host_is_lost_while_others_come_go_and_leave_their_lines) {
  expect_clean<SafeLeave>(test::seed_or(1), 100'000);
}
TEST(WordRace, nor_with_time_between_the_steps_of_the_writer) {
  expect_clean<RightOrder>(test::seed_or(2), 20'000);
}
TEST(WordRace, a_word_that_is_cleared_before_its_group_bit_is_set_is_caught) {
  expect_caught<ClearsFirst>(Way::right, test::seed_or(3));
}
TEST(WordRace, a_host_that_comes_to_the_table_last_is_caught) {
  expect_caught<SafeLeave>(Way::table_last, test::seed_or(4));
}
TEST(WordRace, a_reader_that_takes_group_bits_before_words_is_caught) {
  expect_caught<SafeLeave>(Way::group_bit_first, test::seed_or(5));
}

} // namespace
} // namespace weir::table::word_race_test
