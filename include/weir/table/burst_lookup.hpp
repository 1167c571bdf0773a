// A burst's way through the tables in three stages, so that memory answers while other bursts work:
//
//   begin/ask        burst i+2: length maps, hashes, prefetch of table 1 lines
//   probe_first      burst i+1: table 1 answers, prefetch of table 2 lines where a group bit says so
//   finish           burst i:   table 2 answers, longest match per question
//
// One object is one burst in flight and carries the view that it began with.
//
//   BurstLookup burst;                    // about 100 KiB: keep three per worker, not on the stack
//   burst.begin(view);
//   burst.ask_v4(slot, wire);             // slot 0..63, each at most once, in any order
//   burst.ask_v6(slot, sixteen_bytes);    // the bytes must live until finish()
//   burst.probe_first();
//   burst.finish();
//   burst.allow(slot), burst.deny(slot)   // 32-bit table values, 0 = no match
#pragma once

#include "weir/image/view.hpp"

namespace weir::table {

class BurstLookup {
public:
  static constexpr unsigned slots_max = 64;

  void begin(const image::ImageView &view) noexcept;
  void ask_v4(unsigned slot, std::uint32_t wire) noexcept;
  void ask_v6(unsigned slot, const std::uint8_t *address) noexcept;
  void probe_first() noexcept;
  void finish() noexcept;
  [[nodiscard]] std::uint32_t allow(unsigned slot) const noexcept;
  [[nodiscard]] std::uint32_t deny(unsigned slot) const noexcept;
  [[nodiscard]] const image::ImageView *view() const noexcept;
};

} // namespace weir::table
