// What the lint is for: a program that it lets through, and that keeps nothing in registers, decides by the
// packet alone. Programs are made by chance, by damaging a sound one line by line; those that pass are run on
// the same packets before and after others, and must decide alike. Without the lint many do not.
#include "p4/swx/lint.hpp"
#include "p4/swx/pipeline.hpp"
#include "tests/p4/swx_burst.hpp"
#include "tests/support/eal.hpp"
#include "tests/support/packets.hpp"
#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>

namespace weir::p4::lint_test {
namespace {

using Rng = std::mt19937_64;
using Lines = std::vector<std::string>;

constexpr const char *declarations = R"(
struct port_t {
	bit<16> port
	bit<16> captured
	bit<32> wire
}
struct ethernet_t {
	bit<48> dst
	bit<48> src
	bit<16> type
}
struct ipv4_t {
	bit<8> version_ihl
	bit<8> service
	bit<16> total
	bit<32> fragment
	bit<8> hops
	bit<8> protocol
	bit<16> checksum
	bit<32> src
	bit<32> dst
}
struct metadata_t {
	bit<32> in
	bit<32> out
	bit<32> a
	bit<32> b
	bit<32> hash
	bit<8> small
	bit<64> wide
}
metadata instanceof metadata_t
header from_port instanceof port_t
header ethernet instanceof ethernet_t
header ipv4 instanceof ipv4_t
regarray table size 0x40 initval 0x15
regarray other size 0x10 initval 0x3
)";

// ACTION stands for the beginning of the action's lines, which may be damaged as well.
const Lines action_lines{"jmpeq EVEN m.small 0", "mov m.b 3",   "xor m.a m.b", "return",
                         "EVEN : add m.a 17",    "mov m.b m.a", "return"};
const Lines apply_lines{"extract h.from_port",
                        "mov m.out 1",
                        "mov m.a 0",
                        "mov m.b 7",
                        "mov m.small 0",
                        "jmplt END h.from_port.captured 14",
                        "extract h.ethernet",
                        "mov m.wide h.ethernet.src",
                        "jmpneq OTHER h.ethernet.type 0x800",
                        "extract h.ipv4",
                        "mov m.a h.ipv4.src",
                        "and m.a 0x3F",
                        "mov m.small h.ipv4.hops",
                        "table probe",
                        "OTHER : hash jhash m.hash m.a m.b",
                        "regrd m.out table m.a",
                        "jmpnv NOTHING h.ipv4",
                        "mov m.out h.ipv4.dst",
                        "and m.out 0x1F",
                        "NOTHING : shr m.hash 28",
                        "add m.out m.hash",
                        "table probe",
                        "jmpnh END",
                        "validate h.ipv4",
                        "mov h.ipv4.src m.a",
                        "END : emit h.ethernet",
                        "emit h.ipv4",
                        "tx m.out"};

std::string text_of(const Lines &action, const Lines &apply) {
  std::string text = std::string(declarations) + "action work args none {\n";
  for (const std::string &line : action) text += "\t" + line + "\n";
  text +=
      "}\ntable probe {\n\tactions {\n\t\twork\n\t}\n\tdefault_action work args none const\n\tsize 0x1\n}\n"
      "apply {\n\trx m.in\n";
  for (const std::string &line : apply) text += "\t" + line + "\n";
  return text + "}\n";
}

// Such a program may keep its packets, which takes long to find out.
bool jumps_back(const swx::Block &block) {
  for (std::size_t i = 0; i < block.size(); ++i)
    if (block[i].jumps() && block[i].operands[0].number <= i) return true;
  return false;
}

class Damage {
public:
  explicit Damage(std::uint64_t seed) : rng_(seed) {}

