// The reader of boosted trees. The input is a list of edits to a small honest section, made before it is attached:
//
//   [kind 1][place 4, little-endian][value 8] each
//     kind 0  header     1  anywhere     2  cut to place % size bytes
//
// What attach() accepts is scored by every kernel; the sanitizers watch the borders, and kernels agree with the walk.
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/random_trees.hpp"
#include "weir/base/hash.hpp"
#include "weir/learn/tree_kernels.hpp"

#include <algorithm>

namespace {

using namespace weir;
using fuzz::require;

void edit(std::vector<std::byte> &section, Bytes edits) {
  constexpr std::size_t edit_bytes = 13;
  for (; edits.size() >= edit_bytes; edits = edits.subspan(edit_bytes)) {
    const auto place = load_unaligned<std::uint32_t>(edits.data() + 1);
    const unsigned kind = std::to_integer<unsigned>(edits[0]) % 3;
    if (kind == 2) section.resize(place % (section.size() + 1));
    const std::size_t end = kind == 0 ? std::min(section.size(), sizeof(learn::TreesHeader)) : section.size();
    if (kind == 2 || end < 8) continue;
    std::copy_n(edits.data() + 5, 8, section.begin() + static_cast<std::ptrdiff_t>(place % (end - 7)));
  }
}

} // namespace

FUZZ_TARGET(trees, data) {
  static const std::vector<std::byte> honest =
      test::random_trees(std::vector{2u, 0u, 3u, 4u, 5u, 6u, 1u}, 5, 1);
  std::vector<std::byte> section = honest;
  edit(section, data);
  const auto trees = learn::Trees::of(section);
  if (!trees) {
    require(!std::ranges::equal(section, honest), "an honest section is attached");
    require(!trees.error().message.empty(), "a refusal has a reason");
    return;
  }
  const learn::TreesView view = trees->view();
  std::vector<learn::FeatureRow> rows(view.features());
  std::uint64_t next = 1;
  for (learn::FeatureRow &row : rows)
    for (std::uint8_t &byte : row.of) byte = static_cast<std::uint8_t>((next = remix({next}, 1)) >> 56);
  std::vector<std::uint8_t> sample(rows.size());
  for (const learn::TreeKernel *kernel : learn::available_tree_kernels()) {
    learn::Margins margins;
    kernel->score(view, rows.data(), margins.data());
    for (unsigned i = 0; i < learn::burst_samples; i += 7) {
      for (std::size_t f = 0; f < rows.size(); ++f) sample[f] = rows[f].of[i];
      const float walked = view.score_one(sample);
      require(margins[i] == walked || !std::isfinite(walked), "a burst answers as a walk does");
    }
  }
}
