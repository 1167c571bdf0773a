// What control keeps of the traffic for its next life, as bytes of a note: a version, the content, its hash.
#pragma once

#include "control/engine/samples.hpp"
#include "control/watch/deny_filter_watch.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::control {

[[nodiscard]] std::string encode_sources(const watch::DenyFilterWatch::Kept &kept);
[[nodiscard]] std::optional<watch::DenyFilterWatch::Kept> decode_sources(std::string_view note);

[[nodiscard]] std::string encode_top(const SampleTable::Kept &kept);
[[nodiscard]] std::optional<SampleTable::Kept> decode_top(std::string_view note);

} // namespace weir::control
