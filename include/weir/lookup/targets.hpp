// Lines that one burst will ask for, prefetched while another is probed.
#pragma once

#include "weir/lookup/kernels.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace weir::lookup {

// Addresses to prefetch, handed out in pieces.
class Targets {
public:
  void add(std::span<const void *const> some) noexcept {
    if (!some.empty()) pieces_[count_++] = {some.data(), some.size()};
  }
  // At most `count`, fewer at the end of a piece, none at the end of all.
  [[nodiscard]] std::span<const void *const> next(unsigned count) noexcept {
    if (at_ == count_) return {};
    Piece &piece = pieces_[at_];
    const std::span<const void *const> out{piece.first, std::min<std::size_t>(count, piece.count)};
    piece = {piece.first + out.size(), piece.count - out.size()};
    if (piece.count == 0) ++at_;
    return out;
  }
  void prefetch_rest() noexcept {
    for (; at_ < count_; ++at_)
      for (std::size_t i = 0; i < pieces_[at_].count; ++i) prefetch_line(pieces_[at_].first[i]);
  }

private:
  unsigned count_ = 0, at_ = 0;
  struct Piece { // a span without a constructor: clearing 64 of them a burst costs more than using one
    const void *const *first;
    std::size_t count;
  };
  Piece pieces_[68]; // two sides, two families, 17 batches
};

} // namespace weir::lookup
