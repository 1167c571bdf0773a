// Changes a live (or staged) image in place. One writer per image - the dataplane's service thread -
// while any number of readers look on; table/table.hpp has the order of memory operations.
#pragma once

#include "weir/base/result.hpp"
#include "weir/image/view.hpp"
#include "weir/wire/messages.hpp"

#include <functional>
#include <memory>

namespace weir::image {

enum class Change : std::uint8_t {
  unchanged, // it already said so
  in_place,
  overlay,
  needs_rebuild, // nothing was changed
};

class ImageWriter {
public:
  // `grace` returns after every reader has passed a quiescent state; it is called in the middle of
  // the rare change that moves a key from table 2 to table 1, and never for an image nobody reads.
  static Result<ImageWriter> attach(MutableBytes image, std::function<void()> grace);

  [[nodiscard]] Change apply(const wire::Delta &delta);

  // Tells the writer that a grace period has passed since the last apply(): freed slots may be
  // refilled from now on.
  void grace_passed();
};

} // namespace weir::image
