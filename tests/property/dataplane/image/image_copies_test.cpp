// Copies of an image for workers of several NUMA nodes, forced on a machine of any kind: two workers read two
// copies, and judge alike whatever happens.
#include "dataplane/image/image_copies.hpp"
#include "tests/support/dataplane_client.hpp"
#include "tests/support/deny_filter_case.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/packets.hpp"
#include "tests/support/ring_gate.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/test_image.hpp"
#include "weir/image/allow_filter_writer.hpp"
#include "weir/image/reader.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace weir::test::image_copies_test {
namespace {

TEST(WorkerNodes, has_each_node_once_and_the_first_workers_first) {
  const dataplane::WorkerNodes nodes(std::vector<int>{1, 0, 1, 2, 0});
  EXPECT_EQ(nodes.nodes(), (std::vector<int>{1, 0, 2}));
  std::vector<unsigned> copies;
  for (unsigned worker = 0; worker < 5; ++worker) copies.push_back(nodes.copy_of(worker));
  EXPECT_EQ(copies, (std::vector<unsigned>{0, 1, 0, 2, 1}));
}

constexpr ListId bad{0}, ops{1};

Prefix host(std::uint32_t address) { return {Address::from_host(address), 32}; }

class ImageCopies : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(start_eal());
    gate_ = std::make_unique<RingGate>(RingGateOptions{.workers = 2, .node_of_worker = {0, 1}});
    control_ = std::make_unique<DataplaneClient>(gate_->socket());
    ASSERT_TRUE(control_->connected());
  }

  void enforce(const RuleSet &rules, ImageOptions options = {}) {
    options.generation = ++generation_;
    image_ = std::make_unique<TestImage>(rules, options);
    const WireMessage staged = control_->stage(image_->bytes());
    ASSERT_TRUE(staged.is(wire::Type::staged)) << staged.refusal();
    const WireMessage committed = control_->commit(generation_, 0);
    ASSERT_TRUE(committed.is(wire::Type::committed)) << committed.refusal();
    sequence_ = 0;
  }

  void change(const std::vector<image::Delta> &deltas) {
    const WireMessage answer = control_->deltas(wire::Target::live, sequence_ + 1, deltas);
    ASSERT_TRUE(answer.is(wire::Type::applied)) << answer.refusal();
    sequence_ += deltas.size();
  }

  [[nodiscard]] dataplane::AttachedImage &live() { return *gate_->dataplane().generations.live(); }

  // By the first worker and by the second: frames go to their queues in turn.
  [[nodiscard]] std::string judge(const std::string &source) {
    const auto frame = FrameBuilder().ethernet().ipv4({.source = source}).udp(1, 2).frame().bytes;
    std::string both;
    for (unsigned worker = 0; worker < 2; ++worker)
      both += gate_->judge(0, frame).verdict == Verdict::drop ? "drop " : "pass ";
    return both;
  }

  void expect_equal_bytes() {
    ASSERT_EQ(live().further.size(), 1u);
    ASSERT_NE(live().further[0], nullptr);
    const auto bytes = live().mapping.bytes().first(live().image_bytes);
    EXPECT_EQ(std::memcmp(bytes.data(), live().further[0]->memory.bytes().data(), bytes.size()), 0)
        << "the copies differ";
  }

  std::unique_ptr<RingGate> gate_;
  std::unique_ptr<DataplaneClient> control_;
  std::unique_ptr<TestImage> image_;
  std::uint64_t generation_ = 0, sequence_ = 0;
};

RuleSet few_rules() {
  RuleSet rules;
  rules.policy.match = Match::source;
  rules.lists = {
      {"bad", Side::deny, {parse_prefix("10.0.0.0/8").value(), parse_prefix("192.0.2.7").value()}}};
  return rules;
}

TEST_F(ImageCopies, are_read_by_the_workers_of_their_node) {
  enforce(few_rules());
  EXPECT_EQ(judge("10.1.2.3"), "drop drop ");
  expect_equal_bytes();
  const std::string info = control_->query(R"({"what":"info"})");
  EXPECT_NE(info.find(R"({"node":1,"memory":)"), std::string::npos) << info;
  // What one writer alone is told one worker alone knows.
  const std::vector<image::Delta> deltas{make_delta(image::DeltaOp::set, "198.51.100.9", 0)};
  EXPECT_EQ(live().further[0]->writer.apply_batch(deltas).applied, 1u);
  const std::string told = judge("198.51.100.9");
  EXPECT_TRUE(told == "drop pass " || told == "pass drop ") << told;
}

