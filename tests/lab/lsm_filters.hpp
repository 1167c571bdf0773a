// The filters of an LSM tree's runs, and in which order a lookup asks them.
#pragma once

#include "tests/lab/lsm_data.hpp"

#include <memory>

namespace weir::lab {

class RunFilter {
public:
  RunFilter() = default;
  RunFilter(const RunFilter &) = delete;
  RunFilter &operator=(const RunFilter &) = delete;
  virtual ~RunFilter() = default;
  [[nodiscard]] virtual bool contains(KeyHash key) const = 0;
};

struct LsmFilters {
  std::vector<std::unique_ptr<RunFilter>> of_run; // the oldest first; empty: every run is read
  std::uint64_t bits = 0;
  double build_seconds = 0;
  bool oldest_first = false;
  bool one_in_vain = false;                     // a run read in vain: no run asked after it holds the key
  std::uint64_t record_bytes = 0, excluded = 0; // of `chained`
};

// `bits`: a key, for all but `none` and `chained`. Errors: usage, for sizes that make no filter; those of building.
[[nodiscard]] Result<LsmFilters> build_lsm_filters(std::string_view arm, const LsmData &data,
                                                   const LsmTask &task, double bits);

} // namespace weir::lab
