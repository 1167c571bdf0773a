// The filters that are compared, behind one face, and the sizes that each of them gets for a task.
#pragma once

#include "control/plan/seesaw_model.hpp"
#include "tests/lab/lab.hpp"
#include "weir/build/seesaw_builder.hpp"
#include "weir/build/stacked_size.hpp"
#include "weir/build/weighted_bloom_builder.hpp"

#include <functional>
#include <memory>
#include <span>

namespace weir::lab {

// A filter in the making or in use. Loops stand inside, so that what is timed is the filter.
class Contender {
public:
  Contender() = default;
  Contender(const Contender &) = delete;
  Contender &operator=(const Contender &) = delete;
  virtual ~Contender() = default;

  [[nodiscard]] virtual bool insert(KeyHash key) = 0; // false: refused, and nothing changed
  virtual void erase(KeyHash key) = 0;
  virtual void learn_late(KeyHash negative) = 0; // late; only the seesaw filter learns from it
  virtual void insert_all(std::span<const KeyHash> keys) = 0;
  virtual void erase_all(std::span<const KeyHash> keys) = 0;
  [[nodiscard]] virtual std::uint64_t count_singly(std::span<const KeyHash> keys) const = 0;
  // Each answer is there before the next question is asked.
  [[nodiscard]] virtual std::uint64_t count_waiting(std::span<const KeyHash> keys) const = 0;
  virtual void insert_waiting(std::span<const KeyHash> keys) = 0;
  [[nodiscard]] virtual std::uint64_t count_batches(std::span<const KeyHash> keys) const = 0;
  [[nodiscard]] virtual filter::HitMask accepts(std::span<const KeyHash> keys) const = 0; // 64 at most
  [[nodiscard]] virtual std::uint64_t bits() const = 0;
  [[nodiscard]] virtual std::uint64_t overflows() const = 0; // cells that stay at their maximum
};

// What every filter of a task is made for, whatever the seed.
struct Needs {
  std::uint64_t keys = 0, bits = 0, known = 0;
  std::vector<double> mass; // mass[i]: cost of the i dearest negatives; the last is 1
};
[[nodiscard]] Needs needs_of(const SeesawTask &task);
[[nodiscard]] plan::CostCurve known_costs(const Needs &needs);

struct Entry {
  std::string name;
  Predicted predicted;
  std::uint64_t guarded = 0;
  std::vector<std::uint64_t> classes; // ranks at which negatives begin to be treated otherwise
  std::string shape;
  // From the negatives, dearest first.
  std::function<Result<std::unique_ptr<Contender>>(std::span<const KeyHash>)> make; // empty: no shape fits
};

// In the order of the report. Errors: a forced shape that cannot be.
[[nodiscard]] Result<std::vector<Entry>> entries_for(const SeesawTask &task, const Needs &needs);

// Sizes of the seesaw filter, by the planner or as forced.
struct SeesawChoice {
  build::SeesawParams params;
  std::uint64_t guarded = 0;
  Predicted predicted;
};
[[nodiscard]] Result<SeesawChoice> choose_seesaw(const SeesawTask &task, const Needs &needs);

} // namespace weir::lab
