// Which addresses the dataplane's samples name most often: a bounded table in which a newcomer takes
// the place of the smallest and inherits its count (Space-Saving), so heavy hitters stay.
#pragma once

#include "weir/wire/messages.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

namespace weir::control {

class SampleTable {
public:
  static constexpr std::size_t rows_max = 1024;
  struct Row {
    Address address;
    bool denied = false;
    std::uint16_t list = 0;
    std::uint64_t count = 0;
  };

  void take(std::span<const wire::Sample> samples) {
    for (const wire::Sample &sample : samples) {
      Address address;
      address.family = sample.family == Family::ipv6 ? Family::ipv6 : Family::ipv4;
      address.bytes = sample.address;
      const Key key{address, sample.kind == wire::SampleKind::denied, sample.list};
      const auto known = rows_.find(key);
      if (known != rows_.end())
        ++known->second;
      else
        insert(key);
    }
  }

  [[nodiscard]] std::vector<Row> top(std::size_t most) const {
    std::vector<Row> rows;
    for (const auto &[key, count] : rows_)
      rows.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), count});
    std::ranges::sort(rows, std::greater<>{}, &Row::count);
    if (rows.size() > most) rows.resize(most);
    return rows;
  }

private:
  using Key = std::tuple<Address, bool, std::uint16_t>;

  void insert(const Key &key) {
    std::uint64_t inherited = 0;
    if (rows_.size() >= rows_max) {
      const auto least = std::ranges::min_element(rows_, {}, [](const auto &row) { return row.second; });
      inherited = least->second;
      rows_.erase(least);
    }
    rows_.emplace(key, inherited + 1);
  }

  std::map<Key, std::uint64_t> rows_;
};

} // namespace weir::control
