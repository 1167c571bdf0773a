// Where the exporter puts register contents: into a pipeline of this process, into text, into memory of a
// test.
//
// Arrays go by their names in p4/export/register_map.hpp. A sink stands for one loaded program; the exporter
// is the only one who writes its banked arrays.
//
// Errors are the sink's own; the exporter passes them on and takes what was being written for unknown.
#pragma once

#include "weir/base/result.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace weir::p4 {

class RegisterSink {
public:
  virtual ~RegisterSink() = default;

  // Elements of an array as loaded, both banks together.
  [[nodiscard]] virtual Result<std::uint64_t> capacity(std::string_view array) = 0;

  // Elements first, first + 1, ... become `values`. Asked only for what lies within the array.
  [[nodiscard]] virtual Status write(std::string_view array, std::uint64_t first,
                                     std::span<const std::uint64_t> values) = 0;

  // Packets use this bank from now on. Returns when none in flight uses the other one: it may be written to
  // at once. After an error some may use either: the exporter writes to none, and asks for the same again.
  [[nodiscard]] virtual Status flip(unsigned bank) = 0;

protected:
  RegisterSink() = default;
  RegisterSink(const RegisterSink &) = default;
  RegisterSink &operator=(const RegisterSink &) = default;
};

} // namespace weir::p4
