// Changes prefixes in place where they stand in range maps, for image/writer.hpp: one writer, readers at work.
//
// A map knows which prefix answers for an address, not which ones there are. What else a change has to know is
// which prefix answers once a longer one is gone; it is one with a longer one inside, and those are in a book
// (prefix_book.hpp).
//
//   set P     in the part of the addresses that P spans, whatever a shorter prefix or none answers becomes P's
//             value; that shorter prefix has a longer one inside now, and goes into the book
//   unset P   whatever P answers becomes the value of the longest prefix around P that is in the book
//
// A host is a prefix of all bits. One of IPv4 that comes in place joins the map where hosts stand in it, or where there
// are few beside its prefixes, as the builder has it (build/prefix_ranges.hpp); half of the spare lines are kept for prefixes, which
// can stand nowhere else.
//
// Parts that P spans (a /16 of IPv4, a place of the array of IPv6) are changed from the last to the first, so that a
// change that had to stop is not taken for done.
#pragma once

#include "weir/image/prefix_book.hpp"
#include "weir/image/prefix_change.hpp"
#include "weir/image/writer.hpp"
#include "weir/table/range_read.hpp"
#include "weir/table/range_writer_v4.hpp"
#include "weir/table/range_writer_v6.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace weir::image {

// The parts of the addresses that are changed one at a time.
class CellsV4 {
public:
  static constexpr bool hosts_join = true;
  // That one change may touch; beyond it the map is built anew.
  static constexpr std::uint64_t parts_max = 1024;
  using Address = std::uint32_t;
  using Map = table::RangeMapV4;
  using Covering = table::CoveringV4;
  using Writer = table::RangeWriterV4<>;
  using Range = table::CellRange;

  CellsV4(Writer writer, const Map &map) : map_(map), writer_(std::move(writer)) {}
  [[nodiscard]] const Map &map() const noexcept { return map_; }
  [[nodiscard]] Writer &writer() noexcept { return writer_; }
  [[nodiscard]] const Writer &writer() const noexcept { return writer_; }

  // Parts between two addresses.
  [[nodiscard]] std::uint64_t parts(Address first, Address last) const noexcept {
    return (last >> 16) - (first >> 16) + 1;
  }
  // Changes them, from the last to the first, until one does not come out in place.
  [[nodiscard]] Change each_part(Address first, Address last, PrefixChange &change);
  // What stands in an address's part: range_hosts or range_prefixes.
  void mark(Address address, std::uint32_t what) noexcept;
  // Lines for another host, and a part that is written anew in a few microseconds.
  [[nodiscard]] bool has_room_for_host(Address host);

private:
  Map map_;
  Writer writer_;
  std::vector<Range> before_, after_;
};

class PlacesV6 {
public:
  static constexpr bool hosts_join = false; // each takes lines of its own, and a part may be a /16
  static constexpr std::uint64_t parts_max = 2048;
  using Address = table::AddressV6;
  using Map = table::RangeMapV6;
  using Covering = table::CoveringV6;
  using Writer = table::RangeWriterV6<>;
  using Range = table::PlaceRange;

  PlacesV6(Writer writer, const Map &map) : map_(map), writer_(std::move(writer)) {}
  [[nodiscard]] const Map &map() const noexcept { return map_; }
  [[nodiscard]] Writer &writer() noexcept { return writer_; }
  [[nodiscard]] const Writer &writer() const noexcept { return writer_; }

  [[nodiscard]] std::uint64_t parts(const Address &first, const Address &last) const noexcept;
  [[nodiscard]] Change each_part(const Address &first, const Address &last, PrefixChange &change);
  void mark(const Address &address, std::uint32_t what) noexcept;
  [[nodiscard]] static bool has_room_for_host(const Address &) noexcept { return false; }

private:
  // Of a root: the first and the last place that holds addresses between the two.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> places(std::uint32_t root, const Address &first,
                                                               const Address &last) const noexcept;
  Map map_;
  Writer writer_;
  std::vector<Range> before_, after_;
};

