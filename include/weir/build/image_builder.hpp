// Rules to image. Cold: used by control and tests, never by workers.
//
// Input is the effective state: for each side and family the prefixes, sorted and unique, each with
// the number of the list that names it. The same input and seed give the same bytes. After building,
// every key is asked through the real view.
#pragma once

#include "weir/base/result.hpp"
#include "weir/build/input.hpp"
#include "weir/build/table_size.hpp"
#include "weir/build/word_builder.hpp"
#include "weir/image/allow_filter_kinds.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace weir::build {

struct BuildReport {
  std::uint64_t image_bytes = 0;
  TableReport deny_v4, deny_v6, allow_v4, allow_v6;
  WordReport words; // of the deny side; deny_v4 is of the table behind them then
  double build_ms = 0, verify_ms = 0;
  std::uint64_t keys_verified = 0;
  std::optional<image::DynamicFilterLoad> allow_filter; // none: there is no such filter
  double guard_accepts = 0; // the share of the guarded keys that it accepts all the same
  double stack_accepts = 0; // the share of known negatives that the filter of denied hosts accepts
  unsigned attempts = 1;    // seeds tried; more than one is a curiosity

  // What denied IPv4 hosts take beside range maps: their table, or words and the table behind them.
  [[nodiscard]] std::uint64_t deny_v4_bytes() const noexcept { return words.bytes + deny_v4.bytes; }
};

// Exact bytes the image will take; follows from the numbers of entries and lists alone.
[[nodiscard]] std::uint64_t image_bytes(const BuildInput &input);

// Fills `out` (zeroed, 64-byte aligned, at least image_bytes()) and then asks every key through the
// real view; `allow_kinds` are those that it may have in front of the allow tables. Faults: unsorted or duplicate input, values out of range, too many lists; needs_rebuild: family
// jhash wants larger tables, see build_growing().
[[nodiscard]] Result<BuildReport>
build_image(const BuildInput &input, MutableBytes out,
            std::span<const image::AllowFilterOps> allow_kinds = image::allow_filter_kinds());

// build_image() into what `memory_of(bytes)`, a Result of MutableBytes, gives; of family jhash with tables
// doubled as long as a predictor is not exact.
template <class MemoryOf>
[[nodiscard]] Result<BuildReport> build_growing(BuildInput &input, MemoryOf memory_of) {
  constexpr unsigned doublings_max = 4;
  for (;;) {
    const auto memory = TRY(memory_of(image_bytes(input)));
    auto report = build_image(input, memory);
    if (report || report.error().code != Errc::needs_rebuild || input.doublings == doublings_max)
      return report;
    ++input.doublings;
  }
}

} // namespace weir::build
