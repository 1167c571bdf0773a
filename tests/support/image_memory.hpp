// An image built into aligned ordinary memory, for tests that need no process.
#pragma once

#include "weir/build/cuckoo_builder.hpp"
#include "weir/build/image_builder.hpp"
#include "weir/build/keys.hpp"
#include "weir/build/seesaw_builder.hpp"
#include "weir/build/stacked_counting_builder.hpp"
#include "weir/image/reader.hpp"
#include "weir/key/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

namespace weir::test {

class ImageMemory {
public:
  explicit ImageMemory(std::uint64_t bytes)
      : bytes_(round_up(bytes, 64)), memory_(static_cast<std::byte *>(std::aligned_alloc(64, bytes_)),
                                             [](std::byte *p) { std::free(p); }) {
    std::fill_n(memory_.get(), bytes_, std::byte{0});
  }

  [[nodiscard]] MutableBytes bytes() const noexcept { return {memory_.get(), bytes_}; }

  // Builds; aborts the program on a failure, which no test that uses this expects.
  [[nodiscard]] static ImageMemory build(build::BuildInput input) {
    ImageMemory image(0);
    const auto report = build::build_growing(input, [&image](std::uint64_t bytes) -> Result<MutableBytes> {
      image = ImageMemory(bytes);
      return image.bytes();
    });
    image.report_ = report.value();
    return image;
  }
  [[nodiscard]] const build::BuildReport &report() const noexcept { return report_; }
  [[nodiscard]] image::ImageView view() const { return image::attach(bytes()).value(); }

private:
  std::uint64_t bytes_;
  std::shared_ptr<std::byte> memory_;
  build::BuildReport report_;
};

// A Seesaw filter of the one kind of shape that family jhash has.
[[nodiscard]] inline build::SeesawParams jhash_seesaw(std::uint64_t planned_keys, std::uint64_t cell_words,
                                                      std::uint64_t modulator_words, unsigned hashes = 4) {
  return {.planned_keys = planned_keys,
          .cell_words = cell_words,
          .modulator_words = modulator_words,
          .hashes = hashes,
          .backups = 1,
          .adaptive = true,
          .count_bits = 2,
          .index_bits = 0,
          .family = HashFamily::jhash};
}

// Sorts and removes duplicates, as build_image() wants its input.
template <class Entry> void sort_entries(std::vector<Entry> &entries) {
  std::sort(entries.begin(), entries.end(), build::detail::same_prefix_order<Entry>);
  entries.erase(std::unique(entries.begin(), entries.end(),
                            [](const Entry &a, const Entry &b) {
                              return !build::detail::same_prefix_order(a, b) &&
                                     !build::detail::same_prefix_order(b, a);
                            }),
                entries.end());
}

[[nodiscard]] inline build::EntryV4 entry_v4(std::string_view prefix, ListId list) {
  const Prefix p = parse_prefix(prefix).value();
  return {p.address.host(), p.length, 0, list};
}
[[nodiscard]] inline build::EntryV6 entry_v6(std::string_view prefix, ListId list) {
  const Prefix p = parse_prefix(prefix).value();
  return {p.address.bytes, p.length, 0, list};
}

} // namespace weir::test
