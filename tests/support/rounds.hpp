// How often a test repeats what it draws at random: a third as often under a sanitizer, which makes each round three to
// ten times as long and looks for errors of memory and order, not for rare answers.
#pragma once

namespace weir::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

constexpr unsigned rounds(unsigned usual) { return sanitized ? (usual + 2) / 3 : usual; }

} // namespace weir::test
