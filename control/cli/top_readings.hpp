// What two answers of weir-control's verb `top` say together: rates between them, as tables.
//
// Counters only grow while a dataplane lives. A rate is known when both answers come from the same dataplane and
// the later counter is not the smaller one; otherwise its cell is "-".
#pragma once

#include "control/cli/render.hpp"
#include "control/cli/top_grid.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace weir::cli {

enum class Part : std::uint8_t { ports, verdicts, lists, sources, workers, swaps };
inline constexpr std::array parts{Part::ports,   Part::verdicts, Part::lists,
                                  Part::sources, Part::workers,  Part::swaps};
[[nodiscard]] constexpr std::string_view name_of(Part part) noexcept {
  constexpr std::array<std::string_view, parts.size()> names{"ports",   "verdicts", "lists",
                                                             "sources", "workers",  "swaps"};
  return names[static_cast<std::size_t>(part)];
}

[[nodiscard]] const std::vector<Grid::Column> &columns_of(Part part);

// Answers of one moment.
struct Reading {
  std::shared_ptr<const Json> status, top;
};

class Readings {
public:
  // `before` may be null: nothing to compare with. `now` is the wall clock in seconds. Both readings outlive this.
  Readings(const Reading &reading, const Reading *before, std::int64_t now);

  [[nodiscard]] Grid grid(Part part) const;

  // Sums over all ports and verdicts; -1: not known. Packets, bits and events a second.
  struct Sums {
    double rx_packets = -1, rx_bits = -1, tx_packets = -1, tx_bits = -1;
    double pass = -1, drop = -1, missed = -1, refused = -1;
  };
  [[nodiscard]] Sums sums() const;
  [[nodiscard]] double seconds() const { return seconds_; } // between the answers; 0: nothing to compare with

private:
  // A second; -1: not known.
  [[nodiscard]] double rate(const Json &row, const Json &earlier, const char *counter) const;
  [[nodiscard]] Grid ports() const;
  [[nodiscard]] Grid verdicts() const;
  [[nodiscard]] Grid lists() const;
  [[nodiscard]] Grid sources() const;
  [[nodiscard]] Grid workers() const;
  [[nodiscard]] Grid swaps() const;

  const Json &top_;
  const Json &earlier_;
  double seconds_ = 0;
  std::int64_t now_ = 0;
};

// "1.23M": three digits and a letter for thousands, millions and so on; "-" for what is not known.
[[nodiscard]] std::string short_count(double number);

} // namespace weir::cli
