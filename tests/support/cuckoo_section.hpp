// A cuckoo section in memory of its own.
#pragma once

#include "weir/build/cuckoo_builder.hpp"

#include <array>
#include <vector>

namespace weir::test {

class CuckooSection {
public:
  explicit CuckooSection(filter::CuckooShape shape, std::span<const KeyHash> keys = {},
                         std::uint64_t planned_keys = 0)
      : bytes_(build::cuckoo_bytes({planned_keys, shape}).value()),
        lines_((bytes_ + sizeof(Line) - 1) / sizeof(Line)) {
    (void)build::build_cuckoo({planned_keys, shape}, keys, bytes()).value();
  }

  [[nodiscard]] MutableBytes bytes() noexcept {
    return std::as_writable_bytes(std::span(lines_)).first(bytes_);
  }
  [[nodiscard]] filter::CuckooView view() { return filter::CuckooView::attach(bytes()).value(); }
  template <class Rules = filter::CuckooRules> [[nodiscard]] filter::BasicCuckooWriter<Rules> writer() {
    return filter::BasicCuckooWriter<Rules>::attach(bytes()).value();
  }

private:
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes;
  };
  std::size_t bytes_;
  std::vector<Line> lines_;
};

} // namespace weir::test
