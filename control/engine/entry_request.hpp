// A request for entries of a dynamic list, read from its line without a tree of JSON values in between: a
// million entries come in one line.
#pragma once

#include "weir/base/result.hpp"
#include "weir/key/address.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::control {

struct NewEntry {
  Prefix prefix;
  std::optional<std::uint64_t> ttl_s; // none: the list's; 0: for ever
  std::string comment;
};

} // namespace weir::control
