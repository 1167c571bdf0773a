// The first bytes of a packet in one piece. A driver may receive a packet into several segments and cut it where it
// likes; parser, traits and samples read the first segment alone.
//
//   received   | 20 bytes | -> | 1400 bytes | -> ...
//   gathered   | 1024 bytes | -> | the rest | -> ...
//
// Bytes, their order and the length of the packet stay. Frames of the configured MTU fit in one segment
// (port/port_limits.hpp), so that this is for drivers that cut all the same, and for longer frames.
#pragma once

#include <rte_mbuf.h>

#include <algorithm>

namespace weir::dataplane {

// As far as headers are looked for where a packet is cut. Whoever receives into segments of this size or more is never
// made to copy.
inline constexpr unsigned head_bytes = 1024;

[[nodiscard]] inline bool has_head(const rte_mbuf *packet) noexcept {
  return rte_pktmbuf_data_len(packet) >= std::min(head_bytes, rte_pktmbuf_pkt_len(packet));
}

// Moves bytes of later segments to the first, into its tailroom or, where that is not its own or too short, into a new
// first segment of the same pool. False: there was no memory, or somebody else has a segment too; the packet is as it
// was, and its parser sees a header that does not fit.
[[nodiscard]] bool gather_head(rte_mbuf *&packet) noexcept;

} // namespace weir::dataplane
