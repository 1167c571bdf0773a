// Which networks somebody is kept waiting for: /24s of IPv4 and /48s of IPv6, over the last minute or two.
#pragma once

#include "control/workload/heavy_hitters.hpp"
#include "weir/key/address.hpp"

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace weir::workload {

class BusyNetworks {
public:
  using Time = std::chrono::steady_clock::time_point;
  struct Row {
    Prefix network;
    std::uint64_t at_least = 0;
  };

  void add(const Address &address, Time now) {
    turn(now);
    const std::uint8_t length = address.family == Family::ipv6 ? 48 : 24;
    newer_.add(Prefix{masked(address, length), length});
  }
  // Of the last minute, and of the one before while that is young.
  [[nodiscard]] std::uint64_t total(Time now) {
    turn(now);
    return older_.total() + newer_.total();
  }
  [[nodiscard]] std::vector<Row> top(std::size_t most, Time now) {
    turn(now);
    const HeavyHitters<Prefix> &shown = newer_.total() >= older_.total() ? newer_ : older_;
    std::vector<Row> rows;
    for (const auto &row : shown.top(most))
      if (row.count > row.inherited) rows.push_back({row.key, row.count - row.inherited});
    return rows;
  }

private:
  static constexpr std::size_t rows_max = 256;
  static constexpr auto window = std::chrono::minutes(1);

  void turn(Time now) {
    if (now - began_ < window) return;
    const bool long_ago = now - began_ >= 2 * window;
    older_ = std::exchange(newer_, HeavyHitters<Prefix>(rows_max));
    if (long_ago) older_ = HeavyHitters<Prefix>(rows_max);
    began_ = now;
  }

  HeavyHitters<Prefix> older_{rows_max}, newer_{rows_max};
  Time began_{};
};

} // namespace weir::workload
