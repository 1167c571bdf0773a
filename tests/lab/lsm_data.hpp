// Keys of the sorted runs, and what is asked.
#pragma once

#include "tests/lab/lsm.hpp"
#include "weir/base/hash.hpp"

#include <array>
#include <optional>
#include <span>
#include <vector>

namespace weir::lab {

inline constexpr std::size_t lsm_key_bytes = 36, lsm_value_bytes = 64;
using LsmKey = std::array<char, lsm_key_bytes>;
using LsmValue = std::array<char, lsm_value_bytes>;

// A key is random bytes that follow from its number, in the order of numbers.
[[nodiscard]] LsmKey lsm_key(std::uint64_t number) noexcept;
// A value names the run that wrote it.
[[nodiscard]] LsmValue lsm_value(std::uint64_t number, unsigned run) noexcept;
[[nodiscard]] unsigned run_of_value(std::string_view value) noexcept;

struct LsmQuestion {
  LsmKey key;
  KeyHash hash;
  std::optional<unsigned> newest; // the run that holds the newest version; nothing: absent
};

class LsmData {
public:
  explicit LsmData(const LsmTask &task);

  struct Run {
    std::vector<std::uint64_t> numbers; // sorted
    std::vector<KeyHash> hashes;        // in the same order
  };
  [[nodiscard]] std::span<const Run> runs() const noexcept { return runs_; } // the oldest first
  [[nodiscard]] std::uint64_t entries() const noexcept;
  [[nodiscard]] bool holds(unsigned run, std::uint64_t number) const;
  [[nodiscard]] std::optional<unsigned> newest(std::uint64_t number) const;
  [[nodiscard]] KeyHash hash(std::uint64_t number) const noexcept;

  struct Hot {
    std::uint64_t number;
    KeyHash hash;
  };
  [[nodiscard]] std::span<const Hot> hot() const noexcept { return hot_; } // the most frequent first

  // So many, in no order.
  [[nodiscard]] std::vector<LsmQuestion> present(std::uint64_t count) const;
  [[nodiscard]] std::vector<LsmQuestion> absent(std::uint64_t count) const;
  [[nodiscard]] std::vector<LsmQuestion> zipf(std::uint64_t count) const;

private:
  [[nodiscard]] std::uint64_t number(std::uint64_t index) const noexcept;
  [[nodiscard]] LsmQuestion question(std::uint64_t number) const;

  LsmTask task_;
  std::vector<Run> runs_;
  std::vector<Hot> hot_;
};

} // namespace weir::lab
