// Trains a chained location predictor (table/chained_predictor.hpp) from a finished table.
//
// The complete sets are at hand, so nothing is learned by asking: F1 gets a bit for every key of table 2
// and of the stash, F2 every key of table 1 that F1 takes for one of table 2, F3 every key of table 2
// that F2 takes for one of table 1, and so on until a layer makes no error [Chained Alg. 2]. Each
// layer holds far fewer keys than the one before; after a displacement by whole groups F2 is empty or
// nearly so. A chain that still errs in its last layer is written with `exact` = 0, and readers leave it
// alone.
#pragma once

#include "weir/build/table_builder.hpp"
#include "weir/table/chained_predictor.hpp"

#include <chrono>
#include <span>
#include <vector>

namespace weir::build {

template <class LineType> class ChainTrainer {
public:
  using Line = LineType;

  // `section` is zeroed memory of size.bytes().
  ChainTrainer(MutableBytes section, const ChainSize &size, const table::TableView<Line> &table,
               table::KeyHasher hasher)
      : size_(size), table_(table), hasher_(hasher),
        header_(reinterpret_cast<table::ChainHeader *>(section.data())),
        first_(reinterpret_cast<std::uint32_t *>(section.data() + sizeof *header_)),
        deep_(reinterpret_cast<std::uint64_t *>(section.data() + sizeof *header_ + size.first_bytes())) {}

  // Fills in what a report says of a chain; `keys` as built.
  void train(std::uint64_t keys, ChainReport &report) {
    const auto start = std::chrono::steady_clock::now();
    header_->magic = filter::filter_magic;
    header_->kind = static_cast<std::uint32_t>(filter::FilterKind::chained_predictor);
    header_->lines1 = size_.lines1;
    header_->groups = size_.groups;
    header_->deep_words = size_.deep_words;
    header_->keys = keys;
    report.bytes = size_.bytes();
    report.bits_per_key = keys == 0 ? 0 : 8.0 * static_cast<double>(report.bytes) / static_cast<double>(keys);
    report.layers = 1;
    report.keys_of_layer[0] = train_first();
    report.wrong = train_deep(report);
    header_->deep_layers = report.layers - 1;
    header_->exact = report.wrong == 0 ? 1 : 0;
    report.train_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }

private:
  using Hashes = std::vector<KeyHash>;
  using Predictor = table::ChainedPredictor;

  [[nodiscard]] Predictor::FirstLayer first() const noexcept {
    return {first_, size_.lines1, static_cast<std::uint32_t>(std::countr_zero(size_.groups)),
            size_.groups - 1};
  }

  template <class Visit> void each_key(const Line &line, Visit visit) const {
    for (unsigned s = 0; s < Line::slots; ++s)
      if (table::value::is_set(line.value[s]))
        visit(hasher_(line.key[s], table::value::length_of(line.value[s])));
  }
  template <class Visit> void each_positive(Visit visit) const {
    for (std::uint32_t i = 0; i < table_.count2; ++i) each_key(table_.lines2[i], visit);
    for (std::uint32_t i = 0; i < table_.stash_lines; ++i) each_key(table_.stash[i], visit);
  }

  std::uint64_t train_first() {
    std::uint64_t positives = 0;
    each_positive([&](KeyHash h) {
      const std::uint32_t bit = Predictor::bit_of(first(), h);
      first_[bit >> 5] |= std::uint32_t{1} << (bit & 31);
      ++positives;
    });
    return positives;
  }

  // Keys of table 1 that the first layer takes for positives. Lines without a bit are passed over.
  [[nodiscard]] Hashes mistaken_by_first() const {
    Hashes out;
    const Predictor predictor(first(), {}, &header_->exact);
    for (std::uint32_t i = 0; i < size_.lines1; ++i) {
      const std::uint32_t at = i * size_.groups;
      if ((first_[at >> 5] >> (at & 31) & ((1u << size_.groups) - 1)) == 0) continue;
      each_key(table_.lines1[i], [&](KeyHash h) {
        if (predictor.first_says(h)) out.push_back(h);
      });
    }
    return out;
  }

  // Returns how many keys are still wrong after the last layer.
  std::uint64_t train_deep(ChainReport &report) {
    Hashes held = mistaken_by_first(), others; // keys of this layer; keys it must not take
    std::uint64_t *words = deep_;
    for (unsigned layer = 0; !held.empty(); ++layer) {
      if (layer == table::chain_deep_layers_max) return held.size();
      const std::uint32_t count = size_.deep_words[layer];
      for (const KeyHash h : held) {
        const Predictor::Mark m = Predictor::mark(layer, count, h, hasher_.family);
        words[m.word] |= m.bits;
      }
      report.keys_of_layer[report.layers++] = held.size();
      Hashes taken;
      const auto take = [&](KeyHash h) {
        const Predictor::Mark m = Predictor::mark(layer, count, h, hasher_.family);
        if ((words[m.word] & m.bits) == m.bits) taken.push_back(h);
      };
      if (layer == 0)
        each_positive(take);
      else
        std::ranges::for_each(others, take);
      others = std::move(held);
      held = std::move(taken);
      words += count;
    }
    return 0;
  }

  ChainSize size_;
  table::TableView<Line> table_;
  table::KeyHasher hasher_;
  table::ChainHeader *header_;
  std::uint32_t *first_;
  std::uint64_t *deep_;
};

} // namespace weir::build
