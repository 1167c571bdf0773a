// What the registers of one bank are to hold for an image: the image's tables, filters and parameters in the
// form that p4/acl.p4 computes with (register_map.hpp).
//
//   ImageView --can the program do it?--> laid out and copied --do all arrays hold it?--> BankContents
//
// Nobody may change the image meanwhile: the thread that applies deltas exports.
//
// Errors: refused, with everything that the program cannot do, or with every array that is too small, how
// large it has to be and how that is achieved.
#pragma once

#include "p4/export/register_map.hpp"
#include "weir/base/result.hpp"
#include "weir/image/view.hpp"
#include "weir/key/verdict.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace weir::p4 {

// What the program has to know beside the image.
struct Setting {
  std::span<const PortSide> ports{}; // sides of input ports 0, 1, ...; those beyond have none
  Verdict no_image = Verdict::pass;  // the verdict while there is no image
};

// Elements of every array, both banks together.
using Capacities = std::array<std::uint64_t, array_count>;
[[nodiscard]] constexpr Capacities default_capacities() noexcept {
  Capacities all{};
  for (const ArrayInfo &info : arrays) all[static_cast<std::size_t>(info.array)] = info.elements;
  return all;
}

// Elements of the bank's half of every banked array, from its begin on; what lies behind the end is not used.
using BankContents = std::array<std::vector<std::uint64_t>, array_count>;

// The least capacities, of powers of two and not below the defaults, that this image fits in. Errors:
// refused.
[[nodiscard]] Result<Capacities> capacities_for(const image::ImageView &view);

// Errors: refused.
[[nodiscard]] Result<BankContents> contents_of(const image::ImageView &view, const Setting &setting,
                                               unsigned bank, const Capacities &capacities);

// The program without an image. Errors: refused.
[[nodiscard]] Result<BankContents> contents_without_image(const Setting &setting,
                                                          const Capacities &capacities);

// Where the half of a bank begins.
[[nodiscard]] constexpr std::uint64_t half_of(Array array, unsigned bank,
                                              const Capacities &capacities) noexcept {
  const ArrayInfo &info = info_of(array);
  return bank * (info.fixed ? info.elements : capacities[static_cast<std::size_t>(array)]) / banks;
}

} // namespace weir::p4
