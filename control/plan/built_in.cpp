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
  c.work_of(Family::ipv4, plain) = {18, 19, 18};
  c.work_of(Family::ipv4, chain) = {18, 19, 18};
  c.work_of(Family::ipv4, bloom) = {18, 25, 24};
  c.work_of(Family::ipv4, both) = {18, 25, 24};
  c.work_of(Family::ipv6, plain) = {47, 52, 53};
  c.work_of(Family::ipv6, chain) = {47, 52, 53};
  c.work_of(Family::ipv6, bloom) = {42, 58, 64};
  c.work_of(Family::ipv6, both) = {42, 58, 64};
  c.touch.fill({{64 * kib, 0},
                {256 * kib, 0.4},
                {1 * mib, 1.1},
                {2 * mib, 1.8},
                {8 * mib, 2.2},
                {16 * mib, 4.8},
                {32 * mib, 5.4},
                {64 * mib, 6.0},
                {128 * mib, 6.8},
                {256 * mib, 8.4}});
  c.build_ns = 50;
  c.note = "built-in figures of one server processor";
  return c;
}

} // namespace weir::plan
