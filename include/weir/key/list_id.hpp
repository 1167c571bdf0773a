// Which list of rules, as images, messages and stores of rules say it.
#pragma once

#include "weir/base/number.hpp"

#include <cstdint>

namespace weir {

// The number of a list of rules, counted from 0 by their store; values of tables carry it plus one in 16 bits.
using ListId = Number<struct ListIdTag, std::uint16_t>;

// Two that no list has: what a value of a table says that names none, and the one under which a host is counted
// that a filter without tables denied (compact mode), since no table says which list it is on.
inline constexpr ListId no_list = 65'535, compact_list = 65'534;

} // namespace weir
