// The experiment: rates fresh, after churn, and what every operation costs [SSCF §4].
#include "tests/lab/contenders.hpp"
#include "tests/lab/timing.hpp"

#include <atomic>
#include <cmath>
#include <mutex>
#include <random>
#include <thread>

namespace weir::lab {
namespace {

constexpr unsigned checked_rounds = 6; // of churn in which every present key is asked for

struct Keys {
  std::vector<KeyHash> positives; // the first task.keys are in from the start, the rest come by churn
  std::vector<KeyHash> negatives; // dearest first
};

std::uint64_t replaced_by_round(const SeesawTask &task) {
  return static_cast<std::uint64_t>(std::llround(task.churn * static_cast<double>(task.keys)));
}

Keys keys_for(const SeesawTask &task, std::uint64_t seed) {
  const std::uint64_t come = replaced_by_round(task) * (task.rounds + checked_rounds);
  return {make_keys(task.keyset, Side::positive, task.keys + come, seed),
          make_keys(task.keyset, Side::negative, task.negatives, seed)};
}

Rates measure(const Contender &filter, const Entry &entry, const Needs &needs,
              std::span<const KeyHash> negatives) {
  Rates rates;
  std::vector<std::uint64_t> ends = entry.classes;
  ends.push_back(negatives.size());
  std::uint64_t accepted = 0, accepted_guarded = 0, at = 0;
  for (const std::uint64_t end : ends) {
    std::uint64_t hits = 0;
    const std::uint64_t first = at;
    while (at < end) {
      const auto batch = negatives.subspan(at, std::min<std::uint64_t>(filter::batch_max, end - at));
      for (filter::HitMask left = filter.accepts(batch); left != 0; left &= left - 1, ++hits) {
        const auto rank = at + static_cast<unsigned>(std::countr_zero(left));
        rates.weighted += needs.mass[rank + 1] - needs.mass[rank];
      }
      at += batch.size();
    }
    if (end > first)
      rates.by_class += (needs.mass[end] - needs.mass[first]) * static_cast<double>(hits) /
                        static_cast<double>(end - first);
    accepted += hits;
    if (end <= entry.guarded) accepted_guarded += hits;
  }
  rates.plain = static_cast<double>(accepted) / static_cast<double>(negatives.size());
  if (entry.guarded > 0)
    rates.guarded = static_cast<double>(accepted_guarded) / static_cast<double>(entry.guarded);
  return rates;
}

// A filter with its keys, as far as it took them.
class Population {
public:
  Population(const SeesawTask &task, Contender &filter, std::span<const KeyHash> positives,
             std::uint64_t seed)
      : filter_(filter), positives_(positives), random_(seed), by_round_(replaced_by_round(task)) {
    while (next_ < task.keys) add();
  }
  void churn() {
    for (std::uint64_t i = 0; i < by_round_ && !present_.empty(); ++i) remove();
    for (std::uint64_t i = 0; i < by_round_; ++i) add();
  }
  void delete_half() {
    for (std::uint64_t i = present_.size() / 2; i > 0; --i) remove();
  }
  [[nodiscard]] std::uint64_t missed() const { return present_.size() - filter_.count_batches(present_); }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

private:
  void add() {
    const KeyHash key = positives_[next_++];
    if (filter_.insert(key))
      present_.push_back(key);
    else
      ++refused_;
  }
  void remove() {
    std::swap(present_[random_() % present_.size()], present_.back());
    filter_.erase(present_.back());
    present_.pop_back();
  }

