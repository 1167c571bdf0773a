// The rules that keep a Seesaw counting filter free of false negatives, each beside a filter that
// breaks it. Tiny filters, so that every cell is shared, full or both, are worked at random under an
// exact multiset of keys; after every operation each present key is asked.
#include "tests/support/seed.hpp"
#include "tests/support/seesaw_section.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace weir::filter::seesaw_rules_test {
namespace {

using test::SeesawSection;

constexpr unsigned universe = 24;       // keys, and as many negatives
constexpr unsigned lean_universe = 120; // where the cells are eight words

struct Damage {
  std::uint64_t missed = 0; // present keys that a query rejected or an erasure refused
  std::uint64_t operations = 0;
};

struct Game {
  std::uint64_t seed;
  unsigned sequences;
  unsigned operations = 400; // of a sequence
  bool drops_guards = false; // now and then, whether keys are present or not
  bool strangers = false;    // erases accepted keys that were never inserted
};

build::SeesawParams random_params(std::mt19937_64 &random) {
  const auto one_to = [&](unsigned most) { return 1 + static_cast<unsigned>(random() % most); };
  build::SeesawParams p;
  if (random() % 8 == 0) { // a shape with code of its own, see LeanLayout
    p.cell_words = 8;
    p.hashes = 1 + one_to(5);
    p.backups = 1, p.index_bits = 0;
    p.count_bits = 2;
    p.adaptive = random() % 2 == 0;
    return p;
  }
  p.cell_words = one_to(3);
  p.hashes = one_to(5);
  p.index_bits = one_to(2);
  p.backups = one_to(1u << p.index_bits);
  p.negative_bits = one_to(2);
  p.positive_bits = one_to(3);
  p.count_bits = one_to(3);
  p.adaptive = random() % 2 == 0;
  return p;
}

// One filter, one exact multiset in front of it.
template <class Rules, class Rounds> class Table {
public:
  Table(const Game &game, std::mt19937_64 &random)
      : game_(game), random_(random), section_(random_params(random)), writer_(section_.writer<Rules>()),
        view_(section_.view<Rounds>()),
        universe_(section_.view().shape().lean_hashes != 0 ? lean_universe : universe) {
    for (unsigned i = random() % universe_; i > 0; --i) writer_.learn(negative());
  }

  void play(Damage &damage) {
    for (unsigned i = 0; i < game_.operations; ++i, ++damage.operations) {
      one_operation(damage);
      for (const auto &[key, count] : present_) damage.missed += !view_.contains({key});
    }
  }

private:
  KeyHash negative() { return test::numbered_key(game_.seed, 1, random_() % universe_); }

  void one_operation(Damage &damage) {
    const KeyHash key = test::numbered_key(game_.seed, 0, random_() % universe_);
    const auto at = present_.find(key.bits);
    switch (random_() % 16) {
    case 0: writer_.learn(negative()); break;
    case 1:
      if (game_.drops_guards) writer_.drop_guards();
      break;
    case 2:
      if (game_.strangers && at == present_.end()) writer_.erase(key);
      break;
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
      writer_.insert(key);
      ++present_[key.bits];
      break;
    default:
      if (at == present_.end()) break;
      damage.missed += !writer_.erase(key);
      if (--at->second == 0) present_.erase(at);
    }
  }

  const Game &game_;
  std::mt19937_64 &random_;
  SeesawSection section_;
  BasicSeesawWriter<Rules> writer_;
  BasicSeesawView<Rounds> view_;
  unsigned universe_;
  std::map<std::uint64_t, unsigned> present_;
};

template <class Rules, class Rounds = AllDecisions>
Damage play(const Game &game, bool to_first_loss = false) {
  std::mt19937_64 random(game.seed);
  Damage damage;
  for (unsigned i = 0; i < game.sequences && !(to_first_loss && damage.missed != 0); ++i)
    Table<Rules, Rounds>(game, random).play(damage);
  return damage;
}

// The filter as it is survives the game; the variant gets forty times as long, should its fault be rare.
template <class Broken> void expect_only_broken_loses(Game game) {
  WEIR_TRACE_SEED(game.seed);
  EXPECT_EQ(play<SeesawRules>(game).missed, 0u);
  game.sequences *= 40;
  EXPECT_GT(play<Broken>(game, true).missed, 0u);
}

// Mutants take the general code alone, which is compiled once for each of them.
struct Mutant : SeesawRules {
  static constexpr bool lean = false;
};
struct UnsoundQuery : AllDecisions {
  static constexpr bool lean = false;
};

Game game(std::uint64_t seed, unsigned sequences = 500) { return {test::seed_or(seed), sequences}; }

TEST(SeesawRules, no_present_key_is_missed_over_millions_of_operations) {
  const Game long_game = game(1, 4'000);
  WEIR_TRACE_SEED(long_game.seed);
  const Damage all = play<SeesawRules, AllDecisions>(long_game);
  EXPECT_EQ(all.missed, 0u);
  EXPECT_EQ(all.operations, 1'600'000u);
  EXPECT_EQ((play<SeesawRules, VacanciesOnly>(game(2, 2'000)).missed), 0u);
  EXPECT_EQ((play<SeesawRules, AsPrinted>(game(3, 2'000)).missed), 0u);
}

struct LooksAsItGoes : Mutant {
  static constexpr bool decides_first = false;
};
TEST(SeesawRules, rule_1_all_is_looked_at_before_anything_is_changed) {
  expect_only_broken_loses<LooksAsItGoes>(game(11));
}

struct LeavesTheFirstFunctionAlone : Mutant {
  static constexpr bool moves_any_function = false;
};
TEST(SeesawRules, rule_2_a_conflict_at_the_first_function_is_a_conflict) {
  expect_only_broken_loses<LeavesTheFirstFunctionAlone>(game(12));
}

struct NeverReuses : Mutant {
  static constexpr bool reuses_stored = false;
};
TEST(SeesawRules, rule_2_a_modulator_cell_in_use_serves_further_keys) {
  expect_only_broken_loses<NeverReuses>(game(13));
}

struct CountsSuccessesOnly : Mutant {
  static constexpr bool counts_always = false;
};
TEST(SeesawRules, rule_2_the_modulator_counts_also_keys_that_no_backup_helped) {
  expect_only_broken_loses<CountsSuccessesOnly>(game(14));
}

struct UndoesSomethingElse : Mutant {
  static constexpr bool undoes_decisions = false;
};
TEST(SeesawRules, rule_3_an_erasure_undoes_what_the_insertion_did) {
  expect_only_broken_loses<UndoesSomethingElse>(game(15));
}

struct CellsComeDown : Mutant {
  static constexpr bool cells_stick = false;
};
TEST(SeesawRules, rule_4_a_full_cell_stays_full) { expect_only_broken_loses<CellsComeDown>(game(16)); }

struct ModulatorComesDown : Mutant {
  static constexpr bool modulator_sticks = false;
};
TEST(SeesawRules, rule_4_a_full_modulator_cell_stays_full) {
  expect_only_broken_loses<ModulatorComesDown>(game(17));
}

// Rule 5 is the reader's: here the writer is sound and the query is not.
struct AllowsNoVacancy : UnsoundQuery {
  static constexpr std::uint64_t barred(std::uint64_t vacant, std::uint64_t) noexcept { return vacant; }
};
struct AllowsALaterVacancy : UnsoundQuery {
  static constexpr std::uint64_t barred(std::uint64_t vacant, std::uint64_t old) noexcept {
    return vacant & old;
  }
};
struct ForgetsTheOldPosition : UnsoundQuery {
  static constexpr bool old_may_count = false;
};
TEST(SeesawRules, rule_5_the_first_sealed_position_and_no_other_may_be_vacant) {
  const Game g = game(18);
  WEIR_TRACE_SEED(g.seed);
  EXPECT_EQ((play<SeesawRules, AllDecisions>(g).missed), 0u);
  EXPECT_GT((play<SeesawRules, AllowsNoVacancy>(g).missed), 0u);
  EXPECT_GT((play<SeesawRules, AllowsALaterVacancy>(g).missed), 0u);
  EXPECT_GT((play<SeesawRules, ForgetsTheOldPosition>(g).missed), 0u);
}

TEST(SeesawRules, rule_5_each_further_test_of_a_query_lowers_the_rate) {
  const std::uint64_t seed = test::seed_or(19);
  WEIR_TRACE_SEED(seed);
  build::SeesawParams params;
  params.planned_keys = 20'000;
  params = build::seesaw_split(params, 20'000 * 16, 0.1);
  SeesawSection section(params, test::numbered_keys(seed, 0, 20'000), test::numbered_keys(seed, 1, 4'000));
  const auto rates = [&](auto view) {
    unsigned guarded = 0, others = 0;
    for (const KeyHash key : test::numbered_keys(seed, 1, 4'000)) guarded += view.contains(key);
    for (const KeyHash key : test::numbered_keys(seed, 2, 100'000)) others += view.contains(key);
    return std::pair(guarded, others);
  };
  const auto printed = rates(section.view<AsPrinted>()), vacancies = rates(section.view<VacanciesOnly>()),
             all = rates(section.view<AllDecisions>());
  EXPECT_GT(printed.second, vacancies.second);
  EXPECT_GT(vacancies.second, all.second);
  EXPECT_GE(printed.first, vacancies.first);
  EXPECT_GE(vacancies.first, all.first);
}

struct SealsCellsInUse : Mutant {
  static constexpr bool seals_empty_only = false;
};
TEST(SeesawRules, rule_6_a_cell_in_use_is_not_sealed) { expect_only_broken_loses<SealsCellsInUse>(game(20)); }

struct LetsSealsGo : Mutant {
  static constexpr bool seals_for_ever = false;
};
TEST(SeesawRules, rule_6_no_seal_is_broken_while_a_key_is_present) {
  Game g = game(21);
  g.drops_guards = true;
  expect_only_broken_loses<LetsSealsGo>(g);
}

struct MovesAdaptiveBitsEarly : Mutant {
  static constexpr bool moves_adaptive_last = false;
};
TEST(SeesawRules, rule_6_adaptive_bits_move_after_the_last_count_is_undone) {
  expect_only_broken_loses<MovesAdaptiveBitsEarly>(game(22));
}

struct IgnoresDuplicates : Mutant {
  static constexpr bool counts_duplicates = false;
};
TEST(SeesawRules, rule_7_a_key_inserted_twice_counts_twice) {
  expect_only_broken_loses<IgnoresDuplicates>(game(23));
}

TEST(SeesawRules, rule_7_only_an_exact_set_in_front_keeps_strangers_from_being_erased) {
  Game g = game(24);
  WEIR_TRACE_SEED(g.seed);
  EXPECT_EQ(play<SeesawRules>(g).missed, 0u);
  g.strangers = true;
  EXPECT_GT(play<SeesawRules>(g).missed, 0u);
}

} // namespace
} // namespace weir::filter::seesaw_rules_test
