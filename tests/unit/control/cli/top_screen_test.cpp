#include "control/cli/top_screen.hpp"

#include "control/cli/text.hpp"
#include "tests/support/seed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>

namespace weir::cli::top_screen_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

class TopScreenTest : public testing::Test {
protected:
  TopScreenTest() : reading_(reading(2)), before_(reading(1)) {}

  static Reading reading(unsigned second,
                         Json status = {{"generation", 3}, {"dataplane", {{"connected", true}}}}) {
    Json top{{"at_ns", second * 1'000'000'000ull},
             {"sample_one_in", 64},
             {"pass", 900 * second},
             {"drop", 100 * second}};
    for (const char *name : {"wan", "lan"})
      top["ports"].push_back({{"name", name}, {"rx_packets", 1000 * second}, {"rx_bytes", 64'000 * second}});
    for (const auto &[name, hits] : {std::pair{"alpha", 5u}, {"beta", 9u}, {"gamma", 7u}})
      top["lists"].push_back({{"name", name}, {"action", "deny"}, {"hits", hits * second}, {"entries", 10}});
    for (unsigned i = 0; i < 40; ++i)
      top["addresses"].push_back({{"address", "203.0.113." + std::to_string(i)},
                                  {"packets", (100 - i) * second},
                                  {"packets_at_most", (100 - i) * second},
                                  {"verdict", "pass"}});
    top["verdicts"].push_back(
        {{"verdict", "pass"}, {"reason", "default"}, {"family", "ipv4"}, {"packets", 900 * second}});
    top["workers"].push_back({{"id", 1}, {"lcore", 3}, {"packets", 1000 * second}});
    top["swaps"].push_back({{"generation", 3}, {"swap_ns", 2100}});
    return {.status = std::make_shared<const Json>(std::move(status)),
            .top = std::make_shared<const Json>(std::move(top))};
  }

  void press(std::u32string_view keys) {
    for (const char32_t key : keys) EXPECT_TRUE(screen_.press(key_of(key)));
  }
  [[nodiscard]] Frame frame(Size size) const {
    const Readings readings(reading_, &before_, 1000);
    return screen_.frame({.readings = readings, .reading = reading_, .silence = silence_, .now = 1000}, size);
  }
  [[nodiscard]] std::string text(Size size = {80, 24}) const {
    std::string text;
    for (const Line &line : frame(size)) text += line.text() + '\n';
    return text;
  }

  TopScreen screen_{1s};
  Reading reading_, before_;
  std::optional<Silence> silence_;
};

TEST_F(TopScreenTest, a_screen_of_80_by_24_has_every_part_and_a_help_line) {
  const std::string all = text();
  EXPECT_EQ(std::ranges::count(all, '\n'), 24);
  for (const char *title : {"weirctl top", "generation 3", "in 2.00kpps 1.02Mbit/s", "drop 100pps", "PORT",
                            "VERDICT", "LIST", "SOURCE (", "WORKER", "q quit"})
    EXPECT_THAT(all, HasSubstr(title));
}

TEST_F(TopScreenTest, no_screen_is_too_small_and_no_line_too_long) {
  const std::uint64_t seed = test::seed_or(5);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  const std::u32string keys = U"pst0123456rS?/abc\n\t\x1b+-";
  reading_ = reading(2, {{"generation", 0}, {"doing", "apply"}, {"dataplane", {{"connected", false}}}});
  for (int round = 0; round < 3000; ++round) {
    press({&keys[random() % keys.size()], 1});
    silence_ = random() % 4 == 0
                   ? std::optional(Silence{.since = 990, .why = "nobody listens at /run/control.sock"})
                   : std::nullopt;
    const Size size{1 + random() % 120, 1 + random() % 40};
    const Frame made = frame(size);
    EXPECT_LE(made.size(), size.rows) << size.columns << "x" << size.rows;
    for (const Line &line : made) EXPECT_LE(line.columns(), size.columns) << line.text();
  }
}

TEST_F(TopScreenTest, what_is_wrong_comes_first_and_leaves_room_for_the_rest) {
  reading_ = reading(
      2, {{"generation", 3}, {"doing", "apply /etc/weir/weir.yaml"}, {"dataplane", {{"connected", false}}}});
  const Frame made = frame({80, 24});
  EXPECT_THAT(made[1].text(), HasSubstr("WRONG: dataplane not connected"));
  EXPECT_EQ(made[1].spans()[0].style, Style::wrong);
  EXPECT_THAT(text(), HasSubstr("at work: apply /etc/weir/weir.yaml"));
  EXPECT_THAT(text(), HasSubstr("LIST"));
}

TEST_F(TopScreenTest, silence_says_since_when_and_why_and_what_was_known_stays) {
  silence_ =
      Silence{.since = 990, .why = "nobody listens at /run/weir/control.sock: weir-control has ended."};
  const std::string said = text();
  EXPECT_THAT(said, HasSubstr("no answer since " + clock_text(990, 1000)));
  EXPECT_THAT(said, HasSubstr("weir-control has ended."));
  EXPECT_THAT(said, HasSubstr("alpha"));
}

TEST_F(TopScreenTest, a_number_shows_a_part_alone_and_again_all) {
  press(U"3");
  EXPECT_THAT(text(), HasSubstr("alpha"));
  EXPECT_THAT(text(), Not(HasSubstr("SOURCE")));
  press(U"3");
  EXPECT_THAT(text(), HasSubstr("SOURCE"));
  press(U"6");
  EXPECT_THAT(text(), HasSubstr("GENERATION"));
  press(U"\t\n"); // the next one is the first, not alone any more
  EXPECT_THAT(text(), HasSubstr("SOURCE"));
}

TEST_F(TopScreenTest, keys_sort_the_chosen_part) {
  const auto order = [this] {
    const std::string all = text();
    std::vector<std::pair<std::size_t, std::string>> places;
    for (const char *name : {"alpha", "beta", "gamma"}) places.emplace_back(all.find(name), name);
    std::ranges::sort(places);
    return places[0].second + " " + places[1].second + " " + places[2].second;
  };
  press(U"3");
  EXPECT_EQ(order(), "beta gamma alpha") << "by hits a second";
  press(U"r");
  EXPECT_EQ(order(), "alpha gamma beta");
  press(U"SSS"); // three columns before: the name
  EXPECT_EQ(order(), "alpha beta gamma");
  press(U"r");
  EXPECT_EQ(order(), "gamma beta alpha");
  for (std::size_t i = 0; i <= columns_of(Part::lists).size(); ++i) press(U"s");
  EXPECT_EQ(order(), "alpha beta gamma") << "once around";
}

TEST_F(TopScreenTest, a_filter_is_typed_kept_and_taken_off) {
  press(U"/bex");
  press({U"\x7f", 1});
  EXPECT_THAT(text(), HasSubstr("filter: be_"));
  press(U"\n");
  EXPECT_THAT(text(), HasSubstr("beta"));
  EXPECT_THAT(text(), Not(HasSubstr("alpha")));
  press(U"/q\x1b"); // a letter of the filter, and no end
  EXPECT_THAT(text(), Not(HasSubstr("alpha"))) << "Escape leaves the filter that was";
  press(U"\x1b");
  EXPECT_THAT(text(), HasSubstr("alpha"));
  press(U"/203.0.113.8/31\n");
  EXPECT_THAT(text(), HasSubstr("203.0.113.9"));
  EXPECT_THAT(text(), Not(HasSubstr("203.0.113.10")));
  press(U"/zzz\n");
  EXPECT_THAT(text(), HasSubstr("nothing has \"203.0.113.8/31zzz\""));
}

TEST_F(TopScreenTest, a_part_scrolls_and_stays_within_its_rows) {
  press(U"4");
  EXPECT_THAT(text(), HasSubstr("203.0.113.0 "));
  EXPECT_TRUE(screen_.press(Key::page_down));
  EXPECT_TRUE(screen_.press(Key::down));
  EXPECT_THAT(text(), Not(HasSubstr("203.0.113.0 ")));
  EXPECT_THAT(text(), HasSubstr("SOURCE (12-"));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(screen_.press(Key::page_down));
  EXPECT_THAT(text(), HasSubstr("203.0.113.39 "));
  EXPECT_TRUE(screen_.press(Key::home));
  EXPECT_THAT(text(), HasSubstr("203.0.113.0 "));
}

TEST_F(TopScreenTest, it_pauses_changes_its_pace_within_bounds_helps_and_ends) {
  press(U"p");
  EXPECT_TRUE(screen_.paused());
  EXPECT_THAT(text(), HasSubstr("PAUSED"));
  press(U" +");
  EXPECT_FALSE(screen_.paused());
  EXPECT_EQ(screen_.interval(), 2s);
  press(U"--------------");
  EXPECT_EQ(screen_.interval(), TopScreen::interval_least);
  press(U"++++++++++++++++++++++++++++");
  EXPECT_EQ(screen_.interval(), TopScreen::interval_most);
  press(U"?");
  EXPECT_THAT(text(), HasSubstr("weirctl top: keys"));
  for (const Line &line : frame({500, 100})) EXPECT_LE(line.columns(), 78u) << line.text();
  EXPECT_LE(frame({500, 100}).size(), 24u) << "the help itself fits a screen";
  press(U"q"); // leaves the help
  EXPECT_THAT(text(), HasSubstr("LIST"));
  EXPECT_FALSE(screen_.press(key_of(U'q')));
}

TEST_F(TopScreenTest, without_a_size_everything_is_there_once_and_no_help) {
  const std::string all = text({});
  EXPECT_THAT(all, HasSubstr("203.0.113.39"));
  EXPECT_THAT(all, HasSubstr("GENERATION"));
  EXPECT_THAT(all, HasSubstr("\n\nLIST"));
  EXPECT_THAT(all, Not(HasSubstr("q quit")));
}

} // namespace
} // namespace weir::cli::top_screen_test
