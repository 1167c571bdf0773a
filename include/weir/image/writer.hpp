// Changes a live (or staged) image in place. One writer per image - the dataplane's service thread -
// while any number of readers look on; table/line.hpp has the order of memory operations.
//
// A delta says what a prefix is to be afterwards, so applying one twice changes nothing. For a new
// key the length map and the front filter come first, then table or overlay: a reader that finds
// the key finds the way to it. Prefixes, and hosts beside them, stand in range maps (prefix_writer.hpp). In
// an image without them prefixes of up to 16 bits of IPv4 live in the cells of the length map for readers; the
// table keeps them too, so that removing one uncovers the next shorter.
//
// A filter in front of the allow tables is kept in step (allow_filter_writer.hpp): an added key is in it
// before a table has it, a removed one leaves it a grace period after the tables.
//
// A stacked filter of denied hosts takes a host before any table does (deny_filter_writer.hpp). Where it
// judges alone there is no table of hosts: a removed host, and one that it denies wrongly, stand in the
// overlay as tombstones; an added one is in the filter, or in the overlay where the filter does not answer
// for it.
//
// Where denied IPv4 hosts stand in words, a set, a change and an unset are one store each; table/word_line.hpp has the
// order where a host leaves its line for the table behind (side_writer.hpp).
//
// On a side with a chained predictor in force nothing moves, and a new key goes where the chain sends
// its readers, when there is room in that one line, else to the overlay. give_up_exactness() turns such a
// side into one that follows the lines' group bits and takes everything in place.
#pragma once

#include "weir/base/result.hpp"
#include "weir/filter/loads.hpp"
#include "weir/image/delta.hpp"
#include "weir/image/reader.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace weir::image {

class AllowFilterWriter;
class DenyFilterWriter;

enum class Change : std::uint8_t {
  unchanged, // it already said so
  in_place,
  overlay,
  needs_rebuild, // it is not in the image; of a wide prefix a part may be, where range lines ran out on the way
  waits,         // inside a batch alone: to be asked again after a grace period
};

class ImageWriter {
public:
  using Grace = std::function<void()>;

  ImageWriter(ImageWriter &&) noexcept;
  ImageWriter &operator=(ImageWriter &&) noexcept;
  ~ImageWriter();

  // `grace` returns after every reader has passed a quiescent state; it is called in the middle of
  // the rare change that has to move keys. For an image nobody reads yet, pass one that does nothing.
  [[nodiscard]] static Result<ImageWriter>
  attach(MutableBytes image, Grace grace, Check check = Check::not_the_mutable_checksums,
         std::span<const AllowFilterOps> allow_kinds = allow_filter_kinds());

  [[nodiscard]] const ImageView &view() const noexcept;

  // `delta` must have passed check() of delta.hpp.
  [[nodiscard]] Change apply(const Delta &delta);

  struct BatchDone {
    std::size_t applied = 0; // deltas from the front that are in the image; all, unless one needs a rebuild
    std::uint32_t in_overlay = 0;
    bool needs_rebuild = false;
    bool filter_saturated = false; // the filter of the allow side has outgrown its plan: a new image is due
    bool stack_saturated = false;  // so has that of denied hosts
    bool map_saturated = false;    // many hosts stand beside the range map that has the others
  };
  // The same as apply() for each in turn, with grace periods shared: keys that need room that is not
  // free yet wait for one another, and the batch for one grace period. All must have passed check().
  [[nodiscard]] BatchDone apply_batch(std::span<const Delta> deltas);

  // From now on, and until the next image, readers of this side follow the lines' group bits.
  void give_up_exactness(Side side);

  // The filter of the allow side should not take this address for allowed, whichever length a worker asks
  // for. Lengths at which it is allowed are left out.
  filter::Learned learn(const Address &address);

  // No rule denies this host: the filter that judges hosts is not to deny it either. In the overlay a value
  // that came as a delta stays. At most a quarter of the overlay is for such hosts; beyond that one takes the
  // place of another at the cost of a grace period, which `may_displace` counts down.
  // needs_rebuild: it has no place.
  [[nodiscard]] Change relieve(const Address &host, unsigned &may_displace);
  [[nodiscard]] Change relieve(const Address &host);

  // A grace period has passed since the last apply(): freed slots may be refilled.
  void grace_passed();
  // Is there something that grace_passed() would carry out?
  [[nodiscard]] bool waits_for_grace() const noexcept;

  // Of denied IPv4 hosts that stand in the range map.
  struct MapLoad {
    std::uint32_t lines = 0, free_lines = 0; // of the map; 0: no hosts stand there, nor would any that came
    std::uint64_t hosts_beside = 0;          // came when it had no room, to the table
    [[nodiscard]] bool saturated() const noexcept { return lines != 0 && hosts_beside >= 256; }
  };
  [[nodiscard]] MapLoad map_load() const noexcept;
  [[nodiscard]] const AllowFilterWriter &allow_filter() const noexcept;
  [[nodiscard]] const DenyFilterWriter &deny_filter() const noexcept;

private:
  class Parts;
  explicit ImageWriter(std::unique_ptr<Parts> parts) noexcept;

  std::unique_ptr<Parts> parts_;
};

} // namespace weir::image
