#include "tests/bench/contenders.hpp"

#include "weir/base/hash.hpp"
#include "weir/image/reader.hpp"

#include <fmt/core.h>
#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>

#include <algorithm>
#include <random>

namespace weir::bench {

std::uint32_t scrambled_address(std::uint32_t i) { // each step can be undone, so no address comes twice
  i ^= i >> 16;
  i *= 0x7FEB352Du;
  i ^= i >> 15;
  i *= 0x846CA68Bu;
  return i ^ i >> 16;
}

std::vector<std::uint32_t> make_queries(std::uint32_t keys, double hit_percent, std::size_t count,
                                        std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> queries(count);
  const auto hit_bound = static_cast<std::uint32_t>(hit_percent / 100 * 4294967295.0);
  for (std::uint32_t &query : queries) {
    const std::uint64_t r = random();
    const bool hit = static_cast<std::uint32_t>(r) <= hit_bound;
    const auto place = static_cast<std::uint32_t>(r >> 32);
    query = scrambled_address(hit ? reduce(place, keys) : keys + reduce(place, ~std::uint32_t{0} - keys));
  }
  return queries;
}

std::vector<build::EntryV4> make_entries(std::uint32_t keys) {
  std::vector<build::EntryV4> entries(keys);
  for (std::uint32_t i = 0; i < keys; ++i) entries[i].host = byteswap32(scrambled_address(i));
  std::ranges::sort(entries);
  return entries;
}

Image::Image(std::span<const build::EntryV4> v4, std::span<const build::EntryV6> v6, bool front_filter) {
  build::BuildInput input;
  input.lists = {{.name = "bench", .number = 0, .side = image::Side::deny}};
  input.deny = {.v4 = v4, .v6 = v6, .front_filter = front_filter};
  input.generation = 1;
  input.seed = 0x5EED;
  const std::uint64_t bytes = build::image_bytes(input);
  region_ = std::make_unique<Region>(bytes);
  auto report = build::build_image(input, region_->bytes());
  if (!report) give_up(report.error().message);
  report_ = *report;
  auto view = image::attach(Bytes(region_->bytes()).first(bytes));
  if (!view) give_up(view.error().message);
  view_ = *view;
}

WeirLookup::WeirLookup(const image::ImageView &view)
    : view_(view), bursts_(std::make_unique<table::BurstLookup[]>(3)) {}

std::uint64_t WeirLookup::run(std::span<const std::uint32_t> queries) {
  std::uint64_t found = 0;
  const std::size_t bursts = queries.size() / burst_keys;
  for (std::size_t i = 0; i < bursts + 2; ++i) {
    if (i < bursts) {
      table::BurstLookup &burst = bursts_[i % 3];
      burst.begin(view_);
      const std::uint32_t *keys = &queries[i * burst_keys];
      for (unsigned slot = 0; slot < burst_keys; ++slot) burst.ask_v4(slot, keys[slot]);
    }
    if (i >= 1 && i - 1 < bursts) bursts_[(i - 1) % 3].probe_first();
    if (i >= 2) {
      table::BurstLookup &burst = bursts_[(i - 2) % 3];
      burst.finish();
      for (unsigned slot = 0; slot < burst_keys; ++slot) found += burst.deny(slot) != 0;
    }
  }
  return found;
}

RteHashLookup::RteHashLookup(std::uint32_t keys) {
  rte_hash_parameters parameters{};
  parameters.name = "peer";
  parameters.entries = keys;
  parameters.key_len = sizeof(std::uint32_t);
  parameters.hash_func = rte_hash_crc;
  parameters.socket_id = SOCKET_ID_ANY;
  table_ = rte_hash_create(&parameters);
  if (!table_) give_up(fmt::format("rte_hash_create of {} entries: {}", keys, rte_strerror(rte_errno)));
  for (std::uint32_t i = 0; i < keys; ++i) {
    const std::uint32_t key = scrambled_address(i);
    if (rte_hash_add_key_data(table_, &key, reinterpret_cast<void *>(std::uintptr_t{i} + 1)) < 0)
      give_up(fmt::format("rte_hash is full at {} of {} keys", i, keys));
  }
}

RteHashLookup::~RteHashLookup() { rte_hash_free(table_); }

std::uint64_t RteHashLookup::run(std::span<const std::uint32_t> queries) {
  std::uint64_t found = 0;
  const void *keys[burst_keys];
  void *data[burst_keys];
  for (std::size_t at = 0; at + burst_keys <= queries.size(); at += burst_keys) {
    for (unsigned i = 0; i < burst_keys; ++i) keys[i] = &queries[at + i];
    std::uint64_t hits = 0;
    rte_hash_lookup_bulk_data(table_, keys, burst_keys, &hits, data);
    found += static_cast<unsigned>(std::popcount(hits));
  }
  return found;
}

LimitLookup::LimitLookup(std::size_t table_bytes)
    : region_(table_bytes), lines_(static_cast<std::uint32_t>(table_bytes / cache_line_bytes)) {
  std::ranges::fill(region_.bytes(), std::byte{1});
}

std::uint64_t LimitLookup::run(std::span<const std::uint32_t> queries) {
  constexpr std::uint64_t seed = 0x5EED;
  const std::byte *table = region_.bytes().data();
  const std::byte *lines[2][burst_keys];
  std::uint64_t sum = 0;
  const std::size_t bursts = queries.size() / burst_keys;
  for (std::size_t i = 0; i <= bursts; ++i) {
    if (i < bursts)
      for (unsigned k = 0; k < burst_keys; ++k) {
        const KeyHash hash = hash_v4(queries[i * burst_keys + k], seed);
        const std::uint32_t line = reduce(static_cast<std::uint32_t>(hash.bits >> 32), lines_);
        lines[i % 2][k] = table + std::size_t{line} * cache_line_bytes;
        __builtin_prefetch(lines[i % 2][k]);
      }
    if (i > 0)
      for (const std::byte *line : lines[(i - 1) % 2]) sum += load_unaligned<std::uint32_t>(line);
  }
  return sum;
}

} // namespace weir::bench
