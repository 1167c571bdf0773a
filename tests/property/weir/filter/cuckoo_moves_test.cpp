// The order in which a cuckoo filter's writer moves fingerprints, beside filters that break it. Tiny
// filters, nearly full, so that most insertions have to move, are worked at random under an exact set of
// keys. After every store each present key is looked for in both of its buckets: a reader is free to look
// into the one at one moment and into the other at another, with no grace period in between, so a key that
// was missing from both, at whatever moments since the last grace period, could have been missed.
#include "tests/support/cuckoo_section.hpp"
#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace weir::filter::cuckoo_moves_test {
namespace {

using test::CuckooSection;

// What every store has to ask; one game at a time.
std::function<void()> &on_store() {
  static std::function<void()> watcher;
  return watcher;
}
template <class Rules> struct Watched : Rules {
  static void stored() noexcept {
    if (on_store()) on_store()();
  }
};

struct Damage {
  std::uint64_t missed = 0; // by a reader that is as unlucky as can be
  std::uint64_t trace = 0;  // slots in use beyond those of the keys that are present
  std::uint64_t moved = 0, refused = 0, inserted = 0;
};

enum class Erases : std::uint8_t { after_grace, at_any_time };

template <class Rules> class Game {
  using Writer = BasicCuckooWriter<Watched<Rules>>;
  using Put = typename Writer::Put;

public:
  Game(std::mt19937_64 &random, Erases erases, Damage &damage)
      : random_(random), erases_(erases), damage_(damage), shape_(random_shape(random)), section_(shape_),
        writer_(section_.template writer<Watched<Rules>>()), view_(section_.view()) {
    on_store() = [this] { look(); };
  }
  Game(const Game &) = delete;
  Game &operator=(const Game &) = delete;
  ~Game() { on_store() = {}; }

  void play(unsigned operations) {
    for (unsigned i = 0; i < operations; ++i) {
      if (random_() % 6 == 0) pass_grace();
      if (random_() % 32 < 17)
        begin_insertion();
      else if (const auto key = leaves_the_rules())
        erases_ == Erases::at_any_time ? erase(*key) : to_erase_.push_back(*key);
      for (const auto &[bits, unseen] : present_) damage_.missed += !view_.contains({bits});
    }
    for (int i = 0; i < 64 && writer_.leaving() + to_insert_.size() + to_erase_.size() != 0; ++i)
      pass_grace();
    std::uint64_t used = 0;
    for (std::uint32_t b = 0; b < shape_.buckets; ++b)
      for (unsigned slot = 0; slot < cuckoo_slots; ++slot) used += view_.get(b, slot) != 0;
    damage_.trace += used > present_.size() ? used - present_.size() : present_.size() - used;
  }

private:
  struct Unseen { // in which bucket it was missing since the last grace period
    CuckooPlace place;
    std::uint32_t other = 0;
    bool in_first = false, in_second = false;
  };
  static constexpr std::uint64_t universe = 4096;

  static CuckooShape random_shape(std::mt19937_64 &random) {
    constexpr unsigned bits[] = {3, 7, 12, 13, 17, 20};
    return {2 + static_cast<std::uint32_t>(random() % 14), bits[random() % std::size(bits)]};
  }

  void begin_insertion() {
    const KeyHash key{random_() % universe};
    if (!present_.contains(key.bits) && !under_way(to_insert_, key) && !under_way(to_erase_, key))
      insert(key);
  }
  [[nodiscard]] static bool under_way(const std::vector<KeyHash> &keys, KeyHash key) {
    return std::ranges::find(keys, key) != keys.end();
  }
  void insert(KeyHash key) {
    switch (writer_.insert_beside_readers(key)) {
    case Put::waits:
      ++damage_.moved;
      to_insert_.push_back(key);
      break;
    case Put::full: ++damage_.refused; break;
    case Put::in: {
      ++damage_.inserted;
      const CuckooPlace place = shape_.place_of(key);
      present_[key.bits] = {place, shape_.partner(place.bucket, place.fingerprint)};
    }
    }
  }
  // Whoever asks for it may miss it from now on.
  std::optional<KeyHash> leaves_the_rules() {
    if (present_.empty()) return std::nullopt;
    auto at = present_.lower_bound(random_() % universe);
    if (at == present_.end()) at = present_.begin();
    const KeyHash key{at->first};
    present_.erase(at);
    return key;
  }
  void erase(KeyHash key) { damage_.missed += !writer_.erase(key); }

  void pass_grace() {
    for (auto &[bits, unseen] : present_) unseen.in_first = unseen.in_second = false;
    writer_.grace_passed();
    for (const KeyHash key : std::exchange(to_erase_, {})) erase(key);
    for (const KeyHash key : std::exchange(to_insert_, {})) insert(key);
  }
  void look() {
    for (auto &[bits, unseen] : present_) {
      unseen.in_first |= !view_.holds(unseen.place.bucket, unseen.place.fingerprint);
      unseen.in_second |= !view_.holds(unseen.other, unseen.place.fingerprint);
      damage_.missed += unseen.in_first && unseen.in_second;
    }
  }

  std::mt19937_64 &random_;
  Erases erases_;
  Damage &damage_;
  CuckooShape shape_;
  CuckooSection section_;
  Writer writer_;
  CuckooView view_;
  std::map<std::uint64_t, Unseen> present_;
  std::vector<KeyHash> to_insert_, to_erase_; // after the next grace period
};

template <class Rules> Damage play(std::uint64_t seed, unsigned games, Erases erases = Erases::after_grace) {
  std::mt19937_64 random(seed);
  Damage damage;
  for (unsigned i = 0; i < games; ++i) Game<Rules>(random, erases, damage).play(400);
  return damage;
}

TEST(CuckooMoves, no_reader_misses_a_present_key_however_it_is_timed) {
  const std::uint64_t seed = test::seed_or(1);
  WEIR_TRACE_SEED(seed);
  const Damage damage = play<CuckooRules>(seed, 500);
  EXPECT_EQ(damage.missed, 0u);
  EXPECT_EQ(damage.trace, 0u);
  EXPECT_GT(damage.moved, 10'000u) << "hardly anything had to move";
  EXPECT_GT(damage.refused, 1'000u) << "the filters never were full";
  EXPECT_GT(damage.inserted, 30'000u);
}

template <class Broken> Damage damage_of() { return play<Broken>(test::seed_or(2), 100); }

struct EmptiesFirst : CuckooRules {
  static constexpr bool copies_first = false;
};
TEST(CuckooMoves, emptying_the_old_slot_before_the_new_one_is_written_is_caught) {
  EXPECT_GT(damage_of<EmptiesFirst>().missed, 0u);
}

struct EmptiesAtOnce : CuckooRules {
  static constexpr bool waits_to_empty = false;
};
TEST(CuckooMoves, emptying_the_old_slot_without_a_grace_period_is_caught) {
  EXPECT_GT(damage_of<EmptiesAtOnce>().missed, 0u);
}

TEST(CuckooMoves, an_erasure_without_a_grace_period_before_it_is_caught) {
  EXPECT_GT(play<CuckooRules>(test::seed_or(2), 100, Erases::at_any_time).missed, 0u);
}

struct MovesWhatLeaves : CuckooRules {
  static constexpr bool moves_staying = false;
};
TEST(CuckooMoves, moving_what_is_leaving_once_more_is_caught) {
  EXPECT_GT(damage_of<MovesWhatLeaves>().trace, 0u);
}

} // namespace
} // namespace weir::filter::cuckoo_moves_test
