// Adds hosts to the stacked filter of an image in place, beside readers [Stacked Alg. 3].
//
// A host goes into layer 1, and where layer 2 knows it into layer 3, and so on. Even layers never change and
// bits of odd ones are only ever set: what the filter accepts it accepts for as long as the image lives, so
// a host that it accepts already needs nothing, and one that is removed stays - in front of a table a false
// positive that the table refutes, for a judge one that the overlay has to deny.
//
// Split-block and plain Bloom filters take hosts; additions to any other kind belong into the overlay.
#pragma once

#include "weir/image/deny_filter_view.hpp"

#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>

namespace weir::image {

class DenyFilterWriter {
public:
  DenyFilterWriter() = default; // there is no filter
  DenyFilterWriter(DenyFilterWriter &&) noexcept = default;
  DenyFilterWriter &operator=(DenyFilterWriter &&) noexcept = default;

  // Of a section that `view` has been attached to. Errors: bad_image, as there.
  [[nodiscard]] static Result<DenyFilterWriter> adopt(MutableBytes section, const DenyFilterView &view) {
    const auto open = TRY(open_deny_filter(section));
    DenyFilterWriter writer;
    writer.planned_ = open.header->planned_keys;
    Status on;
    if (view.kind() == filter::FilterKind::split_block_bloom)
      on = writer.adopt_as<filter::SplitBlockFilter>(open.stack);
    else if (view.kind() == filter::FilterKind::bloom)
      on = writer.adopt_as<filter::Bloom>(open.stack);
    if (!on) return std::unexpected(on.error());
    return writer;
  }

  // False: this kind takes nothing.
  [[nodiscard]] bool insert(KeyHash key) {
    return of_stack(false, [&](auto &stack) { return stack.insert(key).has_value(); });
  }

  // Hosts put in, at the build and since. 0 for a kind that does not change.
  [[nodiscard]] std::uint64_t keys() const {
    return of_stack(std::uint64_t{0}, [](const auto &stack) { return stack.odd()[0].keys(); });
  }
  // One host in ten more than planned: its rates suffer, a new image is due.
  [[nodiscard]] bool is_saturated() const { return keys() > planned_ + planned_ / 10; }

private:
  template <class Odd> [[nodiscard]] Status adopt_as(MutableBytes stack) {
    auto adopted = TRY((filter::adopt_stack<Odd, filter::AnyFilter>(stack)));
    stack_.template emplace<filter::Stacked<Odd, filter::AnyFilter>>(std::move(adopted));
    return {};
  }

  template <class Answer> [[nodiscard]] static Answer ask(Answer none, auto &stack, const auto &question) {
    return std::visit(
        [&]<class Stack>(Stack &one) -> Answer {
          if constexpr (std::is_same_v<std::remove_const_t<Stack>, std::monostate>)
            return none;
          else
            return question(one);
        },
        stack);
  }
  template <class Answer> [[nodiscard]] Answer of_stack(Answer none, const auto &question) {
    return ask(none, stack_, question);
  }
  template <class Answer> [[nodiscard]] Answer of_stack(Answer none, const auto &question) const {
    return ask(none, stack_, question);
  }

  std::uint64_t planned_ = 0;
  std::variant<std::monostate, filter::Stacked<filter::SplitBlockFilter, filter::AnyFilter>,
               filter::Stacked<filter::Bloom, filter::AnyFilter>>
      stack_;
};

} // namespace weir::image
