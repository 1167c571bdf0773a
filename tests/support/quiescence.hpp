// Quiescence as the dataplane has it, without DPDK: each reader counts the states in which it holds
// nothing, and the writer waits until all of them have counted on.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

namespace weir::test {

template <unsigned Readers> struct Quiescence {
  std::array<std::atomic<std::uint64_t>, Readers> passed{};
  std::atomic<bool> stop = false; // readers end; nobody is waited for any more

  void wait() const {
    std::array<std::uint64_t, Readers> before;
    for (unsigned i = 0; i < Readers; ++i) before[i] = passed[i].load();
    for (unsigned i = 0; i < Readers; ++i) // the state under way may have begun before the change
      while (passed[i].load() < before[i] + 2 && !stop.load()) std::this_thread::yield();
  }

  // Until each reader has counted so many, however little it gets of a busy machine.
  void wait_for_rounds(std::uint64_t rounds) const {
    for (const auto &count : passed)
      while (count.load() < rounds) std::this_thread::yield();
  }
};

} // namespace weir::test
