// The filter in front of the allow tables, looked after by a running control while packets keep coming: a
// denied source that it takes for allowed is told to it, and a rate that is worse than planned brings a new
// image. Which addresses a filter errs about is known only once it is built, so the dataplane is started
// again, with other packets and the image that it has kept.
#include "tests/support/capture_file.hpp"
#include "tests/system/gate.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <thread>

namespace weir::test::allow_filter_test {

namespace {

using Json = nlohmann::json;
using Sources = std::vector<std::string>;

constexpr unsigned allowed_hosts = 3000;
constexpr auto between_looks = 5s; // of control at the filter

class AllowFilter : public ::testing::Test {
protected:
  // Allowed hosts inside a denied net, in a filter that is planned for them, for hosts that it has to guard
  // from the start and for many denied nets, whose addresses it cannot know.
  void open(const std::string &allow) {
    write_packets({"198.51.100.7"});
    PairSetup setup;
    setup.vdevs = {fmt::format("net_pcap0,rx_pcap={},infinite_rx=1", capture().string()),
                   "net_null1,no-rx=1"};
    std::string denied = "10.0.0.0/8\n";
    for (unsigned n = 0; n < 6000; ++n) denied += fmt::format("12.{}.{}.0/24\n", n / 250, n % 250);
    for (unsigned n = 0; n < 1000; ++n) denied += fmt::format("13.0.{}.{}\n", n / 250, n % 250);
    write_text(folder_ / "bad.txt", denied);
    setup.lists = fmt::format("- {{name: ops, action: allow, dynamic: true}}\n"
                              "- {{name: bad, action: deny, file: {}}}\n",
                              (folder_ / "bad.txt").string());
    setup.more = "allow: " + allow + "\n";
    pair_ = std::make_unique<WeirPair>(std::move(setup));
    ASSERT_NO_FATAL_FAILURE(pair_->start());
    change("add");
    ASSERT_TRUE(wait_until([this] { return filter().value("keys", 0u) == allowed_hosts; }, 20s))
        << "no filter was built for the entries";
    ASSERT_TRUE(pair_->ready());
  }

  // All allowed hosts at once.
  void change(const char *verb) {
    Sources words{"list", verb, "ops"};
    for (unsigned n = 0; n < allowed_hosts; ++n)
      words.push_back(fmt::format("10.64.{}.{}", n / 250, n % 250));
    pair_->must(words);
  }

  // Denied hosts that the filter takes for allowed, and ones that it does not.
  void sort_out(std::size_t accepted, std::size_t refused) {
    for (unsigned n = 0; n < 2000 && (accepted_.size() < accepted || refused_.size() < refused); ++n) {
      const std::string host = fmt::format("10.64.{}.{}", 100 + n / 250, n % 250);
      (errs_about(host) ? accepted_ : refused_).push_back(host);
    }
    ASSERT_GE(accepted_.size(), accepted) << "the filter hardly ever errs";
    ASSERT_GE(refused_.size(), refused) << "the filter errs about nearly everything";
    accepted_.resize(accepted);
    refused_.resize(refused);
  }
  [[nodiscard]] bool errs_about(const std::string &host) const {
    return pair_->ctl({"explain", host}).out.find("yes, but no table has it") != std::string::npos;
  }

  // From now on packets come from these alone, over and over.
  void send_from(const Sources &sources) {
    write_packets(sources);
    const std::uint64_t before = generation();
    ASSERT_TRUE(pair_->dataplane().stop(SIGTERM, 10s));
    pair_->start_dataplane();
    ASSERT_TRUE(pair_->ready());
    ASSERT_EQ(generation(), before) << "another image, another filter";
  }

  [[nodiscard]] std::uint64_t generation() const {
    return pair_->must({"status"}).value("generation", std::uint64_t{0});
  }
  [[nodiscard]] Json filter() const {
    return pair_->must({"status"}).value("plan", Json::object()).value("allow_filter", Json::object());
  }
  [[nodiscard]] Json counters() const {
    return pair_->must({"stats"}).value("allow_filter_generation", Json::object());
  }
  [[nodiscard]] static std::uint64_t count(const Json &counters, const char *name) {
    return counters.value(name, std::uint64_t{0});
  }

