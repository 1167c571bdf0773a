// Section list_actions: what is done with packets of deny lists that do more, or less, than drop.
//
//   | ListActionsHeader 64 | ListActionEntry 16 each |
//
// Lists that are not here drop, and an image whose lists all do has no such section. Entries stand in the order of the lists'
// numbers. What a table answers is the list alone, so an entry that is added to a list later has the list's action.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/base/result.hpp"
#include "weir/image/lists.hpp"
#include "weir/key/rule.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace weir::image {

struct ListActionsHeader {
  std::uint32_t lists;
  std::array<std::uint8_t, 60> reserved;
};
static_assert(sizeof(ListActionsHeader) == 64 && std::has_unique_object_representations_v<ListActionsHeader>);

struct ListActionEntry {
  ListId list;
  RuleAction action; // count, rate_limit or reject
  RulePer per;       // of rate_limit: `rule` for all that the list denies, `source` for each address
  std::uint32_t packets, burst; // of rate_limit, a second and at once; else 0
  std::array<std::uint8_t, 4> reserved;

  // Are its packets judged as if the list were not there, as far as nothing is too much?
  [[nodiscard]] bool goes_on() const noexcept { return weir::goes_on(action); }
};
static_assert(sizeof(ListActionEntry) == 16 && std::has_unique_object_representations_v<ListActionEntry>);

class ListActionsView {
public:
  ListActionsView() = default; // all lists drop

  // `lists`: of the same image. Errors: bad_image, and why.
  [[nodiscard]] static Result<ListActionsView> attach(Bytes section, std::span<const ListEntry> lists);

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::span<const ListActionEntry> entries() const noexcept { return entries_; }
  // Null: it drops.
  [[nodiscard]] const ListActionEntry *of(ListId list) const noexcept;

private:
  std::span<const ListActionEntry> entries_;
};
static_assert(std::is_trivially_copyable_v<ListActionsView>);

// The section; none for no entries. They are in the order of their lists.
[[nodiscard]] std::vector<std::byte> list_actions_section(std::span<const ListActionEntry> entries);

// "count: counted, and judged as if it were on no list", for people.
[[nodiscard]] std::string text_of(const ListActionEntry &entry);

} // namespace weir::image
