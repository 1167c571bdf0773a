// Memory of the C library: what large work leaves free goes back to the system.
#pragma once

namespace weir::control {

void keep_few_arenas(); // at start, before there are threads

// After large work; may take milliseconds for each hundred MiB that is free. From any thread.
void give_memory_back();

} // namespace weir::control