  std::unique_ptr<WeirPair> pair_;
  Sources accepted_, refused_;

private:
  [[nodiscard]] std::filesystem::path capture() const { return folder_ / "packets.pcap"; }
  void write_packets(const Sources &sources) const {
    Capture packets{.kind = CaptureKind::micro, .frames = {}};
    for (const std::string &source : sources)
      packets.frames.push_back(
          FrameBuilder().ethernet().ipv4({.source = source}).udp(1024, 53).payload(18).frame());
    write_capture(capture(), packets);
  }

  TempDir folder_;
};

} // namespace

TEST_F(AllowFilter, learns_a_hot_denied_source_in_place_and_errs_about_it_no_more) {
  ASSERT_NO_FATAL_FAILURE(open("{filter: seesaw, adaptive: true, bits_per_key: 20}"));
  ASSERT_NO_FATAL_FAILURE(sort_out(1, 52));
  const std::string hot = accepted_[0];
  Sources sources = refused_; // the rate of all is not to look bad, or a new image would come
  sources.push_back(hot);
  ASSERT_NO_FATAL_FAILURE(send_from(sources));
  const std::uint64_t before = generation();
  ASSERT_TRUE(errs_about(hot));
  ASSERT_TRUE(wait_until([&] { return count(counters(), "denied_false_accepted") > 10'000; }, 20s))
      << "the filter does not err";
  std::this_thread::sleep_for(between_looks + 1s); // control sees the samples, and tells the filter

  // What keeps the address in has to go; the same entries come back, and nothing would have changed.
  change("del");
  change("add");
  EXPECT_FALSE(errs_about(hot));
  // The other way round it goes too: now and then a filter that has learnt something errs about another one.
  const auto unlucky = std::ranges::count_if(refused_, [this](const auto &host) { return errs_about(host); });
  const Json then = counters();
  ASSERT_TRUE(wait_until(
      [&] { return count(counters(), "denied_asked") > count(then, "denied_asked") + 1'000'000; }, 20s));
  const Json now = counters();
  const auto grown = [&](const char *name) {
    return static_cast<double>(count(now, name) - count(then, name));
  };
  EXPECT_NEAR(grown("denied_false_accepted") / grown("denied_asked"),
              static_cast<double>(unlucky) / static_cast<double>(sources.size()), unlucky == 0 ? 0 : 1e-3);
  EXPECT_LE(unlucky, 3);
  EXPECT_EQ(generation(), before) << "the filter in force has learnt it, not the next one";
  EXPECT_EQ(pair_->verdict(hot), "drop");
  EXPECT_EQ(pair_->verdict("10.64.1.7"), "pass");
}

TEST_F(AllowFilter, that_errs_more_often_than_planned_is_built_anew_and_generations_say_why) {
  ASSERT_NO_FATAL_FAILURE(open("{filter: seesaw, bits_per_key: 12}"));
  ASSERT_NO_FATAL_FAILURE(sort_out(1, 0));
  const std::uint64_t before = generation();
  ASSERT_NO_FATAL_FAILURE(send_from(accepted_));
  ASSERT_TRUE(wait_until([&] { return generation() > before; }, 20s)) << filter().dump();
  ASSERT_TRUE(pair_->ready());
  std::string reasons;
  for (const Json &row : pair_->must({"generations"}).value("generations", Json::array()))
    if (row.value("generation", std::uint64_t{0}) == generation())
      reasons += row.value("plan", Json::object()).value("built_for", "");
  EXPECT_NE(reasons.find("the filter of the allow lists accepted 100 % of"), std::string::npos) << reasons;
  EXPECT_FALSE(errs_about(accepted_[0])) << "it was hot when the new filter was built";
  EXPECT_EQ(pair_->verdict(accepted_[0]), "drop");
}

} // namespace weir::test::allow_filter_test
