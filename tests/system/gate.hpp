// What the tests of this folder share: a network with weir in the middle.
#pragma once

#include "tests/support/netns.hpp"
#include "tests/support/weir_pair.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace weir::test {

// A client and a server with weir between them. Skips where namespaces do not work.
class Gate : public ::testing::Test {
protected:
  explicit Gate(std::vector<std::string> tags = {}) : tags_(std::move(tags)) {}

  void SetUp() override {
    if (const std::string why = namespaces_missing(); !why.empty()) GTEST_SKIP() << why;
    network_ = std::make_unique<GatedNetwork>(tags_);
  }

  // Starts the pair with these lists (YAML) and waits until the server answers through it.
  void open(const std::string &lists, const std::string &more = {}) {
    PairSetup setup = PairSetup::between(network_->middle.name());
    setup.lists = lists;
    setup.more = more;
    open(std::move(setup));
  }
  void open(PairSetup setup) {
    pair_ = std::make_unique<WeirPair>(std::move(setup));
    ASSERT_NO_FATAL_FAILURE(pair_->start());
    ASSERT_TRUE(wait_until([this] { return network_->ping(GatedNetwork::server4); }, 10s))
        << "no ping comes through, although nothing is denied";
  }

  [[nodiscard]] GatedNetwork &network() { return *network_; }
  [[nodiscard]] WeirPair &pair() { return *pair_; }

  static constexpr const char *bans = "- {name: bans, action: deny, dynamic: true}\n";

private:
  std::vector<std::string> tags_;
  std::unique_ptr<GatedNetwork> network_; // outlives the pair: its namespace holds weir's ports
  std::unique_ptr<WeirPair> pair_;
};

// A weir whose ports never see a packet: for what operators see, and for sizes. Needs no root.
inline std::unique_ptr<WeirPair> idle_pair(const std::string &lists, const std::string &more = {}) {
  PairSetup setup = PairSetup::idle();
  setup.lists = lists;
  setup.more = more;
  return std::make_unique<WeirPair>(std::move(setup));
}

} // namespace weir::test
