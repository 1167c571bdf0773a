#include "control/engine/give_back.hpp"

#include <malloc.h>

namespace weir::control {

// Large blocks go back when they are freed, whatever lies behind them; small ones of all threads share two
// heaps, so that what one thread frees another one uses.
void keep_few_arenas() {
  constexpr int arenas = 2, mapped_from_bytes = 256 * 1024, trim_from_bytes = 1024 * 1024;
  mallopt(M_ARENA_MAX, arenas);
  mallopt(M_MMAP_THRESHOLD, mapped_from_bytes); // and it stays so: the default grows with use
  mallopt(M_TRIM_THRESHOLD, trim_from_bytes);
}

void give_memory_back() { malloc_trim(0); }

} // namespace weir::control
