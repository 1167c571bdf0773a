#include "tests/lab/lsm_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace weir::lab {
namespace {

// Indices of keys: those of runs from 0, of absent ones and of hot absent ones from here on.
constexpr std::uint64_t absent_from = std::uint64_t{1} << 40, hot_from = std::uint64_t{1} << 41;

// `count` eight-byte words of random bytes behind one another.
void fill(char *out, std::size_t bytes, std::uint64_t number, std::uint64_t stream) {
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t word = remix(KeyHash{number}, stream + at);
    std::memcpy(out + at, &word, std::min<std::size_t>(8, bytes - at));
  }
}

} // namespace

LsmKey lsm_key(std::uint64_t number) noexcept {
  LsmKey key;
  const std::uint64_t first = __builtin_bswap64(number);
  std::memcpy(key.data(), &first, sizeof first);
  fill(key.data() + sizeof first, key.size() - sizeof first, number, 0x5EED);
  return key;
}
LsmValue lsm_value(std::uint64_t number, unsigned run) noexcept {
  LsmValue value;
  std::memcpy(value.data(), &run, sizeof run);
  fill(value.data() + sizeof run, value.size() - sizeof run, number, 0xDA7A);
  return value;
}
unsigned run_of_value(std::string_view value) noexcept {
  unsigned run = ~0u;
  if (value.size() == lsm_value_bytes) std::memcpy(&run, value.data(), sizeof run);
  return run;
}

LsmData::LsmData(const LsmTask &task) : task_(task) {
  std::mt19937_64 random(task.seed);
  std::uint64_t next = 0;
  for (unsigned r = 0; r < task.runs; ++r) {
    const std::uint64_t count = task.keys * (r + 1) / task.runs - task.keys * r / task.runs;
    const auto repeated = r == 0 ? 0 : static_cast<std::uint64_t>(task.repeats * static_cast<double>(count));
    Run run;
    run.numbers.reserve(count);
    for (std::uint64_t i = repeated; i < count; ++i) run.numbers.push_back(number(next++));
    for (std::uint64_t i = 0; i < repeated; ++i) {
      const auto &earlier = runs_[random() % r].numbers;
      run.numbers.push_back(earlier[random() % earlier.size()]);
    }
    std::ranges::sort(run.numbers);
    const auto twice = std::ranges::unique(run.numbers);
    run.numbers.erase(twice.begin(), twice.end());
    run.hashes.reserve(run.numbers.size());
    for (const std::uint64_t n : run.numbers) run.hashes.push_back(hash(n));
    runs_.push_back(std::move(run));
  }
  for (std::uint64_t i = 0; i < task.hot; ++i) {
    const auto &numbers = runs_[random() % runs_.size()].numbers;
    const std::uint64_t n = random() % 2 == 0 ? number(hot_from + i) : numbers[random() % numbers.size()];
    hot_.push_back({n, hash(n)});
  }
}

// A permutation: no two indices share a number.
std::uint64_t LsmData::number(std::uint64_t index) const noexcept {
  return remix(KeyHash{index}, remix(KeyHash{task_.seed}, 1));
}
KeyHash LsmData::hash(std::uint64_t number) const noexcept {
  const LsmKey key = lsm_key(number);
  return {XXH3_64bits_withSeed(key.data(), key.size(), task_.seed)};
}
std::uint64_t LsmData::entries() const noexcept {
  std::uint64_t entries = 0;
  for (const Run &run : runs_) entries += run.numbers.size();
  return entries;
}
bool LsmData::holds(unsigned run, std::uint64_t number) const {
  return std::ranges::binary_search(runs_[run].numbers, number);
}
std::optional<unsigned> LsmData::newest(std::uint64_t number) const {
  for (unsigned r = task_.runs; r-- > 0;)
    if (holds(r, number)) return r;
  return std::nullopt;
}
LsmQuestion LsmData::question(std::uint64_t number) const {
  return {lsm_key(number), hash(number), newest(number)};
}

std::vector<LsmQuestion> LsmData::present(std::uint64_t count) const {
  std::mt19937_64 random(task_.seed + 1);
  std::vector<LsmQuestion> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto &numbers = runs_[random() % runs_.size()].numbers;
    out.push_back(question(numbers[random() % numbers.size()]));
  }
  return out;
}
std::vector<LsmQuestion> LsmData::absent(std::uint64_t count) const {
  std::vector<LsmQuestion> out;
  for (std::uint64_t i = 0; i < count; ++i) out.push_back(question(number(absent_from + i)));
  return out;
}
std::vector<LsmQuestion> LsmData::zipf(std::uint64_t count) const {
  std::mt19937_64 random(task_.seed + 2);
  std::vector<double> sums(hot_.size());
  double sum = 0;
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] = sum += std::pow(static_cast<double>(i + 1), -task_.skew);
  std::uniform_real_distribution<double> share(0, sum);
  std::vector<LsmQuestion> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(std::ranges::upper_bound(sums, share(random)) - sums.begin());
    out.push_back(question(hot_[std::min(at, hot_.size() - 1)].number));
  }
  return out;
}

} // namespace weir::lab
