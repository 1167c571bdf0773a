#include "tests/bench/prefix_sets.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <span>
#include <unordered_set>

namespace weir::bench {

Wide OfFamily<WireV6>::number(const Entry &entry) {
  Wide number = 0;
  for (const std::uint8_t byte : entry.address) number = number << 8 | byte;
  return number;
}

WireV6 OfFamily<WireV6>::wire(Wide number) {
  WireV6 wire;
  for (unsigned i = 16; i-- > 0; number >>= 8) wire[i] = static_cast<std::uint8_t>(number);
  return wire;
}

namespace {

// A length, and how often it comes.
struct Share {
  unsigned length;
  double weight;
};

class Lengths {
public:
  explicit Lengths(std::span<const Share> shares) : shares_(shares) {
    std::vector<double> weights;
    for (const Share &share : shares) weights.push_back(share.weight);
    draw_ = std::discrete_distribution<std::size_t>(weights.begin(), weights.end());
  }
  unsigned operator()(std::mt19937_64 &random) { return shares_[draw_(random)].length; }

private:
  std::span<const Share> shares_;
  std::discrete_distribution<std::size_t> draw_;
};

// A set that takes each prefix once.
template <class Wire> class Collector {
public:
  using Of = OfFamily<Wire>;
  explicit Collector(std::size_t count) : count_(count) { seen_.reserve(count); }

  // Whether it was not there before.
  bool add(Wide number, unsigned length, std::uint16_t list) {
    number &= ~host_mask<Wire>(length);
    if (!seen_.insert(static_cast<std::uint64_t>(number >> (Of::bits > 64 ? 64 : 0)) | Wide{length} << 64)
             .second)
      return false;
    entries_.push_back(Of::entry(number, length, list));
    return true;
  }
  [[nodiscard]] bool is_full() const { return entries_.size() >= count_; }
  [[nodiscard]] PrefixSet<Wire> finished(std::string name, unsigned lists) {
    std::ranges::sort(entries_);
    return {std::move(name), std::move(entries_), lists};
  }

private:
  struct Hash {
    std::size_t operator()(Wide w) const {
      return static_cast<std::size_t>(
          remix({static_cast<std::uint64_t>(w)}, static_cast<std::uint64_t>(w >> 64)));
    }
  };
  std::size_t count_;
  std::unordered_set<Wide, Hash> seen_; // the upper 64 bits and the length
  std::vector<typename Of::Entry> entries_;
};

constexpr unsigned bgp_lists = 300;

std::uint16_t drawn_list(std::mt19937_64 &random) { return static_cast<std::uint16_t>(random() % bgp_lists); }

struct Allocation {
  Wide number = 0;
  unsigned length = 0;
  std::uint16_t list = 0;
};

// More specific prefixes inside the allocations until the set is full; two thirds have the list of their allocation.
template <class Wire, class Choose>
void add_more_specifics(Collector<Wire> &set, std::span<const Allocation> allocations, Lengths lengths,
                        std::mt19937_64 &random, const Choose &choose) {
  while (!set.is_full()) {
    const Allocation &of = allocations[choose()];
    const unsigned length = lengths(random);
    const Wide drawn = Wide{random()} << 64 | random();
    const std::uint16_t list = random() % 3 < 2 ? of.list : drawn_list(random);
    if (length > of.length) set.add(of.number | (drawn & host_mask<Wire>(of.length)), length, list);
  }
}

} // namespace

PrefixSet<WireV4> firehol_like_prefixes() {
  struct Share {
    std::uint8_t length;
    unsigned count;
  };
  constexpr Share shares[] = {{14, 20},  {16, 180}, {17, 80},  {18, 150}, {19, 220},
                              {20, 350}, {21, 300}, {22, 500}, {23, 200}, {24, 1000}};
  std::mt19937_64 random(1);
  PrefixSet<WireV4> set{"firehol-like", {}, 1};
  for (const Share &share : shares)
    for (unsigned i = 0; i < share.count; ++i)
      set.entries.push_back(OfFamily<WireV4>::entry(
          static_cast<std::uint32_t>(random()) & ~host_mask<WireV4>(share.length), share.length, 0));
  std::ranges::sort(set.entries);
  const auto again = std::ranges::unique(set.entries);
  set.entries.erase(again.begin(), again.end());
  return set;
}

PrefixSet<WireV4> random_prefixes(std::uint32_t count) {
  static constexpr std::array<Share, 9> shares{
      {{16, 1}, {17, 1}, {18, 1}, {19, 1}, {20, 1}, {21, 1}, {22, 1}, {23, 1}, {24, 4}}};
  constexpr unsigned lists = 16;
  std::mt19937_64 random(19);
  Lengths lengths(shares);
  Collector<WireV4> set(count);
  while (!set.is_full()) {
    const unsigned length = lengths(random);
    const std::uint64_t r = random();
    set.add(static_cast<std::uint32_t>(r), length, static_cast<std::uint16_t>((r >> 32) % lists));
  }
  return set.finished(count_words(count) + " random", lists);
}

PrefixSet<WireV4> bgp_like_v4() {
  static constexpr std::array<Share, 11> allocated{{{12, 0.3},
                                                    {13, 0.5},
                                                    {14, 1.2},
                                                    {15, 3},
                                                    {16, 12},
                                                    {17, 6},
                                                    {18, 8},
                                                    {19, 13},
                                                    {20, 14},
                                                    {21, 12},
                                                    {22, 30}}};
  static constexpr std::array<Share, 9> specific{
      {{24, 64}, {23, 11}, {22, 11}, {21, 5}, {20, 4}, {19, 2}, {18, 1.5}, {17, 1}, {16, 0.5}}};
  std::mt19937_64 random(900);
  Collector<WireV4> set(900'000);
  std::vector<Allocation> allocations;
  std::vector<double> sizes;
  for (Lengths lengths(allocated); allocations.size() < 75'000;) {
    const unsigned length = lengths(random);
    const Wide top = 1 + random() % 223; // 1/8 to 223/8
    const Allocation a{(top << 24 | (random() & 0xFFFFFF)) & ~host_mask<WireV4>(length), length,
                       drawn_list(random)};
    if (!set.add(a.number, a.length, a.list)) continue;
    allocations.push_back(a);
    sizes.push_back(static_cast<double>(host_mask<WireV4>(length)));
  }
  // Half of them lie anywhere in what is allocated, half in an allocation of any size.
  std::discrete_distribution<std::size_t> by_size(sizes.begin(), sizes.end());
  add_more_specifics(set, allocations, Lengths(specific), random,
                     [&] { return random() % 2 == 0 ? by_size(random) : random() % allocations.size(); });
  return set.finished("BGP-like", bgp_lists);
}

PrefixSet<WireV6> bgp_like_v6() {
  // What registries have allocated from, as the first 16 bits.
  static constexpr std::array<std::uint16_t, 45> tops{
      0x2001, 0x2003, 0x2400, 0x2401, 0x2402, 0x2403, 0x2404, 0x2405, 0x2406, 0x2407, 0x2408, 0x2409,
      0x240A, 0x240B, 0x240C, 0x240D, 0x240E, 0x2600, 0x2601, 0x2602, 0x2603, 0x2604, 0x2605, 0x2606,
      0x2607, 0x2610, 0x2620, 0x2800, 0x2801, 0x2803, 0x2804, 0x2806, 0x2A00, 0x2A01, 0x2A02, 0x2A03,
      0x2A04, 0x2A05, 0x2A06, 0x2A07, 0x2A09, 0x2A0A, 0x2A0C, 0x2A0E, 0x2C0F};
  static constexpr std::array<Share, 2> allocated{{{32, 3}, {29, 1}}};
  static constexpr std::array<Share, 9> specific{
      {{48, 52}, {44, 10}, {40, 10}, {36, 6}, {47, 5}, {46, 5}, {42, 4}, {45, 4}, {33, 4}}};
  std::mt19937_64 random(200);
  Collector<WireV6> set(200'000);
  std::vector<Allocation> allocations;
  for (Lengths lengths(allocated); allocations.size() < 42'000;) {
    const unsigned length = lengths(random);
    const Wide top = tops[random() % tops.size()];
    const Wide below = random() & 0xFFFF;
    const Allocation a{(top << 112 | below << 96) & ~host_mask<WireV6>(length), length, drawn_list(random)};
    if (set.add(a.number, a.length, a.list)) allocations.push_back(a);
  }
  // Few allocations have most of them: the i-th has a share of 1 / i.
  std::vector<double> shares;
  for (std::size_t i = 0; i < allocations.size(); ++i) shares.push_back(1 / static_cast<double>(i + 1));
  std::discrete_distribution<std::size_t> heavy_tailed(shares.begin(), shares.end());
  add_more_specifics(set, allocations, Lengths(specific), random, [&] { return heavy_tailed(random); });
  return set.finished("BGP-like", bgp_lists);
}

} // namespace weir::bench
