#include "control/plan/calibration.hpp"

namespace weir::plan {

Calibration built_in_calibration() {
  constexpr std::uint64_t kib = 1u << 10, mib = 1u << 20;
  Calibration c;
  c.processor = "built-in figures";
  c.pages = Pages::huge;
  c.l2_bytes = 1 * mib;
  c.l3_bytes = 32 * mib;
  constexpr Option plain{}, chain{FrontFilter::none, Predictor::chained},
      bloom{FrontFilter::split_block_bloom, Predictor::inline_bits},
      both{FrontFilter::split_block_bloom, Predictor::chained};
  // A chained predictor is taken on measured figures alone: here it costs what group bits do.
  c.work_of(Family::ipv4, plain) = c.work_of(Family::ipv4, chain) = {2.8, 2.9, 3.3, 3.0};
  c.work_of(Family::ipv4, bloom) = {2.4, 2.8, 4.9, 6.4};
  c.work_of(Family::ipv4, both) = {2.3, 2.7, 3.8, 5.0};
  c.work_of(Family::ipv6, plain) = {2.3, 2.7, 7.4, 7.0};
  c.work_of(Family::ipv6, chain) = {2.6, 3.0, 7.1, 8.0};
  c.work_of(Family::ipv6, bloom) = {2.1, 2.8, 8.9, 12.7};
  c.work_of(Family::ipv6, both) = {2.0, 2.8, 8.4, 11.8};
  c.in_words = {2.1, 2.2, 2.4, 2.2};
  c.in_ranges = {2.4, 2.8};
  c.in_points = {2.6, 3.1};
  const auto touch = [&c](Path path, std::vector<TouchPoint> points) {
    c.touch[static_cast<std::size_t>(path)] = std::move(points);
  };
  touch(Path::line, {{64 * kib, 0},
                     {512 * kib, 0.2},
                     {2 * mib, 0.4},
                     {8 * mib, 0.5},
                     {16 * mib, 1.1},
                     {32 * mib, 1.9},
                     {64 * mib, 2.4},
                     {128 * mib, 2.9},
                     {256 * mib, 3.8}});
  touch(Path::block, {{64 * kib, 0},
                      {512 * kib, 0.2},
                      {2 * mib, 0.4},
                      {8 * mib, 0.6},
                      {16 * mib, 1.3},
                      {32 * mib, 2.5},
                      {64 * mib, 3.2},
                      {128 * mib, 3.8},
                      {256 * mib, 4.4}});
  touch(Path::chained, {{64 * kib, 0},
                        {512 * kib, 0.3},
                        {2 * mib, 0.6},
                        {8 * mib, 0.8},
                        {16 * mib, 1.2},
                        {32 * mib, 2.3},
                        {64 * mib, 3.4},
                        {128 * mib, 4.5},
                        {256 * mib, 6.5}});
  touch(Path::few, {{64 * kib, 0},
                    {512 * kib, 0.1},
                    {2 * mib, 0.4},
                    {8 * mib, 0.8},
                    {16 * mib, 1.2},
                    {32 * mib, 1.6},
                    {64 * mib, 2.2},
                    {128 * mib, 3.3},
                    {256 * mib, 5.0}});
  // What it is above `few`, as a share of what all lines are above it, is of the processor of 2024.
  touch(Path::several, {{64 * kib, 0},
                        {512 * kib, 0.2},
                        {2 * mib, 0.4},
                        {8 * mib, 0.8},
                        {16 * mib, 1.4},
                        {32 * mib, 2.0},
                        {64 * mib, 2.7},
                        {128 * mib, 3.8},
                        {256 * mib, 5.6}});
  c.build_ns = 80;
  c.note = "built-in figures of server processors";
  return c;
}

} // namespace weir::plan
