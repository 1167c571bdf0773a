// Random access Huffman coding [Chained §5.2]: symbols in a Huffman map with the tables of build/huffman_model.hpp, with one
// ChainedFilter for all bits and with one for each node, beside the form with shared slots, a map of bumped ribbon tables, one
// exact filter for all bits (the paper's strawman), and Huffman codes in a row, which have no random access.
#pragma once

#include "weir/base/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::lab {

struct HuffmanTask {
  double omega = 10;                   // symbol k with probability proportional to omega^-k
  std::uint64_t positives = 1'000'000; // bits of codes that are 1, about; omega - 1 symbols for each
  std::vector<std::uint64_t> counts;   // of symbols, in place of omega
  std::string countries; // a file of ranges of addresses by country, whose countries are the symbols
  unsigned ways = 4;     // of the fuse tables, 3 or 4
  unsigned rounds = 3;
  std::uint64_t seed = 1;
};

// Times are of one thread's processor time, for one symbol, medians over interleaved rounds.
struct HuffmanArm {
  double bits_per_symbol = 0; // real ones, but for a header of 64 bytes
  double predicted_bits_per_symbol = 0;
  std::uint64_t decode_errors = 0;
  std::uint64_t tables = 0;
  double build_ns = 0, decode_ns = 0, decode_batch_ns = 0; // decoded anywhere, in no order
  double build_times = 0, decode_times = 0,
         decode_batch_times = 0; // as multiples of the strawman's: medians of the rounds' ratios
};

struct HuffmanReport {
  HuffmanTask task;
  std::uint64_t symbols = 0, distinct = 0;
  double entropy = 0, huffman_bits = 0; // a symbol
  HuffmanArm chained, one_for_all, one_a_node, shared, ribbon, strawman;
  double sequential_ns = 0; // Huffman codes in a row
  double theorem_5_1 = 0;   // bits over the entropy that the theorem allows, and its corrected form
  double corrected_bound = 0;
};

// Errors: those of building, and of a file that cannot be read.
[[nodiscard]] Result<HuffmanReport> run_huffman(const HuffmanTask &task);
[[nodiscard]] std::string json_of(const HuffmanReport &report);

} // namespace weir::lab