template <class Parts> class PrefixWriter {
public:
  using Address = typename Parts::Address;
  using Map = typename Parts::Map;

  // Errors: bad_image, those of the map's writer.
  [[nodiscard]] static Result<PrefixWriter> adopt(MutableBytes section, const Map &map) {
    auto writer = TRY(Parts::Writer::adopt(section));
    return PrefixWriter(std::move(writer), map);
  }

  // The table value of exactly this prefix, shorter than a host; 0: the rules do not have it.
  [[nodiscard]] std::uint32_t find(const Address &first, unsigned length) const {
    if (length == 0) return parts_.map().value(0);
    if (const std::uint32_t v = book_.find(first, length)) return v;
    const std::uint32_t v = parts_.map().find(table::question_of(first));
    return table::value::length_of(v) == length ? v : 0;
  }
  // Of a host that the map has as a range of one address.
  [[nodiscard]] std::uint32_t find_host(const Address &host) const {
    if (!built_with_hosts_ && hosts_joined_ == 0) return 0;
    const std::uint32_t v = parts_.map().find(table::question_of(host));
    return table::value::length_of(v) == host_length ? v : 0;
  }
  // Hosts that come are to stand in the map, as long as it has room for them.
  [[nodiscard]] bool hosts_join() const noexcept {
    return Parts::hosts_join && (built_with_hosts_ || has_few_hosts());
  }
  [[nodiscard]] bool has_room_for_host(const Address &host) { return parts_.has_room_for_host(host); }
  // `value`: of the prefix from now on, 0 for none. waits: ask again after a grace period.
  [[nodiscard]] Change put(const Address &first, unsigned length, std::uint32_t value) {
    if (length == 0) {
      table::write_release(const_cast<std::uint32_t &>(*parts_.map().values()), value);
      return Change::in_place;
    }
    const Address last = table::last_in(first, length);
    if (parts_.parts(first, last) > Parts::parts_max) return Change::needs_rebuild;
    const bool joins = length == host_length && value != 0 && find_host(first) == 0;
    PrefixChange change{length, value, value == 0 ? book_.around(first, length) : 0};
    const Change done = parts_.each_part(first, last, change);
    if (change.shorter != 0) // parts that are done no longer tell, so now, even if the change has to stop
      book_.note(table::first_of_prefix(first, table::value::length_of(change.shorter)), change.shorter);
    if (done != Change::in_place) return done;
    hosts_joined_ += joins ? 1 : 0;
    if (length == host_length && value == 0 && hosts_joined_ != 0) --hosts_joined_;
    if (value == 0)
      book_.forget(first, length);
    else if (change.has_longer || book_.find(first, length) != 0)
      book_.note(first, value);
    return Change::in_place;
  }
  // A host is about to stand in the table, the overlay or a filter that judges.
  void note_host(const Address &host) noexcept { parts_.mark(host, table::range_hosts); }
  [[nodiscard]] const Map &map() const noexcept { return parts_.map(); }
  [[nodiscard]] std::uint32_t free_lines() const noexcept { return parts_.writer().free_lines(); }
  void grace_passed() { parts_.writer().grace_passed(); }
  [[nodiscard]] bool waits_for_grace() const noexcept { return parts_.writer().retired_lines() != 0; }

private:
  PrefixWriter(typename Parts::Writer writer, const Map &map)
      : parts_(std::move(writer), map), book_(map.covering()) {
    const std::span values(map.values(), map.header().values_used);
    table_was_empty_ = (map.in_use() & table::range_hosts) == 0;
    built_with_hosts_ = std::ranges::any_of(
        values, [](std::uint32_t v) { return table::value::length_of(v) == host_length; });
  }

  // Beside the prefixes that the map was built with, and none in the table at first.
  [[nodiscard]] bool has_few_hosts() const noexcept {
    return table_was_empty_ && (hosts_joined_ + 1) * table::prefixes_a_host <= parts_.map().header().prefixes;
  }

  static constexpr unsigned host_length = 8 * sizeof(Address);

  Parts parts_;
  PrefixBook<typename Parts::Covering> book_;
  bool built_with_hosts_ = false, table_was_empty_ = false;
  std::uint64_t hosts_joined_ = 0; // in place
};

using PrefixWriterV4 = PrefixWriter<CellsV4>;
using PrefixWriterV6 = PrefixWriter<PlacesV6>;

} // namespace weir::image
