// Whoever writes into feeds tries to bring about what guards forbid: wide lines, many of them, nested ones, a
// little growth again and again, an empty file. None of it is forced. What is in force is what was accepted,
// whole, and what was accepted keeps to the guards as docs/operating.md tells them.
#include "tests/attack/attack.hpp"
#include "tests/attack/feed_model.hpp"
#include "tests/attack/hostile_feeds.hpp"
#include "tests/support/weir_pair.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <regex>
#include <sstream>

namespace weir::attack::feeds_test {

namespace {

using test::Reply;
using test::WeirPair;

constexpr unsigned attempts = 30; // in a round
constexpr unsigned probes_each = 6;

class Feeds : public Attack {
protected:
  static void round(Random &random);
};

class Round {
public:
  Round(Random &random, std::function<void(const std::string &)> say)
      : random_(random), say_(std::move(say)), max_change_(random.one_in(2) ? 0.3 : 1),
        model_(first_feeds(random), max_change_) {
    test::PairSetup setup = test::PairSetup::idle();
    for (const auto &[name, feed] : model_.in_force())
      setup.lists += fmt::format("- {{name: {0}, action: {1}, file: {0}.txt}}\n", name,
                                 is_allow(name) ? "allow" : "deny");
    if (max_change_ < 1) setup.more = fmt::format("guard: {{max_change: {:.0f}%}}\n", 100 * max_change_);
    pair_ = std::make_unique<WeirPair>(std::move(setup));
    for (const auto &[name, feed] : model_.in_force()) write(pair_->folder() / (name + ".txt"), feed);
  }

  void live() {
    pair_->start();
    for (unsigned n = 0; n < attempts && !::testing::Test::HasFailure(); ++n) attempt();
    say_(fmt::format("feeds: {} accepted, {} refused, deny lists cover {:.1f} % of IPv4, max_change {}",
                     accepted_, refused_, 100 * model_.denied_share(), max_change_));
    EXPECT_GT(accepted_, 0u) << "a gate that refuses everything proves nothing";
    EXPECT_GT(refused_, 0u) << "nothing hostile was tried";
  }

private:
  static void write(const std::filesystem::path &file, const Feed &feed) {
    test::write_text(file, text_of(feed));
  }

  void attempt() {
    const Hostile hostile = hostile_feed(random_, model_.in_force());
    SCOPED_TRACE(hostile.story);
    const std::filesystem::path own = pair_->folder() / (hostile.list + ".txt");
    const bool by_apply = random_.one_in(2);
    const std::filesystem::path file = by_apply ? own : pair_->folder() / "next.txt";
    write(file, hostile.feed);
    const auto before = generation();
    const Reply reply = by_apply ? pair_->ctl({"apply", pair_->config()})
                                 : pair_->ctl({"list", "replace", hostile.list, file});
    if (reply.ok()) {
      ++accepted_;
      EXPECT_EQ(model_.accept(hostile.list, hostile.feed), "") << reply.out;
    } else {
      ++refused_;
      EXPECT_EQ(reply.status, 1) << reply.err;
      EXPECT_EQ(generation(), before) << "a refusal changes nothing";
      names_lines(reply.out + reply.err, hostile);
    }
    write(own, model_.in_force().at(hostile.list));
    ask_probes(hostile);
  }

  // Every line that a refusal shows stands there as shown.
  void names_lines(const std::string &said, const Hostile &hostile) const {
    static const std::regex place("(\\w+)\\.txt:(\\d+): \"([^\"]*)\"");
    unsigned named = 0;
    std::string text = said; // JSON, where quotes are escaped
    std::erase(text, '\\');
    for (std::sregex_iterator at(text.begin(), text.end(), place), end; at != end; ++at) {
      const std::size_t line = std::stoul((*at)[2]);
      if (!hostile_file((*at)[1], hostile.list)) continue;
      ++named;
      ASSERT_TRUE(line >= 1 && line <= hostile.feed.size()) << text;
      EXPECT_EQ(hostile.feed[line - 1], (*at)[3]) << text;
    }
    EXPECT_TRUE(named > 0 || !hostile.adds) << "no line is named: " << text;
  }
  [[nodiscard]] static bool hostile_file(const std::string &stem, const std::string &list) {
    return stem == "next" || stem == list;
  }

  // Addresses of what is in force and of what was tried, asked of the dataplane.
  void ask_probes(const Hostile &hostile) {
    const test::Oracle judge = model_.oracle();
    std::vector<std::string> probes;
    for (const auto &[name, feed] : model_.in_force())
      if (!feed.empty()) probes.push_back(first_address(any_line(random_, feed)));
    for (unsigned i = 0; i < probes_each; ++i) {
      if (!hostile.feed.empty()) probes.push_back(address_in(random_, any_line(random_, hostile.feed)));
      probes.push_back(to_string(Address::from_host(static_cast<std::uint32_t>(random_.bits()))));
    }
    for (const std::string &probe : probes) {
      const Address address = *parse_address(probe);
      const bool denied = judge.denied_by(address) && !judge.allowed_by(address);
      EXPECT_EQ(pair_->verdict(probe), denied ? "drop" : "pass") << probe;
    }
  }

  [[nodiscard]] std::uint64_t generation() const {
    return pair_->must({"status"}).value("generation", std::uint64_t{0});
  }

  Random &random_;
  std::function<void(const std::string &)> say_;
  double max_change_;
  FeedModel model_;
  std::unique_ptr<WeirPair> pair_;
  unsigned accepted_ = 0, refused_ = 0;
};

void Feeds::round(Random &random) { Round(random, say).live(); }

} // namespace

TEST_F(Feeds, that_are_hostile_bring_about_no_more_than_the_guards_allow) { rounds("feeds", round); }

} // namespace weir::attack::feeds_test
