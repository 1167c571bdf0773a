// From a choice to memory: what the layers' filters really take and give.
#include "control/plan/stacked_search.hpp"
#include "weir/build/peeled_filter.hpp"
#include "weir/build/stacked_builder.hpp"
#include "weir/filter/bloom.hpp"
#include "weir/filter/cuckoo_filter.hpp"
#include "weir/filter/quotient_filter.hpp"
#include "weir/filter/split_block_filter.hpp"

namespace weir::plan {
namespace {

constexpr double header_bits = 8 * sizeof(filter::FilterHeader), word_bits = 64, block_bits = 256;

struct Allocated {
  double bits = 0, rate = 1;
};

template <class F> std::optional<Allocated> allocate_as(const build::LayerSize &layer, double keys) {
  const auto shape = build::layer_shape<F>(layer, keys);
  if (!shape) return std::nullopt;
  return Allocated{8.0 * static_cast<double>(round_up(filter::section_bytes(*shape), cache_line_bytes)),
                   F::rate(*shape, keys)};
}

std::optional<Allocated> allocate(StackBase base, const build::LayerSize &layer, double keys) {
  switch (base) {
  case StackBase::bloom: return allocate_as<filter::Bloom>(layer, keys);
  case StackBase::split_block: return allocate_as<filter::SplitBlockFilter>(layer, keys);
  case StackBase::fuse: return allocate_as<build::BinaryFuse>(layer, keys);
  case StackBase::quotient: return allocate_as<filter::QuotientFilter>(layer, keys);
  case StackBase::cuckoo: return allocate_as<filter::CuckooFilter>(layer, keys);
  }
  return std::nullopt;
}

StackBase base_of(const StackTask &task, std::size_t layer) {
  return task.fuse_below && layer % 2 == 1 ? StackBase::fuse : task.base;
}

class Allocation {
public:
  Allocation(const Goal &goal, const StackedChoice &choice)
      : goal_(goal), task_(goal.task()), choice_(choice) {}

  AllocatedStack run() {
    ask();
    if (!take()) return {};
    if (!goal_.for_bits()) return {std::move(plan_), 0};
    build::LayerSize &first = plan_.layers[0];
    double spare = *task_.bits_total - plan_.bits - reserve() - word_bits * 7; // to whole lines
    if (plan_.layers.size() == 1) first.bits = first_bits_, first.digits = 0;  // longer tables are emptier
    if (first.digits == 0) {
      first.bits += spare;
      if (!take()) return {};
      spare = 0;
    }
    return {std::move(plan_), spare};
  }

private:
  // What every layer is to have.
  void ask() {
    if (choice_.rates.size() > 1)
      plan_.known = std::min(goal_.for_bits() ? std::round(choice_.known) : std::ceil(choice_.known),
                             goal_.mass().negatives());
    plan_.psi = task_.negatives.share_of(plan_.known);
    for (std::size_t i = 0; i < choice_.rates.size(); ++i) {
      build::LayerSize layer;
      layer.rate = choice_.rates[i];
      layer.keys = build::keys_in_layer(choice_.rates, i, task_.positives, plan_.known);
      layer.digits = choice_.digits.empty() ? 0 : choice_.digits[i];
      const StackBase base = base_of(task_, i);
      layer.bits = layer.keys * (layer.digits == 0 ? bits_for_rate(base, layer.rate)
                                                   : bits_per_key(base, digits_of(base, layer.digits),
                                                                  layer.digits, layer.keys));
      if (!goal_.for_bits() && layer.digits == 0) // words and blocks are cut off
        layer.bits += base == StackBase::split_block ? block_bits : word_bits;
      plan_.layers.push_back(layer);
    }
  }

