#include "tests/lab/contenders.hpp"

#include <algorithm>
#include <cmath>

namespace weir::lab {

Result<SeesawChoice> choose_seesaw(const SeesawTask &task, const Needs &needs) {
  SeesawChoice choice;
  const ForcedShape &forced = task.forced;
  build::SeesawParams &p = choice.params;
  p.planned_keys = needs.keys;
  p.adaptive = task.ada;
  p.positive_bits = forced.positive_bits.value_or(2);
  p.count_bits = forced.count_bits.value_or(3);
  p.backups = forced.backups.value_or(2);
  p.index_bits = forced.index_bits.value_or(static_cast<unsigned>(std::bit_width(p.backups - 1)));
  const unsigned cell_bits = p.positive_bits + p.negative_bits + (p.adaptive ? 1 : 0);
  const std::uint64_t bits =
      needs.bits - std::min<std::uint64_t>(needs.bits / 2, 1536); // header, two paddings
  p = build::seesaw_split(p, bits, forced.modulator_share.value_or(0.1));
  if (forced.cells_per_key) {
    const auto cells = static_cast<std::uint64_t>(*forced.cells_per_key * static_cast<double>(needs.keys));
    p.cell_words = filter::CellArray::words_for(cells, cell_bits);
    if ((p.cell_words + 1) * 64 > bits)
      return fail(
          Errc::usage,
          "so many cells leave no room for a modulator: ask for more --bits or fewer --cells-per-key");
    p.modulator_words = bits / 64 - p.cell_words;
  }
  const double cells =
      static_cast<double>(p.cell_words) * (64 / (p.positive_bits + 1.0 + (p.adaptive ? 1 : 0)));
  p.hashes = forced.hashes.value_or(static_cast<unsigned>(
      std::clamp(std::lround(std::log(2.0) * cells / static_cast<double>(needs.keys)), 1l, 16l)));
  choice.guarded = forced.guarded
                       ? static_cast<std::uint64_t>(*forced.guarded * static_cast<double>(task.negatives))
                       : needs.known;
  return choice;
}

} // namespace weir::lab