  Contender &filter_;
  std::span<const KeyHash> positives_;
  std::mt19937_64 random_;
  std::uint64_t by_round_, next_ = 0, refused_ = 0;
  std::vector<KeyHash> present_;
};

Result<Outcome> run_once(const SeesawTask &task, const Needs &needs, const Entry &entry, const Keys &keys,
                         std::uint64_t seed) {
  auto made = entry.make(keys.negatives);
  if (!made) return std::unexpected(made.error());
  Contender &filter = **made;
  Outcome out;
  Population population(task, filter, keys.positives, seed);
  out.false_negatives = population.missed();
  const auto rate = [&] { return measure(filter, entry, needs, keys.negatives); };
  out.fresh = rate();
  if (task.ada) {
    for (const KeyHash negative : std::span(keys.negatives).first(entry.guarded)) filter.learn_late(negative);
    out.weighted_by_round.push_back(out.fresh.by_class);
  }
  for (unsigned round = 0; round < task.rounds; ++round) {
    population.churn();
    if (round < checked_rounds || round + 1 == task.rounds) out.false_negatives += population.missed();
    if (task.ada) out.weighted_by_round.push_back(rate().by_class);
  }
  out.churned = rate();
  out.overflows = filter.overflows();
  population.delete_half();
  out.false_negatives += population.missed();
  for (unsigned round = 0; round < checked_rounds; ++round) {
    population.churn();
    out.false_negatives += population.missed();
  }
  out.refused = population.refused();
  out.bits_per_key = static_cast<double>(filter.bits()) / static_cast<double>(task.keys);
  return out;
}

void add(Rates &sum, const Rates &more) {
  sum.weighted += more.weighted, sum.by_class += more.by_class;
  sum.plain += more.plain, sum.guarded += more.guarded;
}
void divide(Rates &sum, double by) {
  sum.weighted /= by, sum.by_class /= by, sum.plain /= by, sum.guarded /= by;
}

void add(Outcome &sum, const Outcome &more) {
  add(sum.fresh, more.fresh);
  add(sum.churned, more.churned);
  sum.false_negatives += more.false_negatives;
  sum.overflows += more.overflows;
  sum.refused += more.refused;
  sum.bits_per_key = more.bits_per_key;
  sum.weighted_by_round.resize(more.weighted_by_round.size());
  for (std::size_t i = 0; i < more.weighted_by_round.size(); ++i)
    sum.weighted_by_round[i] += more.weighted_by_round[i];
}

// Seeds are shared out among the processors: no clock runs here.
class Sweep {
public:
  Sweep(const SeesawTask &task, const Needs &needs, const std::vector<Entry> &entries)
      : task_(task), needs_(needs), entries_(entries), by_seed_(task.seeds) {}

  Result<std::vector<Outcome>> run() {
    std::vector<std::thread> others;
    const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, task_.seeds);
    for (unsigned i = 1; i < threads; ++i) others.emplace_back([this] { work(); });
    work();
    for (std::thread &other : others) other.join();
    if (!error_.message.empty()) return std::unexpected(error_);
    std::vector<Outcome> means(entries_.size());
    for (const std::vector<Outcome> &outcomes : by_seed_) // in this order: sums are the same in every run
      for (std::size_t e = 0; e < means.size(); ++e) add(means[e], outcomes[e]);
    for (Outcome &mean : means) {
      divide(mean.fresh, task_.seeds);
      divide(mean.churned, task_.seeds);
      for (double &weighted : mean.weighted_by_round) weighted /= task_.seeds;
    }
    return means;
  }

private:
  void work() {
    for (unsigned i = next_++; i < task_.seeds; i = next_++) {
      const std::uint64_t seed = task_.seed + i;
      const Keys keys = keys_for(task_, seed);
      std::vector<Outcome> &outcomes = by_seed_[i];
      outcomes.resize(entries_.size());
      for (std::size_t e = 0; e < entries_.size(); ++e) {
        if (!entries_[e].make) continue;
        auto outcome = run_once(task_, needs_, entries_[e], keys, seed);
        if (outcome) {
          outcomes[e] = std::move(*outcome);
        } else {
          const std::scoped_lock lock(mutex_);
          error_ = outcome.error();
        }
      }
    }
  }

  const SeesawTask &task_;
  const Needs &needs_;
  const std::vector<Entry> &entries_;
  std::atomic<unsigned> next_ = 0;
  std::mutex mutex_;
  std::vector<std::vector<Outcome>> by_seed_;
  Error error_;
};

} // namespace

Result<SeesawReport> run_seesaw(const SeesawTask &task) {
  const Needs needs = needs_of(task);
  const auto entries = TRY(entries_for(task, needs));
  auto outcomes = TRY(Sweep(task, needs, entries).run());
  if (task.timing) {
    const Keys keys = keys_for(task, task.seed);
    const std::span positives = keys.positives;
    if (const Status timed = time_all(entries, positives.first(task.keys), keys.negatives, outcomes); !timed)
      return std::unexpected(timed.error());
  }
  SeesawReport report{task, {}};
  for (std::size_t e = 0; e < entries.size(); ++e) {
    const Entry &entry = entries[e];
    auto &slot = report.contenders[entry.name];
    if (!entry.make) continue;
    slot = std::move(outcomes[e]);
    slot->predicted = entry.predicted;
    slot->guarded = entry.guarded;
    slot->shape = entry.shape;
  }
  return report;
}

} // namespace weir::lab
