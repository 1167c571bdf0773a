// Denied hosts to a stacked filter, as an image's section deny_front or deny_judge has it [Stacked Alg. 1].
//
// Positives are the hosts among the deny entries: IPv4 /32, IPv6 /128. Their hashes are the tables', so the
// section belongs to one image seed and has to be made again for another. Known negatives are addresses; one
// that is a positive as well costs room and nothing else.
//
// A chained filter (filter/chained_filter.hpp) is a stack of one layer, which holds the known negatives as well. Its plan has
// two, by its stages: the first one says how many bits of fingerprint there are. Of its rates the second is that of a layer which
// rejects known negatives, all of them: of an even number of layers no known negative passes.
//
// Layers get the bits that were planned for each key, for the keys that really come; the rates in the
// section's header are those of what was given, by the base filters' own models. A stack that judges carries
// the ranges that no filter may deny: at a lookup they are asked exactly, after the filter has accepted.
//
// Errors: usage, for impossible plans, and for an entry that lies in a spared range; those of build_stack().
#pragma once

#include "weir/build/chained_filter.hpp"
#include "weir/build/input.hpp"
#include "weir/build/keys.hpp"
#include "weir/build/peeled_filter.hpp"
#include "weir/build/spared_ranges.hpp"
#include "weir/build/stacked_builder.hpp"
#include "weir/image/deny_filter_view.hpp"
#include "weir/image/family_limits.hpp"
#include "weir/key/text.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace weir::build {

struct DenyFilterSizes {
  image::DenyFilterRole role = image::DenyFilterRole::front;
  filter::FilterKind base =
      filter::FilterKind::split_block_bloom; // or bloom, binary_fuse, or a chained filter
  bool fuse_below = false;                   // even layers are binary fuse filters
  std::vector<LayerSize> layers;             // 1, 3 ... 9; of a chained filter 2
  double room = 1;                           // how many times the hosts of the build are to fit
  double psi = 0;                            // share of negative questions that ask for known ones
  std::span<const Address> known;            // negatives
  std::span<const Prefix> spared;            // that a judge never denies
  // Of the image. jhash: in front of tables alone, of Bloom layers, with powers of two of words.
  HashFamily family = HashFamily::xxh3;
};

struct DenyFilter {
  image::DenyFilterRole role = image::DenyFilterRole::front;
  std::vector<std::byte> section;
  StackCounts counts;
  std::vector<double> rates; // of each layer, as built
  double efpr = 0, efpb = 0; // predicted from them, as in the section's header

  // For the image; `of_known` are the negatives that it was told of. It and they must outlive the build.
  [[nodiscard]] DenyFilterInput input(std::span<const Address> of_known = {}) const noexcept {
    return {.role = role, .section = section, .known = of_known};
  }
};

namespace detail {

[[nodiscard]] inline std::vector<KeyHash> host_hashes(const SideInput &deny, std::uint64_t seed,
                                                      HashFamily family) {
  std::vector<KeyHash> keys;
  keys.reserve(deny.v4.size());
  for (const EntryV4 &e : deny.v4)
    if (e.length == 32) keys.push_back(hash_v4(family, key_of(e), length_seed(seed, 32)));
  for (const EntryV6 &e : deny.v6)
    if (e.length == 128) keys.push_back(hash_v6(family, e.address.data(), length_seed(seed, 128)));
  return keys;
}

[[nodiscard]] inline KeyHash host_hash(const Address &a, std::uint64_t seed,
                                       HashFamily family = HashFamily::xxh3) noexcept {
  return a.family == Family::ipv4 ? hash_v4(family, a.wire(), length_seed(seed, 32))
                                  : hash_v6(family, a.bytes.data(), length_seed(seed, 128));
}

[[nodiscard]] inline Status check_spared(const SideInput &deny, const SparedRanges &ranges) {
  const auto fault = [](const Address &a) {
    return fail(Errc::usage, "deny entry " + to_string(a) + " lies in a range that is never to be denied");
  };
  for (const EntryV4 &e : deny.v4)
    if (e.length == 32 && image::lies_in(std::span<const image::SparedV4>(ranges.v4), e.host))
      return fault(address_of(e));
  for (const EntryV6 &e : deny.v6)
    if (e.length == 128 && image::lies_in(std::span<const image::SparedV6>(ranges.v6), e.address))
      return fault(address_of(e));
  return {};
}

template <class Odd, class Even>
[[nodiscard]] std::vector<double> rates_of(const BuiltStack<Odd, Even> &built) {
  std::vector<double> rates;
  for (std::size_t i = 0; i < built.counts.keys.size(); ++i) {
    const auto keys = static_cast<double>(built.counts.keys[i]);
    rates.push_back(i % 2 == 0 ? Odd::rate(built.stack.odd()[i / 2].shape(), keys)
                               : Even::rate(built.stack.even()[i / 2].shape(), keys));
  }
  return rates;
}

// As planned, and a cache line at least: deep layers may come to have a handful of keys.
class DenyFilterShapes {
public:
  explicit DenyFilterShapes(const DenyFilterSizes &plan) : plan_(plan) {}

