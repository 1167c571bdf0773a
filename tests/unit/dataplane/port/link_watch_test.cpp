// Links that come and go, and links that follow another one.
#include "dataplane/port/link_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::dataplane::link_watch_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre, testing::IsEmpty;

constexpr LinkSeen up{LinkState::up, 10'000}, down{LinkState::down, 0}, unknown{};

class Links : public testing::Test {
protected:
  void make(bool wan_follows, bool lan_follows) {
    watch_ = LinkWatch({{"wan", 1, wan_follows}, {"lan", 0, lan_follows}}, now_);
  }
  // One look, a second after the last.
  LinkWatch::News look(LinkSeen wan, LinkSeen lan) {
    now_ += 1s;
    return watch_.look({wan, lan}, now_);
  }
  void settle(LinkSeen wan, LinkSeen lan) {
    for (int i = 0; i < 7; ++i) EXPECT_THAT(look(wan, lan).orders, IsEmpty());
  }
  [[nodiscard]] LinkState state(std::size_t port) const { return watch_.reports()[port].state; }
  static std::vector<std::pair<std::size_t, bool>> orders(const LinkWatch::News &news) {
    std::vector<std::pair<std::size_t, bool>> all;
    for (const LinkWatch::Order &order : news.orders) all.emplace_back(order.port, order.up);
    return all;
  }

  LinkWatch::Clock::time_point now_{};
  LinkWatch watch_{{}, now_};
};

TEST_F(Links, are_told_when_they_change_and_not_otherwise) {
  make(false, false);
  EXPECT_THAT(look(up, down).sentences,
              ElementsAre("port wan: link is up, 10 Gbit/s", "port lan: there is no link"));
  EXPECT_THAT(look(up, down).sentences, IsEmpty());
  EXPECT_THAT(look(down, {LinkState::up, 2500}).sentences,
              ElementsAre("port wan: link is lost", "port lan: link is up, 2500 Mbit/s"));
  EXPECT_THAT(look(unknown, unknown).sentences, IsEmpty());
  EXPECT_EQ(watch_.reports()[0].losses, 1u);
  EXPECT_EQ(watch_.reports()[1].losses, 0u) << "it never had one";
}

TEST_F(Links, that_stay_are_left_alone) {
  make(false, false);
  settle(up, up);
  EXPECT_THAT(look(down, up).orders, IsEmpty());
  EXPECT_EQ(state(1), LinkState::up);
}

TEST_F(Links, of_the_peer_are_followed_down_and_up) {
  make(false, true);
  settle(up, up);
  const auto lost = look(down, up);
  EXPECT_THAT(orders(lost), ElementsAre(std::pair(1u, false)));
  EXPECT_THAT(lost.sentences,
              ElementsAre("port wan: link is lost", "port lan: link is taken down, as long as wan has none"));
  EXPECT_EQ(state(1), LinkState::held);
  EXPECT_THAT(watch_.held(), ElementsAre(1u));
  EXPECT_THAT(look(down, down).orders, IsEmpty());
  EXPECT_EQ(state(1), LinkState::held) << "it is down because weir took it down";
  EXPECT_THAT(orders(look(up, down)), ElementsAre(std::pair(1u, true)));
  EXPECT_THAT(look(up, up).orders, IsEmpty());
  EXPECT_EQ(state(1), LinkState::up);
  EXPECT_EQ(watch_.reports()[1].losses, 0u);
  EXPECT_THAT(watch_.held(), IsEmpty());
}

TEST_F(Links, that_follow_each_other_come_up_again_when_the_lost_one_does) {
  make(true, true);
  settle(up, up);
  EXPECT_THAT(orders(look(down, up)), ElementsAre(std::pair(1u, false)));
  for (int i = 0; i < 20; ++i)
    EXPECT_THAT(look(down, down).orders, IsEmpty()) << "wan is not taken down as well";
  EXPECT_THAT(orders(look(up, down)), ElementsAre(std::pair(1u, true)));
  for (int i = 0; i < 4; ++i) EXPECT_THAT(look(up, down).orders, IsEmpty()) << "lan may take its time";
  EXPECT_THAT(look(up, up).orders, IsEmpty());
}

TEST_F(Links, that_are_lost_both_at_once_come_up_in_any_order) {
  make(true, true);
  settle(up, up);
  ASSERT_THAT(orders(look(down, down)), ElementsAre(std::pair(0u, false))) << "one of them is enough";
  EXPECT_THAT(orders(look(down, up)), ElementsAre(std::pair(0u, true))) << "lan is back first";
  EXPECT_THAT(look(up, up).orders, IsEmpty());
  EXPECT_EQ(state(0), LinkState::up);
  EXPECT_EQ(state(1), LinkState::up);
}

TEST_F(Links, have_some_seconds_to_come_up_at_the_start) {
  make(false, true);
  for (int i = 0; i < 5; ++i) EXPECT_THAT(look(down, up).orders, IsEmpty());
  EXPECT_THAT(orders(look(down, up)), ElementsAre(std::pair(1u, false)));
}

} // namespace
} // namespace weir::dataplane::link_watch_test
