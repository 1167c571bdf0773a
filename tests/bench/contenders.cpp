#include "tests/bench/contenders.hpp"

#include "weir/base/hash.hpp"
#include "weir/image/reader.hpp"
#include "weir/lookup/kernels/choose.hpp"

#include <fmt/core.h>
#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>

#include <algorithm>
#include <bit>
#include <random>

namespace weir::bench {

std::uint32_t scrambled_address(std::uint32_t i) { // each step can be undone, so no address comes twice
  i ^= i >> 16;
  i *= 0x7FEB352Du;
  i ^= i >> 15;
  i *= 0x846CA68Bu;
  return i ^ i >> 16;
}

template <> WireV4 address_at<WireV4>(std::uint32_t i) { return scrambled_address(i); }

template <> WireV6 address_at<WireV6>(std::uint32_t i) {
  const std::uint64_t halves[2] = {remix({i}, 1), remix({i}, 2)}; // remix(., 1) alone never repeats
  WireV6 address;
  std::memcpy(address.data(), halves, sizeof halves);
  return address;
}

template <class Wire>
std::vector<Wire> make_queries_of(std::uint32_t keys, double hit_percent, std::size_t count,
                                  std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Wire> queries(count);
  const auto hit_bound = static_cast<std::uint32_t>(hit_percent / 100 * 4294967295.0);
  for (Wire &query : queries) {
    const std::uint64_t r = random();
    const bool hit = hit_percent > 0 && static_cast<std::uint32_t>(r) <= hit_bound;
    const auto place = static_cast<std::uint32_t>(r >> 32);
    query = address_at<Wire>(hit ? reduce(place, keys) : keys + reduce(place, ~std::uint32_t{0} - keys));
  }
  return queries;
}
template std::vector<WireV4> make_queries_of(std::uint32_t, double, std::size_t, std::uint64_t);
template std::vector<WireV6> make_queries_of(std::uint32_t, double, std::size_t, std::uint64_t);

std::vector<std::uint32_t> make_queries(std::uint32_t keys, double hit_percent, std::size_t count,
                                        std::uint64_t seed) {
  return make_queries_of<WireV4>(keys, hit_percent, count, seed);
}

std::vector<build::EntryV4> make_entries(std::uint32_t keys) {
  std::vector<build::EntryV4> entries(keys);
  for (std::uint32_t i = 0; i < keys; ++i) entries[i].host = byteswap32(scrambled_address(i));
  std::ranges::sort(entries);
  return entries;
}

std::vector<build::EntryV6> make_entries_v6(std::uint32_t keys) {
  std::vector<build::EntryV6> entries(keys);
  for (std::uint32_t i = 0; i < keys; ++i) entries[i].address = address_at<WireV6>(i);
  std::ranges::sort(entries);
  return entries;
}

Image::Image(std::span<const build::EntryV4> v4, std::span<const build::EntryV6> v6, bool front_filter)
    : Image(v4, v6,
            plan::Option{front_filter ? plan::FrontFilter::split_block_bloom : plan::FrontFilter::none, {}}) {
}

Image::Image(std::span<const build::EntryV4> v4, std::span<const build::EntryV6> v6, plan::Option option,
             unsigned lists, build::HostHome home) {
  build::BuildInput input;
  using Number = decltype(build::ListInput::number);
  for (unsigned n = 0; n < lists; ++n)
    input.lists.push_back({fmt::format("list {}", n), Number(static_cast<std::uint16_t>(n)), Side::deny});
  input.deny.v4 = v4;
  input.deny.v6 = v6;
  input.deny.hosts_v4 = home;
  input.deny.front_filter = option.front_filter == plan::FrontFilter::split_block_bloom;
  input.deny.predictor = option.predictor == plan::Predictor::chained ? build::Predictor::chained
                                                                      : build::Predictor::inline_bits;
  input.identity.generation = 1;
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

std::unique_ptr<Image> image_of(std::span<const build::EntryV4> entries, unsigned lists) {
  return std::make_unique<Image>(entries, std::span<const build::EntryV6>(), plain_plan, lists);
}
std::unique_ptr<Image> image_of(std::span<const build::EntryV6> entries, unsigned lists) {
  return std::make_unique<Image>(std::span<const build::EntryV4>(), entries, plain_plan, lists);
}

std::uint64_t bytes_of_entries(const Image &image, unsigned lists) {
  const Image nothing({}, {}, plain_plan, lists);
  return image.report().image_bytes - nothing.report().image_bytes;
}

WeirLookup::WeirLookup(const image::ImageView &view) : view_(view) {}

namespace {

void ask_all(lookup::BurstLookup &burst, const WireV4 *addresses) { burst.ask_all_v4(addresses, burst_keys); }
void ask_all(lookup::BurstLookup &burst, const WireV6 *addresses) {
  burst.ask_all_v6(addresses->data(), burst_keys);
}

template <class Wire> const std::uint32_t *answers(const lookup::BurstLookup &burst) {
  if constexpr (std::is_same_v<Wire, WireV4>)
    return burst.deny_v4();
  else
    return burst.deny_v6();
}

template <class Wire> bool has_front(const image::ImageView &view) {
  if constexpr (std::is_same_v<Wire, WireV4>)
    return !view.v4[Side::deny].front.empty();
  else
    return !view.v6[Side::deny].front.empty();
}

} // namespace

template <class Wire> std::uint64_t WeirLookup::run_all(std::span<const Wire> queries) {
  std::uint64_t found = 0, lines = 0;
  const std::size_t bursts = queries.size() / burst_keys;
  stream_.run(
      view_, lookup::best_kernels(), bursts,
      [&](lookup::BurstLookup &burst, std::size_t i) { ask_all(burst, &queries[i * burst_keys]); },
      [&](const lookup::BurstLookup &burst, std::size_t) {
        const std::uint32_t *denied = answers<Wire>(burst);
        found += static_cast<unsigned>(std::popcount(lookup::best_kernels().listed(denied, burst_keys)));
        lines += burst.cost().probes + burst.cost().second_lines;
      });
  asked_ += bursts * burst_keys;
  lines_ += lines + (has_front<Wire>(view_) ? bursts * burst_keys : 0);
  return found;
}

std::uint64_t WeirLookup::run(std::span<const WireV4> queries) { return run_all(queries); }
std::uint64_t WeirLookup::run(std::span<const WireV6> queries) { return run_all(queries); }

template <class Wire> std::vector<std::uint32_t> WeirLookup::list_words_of(std::span<const Wire> queries) {
  std::vector<std::uint32_t> words;
  stream_.run(
      view_, lookup::best_kernels(), queries.size() / burst_keys,
      [&](lookup::BurstLookup &burst, std::size_t i) { ask_all(burst, &queries[i * burst_keys]); },
      [&](const lookup::BurstLookup &burst, std::size_t) {
        for (unsigned k = 0; k < burst_keys; ++k)
          words.push_back(answers<Wire>(burst)[k] & table::value::list_mask);
      });
  return words;
}

std::vector<std::uint32_t> WeirLookup::list_words(std::span<const WireV4> queries) {
  return list_words_of(queries);
}
std::vector<std::uint32_t> WeirLookup::list_words(std::span<const WireV6> queries) {
  return list_words_of(queries);
}

double WeirLookup::lines_per_lookup() const {
  return asked_ == 0 ? 0 : static_cast<double>(lines_) / static_cast<double>(asked_);
}

RteHash::RteHash(std::uint32_t keys, std::uint32_t key_bytes) {
  rte_hash_parameters parameters{};
  static unsigned made = 0;
  const std::string name = fmt::format("peer{}", made++);
  parameters.name = name.c_str();
  // Beyond a million keys it was seen to refuse the last ones at 94 % of the next power of two.
  const bool too_full = keys > 1'500'000 && keys > 0.93 * std::bit_ceil(keys);
  parameters.entries = too_full ? keys + keys / 8 : keys;
  parameters.key_len = key_bytes;
  parameters.hash_func = rte_hash_crc;
  parameters.socket_id = SOCKET_ID_ANY;
  table_ = rte_hash_create(&parameters);
  if (!table_) give_up(fmt::format("rte_hash_create of {} entries: {}", keys, rte_strerror(rte_errno)));
}

RteHash::~RteHash() { rte_hash_free(table_); }

void RteHash::add(const void *key, std::uint32_t number) {
  if (rte_hash_add_key_data(table_, key, reinterpret_cast<void *>(std::uintptr_t{number} + 1)) < 0)
    give_up(fmt::format("rte_hash takes no more than {} keys", number));
}

std::uint64_t RteHash::find(const void **keys, unsigned count) const {
  void *data[burst_keys];
  std::uint64_t hits = 0;
  rte_hash_lookup_bulk_data(table_, keys, count, &hits, data);
  return hits;
}

} // namespace weir::bench
