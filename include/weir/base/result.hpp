// Errors are values: Result<T> carries either a T or an Error that a person can act on.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace weir {

// What kind of failure this is; programs branch on it, people read Error::message.
enum class Errc : std::uint8_t {
  usage,         // the call or command line makes no sense
  io,            // a file, socket or process failed
  parse,         // text or bytes do not have the form asked for
  config,        // the configuration contradicts itself or names what does not exist
  refused,       // understood, but a guard or rule says no
  not_found,     // the thing named is not there
  no_memory,     // memory needed exceeds memory free
  bad_image,     // an image failed a check of the trust border
  bad_sequence,  // deltas out of order, or for another store
  needs_rebuild, // a live image cannot take the change; a new one can
  unreachable,   // the peer process does not answer
};

struct Error {
  Errc code = Errc::io;
  std::string message; // names file, line, value and remedy where they exist
};

template <class T> using Result = std::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline std::unexpected<Error> fail(Errc code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}

[[nodiscard]] constexpr const char *name_of(Errc code) {
  switch (code) {
  case Errc::usage: return "usage";
  case Errc::io: return "io";
  case Errc::parse: return "parse";
  case Errc::config: return "config";
  case Errc::refused: return "refused";
  case Errc::not_found: return "not_found";
  case Errc::no_memory: return "no_memory";
  case Errc::bad_image: return "bad_image";
  case Errc::bad_sequence: return "bad_seq";
  case Errc::needs_rebuild: return "needs_rebuild";
  case Errc::unreachable: return "unreachable";
  }
  return "unknown";
}

} // namespace weir

// The value of a Result, or nothing of a Status; an error is returned to the caller as it is:
//
//   const auto text = TRY(read_text(file));
//   TRY(check(text));
//
// A statement expression, which g++ and clang have, since only such a one can return from inside an
// expression.
#define TRY(...)                                                                                             \
  WEIR_TRY_NUMBERED(__COUNTER__, __VA_ARGS__) // a name of its own: one TRY may stand in another
#define WEIR_TRY_NUMBERED(number, ...) WEIR_TRY_PASTED(number, __VA_ARGS__)
#define WEIR_TRY_PASTED(number, ...) WEIR_TRY_NAMED(tried_##number, __VA_ARGS__)
#define WEIR_TRY_NAMED(tried, ...)                                                                           \
  ({                                                                                                         \
    auto tried = (__VA_ARGS__);                                                                              \
    if (!tried) [[unlikely]]                                                                                 \
      return std::unexpected(std::move(tried).error());                                                      \
    *std::move(tried);                                                                                       \
  })