TEST_F(ImageCopies, have_every_change) {
  const std::uint64_t seed = seed_or(1);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  // Few addresses of a few /16s, so that changes meet entries, one another, and moves of keys.
  const auto any_prefix = [&random](bool only_hosts = false) {
    const auto address = static_cast<std::uint32_t>(0x0A000000u + (random() % 4 << 16) + random() % 4096);
    const auto length = static_cast<std::uint8_t>(only_hosts || random() % 4 != 0 ? 32 : 16 + random() % 16);
    return Prefix{Address::from_host(address & ~((std::uint64_t{1} << (32 - length)) - 1)), length};
  };
  RuleSet rules = few_rules();
  rules.lists = {{"bad", Side::deny, {}}, {"ops", Side::allow, {}}};
  for (unsigned i = 0; i < 3000; ++i) rules.lists[0].prefixes.push_back(any_prefix());
  for (unsigned i = 0; i < 30; ++i) rules.lists[1].prefixes.push_back(any_prefix(true));
  enforce(rules);
  std::vector<Prefix> touched;
  for (unsigned batch = 0; batch < 40 && !HasFatalFailure(); ++batch) {
    std::vector<image::Delta> deltas;
    for (unsigned i = 0; i < 32; ++i) {
      const bool allow = random() % 16 == 0;
      touched.push_back(any_prefix(allow));
      const ListId list = allow ? ops : bad;
      deltas.push_back(make_delta(random() % 3 == 0 ? image::DeltaOp::unset : image::DeltaOp::set,
                                  to_string(touched.back()), list, allow ? Side::allow : Side::deny));
    }
    const WireMessage answer = control_->deltas(wire::Target::live, sequence_ + 1, deltas);
    if (!answer.is(wire::Type::applied)) { // the image has no room for one, and both have a part of it
      ASSERT_NE(answer.refusal().find("no room"), std::string::npos) << answer.refusal();
      break;
    }
    sequence_ += deltas.size();
  }
  EXPECT_GT(sequence_, 500u);
  expect_equal_bytes();
  unsigned dropped = 0;
  for (unsigned i = 0; i < 200; ++i) {
    const std::string told = judge(to_string(touched[random() % touched.size()].address));
    EXPECT_TRUE(told == "drop drop " || told == "pass pass ") << told;
    dropped += told == "drop drop ";
  }
  EXPECT_GT(dropped, 0u);
}

TEST_F(ImageCopies, let_a_source_pass_that_the_filter_denies_in_error) {
  RuleSet rules = few_rules();
  for (std::uint32_t h = 0; h < 64; ++h) rules.lists[0].prefixes.push_back(host(0x0B000000 + h));
  ImageOptions options;
  options.stack = plan_of({.depth = 1, .bits = 4}, image::DenyFilterRole::judge);
  enforce(rules, options);
  std::uint32_t wrong = 0x0B000100;
  while (image::lookup(image_->view(), Side::deny, Address::from_host(wrong)) == 0) ++wrong;
  const Address address = Address::from_host(wrong);
  EXPECT_EQ(judge(to_string(address)), "drop drop ");
  const wire::Relieve about{
      .store_id = control_->store_id, .generation = Generation(generation_), .count = 1};
  const wire::RelievedAddress one{.family = address.family, .address = address.bytes};
  std::vector<std::byte> payload(sizeof about + sizeof one);
  std::memcpy(payload.data(), &about, sizeof about);
  std::memcpy(payload.data() + sizeof about, &one, sizeof one);
  ASSERT_TRUE(control_->ask(wire::Type::relieve, payload).is(wire::Type::relieved));
  EXPECT_EQ(judge(to_string(address)), "pass pass ");
  expect_equal_bytes();
}

TEST_F(ImageCopies, guard_late_addresses_alike) {
  RuleSet rules = few_rules();
  rules.lists.push_back({"ops", Side::allow, {}});
  for (std::uint32_t h = 0; h < 200; ++h) rules.lists[1].prefixes.push_back(host(0x0C000000 + h));
  ImageOptions options;
  options.guard = build::SeesawParams{};
  enforce(rules, options);
  ASSERT_NE(live().writer->allow_filter().load(), std::nullopt);
  const wire::Learn about{.store_id = control_->store_id, .generation = Generation(generation_), .count = 64};
  std::vector<std::byte> payload(sizeof about + about.count * sizeof(wire::HostAddress));
  std::memcpy(payload.data(), &about, sizeof about);
  for (std::uint32_t i = 0; i < about.count; ++i) {
    const Address address = Address::from_host(0x0A000000 + i);
    const wire::HostAddress one{.family = address.family, .address = address.bytes};
    std::memcpy(payload.data() + sizeof about + i * sizeof one, &one, sizeof one);
  }
  const WireMessage done = control_->ask(wire::Type::learn, payload);
  ASSERT_TRUE(done.is(wire::Type::learned)) << done.refusal();
  change({make_delta(image::DeltaOp::set, "12.0.1.1", ops, Side::allow)});
  change({make_delta(image::DeltaOp::unset, "12.0.0.1", ops, Side::allow)});
  change({make_delta(image::DeltaOp::set, "12.0.1.2", ops, Side::allow)});
  expect_equal_bytes();
}

// A limit on the size of files stops the copy alone: the image itself came in a file that is there.
TEST_F(ImageCopies, that_there_is_no_memory_for_are_told_of_and_done_without) {
  const TestImage image(few_rules(), {.generation = 5});
  const int fd = make_memfd(image.bytes(), usual_seals());
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit none{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &none);
  auto attached = dataplane::attach_memfd(fd, {{}, Generation(5), 0, image.bytes().size()},
                                          gate_->dataplane().generations.attach_context());
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  close(fd);
  ASSERT_TRUE(attached) << attached.error().message;
  ASSERT_EQ((*attached)->further.size(), 1u);
  EXPECT_EQ((*attached)->further[0], nullptr);
  EXPECT_EQ(&(*attached)->view_of(1), &(*attached)->view);
  ASSERT_EQ((*attached)->warnings.size(), 1u);
  EXPECT_NE((*attached)->warnings[0].find("no copy on NUMA node 1"), std::string::npos)
      << (*attached)->warnings[0];
  const std::vector<image::Delta> deltas{make_delta(image::DeltaOp::set, "198.51.100.9", 0)};
  EXPECT_EQ((*attached)->apply_batch(deltas).applied, 1u);
}

} // namespace
} // namespace weir::test::image_copies_test