  template <class Filter>
  [[nodiscard]] Result<typename Filter::Shape> operator()(std::size_t layer, std::uint64_t keys) const {
    constexpr double bits_min = 8 * cache_line_bytes;
    LayerSize size = plan_.layers[layer - 1];
    const double room = static_cast<double>(keys) * (layer % 2 == 1 ? plan_.room : 1);
    if (size.digits == 0 && size.bits * room < bits_min * size.keys) {
      size.keys = std::max(room, 1.0);
      size.bits = bits_min;
    }
    auto shape = layer_shape<Filter>(size, room);
    if constexpr (std::is_same_v<typename Filter::Shape, filter::BloomShape>)
      if (shape && plan_.family == HashFamily::jhash) shape = for_program(*shape, room);
    return shape;
  }

private:
  // A power of two of words, and the functions that such a table has use for, as far as there is room.
  [[nodiscard]] static filter::BloomShape for_program(filter::BloomShape shape, double keys) noexcept {
    shape.size = std::bit_ceil(shape.size);
    if (const auto best = filter::Bloom::shape_for(keys, shape.bits())) shape.hashes = best->hashes;
    shape.hashes = std::min<std::uint32_t>(shape.hashes, image::jhash_stack_hashes_max);
    shape.family = HashFamily::jhash;
    return shape;
  }

  const DenyFilterSizes &plan_;
};

// As bytes, with the rates that they have.
template <class Odd, class Even>
[[nodiscard]] Result<DenyFilter> deny_filter_of(BuiltStack<Odd, Even> built, std::vector<double> rates,
                                                std::size_t hosts, const SparedRanges &ranges,
                                                const DenyFilterSizes &plan) {
  DenyFilter out;
  out.role = plan.role;
  out.rates = std::move(rates);
  out.efpr = stacked_efpr(out.rates, plan.psi);
  out.efpb = unknown_rate(out.rates);
  out.counts = std::move(built.counts);
  const image::DenyFilterHeader header{.reserved0 = 0,
                                       .planned_keys =
                                           static_cast<std::uint64_t>(static_cast<double>(hosts) * plan.room),
                                       .psi = image::stack_rate_parts(plan.psi),
                                       .efpr = image::stack_rate_parts(out.efpr),
                                       .efpb = image::stack_rate_parts(out.efpb),
                                       .spared_v4 = static_cast<std::uint32_t>(ranges.v4.size()),
                                       .spared_v6 = static_cast<std::uint32_t>(ranges.v6.size()),
                                       .reserved = {}};
  const std::uint64_t begin = image::deny_filter_offset(header.spared_v4, header.spared_v6);
  out.section.resize(begin + stack_section_bytes(built.stack));
  auto write = [at = out.section.data()](const void *from, std::size_t bytes) mutable {
    if (bytes != 0) std::memcpy(at, from, bytes);
    at += bytes;
  };
  write(&header, sizeof header);
  write(ranges.v4.data(), ranges.v4.size() * sizeof(image::SparedV4));
  write(ranges.v6.data(), ranges.v6.size() * sizeof(image::SparedV6));
  write_stack(built.stack, out.counts, MutableBytes(out.section).subspan(begin));
  return out;
}

template <class Odd, class Even>
[[nodiscard]] Result<DenyFilter>
build_deny_filter_of(std::span<const KeyHash> hosts, std::span<const KeyHash> known,
                     const SparedRanges &ranges, const DenyFilterSizes &plan, std::uint64_t seed) {
  const auto depth = static_cast<unsigned>(plan.layers.size());
  auto built = TRY(build_stack<Odd, Even>(depth, DenyFilterShapes(plan), hosts, known, seed));
  std::vector<double> rates = rates_of(built);
  return deny_filter_of(std::move(built), std::move(rates), hosts.size(), ranges, plan);
}

// Known negatives that are hosts as well are for the hosts.
[[nodiscard]] inline std::vector<KeyHash> without(std::span<const KeyHash> known,
                                                  std::span<const KeyHash> hosts) {
  std::vector<std::uint64_t> sorted;
  sorted.reserve(hosts.size());
  for (const KeyHash key : hosts) sorted.push_back(key.bits);
  std::ranges::sort(sorted);
  std::vector<KeyHash> others;
  for (const KeyHash key : known)
    if (!std::ranges::binary_search(sorted, key.bits)) others.push_back(key);
  return others;
}

template <class Chain>
[[nodiscard]] Result<DenyFilter>
build_chained_deny_filter(std::span<const KeyHash> hosts, std::span<const KeyHash> known,
                          const SparedRanges &ranges, const DenyFilterSizes &plan, std::uint64_t seed) {
  if (plan.layers.size() != 2 || plan.layers[0].digits == 0)
    return fail(Errc::usage, "a chained filter is planned as two stages, the first one by its bits");
  auto chain = TRY(Chain::build(hosts, without(known, hosts), plan.layers[0].digits, 1, seed));
  StackCounts counts;
  counts.keys = {hosts.size()};
  counts.known = known.size();
  counts.known_left = accepted_by(chain, known).size();
  std::vector<double> rates = chain.rates();
  std::vector<Chain> layers;
  layers.push_back(std::move(chain));
  auto stack = TRY(filter::Stacked<Chain>::of(std::move(layers), {}));
  return deny_filter_of(BuiltStack<Chain>{std::move(stack), std::move(counts)}, std::move(rates),
                        hosts.size(), ranges, plan);
}

template <class Odd, class... Rest>
[[nodiscard]] Result<DenyFilter> build_deny_filter_over(const DenyFilterSizes &plan, const Rest &...rest) {
  return plan.fuse_below ? build_deny_filter_of<Odd, BinaryFuse>(rest...)
                         : build_deny_filter_of<Odd, Odd>(rest...);
}

} // namespace detail