  // What every layer gets.
  bool take() {
    double positives = task_.positives, negatives = plan_.known;
    plan_.bits =
        header_bits + 8.0 * static_cast<double>(round_up(16 * plan_.layers.size(), cache_line_bytes));
    for (std::size_t i = 0; i < plan_.layers.size(); ++i) {
      build::LayerSize &layer = plan_.layers[i];
      double &keys = i % 2 == 0 ? positives : negatives, &others = i % 2 == 0 ? negatives : positives;
      const auto taken = allocate(base_of(task_, i), layer, keys);
      if (!taken) return false;
      if (i == 0) first_bits_ = taken->bits - header_bits;
      if (layer.digits == 0) layer.bits *= std::max(keys, 1.0) / std::max(layer.keys, 1.0);
      layer.keys = keys;
      layer.expected = taken->rate;
      others *= taken->rate;
      plan_.bits += taken->bits;
    }
    const std::vector<double> rates = plan_.rates();
    plan_.efpr = build::stacked_efpr(rates, plan_.psi);
    plan_.efpb = build::unknown_rate(rates);
    plan_.known_rate = build::known_rate(rates);
    return true;
  }

  [[nodiscard]] double reserve() const {
    double variance = 0;
    for (std::size_t i = 1; i < plan_.layers.size(); ++i)
      variance += chance_of(plan_.layers[i].bits, plan_.layers[i].keys);
    return room_for(variance);
  }

  const Goal &goal_;
  const StackTask &task_;
  const StackedChoice &choice_;
  StackPlan plan_;
  double first_bits_ = 0; // of layer 1, without its header
};

} // namespace

AllocatedStack allocate_stack(const Goal &goal, const StackedChoice &choice) {
  return std::isfinite(choice.worth) ? Allocation(goal, choice).run() : AllocatedStack{};
}

// ---- what layers cost: the bases' own shapes and rates -------------------------------------------------

namespace {

constexpr double many_keys = 1e6;

template <class F> Digits digits_as(unsigned digits) {
  const auto shape = build::shape_of_digits<F>(many_keys, digits);
  if (!shape) return {};
  return {F::rate(*shape, many_keys), static_cast<double>(shape->bits()) / many_keys};
}

// Split-block filters from a tenth of a bit to 400 bits a key: halvings of the rate, and the bits.
struct SplitBlockTable {
  std::vector<double> halvings{0}, bits{0};

  SplitBlockTable() {
    for (double b = 0.1; b < 400; b *= 1.03) {
      const auto blocks = static_cast<std::uint32_t>(b * many_keys / block_bits);
      const double rate = filter::SplitBlockFilter::rate({blocks}, many_keys);
      if (-std::log2(rate) <= halvings.back()) continue;
      halvings.push_back(-std::log2(rate));
      bits.push_back(static_cast<double>(blocks) * block_bits / many_keys);
    }
  }
  [[nodiscard]] double bits_for(double halved) const {
    const auto above = std::ranges::upper_bound(halvings, halved) - halvings.begin();
    const auto at = static_cast<std::size_t>(std::min<std::ptrdiff_t>(above, std::ssize(halvings) - 1));
    const double part = (halved - halvings[at - 1]) / (halvings[at] - halvings[at - 1]);
    return bits[at - 1] + part * (bits[at] - bits[at - 1]);
  }
};

} // namespace

Digits digits_of(StackBase base, unsigned digits) noexcept {
  switch (base) {
  case StackBase::cuckoo: return digits_as<filter::CuckooFilter>(digits);
  case StackBase::quotient: return digits_as<filter::QuotientFilter>(digits);
  case StackBase::fuse: return digits_as<build::BinaryFuse>(digits);
  case StackBase::bloom:
  case StackBase::split_block: break;
  }
  return {};
}

// Whole segments take a little more.
double fuse_slots_per_key(double keys) noexcept {
  return 1.005 * filter::BinaryFuseShape::slots_per_key(keys);
}

double bits_for_rate(StackBase base, double rate) noexcept {
  if (base == StackBase::bloom) return filter::Bloom::bits_per_key(rate);
  static const SplitBlockTable table;
  return rate >= 1 ? 0 : table.bits_for(-std::log2(rate));
}

} // namespace weir::plan
