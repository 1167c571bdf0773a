// Cuckoo tables with a chain that is trained by questions [Chained §5.3.2], as `weir-lab predictor` and the property tests
// have them.
#pragma once

#include "tests/lab/trained_chain.hpp"

#include <random>
#include <span>
#include <vector>

namespace weir::lab {

// Keys in their buckets, one after the other.
class StoredKeys {
public:
  StoredKeys(std::uint64_t buckets, double load, std::uint64_t seed)
      : tables_(static_cast<std::uint32_t>(buckets / 2)), random_(seed) {
    const auto count = static_cast<std::size_t>(static_cast<double>(buckets) * load);
    keys_.reserve(count);
    while (keys_.size() < count) add([](KeyHash, Home) {});
  }

  [[nodiscard]] std::span<const KeyHash> keys() const noexcept { return keys_; }
  [[nodiscard]] Home home(KeyHash key) const noexcept {
    return tables_.find(key, key, Home::table1) != nullptr ? Home::table1 : Home::table2;
  }
  [[nodiscard]] std::size_t in_table2() const {
    std::size_t count = 0;
    for (const KeyHash key : keys_) count += home(key) == Home::table2 ? 1 : 0;
    return count;
  }

  // As many keys go as come: gone(key), and placed(key, home) for each one that came to a bucket, evicted ones too.
  template <class Gone, class Placed> void replace(std::size_t count, Gone gone, Placed placed) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t out = random_() % keys_.size();
      const KeyHash key = std::exchange(keys_[out], keys_.back());
      keys_.pop_back();
      tables_.clear(tables_.bucket(key, home(key)));
      gone(key);
    }
    for (std::size_t i = 0; i < count; ++i) add(placed);
  }

private:
  // A key that finds no place, once in millions below a load of 0.5, is gone, whichever it is.
  template <class Placed> void add(Placed placed) {
    const KeyHash key{random_()};
    const auto lost = cuckoo_insert(tables_, key, placed);
    if (lost == key) return add(placed);
    keys_.push_back(key);
    if (lost) std::erase(keys_, *lost);
  }

  OneSlotTables<KeyHash> tables_;
  std::mt19937_64 random_;
  std::vector<KeyHash> keys_;
};

// Share of the keys that are predicted wrongly.
template <class Predictor>
[[nodiscard]] double error_of(const Predictor &predictor, const StoredKeys &stored) {
  std::size_t wrong = 0;
  for (const KeyHash key : stored.keys()) wrong += predictor.predict(key) != stored.home(key) ? 1 : 0;
  return static_cast<double>(wrong) / static_cast<double>(stored.keys().size());
}

// What a chain knows before the first question: which keys have come to rest in table 2.
inline void tell_of_table2(TrainedChain &chain, const StoredKeys &stored) {
  for (const KeyHash key : stored.keys())
    if (stored.home(key) == Home::table2) chain.train(key, Home::table2);
}
inline void ask_for_all(TrainedChain &chain, const StoredKeys &stored) {
  for (const KeyHash key : stored.keys()) chain.train(key, stored.home(key));
}

// Errors before the first round of questions, after it, and so on; ends with 0 or after `most` rounds.
[[nodiscard]] inline std::vector<double> train_by_questions(TrainedChain &chain, const StoredKeys &stored,
                                                            unsigned most) {
  tell_of_table2(chain, stored);
  std::vector<double> errors{error_of(chain, stored)};
  while (errors.size() <= most && errors.back() > 0) {
    ask_for_all(chain, stored);
    errors.push_back(error_of(chain, stored));
  }
  return errors;
}

} // namespace weir::lab