// Of the deny entries of an image that will be built with this seed.
[[nodiscard]] inline Result<DenyFilter> build_deny_filter(const SideInput &deny, const DenyFilterSizes &plan,
                                                          std::uint64_t seed) {
  using filter::FilterKind;
  if (plan.layers.size() > image::deny_filter_depth_max)
    return fail(Errc::usage, std::to_string(plan.layers.size()) + " layers, at most " +
                                 std::to_string(image::deny_filter_depth_max));
  if (!(plan.room >= 1) || !(plan.psi >= 0 && plan.psi <= 1))
    return fail(Errc::usage, "a stack has room for 1 times its hosts or more, and psi lies between 0 and 1");
  if (plan.family == HashFamily::jhash &&
      (plan.base != FilterKind::bloom || plan.fuse_below || plan.role != image::DenyFilterRole::front))
    return fail(Errc::usage, "hash family jhash has stacks of Bloom layers alone, in front of tables");
  const detail::SparedRanges ranges = detail::spared_ranges(plan.spared);
  TRY(detail::check_spared(deny, ranges));
  const std::vector<KeyHash> hosts = detail::host_hashes(deny, seed, plan.family);
  std::vector<KeyHash> known;
  known.reserve(plan.known.size());
  for (const Address &a : plan.known) known.push_back(detail::host_hash(a, seed, plan.family));
  switch (plan.base) {
  case FilterKind::split_block_bloom:
    return detail::build_deny_filter_over<filter::SplitBlockFilter>(plan, hosts, known, ranges, plan, seed);
  case FilterKind::bloom:
    return detail::build_deny_filter_over<filter::Bloom>(plan, hosts, known, ranges, plan, seed);
  case FilterKind::binary_fuse:
    return detail::build_deny_filter_of<BinaryFuse, BinaryFuse>(hosts, known, ranges, plan, seed);
  case FilterKind::chained_and:
    return detail::build_chained_deny_filter<ChainedFilter>(hosts, known, ranges, plan, seed);
  case FilterKind::chained_and_shared:
    return detail::build_chained_deny_filter<ChainedSharedFilter>(hosts, known, ranges, plan, seed);
  default:
    return fail(
        Errc::usage,
        std::string("a ") + name_of(plan.base) +
            " does not serve a packet path: take split-block Bloom, Bloom, binary fuse or a chained filter");
  }
}

} // namespace weir::build
