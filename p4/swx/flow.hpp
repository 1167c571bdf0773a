// The rules of lint.hpp that depend on the way a packet takes: forward dataflow over instructions and labels.
//
// Which headers are valid is known exactly on any path, so states are kept apart by that set: at an
// instruction there is one state for each set of valid headers that can arrive there. That decides jmpv and
// jmpnv, and makes the usual "written where IPv4 is valid, read where IPv4 is valid" provable. A state:
//
//   written   metadata fields that every path to here has written
//   touched   those that some path has written (for the message)
//   taken     bytes extracted so far, the most that any path takes
//   asked     a table was asked on every path to here
//   made      headers that validate made valid, on some path: memory of their own, never cleared
//
// Where paths meet, `written` and `asked` are intersected, `touched` and `made` united, `taken` the larger. A
// table runs any one of its actions: their bodies are walked from the state at the table, and what comes back
// is met. Backward jumps are followed until nothing changes; loop and emit_twice are checked before, so
// `taken` is finite.
#pragma once

#include "p4/swx/lint.hpp"

namespace weir::p4::swx {

void check_flow(const Spec &spec, std::vector<Finding> &findings);

} // namespace weir::p4::swx