  void of(Lines &lines) {
    const std::size_t at = below(lines.size());
    switch (below(5)) {
    case 0: lines.erase(lines.begin() + static_cast<long>(at)); break;
    case 1:
      lines.insert(lines.begin() + static_cast<long>(below(lines.size() + 1)), std::string(lines[at]));
      break;
    case 2: std::swap(lines[at], lines[below(lines.size())]); break;
    default: replace_a_word(lines[at]);
    }
    if (lines.empty()) lines.push_back("return");
  }
  std::size_t below(std::size_t n) { return rng_() % n; }

private:
  void replace_a_word(std::string &line) {
    static constexpr std::array words{"m.in",        "m.out",
                                      "m.a",         "m.b",
                                      "m.small",     "m.wide",
                                      "m.hash",      "h.ipv4.src",
                                      "h.ipv4.hops", "h.ethernet.type",
                                      "h.from_port", "h.from_port.port",
                                      "h.ipv4",      "h.ethernet",
                                      "0",           "1",
                                      "63",          "0x800",
                                      "table",       "other",
                                      "END",         "OTHER",
                                      "NOTHING",     "mov",
                                      "add",         "jmpeq",
                                      "jmpnv",       "emit",
                                      "extract",     "lookahead",
                                      "validate",    "invalidate",
                                      "shl",         "regrd"};
    const std::size_t space = line.find(' ', below(line.size() + 1));
    const std::size_t begin = space == std::string::npos ? 0 : space + 1;
    line.replace(begin, line.find(' ', begin) - begin, words[below(words.size())]);
  }

  Rng rng_;
};

class SwxLintProperty : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(test::start_eal());
    asked_.emplace();
    others_.emplace();
    // More packets than the pipeline has threads, so that each thread sees several of each kind.
    for (unsigned i = 0; i < 48; ++i) {
      const auto ip = test::FrameBuilder()
                          .ethernet()
                          .ipv4({.source = "10.0.0." + std::to_string(i), .ttl = i % 5})
                          .udp(i, 2)
                          .payload(20)
                          .frame();
      const auto arp = test::FrameBuilder().ethernet().arp("10.0.0.1", "10.0.0.2").frame();
      const auto cut = test::FrameBuilder().ethernet().ipv4({.source = "1.2.3.4"}).frame(i % 34);
      asked_->add(i % 3 == 0 ? ip.bytes : i % 3 == 1 ? arp.bytes : cut.bytes, static_cast<std::uint16_t>(i));
    }
    for (unsigned i = 0; i < 67; ++i)
      others_->add(
          test::FrameBuilder().ethernet().ipv4({.source = "203.0.113.9", .ttl = 77}).udp(9, 9).frame().bytes,
          0x7777);
  }

  // Nothing if the program cannot be built or keeps its packets.
  std::optional<bool> decides_by_the_packet(const swx::Spec &spec) {
    PipelineOptions options;
    options.lint = false;
    auto pipeline = SwxPipeline::build(spec, options);
    if (!pipeline) return std::nullopt;
    std::array<std::vector<std::uint8_t>, 2> outputs;
    std::vector<std::uint8_t> ignored(others_->packets().size());
    for (auto &output : outputs) {
      output.resize(asked_->packets().size());
      if (!pipeline->run(asked_->packets(), output) || !pipeline->run(others_->packets(), ignored))
        return std::nullopt;
    }
    return outputs[0] == outputs[1];
  }

  std::optional<test::SwxBurst> asked_, others_;
};

TEST_F(SwxLintProperty, a_program_that_passes_decides_by_the_packet_alone) {
  const std::uint64_t seed = test::seed_or(20261122);
  WEIR_TRACE_SEED(seed);
  Damage damage(seed);
  unsigned passed = 0, refused = 0, refused_rightly = 0;
  for (int i = 0; i < 3000; ++i) {
    Lines action = action_lines, apply = apply_lines;
    for (std::size_t n = 1 + damage.below(3); n > 0; --n) damage.of(damage.below(5) == 0 ? action : apply);
    const std::string text = text_of(action, apply);
    const auto spec = swx::parse_spec(text, "damaged.spec");
    if (!spec) {
      EXPECT_TRUE(spec.error().message.starts_with("damaged.spec:")) << spec.error().message;
      continue;
    }
    const std::vector<swx::Finding> findings = swx::lint(*spec);
    // Programs that run into other memory or never end are not for running.
    const bool harmless = std::ranges::all_of(findings, [](const swx::Finding &finding) {
      return finding.rule == swx::Rule::unwritten || finding.rule == swx::Rule::hash_destination;
    });
    if (!harmless || jumps_back(spec->apply) || jumps_back(spec->actions[0].block)) continue;
    const auto alike = decides_by_the_packet(*spec);
    if (!alike) continue;
    ++(findings.empty() ? passed : refused);
    if (findings.empty())
      EXPECT_TRUE(*alike) << text;
    else if (!*alike)
      ++refused_rightly;
  }
  EXPECT_GT(passed, 300u) << "too few programs to say anything";
  EXPECT_GT(refused_rightly, 20u) << "of " << refused << " that were refused: the test could not fail";
}

} // namespace
} // namespace weir::p4::lint_test
