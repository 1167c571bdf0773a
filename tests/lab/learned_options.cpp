#include "tests/lab/learned_options.hpp"

#include <CLI/CLI.hpp>

namespace weir::lab {
namespace {

constexpr const char *footer = R"(
Boosted trees in front of a Bloom filter, an exact Bloomier filter and ChainedFilter with `&`, at equal errors over the
declared keys, against the share of the keys that the trees were trained with. The law of the keys has the strength --auc: no
classifier can do better; what the trees reach is printed. Under model_counted a filter takes as many of the trees as make it
smallest, none among them; under model_not_counted all, and bits are those of the backup filter alone. `missed` counts members that are
not accepted, unseen_error is of others that the builder did not know. Classifiers are trained with half of the keys.

Examples:
  weir-lab learned                              a quarter of a minute: 30,000 members and 30,000 others
  weir-lab learned --auc 0.999 --depth 6 --shares 1
  weir-lab learned --keyset addresses --members 300000 --others 300000
)";

constexpr const char *rival_footer = R"(
Boosted trees in front of a Bloom filter, beside the stack and the plain Bloom filter in equal space (--bits) or for equal
rates (--efpr), as `weir-lab stacked --urls` has them. Trees are trained with the members and the --known others; how many of
them are taken, and the threshold, are chosen by the workload itself. The model's bits count. Times of the learned filter begin with
ready features; taking them from a key's text is features_ns, hashing it hash_ns. A store is simulated, and what a question
costs with it includes features_ns.

Examples:
  weir-lab learned-rival                                     140,000 members, 1.4 million others
  weir-lab learned-rival --bits 4,8,12 --zipf 0.5,1.0 --no-timing
  weir-lab learned-rival --efpr 0.01 --swapped 0.03
)";

constexpr const char *classifiers_footer = R"(
Classifiers trained with --members and --others keys whose law allows an AUC of --auc, and asked about --unseen others of either side
[SLBF §5.1, Table 3]. `auc_possible` is that of who knows the law. Traffic has the features of the dataplane's classifier: address, port
class, TTL class, length and flags. Linear classifiers see the same bytes as numbers. Training is by the clock of one thread's
processor time, `mops` are million predictions a second of ready features.

Examples:
  weir-lab classifiers                                       traffic, AUC 0.91
  weir-lab classifiers --data urls --auc 0.87 --trees 226
)";

template <class T> CLI::Validator between(T low, T high) { return CLI::Range(low, high).description(""); }

} // namespace

