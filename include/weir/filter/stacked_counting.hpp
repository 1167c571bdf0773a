// Three-layer stacked filter on counting Bloom layers: some negatives, known from the start, are answered
// better than the rest [Stacked §3; as SSCF §4.1.1 builds it for sets that change].
//
//   layer 1  positives                       rejects: absent
//   layer 2  the known negatives             rejects: present
//   layer 3  positives that layer 2 accepts  rejects: absent, else present
//
//   errors    an unknown negative passes with a1 ((1 - a2) + a2 a3), a known one with a1 a3; a present key
//             is never missed
//   changes   positives come and go [Stacked Alg. 3]. Negatives are learnt before the first positive and
//             never after: a positive that layer 2 had rejected has no entry in layer 3. Because layer 2
//             holds every known negative and not those alone that the first positives let through layer 1,
//             the rates do not drift as positives change
//   cost      layer 1 for an absent key mostly; all three for a present one that layer 2 takes
//   erase     only of keys that are present
//   section   as of any stack (stacked_view.hpp), with three layers; how many keys there are layer 1 says
//
// One writer, and readers at work all the while. They never miss a present key x:
//
//   - Layer 2 stays as it is while any key is present, so whether x has an entry in layer 3 is settled.
//   - Each cell of x in layers 1 and 3 counts x itself. What other keys take away they had added, and a cell
//     that has reached its maximum is not lowered any more: none of x's cells is 0 in any state between.
//   - A store replaces one word and leaves the word's other cells as they are.
//
// So all that the answer about x hangs on is constant while x is present, and the order of stores to
// different words is free. A key is present for readers that learn of it after insert() has returned, and
// until erase() is called.
#pragma once

#include "weir/filter/counting_bloom.hpp"
#include "weir/filter/loads.hpp"
#include "weir/filter/stacked_view.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weir::filter {

struct StackedCountingShape {
  CountingBloomShape positives, negatives, settled; // layers 1, 2, 3

  [[nodiscard]] std::array<CountingBloomShape, 3> layers() const noexcept {
    return {positives, negatives, settled};
  }
  [[nodiscard]] std::uint64_t bits() const noexcept { // of the cells
    return positives.bits() + negatives.bits() + settled.bits();
  }
  // Of everything.
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    std::uint64_t bytes = stack_layers_offset(3);
    for (const CountingBloomShape &layer : layers())
      bytes += round_up(section_bytes(layer), cache_line_bytes);
    return bytes;
  }
  [[nodiscard]] const char *objection() const noexcept { // what makes it impossible, or nothing
    for (const CountingBloomShape &layer : layers())
      if (const char *why = layer.objection()) return why;
    return nullptr;
  }
};

class StackedCountingView {
public:
  static constexpr FilterKind kind = FilterKind::stack;

  StackedCountingView() = default; // of no filter: attach one before use

  // Errors: bad_image, for a section that is cut, or holds other layers than these.
  [[nodiscard]] static Result<StackedCountingView> attach(Bytes section) {
    const auto open = TRY(open_stack(section));
    if (open.layers.size() != 3)
      return fail(Errc::bad_image, "stacked filter: three layers are expected, build it again");
    StackedCountingView view;
    CountingBloomView *const layers[] = {&view.odd_[0], &view.even_[0], &view.odd_[1]};
    for (std::size_t i = 0; i < 3; ++i) {
      const auto layer = CountingBloomView::attach(open.layers[i]);
      if (!layer)
        return fail(layer.error().code,
                    "stacked filter, layer " + std::to_string(i + 1) + ": " + layer.error().message);
      *layers[i] = *layer;
    }
    return view;
  }

  [[nodiscard]] bool contains(KeyHash key) const noexcept { return stack_contains(odd(), even(), key); }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return stack_contains_batch(odd(), even(), keys);
  }

private:
  [[nodiscard]] std::span<const CountingBloomView> odd() const noexcept { return odd_; }
  [[nodiscard]] std::span<const CountingBloomView> even() const noexcept { return even_; }

  std::array<CountingBloomView, 2> odd_;
  std::array<CountingBloomView, 1> even_;
};
static_assert(Filter<StackedCountingView>);

class StackedCountingWriter {
public:
  // Errors: as StackedCountingView::attach().
  [[nodiscard]] static Result<StackedCountingWriter> attach(MutableBytes section) {
    TRY(StackedCountingView::attach(section));
    const auto open = open_stack(section);
    StackedCountingWriter writer;
    writer.header_ = reinterpret_cast<StackHeader *>(section.data());
    for (const MutableBytes layer : open->layers) {
      auto adopted = TRY(CountingBloom::adopt(layer));
      writer.layers_.push_back(std::move(adopted));
    }
    return writer;
  }
  StackedCountingWriter(const StackedCountingWriter &) = delete; // a copy would have cells of its own
  StackedCountingWriter &operator=(const StackedCountingWriter &) = delete;
  StackedCountingWriter(StackedCountingWriter &&) noexcept = default;
  StackedCountingWriter &operator=(StackedCountingWriter &&) noexcept = default;
  ~StackedCountingWriter() = default;

