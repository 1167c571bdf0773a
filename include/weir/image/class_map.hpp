// The class map of compact mode: which list a denied host is on, where a judge denies it and no table says so [Chained §5.2].
// Section deny_class_map, a Huffman map of the hosts of the deny side as the image was built, both families, by the hashes that
// tables have; symbols are numbers of lists.
//
//   asked      for packets that the judge denied, a burst at a time, and for no others
//   errors     none for a host that the image was built with. One that has come since, or is on another list by now, stands in
//              the overlay as long as that has room. An address that the judge denies in error has no list: some list is named
//
// attach() is the trust border: every symbol is a list of the image.
#pragma once

#include "weir/filter/huffman_map.hpp"
#include "weir/image/lists.hpp"

#include <span>
#include <string>
#include <vector>

namespace weir::image {

class ClassMapView {
public:
  ClassMapView() = default; // none: do not ask it

  // Errors: bad_image, and why.
  [[nodiscard]] static Result<ClassMapView> attach(Bytes section, std::span<const ListEntry> lists) {
    ClassMapView view;
    view.map_ = TRY(Map::attach(section));
    std::vector<bool> known(lists_max);
    for (const ListEntry &list : lists)
      known[list.number.value()] = list.side == static_cast<std::uint8_t>(Side::deny);
    const auto check = [&](std::uint32_t child) -> Status {
      const std::uint32_t symbol = child & filter::huffman_target_mask;
      if ((child & filter::huffman_leaf) == 0 || (symbol < lists_max && known[symbol])) return {};
      return fail(Errc::bad_image,
                  "it names list number " + std::to_string(symbol) + ", which denies nothing here");
    };
    if (view.map_.shape().nodes == 0) TRY(check(view.map_.shape().root));
    for (const filter::HuffmanNode &node : view.map_.nodes()) {
      TRY(check(node.zero));
      TRY(check(node.one));
    }
    return view;
  }

  [[nodiscard]] bool empty() const noexcept { return map_.bytes() == 0; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return map_.bytes(); } // of the section

  [[nodiscard]] ListId list_of(KeyHash host) const noexcept { return list_at(map_.value(host)); }
  // numbers[i] is that of the list of hosts[i], up to filter::batch_max of them; list_at() makes it one.
  void numbers_of(std::span<const KeyHash> hosts, std::uint32_t *numbers) const noexcept {
    map_.values(hosts, numbers);
  }
  [[nodiscard]] static constexpr ListId list_at(std::uint32_t number) noexcept {
    return ListId(static_cast<std::uint16_t>(number));
  }

private:
  using Map = filter::HuffmanMapView<4>;
  Map map_;
};

} // namespace weir::image
