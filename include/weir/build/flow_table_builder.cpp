#include "weir/build/flow_table_builder.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace weir::build {
namespace {

using image::flow_places, image::FlowPlaces;

constexpr double flows_a_slot = 0.9;
constexpr unsigned moves_max = 2'000; // of one flow, until the table is taken for full
constexpr unsigned growths_max = 20;

template <class Flow> using BucketOf = typename image::FlowBucketOf<Flow>::type;

template <class Flow> [[nodiscard]] Flow question_of(Flow flow) noexcept {
  flow.word &= image::flow_word::asked_mask;
  return flow;
}

// Cuckoo hashing: what finds both of its buckets full takes the place of another flow, chosen at random, which goes on.
template <class Flow> class Filler {
public:
  Filler(std::span<BucketOf<Flow>> buckets, std::uint64_t seed)
      : buckets_(buckets), seed_(seed), random_(seed) {}

  [[nodiscard]] bool put(Flow flow) {
    for (unsigned move = 0; move < moves_max; ++move) {
      const FlowPlaces at =
          flow_places(hash_of(question_of(flow), seed_), static_cast<std::uint32_t>(buckets_.size()));
      if (put_into(at.first, flow) || put_into(at.second, flow)) return true;
      const std::uint64_t chance = next();
      auto &slots = buckets_[(chance & 1) != 0 ? at.first : at.second].slots;
      std::swap(flow, slots[(chance >> 32) % slots.size()]);
    }
    return false;
  }

private:
  [[nodiscard]] bool put_into(std::uint32_t bucket, const Flow &flow) {
    for (Flow &slot : buckets_[bucket].slots)
      if (slot.word == 0) return slot = flow, true;
    return false;
  }
  std::uint64_t next() noexcept { return remix({++random_}, 0xF10357AB1Eull); }

  std::span<BucketOf<Flow>> buckets_;
  std::uint64_t seed_, random_;
};

template <class Flow>
[[nodiscard]] Result<std::vector<BucketOf<Flow>>> fill(std::span<const Flow> flows, std::uint64_t seed) {
  if (flows.empty()) return std::vector<BucketOf<Flow>>{};
  constexpr std::size_t slots = std::tuple_size_v<decltype(BucketOf<Flow>::slots)>;
  auto buckets = static_cast<std::size_t>(static_cast<double>(flows.size()) / (slots * flows_a_slot)) + 2;
  for (unsigned growth = 0; growth < growths_max; ++growth, buckets += buckets / 16 + 1) {
    std::vector<BucketOf<Flow>> table(buckets);
    Filler<Flow> filler(table, seed);
    if (std::ranges::all_of(flows, [&](const Flow &flow) { return filler.put(flow); })) return table;
  }
  return fail(Errc::usage, "flows: one of them stands twice or more often");
}

} // namespace

Result<std::vector<std::byte>> build_flow_table(const FlowsInput &in) {
  for (const std::size_t flows : {in.v4.size(), in.v6.size()})
    if (flows > image::flows_most)
      return fail(Errc::usage, "flows: " + std::to_string(flows) + " of one family, at most " +
                                   std::to_string(image::flows_most) + " are possible");
  const auto v4 = TRY(fill<image::FlowV4>(in.v4, in.seed));
  const auto v6 = TRY(fill<image::FlowV6>(in.v6, in.seed));
  image::FlowsHeader h{};
  h.seed = in.seed;
  h.flows_v4 = in.v4.size();
  h.flows_v6 = in.v6.size();
  h.buckets_v4 = static_cast<std::uint32_t>(v4.size());
  h.buckets_v6 = static_cast<std::uint32_t>(v6.size());
  const auto v4_bytes = std::as_bytes(std::span(v4)), v6_bytes = std::as_bytes(std::span(v6));
  std::vector<std::byte> out(sizeof h + v4_bytes.size() + v6_bytes.size());
  std::memcpy(out.data(), &h, sizeof h);
  std::ranges::copy(v6_bytes, std::ranges::copy(v4_bytes, out.begin() + sizeof h).out);
  return out;
}

} // namespace weir::build
