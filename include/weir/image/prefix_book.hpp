// Which prefixes have longer ones inside, as far as the writer of a range map has to know: those that the map was
// built with, and what changed since. All of them are prefixes that the rules have now; that some of them have lost
// what was inside does no harm.
#pragma once

#include "weir/table/range_prefix.hpp"

#include <bitset>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

namespace weir::image {

template <class Covering> class PrefixBook {
public:
  using Address = decltype(Covering::first);

  PrefixBook() = default;
  // `built` has to stay.
  explicit PrefixBook(std::span<const Covering> built) : built_(built) {
    for (const Covering &c : built) lengths_.set(table::value::length_of(c.value));
  }

  // The table value of this prefix, 0 if it is not in the book.
  [[nodiscard]] std::uint32_t find(const Address &first, unsigned length) const {
    if (!lengths_.test(length)) return 0;
    if (const auto changed = changes_.find({first, length}); changed != changes_.end())
      return changed->second;
    return table::find_covering(built_, first, length);
  }
  // The longest of those around the prefix, shorter than it.
  [[nodiscard]] std::uint32_t around(const Address &first, unsigned length) const {
    for (unsigned l = length; l-- > 1;)
      if (const std::uint32_t v = find(table::first_of_prefix(first, l), l)) return v;
    return 0;
  }

  void note(const Address &first, std::uint32_t value) {
    lengths_.set(table::value::length_of(value));
    changes_[{first, table::value::length_of(value)}] = value;
  }
  void forget(const Address &first, unsigned length) {
    if (find(first, length) != 0) changes_[{first, length}] = 0;
  }

private:
  std::span<const Covering> built_;
  std::bitset<129> lengths_; // that any of the book has, or had
  std::map<std::pair<Address, unsigned>, std::uint32_t> changes_;
};

} // namespace weir::image
