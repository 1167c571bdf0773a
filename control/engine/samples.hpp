// Which addresses the dataplane's samples name most often of late (workload/heavy_hitters.hpp): each ten
// minutes everything counts half. A row has been sampled `at_least` so often, and `count` times at most.
#pragma once

#include "control/workload/heavy_hitters.hpp"
#include "weir/wire/messages.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <tuple>
#include <vector>

namespace weir::control {

class SampleTable {
public:
  static constexpr std::size_t rows_max = 1024;
  struct Row {
    Address address;
    bool denied = false;
    ListId list{};
    std::uint64_t count = 0;
    std::uint64_t inherited = 0;
    [[nodiscard]] std::uint64_t at_least() const noexcept { return count - inherited; }
  };
  struct Kept { // what outlives the process
    std::vector<Row> rows;
    std::uint64_t total = 0;
  };

  using Time = std::chrono::steady_clock::time_point;
  static constexpr auto half_life = std::chrono::minutes(10);

  void take(std::span<const wire::Sample> samples, Time now = std::chrono::steady_clock::now()) {
    if (now - halved_at_ >= half_life) {
      for (auto due = halved_at_; now - due >= half_life && hot_.rows() > 0; due += half_life) hot_.halve();
      halved_at_ = now;
    }
    for (const wire::Sample &sample : samples) {
      if ((sample.flags & (wire::sample_by_stack | wire::sample_again)) != 0)
        continue; // more of them than of other packets
      Address address;
      address.family = sample.family == Family::ipv6 ? Family::ipv6 : Family::ipv4;
      address.bytes = sample.address;
      hot_.add({address, sample.kind == wire::SampleKind::denied, sample.list});
    }
  }

  // By what they have been sampled at least.
  [[nodiscard]] std::vector<Row> top(std::size_t most) const {
    std::vector<Row> rows;
    for (const auto &[key, count, inherited] : hot_.top(rows_max))
      rows.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), count, inherited});
    std::ranges::stable_sort(rows, std::ranges::greater{}, &Row::at_least);
    rows.resize(std::min(most, rows.size()));
    return rows;
  }

  [[nodiscard]] std::uint64_t total() const { return hot_.total(); }
  [[nodiscard]] Kept keep() const { return {top(rows_max), hot_.total()}; }
  void resume(const Kept &kept) {
    std::vector<workload::HeavyHitters<Key>::Row> rows;
    for (const Row &row : kept.rows)
      rows.push_back({{row.address, row.denied, row.list}, row.count, row.inherited});
    hot_.resume(rows, kept.total);
  }

private:
  using Key = std::tuple<Address, bool, ListId>;
  workload::HeavyHitters<Key> hot_{rows_max};
  Time halved_at_ = std::chrono::steady_clock::now();
};

} // namespace weir::control
