#include "tests/lab/timing.hpp"

#include "tests/lab/clock.hpp"
#include "tests/support/standings.hpp"

#include <algorithm>
#include <random>

namespace weir::lab {
namespace {

constexpr unsigned fill_rounds = 5, query_rounds = 15;
constexpr std::size_t questions_max = 200'000; // a round

// What is timed of each contender, a sample a round.
struct QuerySamples {
  std::vector<double> insert, erase, mixed, present, absent, batch, insert_waiting, waiting;
};

template <class Work> double ns_for_one(std::size_t keys, Work work) {
  const double start = cpu_ns();
  work();
  return (cpu_ns() - start) / static_cast<double>(keys);
}

volatile std::uint64_t answers; // keeps the questions from being left out

struct Questions {
  std::vector<KeyHash> present, absent, mixed; // mixed: half and half, in random order

  Questions(std::span<const KeyHash> positives, std::span<const KeyHash> negatives) {
    std::mt19937_64 random(1);
    std::ranges::sample(positives, std::back_inserter(present), questions_max, random);
    std::ranges::sample(negatives, std::back_inserter(absent), questions_max, random);
    std::ranges::shuffle(present, random);
    std::ranges::shuffle(absent, random);
    const auto half = static_cast<std::ptrdiff_t>(std::min(present.size(), absent.size()) / 2);
    mixed.assign(present.begin(), present.begin() + half);
    mixed.insert(mixed.end(), absent.begin(), absent.begin() + half);
    std::ranges::shuffle(mixed, random);
  }
};

// Of all contenders by turns; every round begins with another one.
class Race {
public:
  Race(const std::vector<Entry> &entries, std::span<const KeyHash> positives,
       std::span<const KeyHash> negatives)
      : entries_(entries), positives_(positives), negatives_(negatives), filters_(entries.size()),
        samples_(entries.size()) {}

  Status run() {
    for (unsigned round = 0; round < fill_rounds; ++round) TRY(fill(round));
    const Questions questions(positives_, negatives_);
    for (unsigned round = 0; round < query_rounds; ++round)
      by_turns(round, [&](std::size_t e) { ask(e, questions); });
    return {};
  }
  [[nodiscard]] const std::vector<QuerySamples> &samples() const { return samples_; }

private:
  template <class Turn> void by_turns(unsigned round, Turn turn) {
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (const std::size_t e = (i + round) % entries_.size(); entries_[e].make) turn(e);
  }

  // All keys in, half of them out, and in again: those of the last round are there for the questions.
  Status fill(unsigned round) {
    Status status;
    by_turns(round, [&](std::size_t e) {
      auto made = entries_[e].make(negatives_);
      if (!made) {
        status = std::unexpected(made.error());
        return;
      }
      Contender &filter = *(filters_[e] = std::move(*made));
      samples_[e].insert.push_back(ns_for_one(positives_.size(), [&] { filter.insert_all(positives_); }));
      const auto half = positives_.first((positives_.size() + 1) / 2);
      samples_[e].erase.push_back(ns_for_one(half.size(), [&] { filter.erase_all(half); }));
      samples_[e].insert_waiting.push_back(ns_for_one(half.size(), [&] { filter.insert_waiting(half); }));
    });
    return status;
  }

  void ask(std::size_t e, const Questions &questions) {
    const Contender &filter = *filters_[e];
    const auto singly = [&](const std::vector<KeyHash> &keys) {
      return ns_for_one(keys.size(), [&] { answers = filter.count_singly(keys); });
    };
    answers = filter.count_singly(questions.mixed); // brings back what the others have put out of the caches
    samples_[e].mixed.push_back(singly(questions.mixed));
    samples_[e].present.push_back(singly(questions.present));
    samples_[e].absent.push_back(singly(questions.absent));
    samples_[e].waiting.push_back(
        ns_for_one(questions.mixed.size(), [&] { answers = filter.count_waiting(questions.mixed); }));
    samples_[e].batch.push_back(
        ns_for_one(questions.mixed.size(), [&] { answers = filter.count_batches(questions.mixed); }));
  }

  const std::vector<Entry> &entries_;
  std::span<const KeyHash> positives_, negatives_;
  std::vector<std::unique_ptr<Contender>> filters_;
  std::vector<QuerySamples> samples_;
};

double median(const std::vector<double> &samples) { return bench::figure_of(samples).median; }

} // namespace

Status time_all(const std::vector<Entry> &entries, std::span<const KeyHash> positives,
                std::span<const KeyHash> negatives, std::vector<Outcome> &outcomes) {
  Race race(entries, positives, negatives);
  TRY(race.run());
  const QuerySamples *base = nullptr;
  for (std::size_t e = 0; e < entries.size(); ++e)
    if (entries[e].name == "counting_bloom") base = &race.samples()[e];
  for (std::size_t e = 0; e < entries.size(); ++e) {
    if (!entries[e].make) continue;
    const QuerySamples &s = race.samples()[e];
    outcomes[e].ns = {median(s.insert), median(s.mixed), median(s.present),        median(s.absent),
                      median(s.batch),  median(s.erase), median(s.insert_waiting), median(s.waiting)};
    if (base == nullptr) continue;
    const auto times = [](const std::vector<double> &a, const std::vector<double> &b) {
      return bench::ratio_of(a, b).median;
    };
    outcomes[e].ratios =
        Ratios{times(s.insert, base->insert),   times(s.mixed, base->mixed),
               times(s.erase, base->erase),     times(s.insert_waiting, base->insert_waiting),
               times(s.waiting, base->waiting), times(s.mixed, s.batch),
               times(s.waiting, s.batch)};
  }
  return {};
}

} // namespace weir::lab