void add_learned(CLI::App &app, LearnedTask &t) {
  const auto most = std::uint64_t{1} << 23;
  app.add_option_function<std::string>(
         "--keyset",
         [&t](const std::string &name) {
           t.keys.kind = name == "urls" ? LearnableKind::urls : LearnableKind::addresses;
         },
         "what keys look like: urls or addresses")
      ->check(CLI::IsMember({"urls", "addresses"}).description(""))
      ->default_str("urls");
  app.add_option("--members", t.keys.members, "present keys")
      ->check(between<std::uint64_t>(100, most))
      ->capture_default_str();
  app.add_option("--others", t.keys.others, "declared absent keys")
      ->check(between<std::uint64_t>(100, most))
      ->capture_default_str();
  app.add_option("--unseen", t.keys.unseen, "keys of each side that nobody knows beforehand")
      ->check(between<std::uint64_t>(100, most))
      ->capture_default_str();
  app.add_option("--auc", t.keys.auc, "that the best of all classifiers has; 0.5: nothing to learn")
      ->check(between(0.5, 0.9999))
      ->capture_default_str();
  app.add_option("--swapped", t.keys.swapped, "share of the members that change places with others")
      ->check(between(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--error", t.error, "share of the declared others that may be accepted")
      ->check(between(1e-5, 0.5))
      ->capture_default_str();
  app.add_option("--shares", t.shares, "of the keys to train with, with commas between them")
      ->delimiter(',')
      ->check(between(0.0, 1.0));
  app.add_option("--trees", t.trees.trees, "at most")
      ->check(between(1u, learn::trees_max))
      ->capture_default_str();
  app.add_option("--depth", t.trees.depth, "of the trees")
      ->check(between(1u, learn::tree_depth_max))
      ->capture_default_str();
  app.add_option("--step", t.trees.step, "learning rate")->check(between(0.001, 1.0))->capture_default_str();
  app.add_flag_callback("--no-classifiers", [&t] { t.classifiers = false; }, "filters alone");
  app.add_option("--rounds", t.rounds, "of timing")->check(between(1u, 1'000u))->capture_default_str();
  app.add_option_function<std::uint64_t>(
         "--seed",
         [&t](std::uint64_t seed) {
           t.keys.seed = seed;
           t.trees.seed = seed;
         },
         "of keys, training and filters")
      ->default_str("1");
  app.footer(footer);
}

void add_classifiers(CLI::App &app, ClassifiersTask &t) {
  const auto most = std::uint64_t{1} << 23;
  app.add_option_function<std::string>(
         "--data",
         [&t](const std::string &name) {
           for (const auto kind : {LearnableKind::urls, LearnableKind::addresses, LearnableKind::traffic})
             if (name == name_of(kind)) t.keys.kind = kind;
         },
         "traffic, urls or addresses")
      ->check(CLI::IsMember({"traffic", "urls", "addresses"}).description(""))
      ->default_str("traffic");
  app.add_option("--auc", t.keys.auc, "that the best of all classifiers has")
      ->check(between(0.5, 0.9999))
      ->capture_default_str();
  app.add_option("--members", t.keys.members, "to train with")
      ->check(between<std::uint64_t>(100, most))
      ->capture_default_str();
  app.add_option("--others", t.keys.others, "to train with")
      ->check(between<std::uint64_t>(100, most))
      ->capture_default_str();
  app.add_option("--unseen", t.keys.unseen, "keys of each side to ask about")
      ->check(between<std::uint64_t>(1'000, most))
      ->capture_default_str();
  app.add_option("--trees", t.comparison.trees.trees, "of the boosted ones")
      ->check(between(1u, learn::trees_max))
      ->capture_default_str();
  app.add_option("--depth", t.comparison.trees.depth, "of the trees")
      ->check(between(1u, learn::tree_depth_max))
      ->capture_default_str();
  app.add_option("--rounds", t.comparison.rounds, "of timing")
      ->check(between(1u, 1'000u))
      ->capture_default_str();
  app.add_option_function<std::uint64_t>(
         "--seed",
         [&t](std::uint64_t seed) { t.keys.seed = t.comparison.seed = t.comparison.trees.seed = seed; },
         "of keys and training")
      ->default_str("1");
  app.footer(classifiers_footer);
}

void add_rival(CLI::App &app, RivalTask &t) {
  const auto most = std::uint64_t{1} << 23;
  app.add_option("--members", t.keys.members, "present keys")
      ->check(between<std::uint64_t>(100, most))
      ->capture_default_str();
  app.add_option("--others", t.keys.others, "absent keys that are asked for")
      ->check(between<std::uint64_t>(100, most))
      ->capture_default_str();
  app.add_option("--known", t.known, "of them, the most frequent, to train with")->capture_default_str();
  app.add_option("--auc", t.keys.auc, "that the best of all classifiers has")
      ->check(between(0.5, 0.9999))
      ->capture_default_str();
  app.add_option("--swapped", t.keys.swapped, "share of the members that change places with others")
      ->check(between(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--trees", t.trees.trees, "at most")
      ->check(between(2u, learn::trees_max))
      ->capture_default_str();
  app.add_option("--depth", t.trees.depth, "of the trees")
      ->check(between(1u, learn::tree_depth_max))
      ->capture_default_str();
  app.add_option("--zipf", t.zipf, "exponents of how often others are asked for, with commas")
      ->delimiter(',')
      ->check(between(0.0, 4.0));
  app.add_option("--bits", t.bits, "bits a member, with commas")->delimiter(',')->check(between(2.0, 64.0));
  app.add_option("--efpr", t.efpr, "rates to find the least bits for, with commas, in place of --bits")
      ->delimiter(',')
      ->check(between(1e-6, 0.9));
  app.add_option("--iops", t.iops, "of simulated stores, with commas")
      ->delimiter(',')
      ->check(between(1.0, 1e9));
  app.add_option("--positive-share", t.positive_shares, "of questions for present keys, with commas")
      ->delimiter(',')
      ->check(between(0.0, 1.0))
      ->default_str("0");
  app.add_flag_callback("--no-timing", [&t] { t.timing = false; }, "rates alone");
  app.add_option_function<std::uint64_t>(
         "--seed",
         [&t](std::uint64_t seed) {
           t.keys.seed = seed;
           t.trees.seed = seed;
         },
         "of keys, training and filters")
      ->default_str("1");
  app.final_callback([&t, &app] {
    if (app.count("--efpr") > 0 && app.count("--bits") == 0) t.bits.clear();
    if (t.known > t.keys.others || t.known < 100)
      throw CLI::ValidationError("--known", "must be 100 at least and --others at most");
  });
  app.footer(rival_footer);
}

} // namespace weir::lab
