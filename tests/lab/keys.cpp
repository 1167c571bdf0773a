#include "tests/lab/keys.hpp"

#include "tests/lab/words.hpp"

#include <fmt/format.h>
#include <iterator>
#include <string_view>

namespace weir::lab {
namespace {

// A number of its own for every key of both sides.
std::uint64_t number_of(Side side, std::uint64_t index) {
  return index + (side == Side::negative ? std::uint64_t{1} << 31 : 0);
}

void write_url(fmt::memory_buffer &out, std::uint64_t number, std::uint64_t seed) {
  const std::uint64_t r = remix(KeyHash{number}, seed);
  const auto pick = [r](const auto &list, unsigned shift) { return list[(r >> shift) % list.size()]; };
  fmt::format_to(std::back_inserter(out), "http://www.{}{}{}.{}/{}{:x}.html", pick(words, 0), pick(words, 5),
                 r >> 10 & 15, pick(domains, 14), pick(folders, 17), number);
}

// FNV-1a over the eight bytes of the record's number.
void write_record(fmt::memory_buffer &out, std::uint64_t number, std::uint64_t seed) {
  std::uint64_t hash = 0xCBF29CE484222325ull;
  for (std::uint64_t rest = number + (seed << 32), i = 0; i < 8; ++i, rest >>= 8)
    hash = (hash ^ (rest & 0xFF)) * 1099511628211ull;
  fmt::format_to(std::back_inserter(out), "user{}", hash);
}

// A permutation of all addresses.
std::uint32_t address_of(std::uint64_t number, std::uint64_t seed) {
  auto x = static_cast<std::uint32_t>(number) ^ static_cast<std::uint32_t>(seed * remix_factor_1);
  x = (x ^ x >> 16) * 0x7FEB352Du;
  x = (x ^ x >> 15) * 0x846CA68Bu;
  return x ^ x >> 16;
}

void write_text(fmt::memory_buffer &out, KeySet set, std::uint64_t number, std::uint64_t seed) {
  out.clear();
  switch (set) {
  case KeySet::urls: return write_url(out, number, seed);
  case KeySet::ycsb: return write_record(out, number, seed);
  case KeySet::addresses: {
    const std::uint32_t a = address_of(number, seed);
    fmt::format_to(std::back_inserter(out), "{}.{}.{}.{}", a & 255, a >> 8 & 255, a >> 16 & 255, a >> 24);
  }
  }
}

} // namespace

std::string key_text(KeySet set, Side side, std::uint64_t index, std::uint64_t seed) {
  fmt::memory_buffer text;
  write_text(text, set, number_of(side, index), seed);
  return fmt::to_string(text);
}

std::vector<KeyHash> make_keys(KeySet set, Side side, std::uint64_t count, std::uint64_t seed) {
  std::vector<KeyHash> keys(count);
  fmt::memory_buffer text;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t number = number_of(side, i);
    if (set == KeySet::addresses) {
      keys[i] = hash_v4(address_of(number, seed), length_seed(seed, 32));
      continue;
    }
    write_text(text, set, number, seed);
    keys[i] = {XXH3_64bits_withSeed(text.data(), text.size(), seed)};
  }
  return keys;
}

} // namespace weir::lab
