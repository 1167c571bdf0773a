// Which of a key's two lines to read, so that one line answers any key: the ChainedFilter "& ~" as a
// location predictor [Chained §5.3, Alg. 2], trained to zero error.
//
// Positives are the keys in table 2. The query is F1 & ~(F2 & ~(F3 & ~ ...)): the first layer that says
// no decides. A prediction that is right for every stored key makes a miss in the predicted line a
// proof of absence; absent keys may be sent to either table.
//
//   F1     one bit per (line of table 1, group), aligned with the lines: `groups` bits a line, 2, 4 or 8
//          line n:  | bit n * groups | ... | bit n * groups + groups - 1 |     in 32-bit words
//   F2..   small Bloom layers, each with a seed of its own: three bits in one 64-bit word a key.
//          F2 holds keys of table 1 whose bit in F1 is set, F3 those of table 2 that F2 took for its
//          own, and so on; only keys that are still undecided ask them
//
// The builder sends whole groups to table 2 (build/displacer.hpp), so F2 holds a handful of keys
// or none, and then the chain is F1 alone: groups / keys-per-line bits a key (IPv4: 0.5).
//
// Cost: one load of F1, which is small (62 KiB for a million IPv4 keys), then one line. Errors: none for
// stored keys while in_force(). Keys in the stash are predicted as table 2, whose miss looks there.
// What breaks it: a key that enters another line than the predicted one. Such keys go to the overlay;
// or exactness is given up: the flag falls, a grace period passes, and from then on readers follow
// the group bits in the lines, which are kept in any case. Nothing else of a chain ever changes in place.
#pragma once

#include "weir/filter/and_not.hpp"
#include "weir/table/line.hpp"
#include "weir/table/sections.hpp"

#include <array>
#include <span>

namespace weir::table {

enum class Home : std::uint8_t { table1, table2 };

class ChainedPredictor {
public:
  static constexpr unsigned batch_max = 64;
  static constexpr unsigned deep_layers_max = chain_deep_layers_max;

  // The first layer, for kernels: bit `line << group_shift | (hash & group_mask)` of an array of words.
  // The array may be read up to the end of the 64 bytes that its last bit lies in.
  struct FirstLayer {
    const std::uint32_t *words = nullptr;
    std::uint32_t lines = 0; // as many as table 1 has
    std::uint32_t group_shift = 0;
    std::uint32_t group_mask = 0;
  };
  struct DeepLayer {
    const std::uint64_t *words = nullptr;
    std::uint32_t count = 0;
  };

  ChainedPredictor() = default;
  ChainedPredictor(FirstLayer first, std::span<const DeepLayer> deep, const std::uint32_t *exact,
                   HashFamily family = HashFamily::xxh3) noexcept
      : first_(first), exact_(exact), deep_count_(static_cast<std::uint32_t>(deep.size())), family_(family) {
    for (std::size_t i = 0; i < deep.size(); ++i) deep_[i] = deep[i];
  }

  [[nodiscard]] bool empty() const noexcept { return first_.words == nullptr; }
  // Right for every stored key? Asked once at the begin of a burst, never in the middle of one.
  [[nodiscard]] bool in_force() const noexcept { return !empty() && read_acquire(*exact_) != 0; }

  [[nodiscard]] const FirstLayer &first() const noexcept { return first_; }
  [[nodiscard]] unsigned deep_layers() const noexcept { return deep_count_; }
  [[nodiscard]] const DeepLayer &deep_layer(unsigned layer) const noexcept { return deep_[layer]; }
  [[nodiscard]] const std::uint32_t *exact_flag() const noexcept { return exact_; }

  [[nodiscard]] static constexpr std::uint32_t bit_of(const FirstLayer &f, KeyHash h) noexcept {
    return reduce(half1(h), f.lines) << f.group_shift | (half2(h) & f.group_mask);
  }
  // Only needed when the first layer is larger than the second level cache.
  void prefetch(KeyHash h) const noexcept { __builtin_prefetch(&first_.words[bit_of(first_, h) >> 5]); }

  // False: the key is in table 1 if anywhere. True: ask the deeper layers, when there are any.
  [[nodiscard]] bool first_says(KeyHash h) const noexcept {
    const std::uint32_t bit = bit_of(first_, h);
    return (first_.words[bit >> 5] >> (bit & 31) & 1) != 0;
  }

  [[nodiscard]] Home predict(KeyHash h) const noexcept {
    if (!first_says(h)) return Home::table1;
    return deep_count_ == 0 ? Home::table2 : settle(h);
  }

  // Bit i is set when hashes[i] is predicted in table 2; at most 64.
  [[nodiscard]] std::uint64_t predict_batch(std::span<const KeyHash> hashes) const noexcept {
    std::uint64_t undecided = 0;
    for (std::size_t i = 0; i < hashes.size(); ++i)
      undecided |= static_cast<std::uint64_t>(first_says(hashes[i])) << i;
    return deep_count_ == 0 ? undecided : settle_batch(hashes, undecided);
  }

  // Of the keys whose first layer said yes, those that stay with table 2.
  [[nodiscard]] std::uint64_t settle_batch(std::span<const KeyHash> hashes,
                                           std::uint64_t undecided) const noexcept {
    for (std::uint64_t rest = undecided; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<unsigned>(__builtin_ctzll(rest));
      if (settle(hashes[i]) == Home::table1) undecided &= ~(std::uint64_t{1} << i);
    }
    return undecided;
  }

  // What the deeper layers say of a key that the first one took.
  [[nodiscard]] Home settle(KeyHash h) const noexcept {
    const auto accepts = [&](std::size_t layer) {
      const auto deep = static_cast<unsigned>(layer - 1);
      return holds(deep_[deep], deep, h);
    };
    return filter::and_not(1, deep_count_ + 1, accepts) ? Home::table2 : Home::table1;
  }

  // Where and as what a key stands in deep layer `layer` of `words` words; shared with the trainer.
  struct Mark {
    std::uint32_t word;
    std::uint64_t bits;
  };
  // What a deep layer remixes hashes with.
  [[nodiscard]] static constexpr std::uint64_t salt(unsigned layer) noexcept {
    return 0xC8A1D3F5'9B2E6A47ull * (layer + 1);
  }
  [[nodiscard]] static constexpr Mark mark(unsigned layer, std::uint32_t words, KeyHash h,
                                           HashFamily family = HashFamily::xxh3) noexcept {
    const std::uint64_t x = remix(family, h, salt(layer));
    const std::uint64_t bits =
        std::uint64_t{1} << (x & 63) | std::uint64_t{1} << (x >> 6 & 63) | std::uint64_t{1} << (x >> 12 & 63);
    return {reduce(static_cast<std::uint32_t>(x >> 32), words), bits};
  }

private:
  [[nodiscard]] bool holds(const DeepLayer &layer, unsigned number, KeyHash h) const noexcept {
    const Mark m = mark(number, layer.count, h, family_);
    return (layer.words[m.word] & m.bits) == m.bits;
  }

  FirstLayer first_;
  const std::uint32_t *exact_ = nullptr;
  std::uint32_t deep_count_ = 0;
  HashFamily family_ = HashFamily::xxh3; // of the remixed hashes
  std::array<DeepLayer, deep_layers_max> deep_;
};
static_assert(std::is_trivially_copyable_v<ChainedPredictor>);

} // namespace weir::table
