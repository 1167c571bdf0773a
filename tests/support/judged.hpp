// What a gate does with one frame, held against what it should do.
#pragma once

#include "tests/support/packets.hpp"
#include "tests/support/ring_gate.hpp"

#include <gtest/gtest.h>

namespace weir::test {

inline void expect_judged(RingGate &gate, unsigned port, const FrameBuilder &frame, Verdict verdict,
                          Reason reason) {
  const auto outcome = gate.judge(port, frame.frame().bytes);
  EXPECT_EQ(name_of(outcome.reason), name_of(reason));
  EXPECT_EQ(name_of(outcome.verdict), name_of(verdict));
  EXPECT_EQ(outcome.came_out, verdict == Verdict::pass);
}

} // namespace weir::test
