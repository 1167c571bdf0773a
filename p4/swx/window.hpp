// What the program sees of a packet: the port header, then the packet's first bytes, then zeros.
//
//     | port 2 | captured 2 | wire 4 | packet, at most 128 bytes, zeros behind its end |
//
// Neither SWX nor PNA tells a program how long a packet is or on which of weir's ports it came in, so the
// memory port says both in a header of its own, in network order like any. A program has it if it declares a
// header called `from_port`; otherwise the window begins with the packet.
//
//   port      number of weir's port
//   captured  bytes of the packet in one piece, what the C++ parser may read; at most 65,535
//   wire      bytes on the wire, which is what counters of bytes count
#pragma once

#include <cstdint>
#include <string_view>

namespace weir::p4::swx {

inline constexpr std::string_view port_header_name = "from_port";
inline constexpr unsigned port_header_bits[] = {16, 16, 32};
inline constexpr unsigned port_header_bytes = 8;
inline constexpr unsigned window_bytes = 128; // of the packet

} // namespace weir::p4::swx
