// The gate as a worker calls it: verdicts and reasons from port numbers, registers from another thread.
#include "p4/swx/gate.hpp"
#include "tests/p4/swx_burst.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/packets.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

namespace weir::p4::gate_test {
namespace {

// Leaves by the port that register `port number` of the bank in use says, and counts there.
constexpr const char *by_register = R"(
struct port_t {
	bit<16> port
	bit<16> captured
	bit<32> wire
}
struct metadata_t {
	bit<32> in
	bit<32> out
	bit<32> index
	bit<32> zero
	bit<32> again
}
metadata instanceof metadata_t
header from_port instanceof port_t
regarray bank size 0x1 initval 0
regarray rules size 0x40 initval 0
regarray packets size 0x40 initval 0
apply {
	rx m.in
	extract h.from_port
	mov m.zero 0
	regrd m.index bank m.zero
	shl m.index 5
	or m.index h.from_port.port
	regrd m.out rules m.index
	regrd m.again rules m.index
	regadd packets m.out 1
	jmpeq SAME m.out m.again
	mov m.out 0x3E
	SAME :	tx m.out
}
)";

class SwxGate : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(test::start_eal());
    auto loaded = Gate::load_text(by_register, "test.spec");
    ASSERT_TRUE(loaded) << loaded.error().message;
    gate_ = std::move(*loaded);
  }

  std::vector<Judgement> judge(const test::SwxBurst &burst) {
    std::vector<Judgement> out(burst.packets().size());
    const Status judged = gate_->judge(burst.packets(), out);
    EXPECT_TRUE(judged) << judged.error().message;
    return out;
  }
  void fill(std::uint64_t first, std::vector<std::uint64_t> values) {
    const Status written = gate_->registers().write("rules", first, values);
    ASSERT_TRUE(written) << written.error().message;
  }

  std::unique_ptr<Gate> gate_;
  std::vector<std::uint8_t> frame_ =
      test::FrameBuilder().ethernet().arp("10.0.0.1", "10.0.0.2").frame().bytes;
};

TEST_F(SwxGate, says_verdict_and_reason_of_every_port_number) {
  for (unsigned output = 0; output < 256; ++output) {
    const auto said = judgement_of(static_cast<std::uint8_t>(output));
    if (static_cast<Reason>(output % 16) == Reason::rule) // the program has none
      EXPECT_FALSE(said) << output;
    else if (output < reason_count)
      EXPECT_EQ(said, (Judgement{Verdict::pass, static_cast<Reason>(output)}));
    else if (output >= 16 && output < 16 + reason_count)
      EXPECT_EQ(said, (Judgement{Verdict::drop, static_cast<Reason>(output - 16)}));
    else
      EXPECT_FALSE(said) << output;
  }
}

TEST_F(SwxGate, judges_by_what_was_written_into_registers) {
  fill(0, {8, 16 + 6, 16 + 1});
  test::SwxBurst burst;
  for (std::uint16_t port = 0; port < 3; ++port) burst.add(frame_, port);
  EXPECT_EQ(judge(burst), (std::vector<Judgement>{{Verdict::pass, Reason::fallthrough},
                                                  {Verdict::drop, Reason::deny},
                                                  {Verdict::drop, Reason::malformed}}));
  EXPECT_EQ(gate_->read_register("packets", 16 + 6).value(), 1u);
  EXPECT_EQ(gate_->strays(), 0u);
}

TEST_F(SwxGate, drops_and_counts_packets_that_leave_by_a_port_that_means_nothing) {
  fill(0, {63, 15, 10, 40, 5});
  test::SwxBurst burst;
  for (std::uint16_t port = 0; port < 5; ++port) burst.add(frame_, port);
  const std::vector<Judgement> out = judge(burst);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(out[i], (Judgement{Verdict::drop, Reason::malformed})) << i;
  EXPECT_EQ(out[4], (Judgement{Verdict::pass, Reason::allow}));
  EXPECT_EQ(gate_->strays(), 4u);
}

TEST_F(SwxGate, is_a_sink_that_knows_its_arrays) {
  EXPECT_EQ(gate_->registers().capacity("rules").value(), 64u);
  EXPECT_EQ(gate_->registers().capacity("slots4").error().code, Errc::not_found);
  const std::uint64_t two[] = {1, 2};
  EXPECT_EQ(gate_->registers().write("rules", 63, two).error().code, Errc::not_found);
  auto larger = Gate::load_text(by_register, "test.spec", {.register_sizes = {{"rules", 4096}}});
  EXPECT_EQ((*larger)->registers().capacity("rules").value(), 4096u);
}

TEST_F(SwxGate, loads_programs_from_files_and_says_what_is_wrong_with_them) {
  const auto path =
      std::filesystem::temp_directory_path() / ("swx-gate-" + std::to_string(getpid()) + ".spec");
  std::ofstream(path) << by_register;
  EXPECT_TRUE(Gate::load(path));
  std::ofstream(path) << "apply {\n}\n";
  const auto broken = Gate::load(path);
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().message.find(path.string() + ":2: "), std::string::npos) << broken.error().message;
  std::filesystem::remove(path);
  EXPECT_EQ(Gate::load(path).error().code, Errc::io);
}

// The other half is overwritten as soon as flip() comes back: a burst that still used it would read two
// different rules in one packet and leave as a stray.
TEST_F(SwxGate, lets_a_bank_be_overwritten_as_soon_as_it_was_flipped_away_from) {
  test::SwxBurst burst;
  for (std::uint16_t i = 0; i < 256; ++i) burst.add(frame_, i % 32);
  fill(0, std::vector<std::uint64_t>(32, 5));
  std::atomic<bool> stop{false};
  std::atomic<unsigned> flips{0};
  std::thread writer([&] {
    for (unsigned round = 1; !stop; ++round) {
      const unsigned bank = round % 2;
      const std::vector<std::uint64_t> idle(32, 62), rules(32, round % 3 ? 5 : 16 + 6);
      ASSERT_TRUE(gate_->registers().write("rules", bank * 32, rules));
      ASSERT_TRUE(gate_->registers().flip(bank));
      ASSERT_TRUE(gate_->registers().write("rules", (1 - bank) * 32, idle));
      ++flips;
    }
  });
  for (int i = 0; i < 8000 || (flips < 100 && i < 100'000); ++i) (void)judge(burst);
  stop = true;
  writer.join();
  EXPECT_GE(flips, 100u);
  EXPECT_EQ(gate_->strays(), 0u);
}

} // namespace
} // namespace weir::p4::gate_test
