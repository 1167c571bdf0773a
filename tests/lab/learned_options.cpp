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

} // namespace weir::lab
