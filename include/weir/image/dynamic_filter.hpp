// A filter that one writer changes beside readers, as that writer holds it, whatever kind it is of.
//
// Cold: the service thread asks it, a key at a time. Readers have views of the kind itself.
#pragma once

#include "weir/base/hash.hpp"
#include "weir/filter/loads.hpp"

#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace weir::image {

struct DynamicFilterLoad {
  std::uint64_t keys = 0, planned_keys = 0;
  std::optional<filter::Wear> wear{}; // none: of a kind that changes do not wear
};

class DynamicFilter {
public:
  DynamicFilter() = default;
  DynamicFilter(const DynamicFilter &) = delete;
  DynamicFilter &operator=(const DynamicFilter &) = delete;
  virtual ~DynamicFilter() = default;

  // Beside readers. A key put in twice has to be erased twice.
  [[nodiscard]] virtual filter::Put insert(KeyHash key) = 0;
  // Only of keys that are in, and right after grace_passed().
  virtual void erase(KeyHash key) = 0;
  // A negative that should not be accepted, learnt late. Kinds that cannot learn refuse.
  virtual filter::Learned learn(KeyHash negative) = 0;
  // No reader is left that began before the last change.
  virtual void grace_passed() = 0;
  // Is there something that grace_passed() would carry out?
  [[nodiscard]] virtual bool waits_for_grace() const = 0;

  // Any thread may ask for these two.
  [[nodiscard]] virtual DynamicFilterLoad load() const = 0;
  [[nodiscard]] virtual std::vector<filter::NamedCount> counts() const = 0; // what reports show besides
};

// What a writer has to have. What only some have is found by its name: insert_beside_readers(), which may
// wait or refuse, learn(), grace_passed() and leaving(), and wear() and counts() of its load.
template <class Writer>
concept BesideReaders = requires(Writer &writer, const Writer &fixed, KeyHash key) {
  requires requires { writer.insert(key); } || requires { writer.insert_beside_readers(key); };
  writer.erase(key);
  { fixed.load().keys } -> std::convertible_to<std::uint64_t>;
  { fixed.load().planned_keys } -> std::convertible_to<std::uint64_t>;
};

template <class Writer>
concept LearnsLate = requires(Writer &writer, KeyHash negative) {
  { writer.learn(negative) } -> std::same_as<filter::Learned>;
};

template <BesideReaders Writer> class DynamicFilterOf final : public DynamicFilter {
public:
  explicit DynamicFilterOf(Writer writer) : writer_(std::move(writer)) {}

  filter::Put insert(KeyHash key) override {
    if constexpr (requires { writer_.insert_beside_readers(key); })
      return writer_.insert_beside_readers(key);
    else
      return writer_.insert(key), filter::Put::in;
  }
  void erase(KeyHash key) override { (void)writer_.erase(key); }
  filter::Learned learn(KeyHash negative) override {
    if constexpr (LearnsLate<Writer>) return writer_.learn(negative);
    return {.refused = 1};
  }
  void grace_passed() override {
    if constexpr (waits_to_leave) writer_.grace_passed();
  }
  bool waits_for_grace() const override {
    if constexpr (waits_to_leave) return writer_.leaving() != 0;
    return false;
  }
  DynamicFilterLoad load() const override {
    const auto load = writer_.load();
    DynamicFilterLoad out{.keys = load.keys, .planned_keys = load.planned_keys};
    if constexpr (requires { load.wear(); }) out.wear = load.wear();
    return out;
  }
  std::vector<filter::NamedCount> counts() const override {
    const auto load = writer_.load();
    if constexpr (requires { load.counts(); }) {
      const auto counts = load.counts();
      return {counts.begin(), counts.end()};
    }
    return {};
  }

private:
  static constexpr bool waits_to_leave = requires(Writer &writer) {
    writer.grace_passed();
    writer.leaving();
  };

  Writer writer_;
};

} // namespace weir::image
