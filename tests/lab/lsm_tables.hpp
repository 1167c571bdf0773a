// Sorted runs as RocksDB's table files, read one at a time or by RocksDB's own Get.
#pragma once

#include "tests/lab/lsm_data.hpp"

#include <memory>

namespace weir::lab {

// In a folder of its own, which goes with it.
class LsmTables {
public:
  // Errors: io.
  [[nodiscard]] static Result<LsmTables> create(const LsmTask &task, double get_bits_per_key);
  LsmTables(LsmTables &&) noexcept;
  LsmTables &operator=(LsmTables &&) noexcept;
  ~LsmTables();

  // Files of the runs, the oldest first; then readers of all of them, and with `get` a database that has the same files in
  // level 0 and compacts nothing. Errors: io.
  [[nodiscard]] Status write(const LsmData &data);
  [[nodiscard]] Status open(bool get);

  // The run that wrote the value, or nothing.
  [[nodiscard]] std::optional<unsigned> read(unsigned run, const LsmKey &key);
  [[nodiscard]] std::optional<unsigned> get(const LsmKey &key);
  [[nodiscard]] Status fault() const; // the first that reading met

  [[nodiscard]] std::uint64_t bytes() const;                 // of the files
  [[nodiscard]] std::uint64_t get_filter_bytes() const;      // in them
  static void count_blocks(bool on);                         // of this thread; costs a little
  [[nodiscard]] static std::uint64_t blocks_read() noexcept; // data blocks since it was switched on

private:
  struct State;
  explicit LsmTables(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace weir::lab
