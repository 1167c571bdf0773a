// What DPDK 22.11 builds without a word and then gets wrong. A program that breaks one of these rules is
// refused; each finding names file, line, value and what to write instead.
//
//   of a line
//     register_immediates   regadd and regwr with a number as index and a number as value forget the
//                           array and hit the one declared first
//     register_index        an index beyond the array wraps around
//     register_size         a size that is no power of two is rounded up, the program reduces as if not
//     hash_destination      the destination of hash is kept in eight bits of bit offset: metadata byte 32 and
//                           up end at byte & 31
//     metadata_byte         field offsets are kept in eight bits: what begins after byte 255 wraps around, in
//                           metadata and in the arguments of an action
//     header_bytes          so are header sizes and the offsets of their fields
//     number_width          a header field is compared with the low bits of a number that does not fit it
//     shift                 shifts by 64 and more are taken modulo 64
//     block_end             a block that does not end in tx, drop, jmp or (in an action) return runs on into
//                           whatever memory follows
//     empty_branch          a condition that leads to the next instruction either way: p4c 1.2.4.2 takes
//                           away what a block copies to metadata once and reads once, though other blocks
//                           read it
//   of a path (flow.hpp)
//     extract_window        extract and lookahead do not look at the packet's length: see below
//     loop                  extract and emit in a loop: nothing bounds how far they go
//     emit_twice            a header in two emit instructions may overrun the list of headers to be sent
//     port_header           the port's header comes first, once (memory_port.hpp)
//     unwritten             metadata is not cleared between packets: what no path, or not every path, has
//                           written is the last packet's; so is the answer of a table for jmph and jmpa
//     invalid_header        a field of a header that was neither extracted nor validated on every path points
//                           into an earlier packet's memory; one of a header that validate made holds what an
//                           earlier packet wrote
//
// extract_window is the rule that makes `extract` sound. The memory port lends the program a window of fixed
// size: the packet's first bytes and zeros behind its end. If on every path the sizes of the headers that
// are extracted or looked at add up to no more than the window, nothing but this packet and zeros can be
// read. Whether a header really fits the packet is for the program to ask, from the length that the port puts
// in front; the lint cannot know what the program wants to do with short packets.
//
// Shifts by a field are not looked into: whoever fills that field answers for less than 64. The instructions
// for ~, - and !, which DPDK does not have, do not get this far: spec.hpp.
#pragma once

#include "p4/swx/spec.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace weir::p4::swx {

enum class Rule : std::uint8_t {
  register_immediates,
  register_index,
  register_size,
  hash_destination,
  metadata_byte,
  header_bytes,
  number_width,
  shift,
  block_end,
  empty_branch,
  extract_window,
  loop,
  emit_twice,
  port_header,
  unwritten,
  invalid_header,
};

struct Finding {
  Rule rule = Rule::block_end;
  unsigned line = 0;
  std::string what; // value and remedy

  friend bool operator==(const Finding &, const Finding &) = default;
};

// In the order of lines; empty: the program may run.
[[nodiscard]] std::vector<Finding> lint(const Spec &spec);

// The same as a status: Errc::refused with one line a finding.
[[nodiscard]] Status check(const Spec &spec);

} // namespace weir::p4::swx
