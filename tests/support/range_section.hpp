// A range map with the section that it reads.
#pragma once

#include "weir/build/range_builder.hpp"
#include "weir/table/range_map_v4.hpp"
#include "weir/table/range_map_v6.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

namespace weir::test {

// Bytes aligned to 64, with nothing behind them that a reader may touch.
class AlignedBytes {
public:
  explicit AlignedBytes(std::size_t bytes)
      : size_(bytes), data_(static_cast<std::byte *>(::operator new(bytes, std::align_val_t{64}))) {}
  explicit AlignedBytes(Bytes copied) : AlignedBytes(copied.size()) {
    std::memcpy(data_.get(), copied.data(), copied.size());
  }
  [[nodiscard]] MutableBytes bytes() const noexcept { return {data_.get(), size_}; }

private:
  struct Free {
    void operator()(std::byte *p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  std::size_t size_;
  std::unique_ptr<std::byte, Free> data_;
};

// A map in which hosts are points.
struct PointsPlanV4 : build::RangePlanV4 {
  [[nodiscard]] static auto make(std::span<const build::EntryV4> entries) {
    return build::RangePlanV4::make(entries, true);
  }
};

template <class Plan, class Entry> AlignedBytes range_section(const std::vector<Entry> &entries) {
  const auto plan = Plan::make(entries);
  if (!plan) throw std::runtime_error(plan.error().message);
  AlignedBytes section(plan->footprint().bytes);
  std::memset(section.bytes().data(), 0xEE, section.bytes().size());
  plan->write(section.bytes());
  return section;
}

template <class Map> Map attached(Bytes section) {
  const auto map = Map::attach(section);
  if (!map) throw std::runtime_error(map.error().message);
  return *map;
}

} // namespace weir::test
