#include "tests/lab/slbf_options.hpp"

#include "control/learn/trees.hpp"

#include <CLI/CLI.hpp>

namespace weir::lab {
namespace {

constexpr const char *footer = R"(
Filters that remember an endless stream [SLBF]. Every key told is asked for again after --gap others (fnr), other keys are asked for at
37 looks (looked_after; asked_a_look keys each) while the stream goes by (fpr: mean of the second half, at the end for bf and lbf, which fill up). Without --bits each
filter takes what its model says it needs for --epsilon and --missed; with --bits all take as much, the classifier's --model-bits included.
Synthetic scores are those of the best classifier there can be with an AUC of --auc; a file has a label (1: told) and a score between
0 and 1 a line, and every fifth line is a sample to estimate p and q from. Of a capture the elements are a source's address with the traits that the
dataplane's classifier sees; a third of the sources trains the trees, another gives the samples, the last is the stream. Rates are without the classifier's time, but for those
"with_model", where trees score the keys first.

Examples:
  weir-lab slbf                                   equal errors: epsilon 5 %, 10 % missed, six groups
  weir-lab slbf --groups auto --epsilon 0.01 --auc 0.82
  weir-lab slbf --bits 600000 --printed
  weir-lab slbf --data addresses --gap 200000 --insertions 2000000
  weir-lab slbf --data build/lab/traffic.pcap --labels build/lab/traffic.labels --gap 200
)";

constexpr const char *model_footer = R"(
What formulas say, with no filter built. equal_convergence: cells of a filter that sees the share false_negatives of the insertions
and settles as fast as one of --cells that sees all, eq. (8). example4: what each group of [SLBF example 4] misses with 1 to 10
functions in --group-cells cells of one bit, with a_j of (18) and P of (19) (printed) or of eq. (6) (solved), and with a_j = e / (g p_j)
at the gap that the group sees itself (own_gap).

Example:
  weir-lab slbf-model
)";

template <class T> CLI::Validator between(T low, T high) { return CLI::Range(low, high).description(""); }

} // namespace

void add_slbf(CLI::App &app, SlbfTask &t) {
  app.add_option("--data", t.stream.data,
                 "synthetic; urls, addresses or traffic, scored by trees; a file of labels and scores; with "
                 "--labels a capture")
      ->capture_default_str();
  app.add_option("--labels", t.stream.labels,
                 "of the sources of a capture: lines of an address and 1 (misbehaves) or 0");
  app.add_option("--auc", t.stream.auc, "of synthetic scores; with trees: of the best of all classifiers")
      ->check(between(0.5001, 0.9999))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--groups",
         [&t](const std::string &text) {
           t.groups = text == "auto" ? 0 : static_cast<unsigned>(std::stoul(text));
         },
         "of scores, of equal width, 1 to 64; auto: as many as keep p falling and q rising")
      ->check(CLI::IsMember({"auto"}).description("") | between(1, 64))
      ->default_str("6");
  app.add_option("--epsilon", t.rate, "share of other keys that may be accepted")
      ->check(between(1e-5, 0.5))
      ->capture_default_str();
  app.add_option("--missed", t.missed, "share of told keys that may be missed after the gap, without --bits")
      ->check(between(1e-4, 0.9))
      ->capture_default_str();
  app.add_option("--bits", t.bits, "of each filter; 0: what each needs")
      ->check(between<std::uint64_t>(0, std::uint64_t{1} << 33))
      ->capture_default_str();
  app.add_option("--model-bits", t.model_bits, "of the classifier; trees count theirs themselves")
      ->check(between<std::uint64_t>(0, std::uint64_t{1} << 33))
      ->capture_default_str();
  app.add_option("--trees", t.stream.trees, "of four levels, with urls, addresses, traffic or a capture")
      ->check(between(1u, learn::trees_max))
      ->capture_default_str();
  app.add_option("--flipped", t.stream.flipped,
                 "share of the stream that changes sides after p and q were estimated")
      ->check(between(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--gap", t.gap, "insertions between telling and asking")
      ->check(between<std::uint64_t>(10, 10'000'000))
      ->capture_default_str();
  app.add_option("--insertions", t.stream.insertions, "of the stream; unless given thirty times the gap")
      ->check(between<std::uint64_t>(100, std::uint64_t{1} << 28));
  app.add_option("--others", t.stream.others, "keys that are asked for and were never told")
      ->check(between<std::uint64_t>(1'000, std::uint64_t{1} << 26))
      ->capture_default_str();
  app.add_option("--samples", t.stream.samples, "of either side, to estimate p and q from")
      ->check(between<std::uint64_t>(100, std::uint64_t{1} << 24))
      ->capture_default_str();
  app.add_option("--planned", t.planned,
                 "keys that bf and the Bloom filter of lbf are sized for; 0: those of the stream")
      ->check(between<std::uint64_t>(0, std::uint64_t{1} << 32))
      ->capture_default_str();
  app.add_option("--cut", t.cut, "lbf accepts scores above it; the best one for the stream if left out")
      ->check(between(0.0f, 1.0f));
  auto *printed = app.add_flag_callback(
      "--printed", [&t] { t.setting = build::Setting::printed; },
      "g-slbf by equations (18) to (20) as printed");
  app.add_flag_callback(
         "--corrected", [&t] { t.setting = build::Setting::corrected; }, "g-slbf by the same, put right")
      ->excludes(printed);
  app.add_flag_callback("--no-timing", [&t] { t.timing = false; }, "errors alone");
  app.add_option("--seed", t.stream.seed, "of keys, scores and filters")->capture_default_str();
  app.final_callback([&t, &app] {
    if (app.count("--insertions") == 0) t.stream.insertions = 30 * t.gap;
  });
  app.footer(footer);
}

void add_slbf_model(CLI::App &app, StableModelTask &t) {
  app.add_option("--cells", t.cells, "of the filter without a classifier, eq. (8)")
      ->check(between(100.0, 1e12))
      ->capture_default_str();
  app.add_option("--hashes", t.hashes, "of both, K")->check(between(1u, 32u))->capture_default_str();
  app.add_option("--group-cells", t.group_cells, "of each group of example 4")
      ->check(between(100.0, 1e12))
      ->capture_default_str();
  app.add_option("--gap", t.gap, "insertions between telling and asking")
      ->check(between(1.0, 1e9))
      ->capture_default_str();
  app.add_option("--epsilon", t.epsilon, "share of other keys that may be accepted")
      ->check(between(1e-5, 0.5))
      ->capture_default_str();
  app.footer(model_footer);
}

} // namespace weir::lab
