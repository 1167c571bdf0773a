// The trust border: attach() is the only door from bytes to a view. It checks everything that a
// reader will rely on - magic, version, sizes, alignment, bounds, checksums, known kinds, reserved
// zeros, section headers against section sizes - and says what is wrong with words.
#pragma once

#include "weir/base/result.hpp"
#include "weir/image/view.hpp"

#include <cstdint>
#include <string_view>

namespace weir::image {

// How much of an image to check. Checksums cost one pass over the bytes; an image that was changed
// in place no longer has the checksums of its mutable sections.
enum class Check : std::uint8_t { everything, not_the_mutable_checksums };

// `bytes` must be 64-byte aligned and stay mapped as long as any view of it is used. `allow_kinds`, which
// must outlive the view: what may stand in front of the allow tables.
[[nodiscard]] Result<ImageView> attach(Bytes bytes, Check check = Check::everything,
                                       std::span<const AllowFilterOps> allow_kinds = allow_filter_kinds());

// The bytes behind a section of an image that `view` has been attached to; empty: it has no such section.
[[nodiscard]] MutableBytes section_of(MutableBytes image, const ImageView &view, SectionKind kind) noexcept;

// The value of the longest matching prefix for an address, 0 when there is none. Asks one length
// after the other: for explain, verification and tests; workers use lookup::BurstLookup.
[[nodiscard]] std::uint32_t lookup(const ImageView &view, Side side, const Address &address) noexcept;
[[nodiscard]] std::uint32_t lookup_v4(const ImageView &view, Side side, std::uint32_t wire) noexcept;
[[nodiscard]] std::uint32_t lookup_v6(const ImageView &view, Side side, const void *address) noexcept;

// Name of a list, empty when the image has no such list.
[[nodiscard]] std::string_view list_name(const ImageView &view, ListId list) noexcept;

} // namespace weir::image
