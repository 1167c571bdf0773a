// The filter in front of the allow tables as a reader sees it: a Seesaw counting filter, a cuckoo filter, or
// none. Either never refuses a key that an allow table has.
#pragma once

#include "weir/filter/cuckoo.hpp"
#include "weir/filter/seesaw.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace weir::image {

enum class GuardKind : std::uint8_t { none, seesaw, cuckoo };
[[nodiscard]] constexpr std::string_view name_of(GuardKind kind) noexcept {
  return kind == GuardKind::cuckoo ? "cuckoo" : kind == GuardKind::seesaw ? "seesaw" : "none";
}

class GuardView {
public:
  GuardView() = default;
  explicit GuardView(const filter::SeesawView &filter) noexcept : kind_(GuardKind::seesaw), seesaw_(filter) {}
  explicit GuardView(const filter::CuckooView &filter) noexcept : kind_(GuardKind::cuckoo), cuckoo_(filter) {}

  [[nodiscard]] GuardKind kind() const noexcept { return kind_; }
  [[nodiscard]] bool empty() const noexcept { return kind_ == GuardKind::none; } // do not ask it

  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    return kind_ == GuardKind::cuckoo ? cuckoo_.contains(key) : seesaw_.contains(key);
  }
  [[nodiscard]] filter::HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return kind_ == GuardKind::cuckoo ? cuckoo_.contains_batch(keys) : seesaw_.contains_batch(keys);
  }

private:
  GuardKind kind_ = GuardKind::none;
  filter::SeesawView seesaw_;
  filter::CuckooView cuckoo_;
};

} // namespace weir::image