  // Errors: refused, while a positive is there.
  [[nodiscard]] Status learn(KeyHash negative) {
    if (layers_[0].keys() != 0)
      return fail(Errc::refused, "a stacked filter learns negatives before its first key: build it again");
    layers_[1].insert(negative);
    ++header_->known;
    return {};
  }

  void insert(KeyHash key) noexcept {
    layers_[0].insert(key);
    if (layers_[1].contains(key)) layers_[2].insert(key);
  }
  // False, and nothing changed, when the key certainly is absent.
  bool erase(KeyHash key) noexcept {
    const bool settled = layers_[1].contains(key);
    if (settled && !layers_[2].contains(key)) return false;
    if (!layers_[0].erase(key)) return false;
    if (settled) layers_[2].erase(key);
    return true;
  }

  // Any thread may ask.
  [[nodiscard]] StackedCountingLoad load() const noexcept {
    return {header_->planned_keys, layers_[0].keys(), header_->known,
            layers_[0].shape().cells() + layers_[2].shape().cells(),
            layers_[0].cells_stuck() + layers_[2].cells_stuck()};
  }

private:
  StackedCountingWriter() = default;

  StackHeader *header_ = nullptr;
  std::vector<CountingBloom> layers_;
};

// An empty one into `section`, of shape.bytes() at a multiple of 64. Errors: usage, for a shape that cannot
// be and for a section of another size.
[[nodiscard]] inline Status lay_out_stacked_counting(const StackedCountingShape &shape,
                                                     std::uint64_t planned_keys, MutableBytes section) {
  if (const char *objection = shape.objection())
    return fail(Errc::usage, std::string("stacked filter: ") + objection + ", choose another shape");
  if (section.size() != shape.bytes())
    return fail(Errc::usage, "stacked filter: the section has " + std::to_string(section.size()) +
                                 " bytes where the shape asks for " + std::to_string(shape.bytes()));
  std::ranges::fill(section, std::byte{0});
  StackHeader header = stack_header(3);
  header.planned_keys = planned_keys;
  std::memcpy(section.data(), &header, sizeof header);
  std::uint64_t at = stack_layers_offset(3), number = 0;
  for (const CountingBloomShape &layer : shape.layers()) {
    const StackLayerEntry entry{at, section_bytes(layer)};
    std::memcpy(section.data() + sizeof header + number * sizeof entry, &entry, sizeof entry);
    const auto empty = TRY(CountingBloom::make(layer, ++number));
    std::memcpy(section.data() + at, empty.section().data(), sizeof(FilterHeader)); // no cell counts yet
    at += round_up(entry.bytes, cache_line_bytes);
  }
  return {};
}

// In memory of its own.
class StackedCounting {
public:
  using Shape = StackedCountingShape;
  struct Rates {
    double known = 0, unknown = 0;
  };

  // Expected for `keys` positives and `known` negatives, before a cell is stuck.
  [[nodiscard]] static Rates rates(const Shape &shape, std::uint64_t keys, std::uint64_t known) noexcept {
    const double a1 = CountingBloom::rate(shape.positives, keys);
    const double a2 = CountingBloom::rate(shape.negatives, known);
    const double a3 =
        CountingBloom::rate_at(shape.settled, a2 * static_cast<double>(keys) * shape.settled.hashes);
    return {a1 * a3, a1 * (1 - a2 + a2 * a3)};
  }

  // Errors: usage, for a shape that cannot be.
  [[nodiscard]] static Result<StackedCounting> make(const Shape &shape, std::uint64_t planned_keys = 0) {
    StackedCounting stack;
    stack.lines_.resize(shape.bytes() / sizeof(Line));
    const MutableBytes section = std::as_writable_bytes(std::span(stack.lines_));
    TRY(lay_out_stacked_counting(shape, planned_keys, section));
    auto writer = TRY(StackedCountingWriter::attach(section));
    stack.writer_.emplace(std::move(writer));
    stack.view_ = StackedCountingView::attach(section).value();
    return stack;
  }

  [[nodiscard]] Status learn(KeyHash negative) { return writer_->learn(negative); }
  void insert(KeyHash key) noexcept { writer_->insert(key); }
  bool erase(KeyHash key) noexcept { return writer_->erase(key); }

  [[nodiscard]] bool contains(KeyHash key) const noexcept { return view_.contains(key); }
  [[nodiscard]] HitMask contains_batch(std::span<const KeyHash> keys) const noexcept {
    return view_.contains_batch(keys);
  }
  [[nodiscard]] const StackedCountingView &view() const noexcept { return view_; }
  [[nodiscard]] MutableBytes section() noexcept { return std::as_writable_bytes(std::span(lines_)); }
  [[nodiscard]] StackedCountingLoad load() const noexcept { return writer_->load(); }
  [[nodiscard]] std::uint64_t bits() const noexcept { return 8 * sizeof(Line) * lines_.size(); }
  [[nodiscard]] std::uint64_t keys() const noexcept { return load().keys; }
  [[nodiscard]] std::uint64_t cells_stuck() const noexcept { return load().cells_stuck; }

private:
  struct alignas(cache_line_bytes) Line {
    std::array<std::byte, cache_line_bytes> bytes{};
  };

  StackedCounting() = default;

  std::vector<Line> lines_;
  std::optional<StackedCountingWriter> writer_;
  StackedCountingView view_;
};

} // namespace weir::filter
