// How large the layers of a chained location predictor are made: F1 & ~(F2 & ~(F3 & ...)), trained
// until no stored key is sent to the wrong table [Chained §5.3, Alg. 2].
//
// Layer i holds h_i keys and is asked by o_i keys that it must not take. Of those it takes a share
// r(h_i / w_i), where w_i is its number of words; they are what the next layer has to hold:
//
//   h_{i+1} = o_i r(h_i / w_i)        o_{i+1} = h_i
//
//   bucket_aligned   F1 is fixed: a bit for each group of a line; what it takes wrongly is h_2, and the
//                    keys of table 2 are o_2. Only the deeper layers are sized
//   plain            F1 is such a layer itself: h_1 keys of table 2, o_1 keys of table 1
//
// The least words are looked for such that after the last layer fewer than `wrong_max` keys are to be
// expected on the wrong side: an inequality, continuous in the logarithms of the w_i. NLopt's ISRES
// finds the neighbourhood, COBYLA the place; how many layers is tried out [Stacked §3.5].
//
// A layer's form is that of table/chained_predictor.hpp: three bits of one 64-bit word a key.
#pragma once

#include "weir/base/result.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace weir::plan {

enum class LayerForm : std::uint8_t { bucket_aligned, plain };

inline constexpr unsigned sized_layers_max = 6;

struct ChainKeys {
  std::uint64_t in_table1 = 0, in_table2 = 0;
  LayerForm form = LayerForm::bucket_aligned;
  // bucket_aligned: bits of the first layer, and keys of table 1 that it takes for keys of table 2.
  std::uint64_t first_bits = 0;
  double mistaken = 0;
};

struct LayerSizes {
  std::uint64_t first_bits = 0;     // bucket_aligned alone
  std::vector<std::uint32_t> words; // of the layers sized, 64 bits each; empty: none is needed
  double expected_wrong = 0;        // keys that remain on the wrong side
  double bits_per_key = 0;          // all layers
};

struct SizingOptions {
  unsigned layers_max = sized_layers_max;
  std::uint32_t words_min = 8; // a layer smaller than that accepts everything
  double wrong_max = 0.05;
  std::uint64_t seed = 1;
};

// Errors: no sizes within the bounds keep the promise; NLopt failed.
[[nodiscard]] Result<LayerSizes> size_layers(const ChainKeys &keys, const SizingOptions &options = {});

// Share of foreign keys that a layer accepts whose words hold `keys_per_word` keys on average.
[[nodiscard]] double layer_rate(double keys_per_word);

// Keys on the wrong side after layers of these sizes.
[[nodiscard]] double expected_wrong(const ChainKeys &keys, const std::vector<double> &words);

} // namespace weir::plan
