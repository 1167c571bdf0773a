#include "tests/attack/live_gate.hpp"

#include "control/cli/client.hpp"
#include "weir/wire/sockets.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <thread>

namespace weir::attack {

namespace {

constexpr auto answer_max = std::chrono::seconds(10);

} // namespace

LiveGate::LiveGate(const std::string &lists, const std::string &more, bool keep_passed)
    : feeder_(std::make_unique<Feeder>(folder_ / "packets")), passed_(folder_ / "passed.pcap") {
  test::PairSetup setup;
  setup.vdevs = {fmt::format("net_pcap0,rx_pcap={}", (folder_ / "packets").string()),
                 keep_passed ? fmt::format("net_pcap1,tx_pcap={}", (folder_ / "passed.pcap").string())
                             : "net_null1,no-rx=1"};
  setup.lists = lists;
  setup.more = more;
  pair_ = std::make_unique<test::WeirPair>(std::move(setup));
}

LiveGate::~LiveGate() { pair_.reset(); }

void LiveGate::start() { pair_->start(); }

Json LiveGate::Answer::json() const {
  Json value = Json::parse(text, nullptr, false);
  return value.is_object() ? value : Json::object();
}

LiveGate::Answer LiveGate::ask(const Json &request) const {
  Answer answer;
  const auto begin = Clock::now();
  if (auto client = cli::Client::connect(pair_->folder() / "run" / wire::control_socket_name))
    answer.text = client->ask(request.dump(), answer_max).value_or("");
  answer.seconds = Seconds(Clock::now() - begin).count();
  EXPECT_TRUE(answer.json().value("ok", false))
      << request.dump() << " is answered with \"" << answer.text << "\" after " << answer.seconds << " s";
  return answer;
}

std::uint64_t LiveGate::generation() const {
  return ask({{"verb", "status"}}).json().value("generation", std::uint64_t{0});
}

std::string LiveGate::reasons() const {
  std::string text;
  for (const Json &row : ask({{"verb", "generations"}}).json().value("generations", Json::array()))
    text += fmt::format("generation {}: {} {}\n", row.value("generation", std::uint64_t{0}),
                        row.value("cause", ""), row.value("plan", Json::object()).value("built_for", ""));
  return text;
}

std::string LiveGate::verdict(const std::string &address) const {
  return ask({{"verb", "explain"}, {"address", address}}).json().value("verdict", "");
}

double LiveGate::packets_per_s(std::chrono::milliseconds during) const {
  const auto before = feeder_->written();
  const auto begin = Clock::now();
  std::this_thread::sleep_for(during);
  return static_cast<double>(feeder_->written() - before) / Seconds(Clock::now() - begin).count();
}

std::string compact_mode(std::size_t hosts, double bits) {
  return fmt::format("mode: {{compact: {{unknown_budget: 0.5, memory: {:.0f}}}}}\n",
                     static_cast<double>(hosts) * bits / 8);
}

DeniedHosts::DeniedHosts(Random &random, std::uint32_t count) {
  std::uint32_t host = (11u + random.below(80)) << 24 | random.below(1 << 20);
  const std::uint32_t gap = 3 + random.below(20);
  for (std::uint32_t i = 0; i < count; ++i) {
    host += 1 + random.below(gap);
    hosts_.push_back(host);
  }
  set_ = {hosts_.begin(), hosts_.end()};
}

void DeniedHosts::write(const std::filesystem::path &file) const {
  std::string text;
  for (const std::uint32_t host : hosts_) text += dotted(host) + '\n';
  test::write_text(file, text);
}

std::uint32_t DeniedHosts::stranger(Random &random) const {
  for (;;) {
    const std::uint32_t host = hosts_.front() + random.below(hosts_.back() - hosts_.front());
    if (!has(host)) return host;
  }
}

} // namespace weir::attack
