#include "tests/lab/stacked_options.hpp"

#include "tests/lab/stacking.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace weir::lab {
namespace {

constexpr const char *footer = R"(
A stack is sized, built and asked: present keys, every negative of the universe, and a million keys of no
universe (efpb). Negatives are asked for by a Zipf law; rates are shares of questions. The plain filter of the
same base gets as many bits as the stack really has. Weighted by Zipf frequencies one seed's rate hangs on its
hottest negatives; ..._by_class is put together from the rates of known and unknown ones instead. Times are for one key in batches of 64, medians of one
thread's processor time over interleaved rounds, and good for ratios.

Examples:
  weir-lab stacked                                         a second: 100,000 keys, a million negatives
  weir-lab stacked --positives 1000000 --negatives 10000000 --bits 8
  weir-lab stacked --base cuckoo --bits 10 --zipf 0.75
  weir-lab stacked --efpr 0.001                            the least bits for this rate
  weir-lab stacked --base fuse                             exact over the declared universe
  weir-lab stacked --urls --iops 1000,40000                the whole cost with disks and with an SSD behind
)";

const std::vector<std::string> bases{"bloom", "cuckoo", "cqf", "fuse",
                                     "split_block"}; // in the order of StackBase

template <class T> CLI::Validator between(T low, T high) { return CLI::Range(low, high).description(""); }

} // namespace

void add_stacked(CLI::App &app, StackedTask &t) {
  const auto most = std::uint64_t{1} << 27;
  app.add_option_function<std::string>(
         "--base",
         [&t](const std::string &name) {
           t.base = plan::StackBase(std::ranges::find(bases, name) - bases.begin());
         },
         "of the layers: bloom, cuckoo, cqf, fuse or split_block")
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
  app.add_option(
         "--psi", t.psi,
         "share of negative questions for these negatives, all alike, in place of --zipf; the rest asks "
         "for keys of no universe")
      ->check(between(0.0, 1.0));
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
  app.add_option("--iops", t.iops,
                 "of simulated stores that confirm what a filter accepts, with commas between them: adds "
                 "what a question of the workload costs")
      ->delimiter(',')
      ->check(between(1.0, 1e9));
  app.add_option("--positive-share", t.positive_shares, "of these questions for present keys, with commas")
      ->delimiter(',')
      ->check(between(0.0, 1.0))
      ->default_str("0");
  app.add_flag_callback("--no-timing", [&t] { t.timing = false; }, "rates alone");
  app.footer(footer);
}

void add_building(CLI::App &app, BuildingTask &t) {
  app.add_option("--positives", t.positives, "present keys")
      ->check(between<std::uint64_t>(100, std::uint64_t{1} << 27))
      ->capture_default_str();
  app.add_option("--bits", t.bits, "bits a present key, headers included")
      ->check(between(2.0, 64.0))
      ->capture_default_str();
  app.add_option("--known", t.known_per_key,
                 "negatives a present key, with commas; all are asked for alike, and 0 is the plain filter")
      ->delimiter(',')
      ->check(between(0.0, 100.0));
  app.add_option("--rounds", t.rounds, "to take medians of")
      ->check(between(1u, 1'000u))
      ->capture_default_str();
  app.add_option("--seed", t.seed, "of keys and searches")->capture_default_str();
}

void add_stacking(CLI::App &app, std::vector<std::string> &parts) {
  app.add_option("--only", parts, "parts, with commas between them; all if left out")
      ->delimiter(',')
      ->check(CLI::IsMember(stacking_parts()).description(""));
}

} // namespace weir::lab
