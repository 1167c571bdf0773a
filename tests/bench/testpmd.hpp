// DPDK's own forwarder on the same kind of port, as a child process: net_ring with its transmit ring as
// receive ring, 960 packets round and round, bursts of 64, one lcore. `io` moves packets without looking
// at them, `macswap` also rewrites the Ethernet header. Its own count of cycles a packet
// (--record-core-cycles) is what counts; it knows nothing of our receive callback, of counters or of
// verdicts, so it shows what ring ports cost and is no like for like.
#pragma once

#include "tests/bench/bench.hpp"

namespace weir::bench {

struct TestpmdFigures {
  Figure io_ns, macswap_ns; // a packet
  std::string why_not;      // set when there are none
};
[[nodiscard]] TestpmdFigures run_testpmd(const Options &options);

} // namespace weir::bench
