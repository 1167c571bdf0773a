#include "tests/lab/predictor_options.hpp"

#include <CLI/CLI.hpp>

#include <map>

namespace weir::lab {
namespace {

constexpr const char *footer = R"(
Cuckoo hashing with two tables of one-slot buckets, and four predictors of the table that a key lies in: a chain of Bloom
layers that wrong predictions train, the same with Othello hashing as fourth and last layer, EMOMA's counting
block Bloom filter, and a plain Bloom filter of EMOMA's size.

errors_per_round are shares of the stored keys that are predicted wrongly: when all are stored, which tells the
chain of keys that come to table 2, then after each round of questions for all keys. A run ends at zero or after
--training-rounds. With --seeds more runs are made; rounds_to_zero has those that end at zero. table3 is the model's.

--churn replaces a share of the keys in each of --steps; errors_per_step are those after a question for each key.
Times are for keys of 36 and values of 64 bytes, a key, medians of one thread's processor time over interleaved rounds, and
good for ratios.

Examples:
  weir-lab predictor                                       seconds: the paper's tables at r = 0.4
  weir-lab predictor --size alg2 --room 1.01 --seeds 20 --rounds 0
  weir-lab predictor --churn 0.0005 --rounds 0
)";

template <class T> CLI::Validator between(T low, T high) { return CLI::Range(low, high).description(""); }

} // namespace

void add_predictor(CLI::App &app, PredictorTask &t) {
  const std::map<std::string, std::uint64_t> units{{"k", 1'000}, {"M", 1'000'000}};
  app.add_option("--buckets", t.buckets, "of both tables together, one slot each: 1000000, 500k, 2M")
      ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::CASE_SENSITIVE).description(""))
      ->check(between<std::uint64_t>(10'000, std::uint64_t{1} << 28))
      ->capture_default_str();
  app.add_option("--load", t.load, "keys a bucket")->check(between(0.05, 0.45))->capture_default_str();
  app.add_option_function<std::string>(
         "--size",
         [&t](const std::string &name) {
           t.size = name == "alg2" ? PredictorSize::alg2 : PredictorSize::table3;
         },
         "of the chains: table3, log2(16 lambda) / ln 2 bits for a key of table 2, or alg2, log2(8 lambda) / "
         "ln 2")
      ->check(CLI::IsMember({"table3", "alg2"}).description(""))
      ->default_str("table3");
  app.add_option("--room", t.room, "times that size")->check(between(0.5, 16.0))->capture_default_str();
  app.add_option("--training-rounds", t.training_rounds, "at most")
      ->check(between(1u, 1'000u))
      ->capture_default_str();
  app.add_option("--seeds", t.seeds, "runs of training")->check(between(1u, 10'000u))->capture_default_str();
  app.add_option("--seed", t.seed, "of the first run")->capture_default_str();
  app.add_option("--churn", t.churn, "share of the keys that a step replaces; 0: none")
      ->check(between(0.0, 0.5))
      ->capture_default_str();
  app.add_option("--steps", t.steps, "of churn")->check(between(1u, 10'000u))->capture_default_str();
  app.add_option("--rounds", t.rounds, "of timing; 0: none")
      ->check(between(0u, 1'000u))
      ->capture_default_str();
  app.footer(footer);
}

} // namespace weir::lab
