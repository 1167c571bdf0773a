// The forms that denied hosts may have in a filter: what they are called, what a question costs, what becomes of changes.
#pragma once

#include "control/plan/calibration.hpp"
#include "control/plan/stacked_size.hpp"
#include "weir/config/config.hpp"
#include "weir/filter/base_filter.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace weir::plan {

enum class DenyForm : std::uint8_t {
  split_block, // stacks of these layers
  bloom,
  fuse,
  cuckoo,
  quotient,
  chained_and_shared, // filter/chained_filter.hpp
  chained_and,
};

// What is known of a form.
struct DenyFormFacts {
  DenyForm form;
  const char *name;
  config::Judge judge; // the word of the configuration that asks for it
  filter::FilterKind kind;
  std::optional<StackBase> layers; // nothing: a chained filter
  bool in_place;                   // takes hosts while it is in force; else they go to the overlay
  bool built;                      // by the image builder; else it is sized to be set beside the others
};
inline constexpr std::array<DenyFormFacts, 7> deny_forms{{
    {DenyForm::split_block, "split_block", config::Judge::stacked, filter::FilterKind::split_block_bloom,
     StackBase::split_block, true, true},
    {DenyForm::bloom, "bloom", config::Judge::stacked, filter::FilterKind::bloom, StackBase::bloom, true,
     true},
    {DenyForm::fuse, "fuse", config::Judge::fuse, filter::FilterKind::binary_fuse, StackBase::fuse, false,
     true},
    {DenyForm::cuckoo, "cuckoo", config::Judge::stacked, filter::FilterKind::cuckoo, StackBase::cuckoo, false,
     false},
    {DenyForm::quotient, "cqf", config::Judge::stacked, filter::FilterKind::quotient, StackBase::quotient,
     false, false},
    {DenyForm::chained_and_shared, "chained_and_shared", config::Judge::chained_and,
     filter::FilterKind::chained_and_shared, std::nullopt, false, true},
    {DenyForm::chained_and, "chained_and", config::Judge::chained_and, filter::FilterKind::chained_and,
     std::nullopt, false, true},
}};

[[nodiscard]] constexpr const DenyFormFacts &facts_of(DenyForm form) noexcept {
  return deny_forms[static_cast<std::size_t>(form)];
}
static_assert([] {
  for (std::size_t i = 0; i < deny_forms.size(); ++i)
    if (static_cast<std::size_t>(deny_forms[i].form) != i) return false;
  return true;
}());
[[nodiscard]] constexpr const char *name_of(DenyForm form) noexcept { return facts_of(form).name; }
[[nodiscard]] constexpr const char *name_of(config::Judge judge) noexcept {
  switch (judge) {
  case config::Judge::stacked: return "stacked";
  case config::Judge::chained_and: return "chained_and";
  case config::Judge::fuse: return "fuse";
  case config::Judge::automatic: break;
  }
  return "auto";
}

// ns of a question to a judge of this form, with no table behind it: work and the lines of each layer, of which only
// those count that the question is expected to reach.
[[nodiscard]] double judge_ns(DenyForm form, const StackPlan &stack, Family family, double hit_ratio,
                              const Calibration &calibration);

} // namespace weir::plan
