#include "tests/lab/stacked_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace weir::lab {
namespace {

constexpr const char *footer = R"(
A stack is sized, built and asked: present keys, every negative of the universe, and a million keys of no
universe (efpb). Negatives are asked for by a Zipf law; rates are shares of questions. The plain filter of the
same base gets as many bits as the stack really has. Times are for one key in batches of 64, medians of one
thread's processor time over interleaved rounds, and good for ratios.

Examples:
  weir-lab stacked                                         a second: 100,000 keys, a million negatives
  weir-lab stacked --positives 1000000 --negatives 10000000 --bits 8
  weir-lab stacked --base cuckoo --bits 10 --zipf 0.75
  weir-lab stacked --efpr 0.001                            the least bits for this rate
  weir-lab stacked --base fuse                             exact over the declared universe
)";

const std::vector<std::string> bases{"bloom", "cuckoo", "cqf", "fuse"}; // in the order of StackBase

template <class T> CLI::Validator between(T low, T high) { return CLI::Range(low, high).description(""); }

} // namespace

void add_stacked(CLI::App &app, StackedTask &t) {
  const auto most = std::uint64_t{1} << 27;
  app.add_option_function<std::string>(
         "--base",
         [&t](const std::string &name) {
           t.base = plan::StackBase(std::ranges::find(bases, name) - bases.begin());
         },
         "of the layers: bloom, cuckoo, cqf or fuse")
      ->check(CLI::IsMember(bases).description(""))
      ->default_str("bloom");
  app.add_option("--positives", t.positives, "present keys")
      ->check(between<std::uint64_t>(100, most))
      ->capture_default_str();
  app.add_option("--negatives", t.negatives, "absent keys that are asked for")
      ->check(between<std::uint64_t>(100, most))
      ->capture_default_str();
  app.add_option("--zipf", t.zipf, "exponent of how often each is")
      ->check(between(0.0, 4.0))
      ->capture_default_str();
  app.add_option("--bits", t.bits, "bits a present key, headers included")
      ->check(between(2.0, 64.0))
      ->capture_default_str();
  app.add_option("--efpr", t.efpr,
                 "share of negative questions that may be answered wrongly, in place of --bits")
      ->check(between(1e-9, 0.9));
  app.add_option("--seed", t.seed, "of keys and searches")->capture_default_str();
  app.add_option("--depth", t.depth_max, "layers at most, an odd number")
      ->check(CLI::IsMember({1, 3, 5, 7, 9}).description(""))
      ->capture_default_str();
  app.add_option("--known", t.known_max, "negatives at most that the stack is told of");
  app.add_option("--efpb", t.efpb_max, "share of unseen keys that may be accepted")
      ->check(between(1e-6, 1.0))
      ->capture_default_str();
  app.add_option("--weight", t.weight, "of the workload against unseen keys")
      ->check(between(0.0, 1.0))
      ->capture_default_str();
  app.add_flag("--fuse-below", t.fuse_below, "layers of negatives are static fuse filters");
  app.add_flag_callback(
      "--urls", [&t] { t.keyset = KeySet::urls; }, "keys are strings like those of a blacklist");
  app.add_flag_callback("--no-timing", [&t] { t.timing = false; }, "rates alone");
  app.footer(footer);
}

} // namespace weir::lab
