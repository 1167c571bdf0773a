// How long a worker goes on asking a transmit queue that is full, on a card that is made up: time passes as the test says.
#include "dataplane/packet/tx_patience.hpp"
#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <fmt/core.h>

#include <algorithm>
#include <random>

namespace weir::test::tx_patience_test {
namespace {

using dataplane::TxPatience;

constexpr std::uint64_t cycles_a_second = 1'000'000'000; // a cycle is a nanosecond
constexpr std::uint64_t wait_max = TxPatience::wait_us_max * 1000;

// A queue with `slots` places, of which a packet leaves each `gap` ns; places come back by the 32.
struct Card {
  std::uint64_t now = 0;
  std::uint64_t gap = 100; // 0: it does not send
  unsigned slots = 512;
  unsigned held = 0; // places in use, sent or not
  std::uint64_t sent_until = 0;

  unsigned take(unsigned count) {
    if (gap != 0) {
      const std::uint64_t sent = std::min<std::uint64_t>((now - sent_until) / gap, held);
      held -= static_cast<unsigned>(sent / 32 * 32);
      sent_until = held == 0 ? now : sent_until + sent / 32 * 32 * gap;
    }
    const unsigned taken = std::min(count, slots - held);
    held += taken;
    return taken;
  }
};

struct Sent {
  unsigned first = 0, later = 0, refused = 0;
};

struct Loop {
  Card card;
  TxPatience patience{cycles_a_second};
  bool again = true;

  Sent send(unsigned count) {
    Sent sent;
    sent.first = card.take(count);
    if (sent.first < count && again)
      sent.later = patience.ask_again(
          0, sent.first, count - sent.first, [&](unsigned left) { return card.take(left); },
          [&] { card.now += 40; }, [&] { return card.now; });
    sent.refused = count - sent.first - sent.later;
    return sent;
  }
};

TEST(TxPatience, a_queue_that_was_full_for_a_moment_takes_the_rest) {
  Loop loop;
  loop.card.now = 1'000'000;
  loop.card.sent_until = loop.card.now;
  loop.card.held = loop.card.slots - 40; // as full as it gets
  const Sent sent = loop.send(64);
  EXPECT_EQ(sent.first, 40u);
  EXPECT_EQ(sent.later, 24u);
  EXPECT_LE(loop.card.now - 1'000'000, 32 * loop.card.gap + wait_max / TxPatience::asks_max)
      << "it went on when there was room";
}

TEST(TxPatience, a_card_that_does_not_send_is_waited_for_once) {
  Loop loop;
  loop.card.gap = 0;
  loop.card.now = 1'000'000;
  loop.card.held = loop.card.slots;
  for (unsigned i = 0; i < 1000; ++i) EXPECT_EQ(loop.send(64).refused, 64u);
  EXPECT_GE(loop.card.now - 1'000'000, wait_max);
  EXPECT_LE(loop.card.now - 1'000'000, wait_max + wait_max / TxPatience::asks_max);
}

TEST(TxPatience, waits_again_once_a_card_sends_again) {
  Loop loop;
  loop.card.gap = 0;
  loop.card.now = 1'000'000;
  loop.card.held = loop.card.slots;
  (void)loop.send(64);
  loop.card.now += 1'000'000;
  loop.card.gap = 100;
  loop.card.sent_until = loop.card.now - 3200; // 32 are gone
  const Sent sent = loop.send(64);
  EXPECT_EQ(sent.first, 32u);
  EXPECT_EQ(sent.later, 32u);
}

// Ten times as much as it sends, for a second.
TEST(TxPatience, an_output_for_which_there_is_too_much_takes_a_sixteenth_of_the_time) {
  Loop loop;
  std::uint64_t elsewhere = 0;
  while (loop.card.now < cycles_a_second) {
    loop.card.now += 640; // the worker's own work on a burst
    elsewhere += 640;
    (void)loop.send(64);
  }
  const double waited = 1 - static_cast<double>(elsewhere) / static_cast<double>(loop.card.now);
  EXPECT_LT(waited, 1.0 / TxPatience::share + 0.01);
  EXPECT_GT(waited, 0.5 / TxPatience::share) << "it has that much patience";
}

// Bursts of a few hundred packets come faster than they leave, with pauses between them; what waits while the worker waits
// lies in a receive queue of as many places. Printed: what a worker refuses, and misses, with and without.
TEST(TxPatience, saves_most_of_what_short_bursts_are_too_much_for) {
  const std::uint64_t seed = seed_or(31);
  WEIR_TRACE_SEED(seed);
  std::uint64_t lost[2] = {}, saved = 0, all = 0;
  for (const bool again : {false, true}) {
    std::mt19937_64 random(seed);
    Loop loop;
    loop.again = again;
    constexpr std::uint64_t gap_in = 50, places = 512; // twice as fast as they leave
    std::uint64_t starts = 0;
    for (unsigned burst = 0; burst < 2000; ++burst) {
      const std::uint64_t packets = 500 + random() % 1000; // 488 to 744 more than places to leave by
      starts = std::max(starts + 300'000, loop.card.now);
      std::uint64_t done = 0, missed = 0;
      while (done < packets) {
        loop.card.now = std::max(loop.card.now + 300, starts + done * gap_in);
        const std::uint64_t arrived = std::min(packets, (loop.card.now - starts) / gap_in + 1);
        const std::uint64_t waiting = arrived - done;
        if (waiting > places) missed += waiting - places, done += waiting - places;
        const auto count = static_cast<unsigned>(std::min<std::uint64_t>(arrived - done, 64));
        const Sent sent = loop.send(count);
        lost[again ? 1 : 0] += sent.refused;
        saved += sent.later;
        done += count;
      }
      lost[again ? 1 : 0] += missed;
      all += again ? packets : 0;
    }
  }
  fmt::print("of {} packets {} lost without, {} with; {} taken at a further try\n", all, lost[0], lost[1],
             saved);
  EXPECT_GT(lost[0], all / 100) << "the bursts are too much";
  EXPECT_LT(lost[1] * 4, lost[0]);
  EXPECT_GE(saved, lost[0] - lost[1]);
}

} // namespace
} // namespace weir::test::tx_patience_test
