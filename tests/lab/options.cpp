#include "tests/lab/lab.hpp"
#include "tests/lab/learned_options.hpp"
#include "tests/lab/lsm_options.hpp"
#include "tests/lab/performance_options.hpp"
#include "tests/lab/predictor_options.hpp"
#include "tests/lab/rivals.hpp"
#include "tests/lab/slbf_options.hpp"
#include "tests/lab/stacked_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

namespace weir::lab {
namespace {

constexpr const char *prose = "Filters side by side in equal space. Prints one JSON object.\n";

constexpr const char *seesaw_summary = "the Seesaw counting filter beside its rivals";
constexpr const char *stacked_summary = "the stacked filter beside the plain filter of its base";

constexpr const char *seesaw_footer = R"(
Each filter gets the same number of bits. Shown is how much of the cost of the negatives it lets through,
fresh and after churn, and how long it takes.

Rates are means over the seeds. Of a rate weighted by Zipf costs one seed says little, so the sum of cost
times rate of each class is given beside it (..._by_class). Filters are told the dearest --vulnerable share
of the negatives beforehand and use of it what serves them best. Counting filters have cells of four bits, as in
papers, and, where the name ends in _best, the width that lets least through after churn, two bits at least, as
the Seesaw filter has. seesaw_printed is the Seesaw filter asked as printed (Alg. 3).

Times are medians over interleaved rounds of one thread's processor time, and good for ratios. Operations follow each other
freely, as in a loop that knows its keys, so that the processor works at several; in ..._waiting_ns each is
over before the next begins.

Examples:
  weir-lab seesaw                                    seconds: 100,000 keys, three seeds
  weir-lab seesaw --keys 1000000 --negatives 1000000 --bits 24 --seeds 20
  weir-lab seesaw --ada --skew 1.5 --vulnerable 0.05 --only seesaw,counting_bloom
)";

const std::vector<std::string> keysets{"urls", "ycsb", "addresses"}; // in the order of KeySet
std::vector<std::string> contenders() {
  std::vector<std::string> names{"seesaw", "seesaw_printed"};
  for (const Rival &rival : rivals) names.emplace_back(rival.name);
  return names;
}

// Without the description that CLI11 would put into the help.
template <class T> CLI::Validator between(T low, T high) { return CLI::Range(low, high).description(""); }

void add_forced(CLI::App &app, ForcedShape &f) {
  const char *group = "Shape of the seesaw filter, in place of the planner's choice";
  app.add_option("--hashes", f.hashes, "k, 1 to 16")->group(group);
  app.add_option("--backups", f.backups, "functions that a key may be moved to, 1 to 16")->group(group);
  app.add_option("--positive-bits", f.positive_bits, "of a cell, 1 to 8")->group(group);
  app.add_option("--cells-per-key", f.cells_per_key, "B; the modulator gets what is left of the bits")
      ->group(group);
  app.add_option("--modulator-share", f.modulator_share, "of the space")
      ->check(between(0.001, 0.9))
      ->group(group);
  app.add_option("--count-bits", f.count_bits, "of a modulator cell, 1 to 12")->group(group);
  app.add_option("--index-bits", f.index_bits, "of a modulator cell, 0 to 4")->group(group);
  app.add_option("--guarded", f.guarded, "share of the negatives that is guarded")
      ->check(between(0.0, 1.0))
      ->group(group);
}

void add_seesaw(CLI::App &app, SeesawTask &t) {
  const auto most = std::uint64_t{1} << 27;
  app.add_option("--keys", t.keys, "present keys")
      ->check(between<std::uint64_t>(100, most))
      ->capture_default_str();
  app.add_option("--negatives", t.negatives, "absent keys with a cost")
      ->check(between<std::uint64_t>(100, most))
      ->capture_default_str();
  app.add_option("--skew", t.skew, "exponent of their Zipf costs")
      ->check(between(0.0, 4.0))
      ->capture_default_str();
  app.add_option("--bits", t.bits, "bits a key, for each filter")
      ->check(between(4.0, 128.0))
      ->capture_default_str();
  app.add_option("--vulnerable", t.vulnerable, "share of the negatives, the dearest, known beforehand")
      ->check(between(0.0001, 1.0))
      ->capture_default_str();
  app.add_flag("--ada", t.ada, "they become known only once the keys are in; gives the rate of each round");
  app.add_option("--rounds", t.rounds, "of churn")->check(between(0u, 10'000u))->capture_default_str();
  app.add_option("--churn", t.churn, "share of the keys that a round replaces")
      ->check(between(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--seeds", t.seeds, "runs to take the mean of")
      ->check(between(1u, 10'000u))
      ->capture_default_str();
  app.add_option("--seed", t.seed, "of the first run")->capture_default_str();
  app.add_option_function<std::string>(
         "--keyset",
         [&t](const std::string &name) {
           t.keyset = KeySet(std::ranges::find(keysets, name) - keysets.begin());
         },
         "what keys look like: urls, ycsb or addresses")
      ->check(CLI::IsMember(keysets).description(""))
      ->default_str("addresses");
  app.add_option("--only", t.only, "filters, with commas between them; all if left out")
      ->delimiter(',')
      ->check(CLI::IsMember(contenders()).description(""));
  app.add_flag_callback("--no-timing", [&t] { t.timing = false; }, "rates alone");
  add_forced(app, t.forced);
  app.footer(seesaw_footer);
}

constexpr const char *dictionary_footer = R"(
Exact membership over a universe of positives and --lambda negatives for each: ChainedFilter with `&`, the exact
Bloomier filter, and the bound. Bits are real ones. `errors` counts keys of the universe that are answered
wrongly, `unseen_rate` is the share of other keys that is accepted. Times are for one key of the universe, medians of one
thread's processor time over interleaved rounds, and good for ratios.

Examples:
  weir-lab dictionary                                  a few seconds: a million positives, eight million negatives
  weir-lab dictionary --positives 1000000 --lambda 16 --ways 3
)";

void add_dictionary(CLI::App &app, DictionaryTask &t) {
  app.add_option("--positives", t.positives, "keys that are members")
      ->check(between<std::uint64_t>(100, std::uint64_t{1} << 25))
      ->capture_default_str();
  app.add_option("--lambda", t.lambda, "negatives a positive")
      ->check(between(0.0, 64.0))
      ->capture_default_str();
  app.add_option("--delta", t.delta, "of `& ~`: its first layer has the rate delta / lambda, others delta^2")
      ->check(between(0.01, 0.9))
      ->capture_default_str();
  app.add_option("--ways", t.ways, "slots of a key in the fuse tables, 3 or 4")
      ->check(between(3u, 4u))
      ->capture_default_str();
  app.add_option("--rounds", t.rounds, "of building and asking, each with a seed of its own")
      ->check(between(1u, 1'000u))
      ->capture_default_str();
  app.add_option("--seed", t.seed, "of keys and of the first round")->capture_default_str();
  app.footer(dictionary_footer);
}

constexpr const char *membership_footer = R"(
Exact and general membership by Bloomier filters [Chained §4]: the bound, one filter, and two chained with `&`, over
negatives a positive and the share of them that may be accepted; and what the exact variants take to be built. `single`
and `chained` are bits a positive where a table has one slot a key; `built_...` is of real filters.

Example:
  weir-lab membership                                  a few seconds: 100,000 positives where filters are built
)";

void add_membership(CLI::App &app, MembershipTask &t) {
  app.add_option("--positives", t.positives, "keys that are members, of filters that are built")
      ->check(between<std::uint64_t>(100, std::uint64_t{1} << 22))
      ->capture_default_str();
  app.add_option("--lambda", t.lambda, "negatives a positive, where memory of construction is measured")
      ->check(between(1.0, 64.0))
      ->capture_default_str();
  app.add_option("--rates", t.rates, "shares of the negatives that may be accepted")
      ->check(between(0.0, 0.5))
      ->delimiter(',');
  app.add_option("--seed", t.seed, "of keys and filters")->capture_default_str();
  app.footer(membership_footer);
}

constexpr const char *huffman_footer = R"(
Random access Huffman coding: symbols that are drawn with probabilities proportional to 1, 1/omega, 1/omega^2 ..., or as often
as --counts says, or the countries of a file, in a Huffman map. `bits_per_symbol` are real bits, `over_entropy` is what
they are above the entropy, `over_entropy_bound` the most that they may be in large tables. Beside it one filter for the bits of all
codes, one for each node of the tree, shared slots, and the strawman: one exact filter for all bits. `decode_errors` counts symbols
that are decoded wrongly, one by one or in batches. Times are for one symbol, medians of one thread's processor time over interleaved
rounds, and good for ratios; `sequential_ns` is for Huffman codes in a row, which have no random access.

Examples:
  weir-lab huffman --omega 6                                        half a minute: five million symbols
  weir-lab huffman --counts 1800000,200000,50000,1000
  weir-lab huffman --countries build/geo/usr/share/tor/geoip
)";

void add_huffman(CLI::App &app, HuffmanTask &t) {
  app.add_option("--omega", t.omega, "each symbol is so many times as frequent as the next one")
      ->check(between(2.0, 64.0))
      ->capture_default_str();
  app.add_option("--positives", t.positives,
                 "bits of the codes that are 1, about; omega - 1 symbols for each")
      ->check(between<std::uint64_t>(100, std::uint64_t{1} << 24))
      ->capture_default_str();
  app.add_option("--counts", t.counts, "of each symbol, with commas between them")
      ->delimiter(',')
      ->check(between<std::uint64_t>(1, std::uint64_t{1} << 27));
  app.add_option("--countries", t.countries, "file of ranges of addresses by country, as tor-geoipdb has it");
  app.add_option("--ways", t.ways, "slots of a key in the fuse tables, 3 or 4")
      ->check(between(3u, 4u))
      ->capture_default_str();
  app.add_option("--rounds", t.rounds, "of building and decoding, each with a seed of its own")
      ->check(between(1u, 1'000u))
      ->capture_default_str();
  app.add_option("--seed", t.seed, "of symbols and of the first round")->capture_default_str();
  app.footer(huffman_footer);
}

} // namespace

CommandLine read_command_line(int argc, char **argv) {
  CommandLine line;
  CLI::App app{prose, "weir-lab"};
  app.require_subcommand(1);
  add_seesaw(*app.add_subcommand("seesaw", seesaw_summary), line.task);
  CLI::App &stacked = *app.add_subcommand("stacked", stacked_summary);
  add_stacked(stacked, line.stacked);
  CLI::App &building = *app.add_subcommand(
      "building", "how long stacks take to size and to build with ever more known negatives");
  add_building(building, line.building);
  CLI::App &stacking =
      *app.add_subcommand("stacking", "when to stack: curves of the formulas and the planner");
  add_stacking(stacking, line.stacking_parts);
  CLI::App &dictionary = *app.add_subcommand("dictionary", "ChainedFilter as a static dictionary");
  add_dictionary(dictionary, line.dictionary);
  CLI::App &membership =
      *app.add_subcommand("membership", "exact and general membership, by formulas and by built filters");
  add_membership(membership, line.membership);
  CLI::App &lsm = *app.add_subcommand("lsm", "point lookups of an LSM tree");
  add_lsm(lsm, line.lsm);
  CLI::App &performance = *app.add_subcommand(
      "performance", "the filter of least cost, by keys and by the cost of a false positive");
  add_performance(performance, line.performance);
  CLI::App &predictor =
      *app.add_subcommand("predictor", "self-adaptive hashing: which of two tables has a key");
  add_predictor(predictor, line.predictor);
  CLI::App &learned =
      *app.add_subcommand("learned", "boosted trees in front of exact and approximate filters");
  add_learned(learned, line.learned);
  CLI::App &rival = *app.add_subcommand("learned-rival", "a learned Bloom filter beside the stacked one");
  add_rival(rival, line.rival);
  CLI::App &huffman = *app.add_subcommand("huffman", "Huffman codes in ChainedFilters, read anywhere");
  add_huffman(huffman, line.huffman);
  CLI::App &slbf =
      *app.add_subcommand("slbf", "filters of an endless stream, stable ones and pairs that take turns");
  add_slbf(slbf, line.slbf);
  CLI::App &slbf_model = *app.add_subcommand("slbf-model", "stable filters: curves of the formulas alone");
  add_slbf_model(slbf_model, line.slbf_model);
  CLI::App &classifiers =
      *app.add_subcommand("classifiers", "boosted trees, logistic regression and a linear SVM");
  add_classifiers(classifiers, line.classifiers);
  try {
    app.parse(argc, argv);
    line.experiment = stacked.parsed()       ? CommandLine::Experiment::stacked
                      : building.parsed()    ? CommandLine::Experiment::building
                      : stacking.parsed()    ? CommandLine::Experiment::stacking
                      : dictionary.parsed()  ? CommandLine::Experiment::dictionary
                      : membership.parsed()  ? CommandLine::Experiment::membership
                      : lsm.parsed()         ? CommandLine::Experiment::lsm
                      : performance.parsed() ? CommandLine::Experiment::performance
                      : predictor.parsed()   ? CommandLine::Experiment::predictor
                      : learned.parsed()     ? CommandLine::Experiment::learned
                      : rival.parsed()       ? CommandLine::Experiment::learned_rival
                      : huffman.parsed()     ? CommandLine::Experiment::huffman
                      : slbf.parsed()        ? CommandLine::Experiment::slbf
                      : slbf_model.parsed()  ? CommandLine::Experiment::slbf_model
                      : classifiers.parsed() ? CommandLine::Experiment::classifiers
                                             : CommandLine::Experiment::seesaw;
  } catch (const CLI::ParseError &error) {
    line.exit_code = app.exit(error, std::cout, std::cerr) == 0 ? 0 : 2;
  }
  return line;
}

} // namespace weir::lab
