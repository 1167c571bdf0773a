// Packets change threads inside DPDK's drivers, pools and rings, which are not compiled with the
// thread sanitizer: it cannot see that a packet was handed over properly. Both sides say so here;
// outside of PROFILE=tsan this costs nothing.
#pragma once

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace weir::dataplane {

// The packet is about to go to somebody else.
inline void hands_over([[maybe_unused]] void *packet) noexcept {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(packet);
#endif
}

// The packet came from somebody else.
inline void takes_over([[maybe_unused]] void *packet) noexcept {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(packet);
#endif
}

} // namespace weir::dataplane
