// One EAL for all tests of a program: it cannot be started twice. Ordinary pages, no devices, the
// main lcore and two worker lcores floating over all CPUs.
#pragma once

namespace weir::test {

// Starts it at the first call; false when it does not start.
[[nodiscard]] bool start_eal();

} // namespace weir::test
