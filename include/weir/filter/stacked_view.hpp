// A stacked filter as bytes, and its reader.
//
//   section   | StackHeader, 64 bytes | StackLayerEntry[depth] | layer 1 | layer 2 | ...
//
// Layers are the sections of their base filters, each at a multiple of 64 bytes, in order and without gaps
// beyond that. Little-endian; reserved bytes and those between are zero. The table says where each layer
// lies; what a layer is its own header says, and attach() of the base filter checks it.
//
// A view is trivially copyable: parameters and pointers. attach() is the trust border.
#pragma once

#include "weir/filter/base_filter.hpp"
#include "weir/filter/stacked.hpp"

#include <array>
#include <cstring>

namespace weir::filter {

inline constexpr unsigned stack_layers_max = 25; // of a section; the planner takes nine at most

// Begins as a FilterHeader does: depth and known negatives are its shape words.
struct StackHeader {
  std::array<char, 8> magic;
  std::uint32_t kind; // FilterKind::stack
  std::uint32_t reserved0;
  std::uint32_t depth; // any number; as filter of denied hosts an odd one
  std::uint32_t reserved1;
  std::uint64_t known; // negatives that it was built from, for people
  std::array<std::uint64_t, 2> reserved;
  std::uint64_t positives;    // keys that it was built from, for people; 0 where layer 1 counts them
  std::uint64_t planned_keys; // the sizes were chosen for so many; 0: nobody said
};
static_assert(sizeof(StackHeader) == 64 && std::has_unique_object_representations_v<StackHeader>);
static_assert(offsetof(StackHeader, depth) == offsetof(FilterHeader, shape) &&
              offsetof(StackHeader, reserved) == offsetof(FilterHeader, layer) &&
              offsetof(StackHeader, positives) == offsetof(FilterHeader, keys) &&
              offsetof(StackHeader, planned_keys) == offsetof(FilterHeader, planned_keys));

// Of a stack without keys.
[[nodiscard]] constexpr StackHeader stack_header(unsigned depth) noexcept {
  StackHeader header{};
  header.magic = filter_magic;
  header.kind = static_cast<std::uint32_t>(FilterKind::stack);
  header.depth = depth;
  return header;
}

struct StackLayerEntry {
  std::uint64_t offset; // from the start of the section
  std::uint64_t bytes;
};
static_assert(sizeof(StackLayerEntry) == 16 && std::has_unique_object_representations_v<StackLayerEntry>);

// Where layer 1 begins.
[[nodiscard]] constexpr std::uint64_t stack_layers_offset(unsigned depth) noexcept {
  return round_up(sizeof(StackHeader) + depth * sizeof(StackLayerEntry), cache_line_bytes);
}

// The parts of a section, const bytes for readers.
template <class Byte> struct OpenStack {
  StackHeader header;
  std::vector<std::span<Byte>> layers;
};

// Errors: bad_image, for a section that is cut or misaligned, or whose layers do not lie as they must.
template <class Byte> [[nodiscard]] Result<OpenStack<Byte>> open_stack(std::span<Byte> section) {
  const auto bad = [](const std::string &why) {
    return fail(Errc::bad_image, "stacked filter: " + why + ", build it again");
  };
  OpenStack<Byte> open;
  StackHeader &header = open.header;
  if (section.size() < sizeof header) return bad("the section has no room for its header");
  if (reinterpret_cast<std::uintptr_t>(section.data()) % cache_line_bytes != 0)
    return bad("the section does not begin at a multiple of 64 bytes");
  std::memcpy(&header, section.data(), sizeof header);
  if (const std::string objection =
          header_objection(load_unaligned<FilterHeader>(section.data()), FilterKind::stack);
      !objection.empty())
    return bad(objection);
  if (header.depth == 0 || header.depth > stack_layers_max)
    return bad("the number of layers is not one of 1 to 25: " + std::to_string(header.depth));
  if (header.reserved1 != 0 || header.reserved != decltype(header.reserved){})
    return bad("reserved bytes are not zero");
  std::uint64_t end = stack_layers_offset(header.depth);
  if (section.size() < end) return bad("the section has no room for its table of layers");
  for (unsigned i = 0; i < header.depth; ++i) {
    StackLayerEntry entry;
    std::memcpy(&entry, section.data() + sizeof header + i * sizeof entry, sizeof entry);
    if (entry.offset != end || entry.bytes > section.size() - end)
      return bad("layer " + std::to_string(i + 1) + " does not lie where it must");
    open.layers.push_back(section.subspan(entry.offset, entry.bytes));
    end = round_up(entry.offset + entry.bytes, cache_line_bytes);
    if (end > section.size()) return bad("layer " + std::to_string(i + 1) + " ends beyond the section");
  }
  if (end != section.size()) return bad("the section goes on after its last layer");
  return open;
}

template <Filter Odd, Filter Even = Odd> class StackedView {
public:
  StackedView() = default; // accepts nothing: attach one before use

  // Errors: bad_image, with the layer that is bad.
  [[nodiscard]] static Result<StackedView> attach(Bytes section) {
    const auto open = TRY(open_stack(section));
    StackedView view;
    view.depth_ = open.header.depth;
    for (unsigned i = 0; i < view.depth_; ++i) {
      const Status on = i % 2 == 0 ? attach_layer(open.layers[i], view.odd_[i / 2])
                                   : attach_layer(open.layers[i], view.even_[i / 2]);
      if (!on)
        return fail(on.error().code,
                    "stacked filter, layer " + std::to_string(i + 1) + ": " + on.error().message);
    }
    return view;
  }

  [[nodiscard]] bool contains(KeyHash key) const noexcept {
    return depth_ != 0 && stack_contains<Odd, Even>(odd(), even(), key);
  }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return depth_ == 0 ? 0 : stack_contains_batch<Odd, Even>(odd(), even(), keys);
  }
  // The answer for a key that layer 1 accepts.
  [[nodiscard]] bool settles(KeyHash key) const noexcept {
    return stack_settles<Odd, Even>(odd(), even(), 0, key);
  }
  [[nodiscard]] unsigned depth() const noexcept { return depth_; }
  [[nodiscard]] std::span<const Odd> odd() const noexcept { return std::span(odd_).first((depth_ + 1) / 2); }
  [[nodiscard]] std::span<const Even> even() const noexcept { return std::span(even_).first(depth_ / 2); }

private:
  template <class Layer> static Status attach_layer(Bytes section, Layer &layer) {
    layer = TRY(Layer::attach(section));
    return {};
  }

  unsigned depth_ = 0;
  std::array<Odd, (stack_layers_max + 1) / 2> odd_{};
  std::array<Even, stack_layers_max / 2> even_{};
};

// To go on with a section in place: odd layers change, even ones are read.
// Errors: bad_image.
template <class Odd, Filter EvenView>
[[nodiscard]] Result<Stacked<Odd, EvenView>> adopt_stack(MutableBytes section) {
  const auto open = TRY(open_stack(section));
  std::vector<Odd> odd;
  std::vector<EvenView> even;
  for (std::size_t i = 0; i < open.layers.size(); ++i) {
    Status on;
    const auto keep = [&on](auto made, auto &row) {
      if (made)
        row.push_back(std::move(*made));
      else
        on = std::unexpected(made.error());
    };
    if (i % 2 == 0)
      keep(Odd::adopt(open.layers[i]), odd);
    else
      keep(EvenView::attach(open.layers[i]), even);
    if (!on) return std::unexpected(on.error());
  }
  return Stacked<Odd, EvenView>::of(std::move(odd), std::move(even));
}

} // namespace weir::filter
