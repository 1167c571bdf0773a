#include "tests/lab/learnable.hpp"

#include "tests/lab/words.hpp"
#include "weir/image/offenders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numbers>
#include <span>

namespace weir::lab {
namespace {

// Effects of `values` values of a part: normal, and of mean 0 and variance 1 exactly.
std::vector<double> effects(unsigned values, std::uint64_t seed) {
  const auto uniform = [&](std::uint64_t i) {
    return (static_cast<double>(remix({i}, seed) >> 11) + 0.5) * 0x1.0p-53;
  };
  std::vector<double> out(values);
  for (unsigned v = 0; v < values; ++v)
    out[v] = std::sqrt(-2 * std::log(uniform(2 * v))) * std::cos(2 * std::numbers::pi * uniform(2 * v + 1));
  double sum = 0, squares = 0;
  for (const double e : out) sum += e;
  for (double &e : out) {
    e -= sum / values;
    squares += e * e;
  }
  for (double &e : out) e /= std::sqrt(squares / values);
  return out;
}

// Parts of a key: which value each has, and what they add up to.
constexpr std::array<unsigned, 8> url_parts{32, 32, 16, 8, 8, 32, 32, 4}; // values of each
constexpr std::array<unsigned, 3> address_parts{4, 8, 12};                // leading bits
// Port class, TTL class, length, flags; then leading bits of the address.
constexpr std::array<unsigned, 4> trait_parts{24, 32, 8, 8};
constexpr std::array<unsigned, 2> traffic_nets{4, 8};

std::size_t parts_of(LearnableKind kind) {
  switch (kind) {
  case LearnableKind::urls: return url_parts.size();
  case LearnableKind::addresses: return address_parts.size();
  case LearnableKind::traffic: return trait_parts.size() + traffic_nets.size();
  }
  return 1;
}
unsigned features_of(LearnableKind kind) {
  switch (kind) {
  case LearnableKind::urls: return url_features;
  case LearnableKind::addresses: return address_features;
  case LearnableKind::traffic: return image::offender_features(OffenderElement::header);
  }
  return 0;
}

class Law {
public:
  explicit Law(const LearnableTask &task)
      : kind_(task.kind), seed_(remix({task.seed}, 0x1EA12)),
        scale_(strength_for(task.auc) / std::sqrt(static_cast<double>(parts_of(kind_)))) {
    const auto add = [&](std::span<const unsigned> values) {
      for (const unsigned count : values) effects_.push_back(effects(count, seed_ + effects_.size()));
    };
    const auto add_nets = [&](std::span<const unsigned> nets) {
      for (const unsigned bits : nets) effects_.push_back(effects(1u << bits, seed_ + bits));
    };
    switch (kind_) {
    case LearnableKind::urls: add(url_parts); break;
    case LearnableKind::addresses: add_nets(address_parts); break;
    case LearnableKind::traffic: add(trait_parts), add_nets(traffic_nets); break;
    }
  }

  // The key's 64 random bits: parts of a URL, or the address in the lower half.
  [[nodiscard]] std::uint64_t bits(std::uint64_t number) const {
    switch (kind_) {
    case LearnableKind::urls: return remix({number}, seed_);
    case LearnableKind::addresses: return address(number);
    case LearnableKind::traffic: return remix({number}, seed_) << 32 | address(number);
    }
    return 0;
  }
  [[nodiscard]] double sum(std::uint64_t bits) const {
    double sum = 0;
    if (kind_ == LearnableKind::urls)
      for (std::size_t p = 0; p < url_parts.size(); ++p) sum += effects_[p][part(bits, p)];
    else if (kind_ == LearnableKind::addresses)
      for (std::size_t p = 0; p < address_parts.size(); ++p)
        sum += effects_[p][bits >> (32 - address_parts[p])];
    else {
      for (std::size_t p = 0; p < trait_parts.size(); ++p) sum += effects_[p][trait(bits, p)];
      for (std::size_t p = 0; p < traffic_nets.size(); ++p)
        sum += effects_[trait_parts.size() + p][(bits & 0xFFFFFFFF) >> (32 - traffic_nets[p])];
    }
    return scale_ * sum;
  }
  void write_url(fmt::memory_buffer &out, std::uint64_t bits, std::uint64_t number) const {
    fmt::format_to(std::back_inserter(out), "http://www.{}{}{}.{}/{}{}-{}{:010}{}", words[part(bits, 0)],
                   words[part(bits, 1)], part(bits, 2), domains[part(bits, 3)], folders[part(bits, 4)],
                   words[part(bits, 5)], words[part(bits, 6)], address(number), endings[part(bits, 7)]);
  }

  [[nodiscard]] static std::size_t trait(std::uint64_t bits, std::size_t p) {
    return (bits >> (32 + 8 * p) & 0xFF) * trait_parts[p] >> 8;
  }

private:
  [[nodiscard]] static std::size_t part(std::uint64_t bits, std::size_t p) {
    return bits >> (8 * p) & (url_parts[p] - 1);
  }
  // A permutation of all addresses, so that none comes twice: also the number in a URL, which so tells nothing.
  [[nodiscard]] std::uint32_t address(std::uint64_t number) const {
    auto x = static_cast<std::uint32_t>(number) ^ static_cast<std::uint32_t>(seed_);
    x = (x ^ x >> 16) * 0x7FEB352Du;
    x = (x ^ x >> 15) * 0x846CA68Bu;
    return x ^ x >> 16;
  }

  LearnableKind kind_;
  std::uint64_t seed_;
  double scale_;
  std::vector<std::vector<double>> effects_;
};

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

void take(const Law &law, const LearnableTask &task, std::uint64_t number, std::uint64_t bits, double sum,
          fmt::memory_buffer &text, LearnableKeys &to) {
  const std::size_t at = to.samples.bytes.size();
  to.samples.bytes.resize(at + to.samples.features);
  if (task.kind == LearnableKind::urls) {
    text.clear();
    law.write_url(text, bits, number);
    features_of_url({text.data(), text.size()}, to.samples.bytes.data() + at);
    to.keys.push_back({XXH3_64bits_withSeed(text.data(), text.size(), task.seed)});
  } else if (task.kind == LearnableKind::traffic) {
    const auto byte = [&](std::size_t p) { return static_cast<std::uint8_t>(Law::trait(bits, p)); };
    const Traits traits{.protocol = 6,
                        .port = byte(0),
                        .ttl = byte(1),
                        .length = static_cast<std::uint8_t>(5 + byte(2)),
                        .flags = static_cast<std::uint8_t>(2 * byte(3))};
    const Address address = Address::from_host(static_cast<std::uint32_t>(bits));
    std::ranges::copy(image::offender_features_of(address, traits, 0),
                      to.samples.bytes.begin() + static_cast<std::ptrdiff_t>(at));
    to.keys.push_back(image::offender_key(OffenderElement::header, address, traits, task.seed));
  } else {
    const auto address = static_cast<std::uint32_t>(bits);
    features_of_address(address, to.samples.bytes.data() + at);
    to.keys.push_back(hash_v4(__builtin_bswap32(address), length_seed(task.seed, 32)));
  }
  to.best.push_back(static_cast<float>(sum));
}

void swap_keys(LearnableKeys &a, std::size_t i, LearnableKeys &b, std::size_t j) {
  std::swap(a.keys[i], b.keys[j]);
  std::swap(a.best[i], b.best[j]);
  const auto of = [](LearnableKeys &keys, std::size_t at) {
    return keys.samples.bytes.begin() + static_cast<std::ptrdiff_t>(at * keys.samples.features);
  };
  std::swap_ranges(of(a, i), of(a, i + 1), of(b, j));
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || c == '.' || c == '-' || c == '/'; }

} // namespace

double auc_of_strength(double strength) {
  // Both sides' densities on a grid of L: normal times the logistic function of L, of -L.
  constexpr int steps = 2'000;
  double members = 0, others = 0, area = 0;
  for (int i = 0; i <= steps; ++i) {
    const double z = -8 + 16.0 * i / steps, density = std::exp(-z * z / 2), p = logistic(strength * z);
    area += density * p * (others + density * (1 - p) / 2);
    members += density * p;
    others += density * (1 - p);
  }
  return area / (members * others);
}

double strength_for(double auc) {
  double low = 0, high = 200;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (auc_of_strength(middle) < auc ? low : high) = middle;
  }
  return low;
}

std::vector<std::string> learnable_texts(const LearnableTask &task, std::uint64_t count) {
  const Law law(task);
  std::vector<std::string> texts;
  fmt::memory_buffer text;
  for (std::uint64_t number = 0; number < count; ++number) {
    text.clear();
    law.write_url(text, law.bits(number), number);
    texts.push_back(fmt::to_string(text));
  }
  return texts;
}

LearnableSet make_learnable(const LearnableTask &task) {
  const Law law(task);
  LearnableSet set;
  // Of each side, who is filled first.
  const std::array<std::array<LearnableKeys *, 2>, 2> sides{
      {{&set.members, &set.unseen_members}, {&set.others, &set.unseen_others}}};
  const std::array<std::array<std::uint64_t, 2>, 2> wanted{
      {{task.members, task.unseen}, {task.others, task.unseen}}};
  for (const auto &side : sides)
    for (LearnableKeys *keys : side) keys->samples.features = features_of(task.kind);
  const auto missing = [&](std::size_t side) -> LearnableKeys * {
    for (std::size_t i = 0; i < 2; ++i)
      if (sides[side][i]->count() < wanted[side][i]) return sides[side][i];
    return nullptr;
  };
  fmt::memory_buffer text;
  for (std::uint64_t number = 0; missing(0) != nullptr || missing(1) != nullptr; ++number) {
    const std::uint64_t bits = law.bits(number);
    const double sum = law.sum(bits);
    const double draw = static_cast<double>(remix({number}, task.seed ^ 0xD1CE) >> 11) * 0x1.0p-53;
    if (LearnableKeys *to = missing(draw < logistic(sum) ? 0 : 1); to != nullptr)
      take(law, task, number, bits, sum, text, *to);
  }
  const auto swaps = static_cast<std::size_t>(std::llround(task.swapped * static_cast<double>(task.members)));
  for (std::size_t i = 0; i < std::min<std::size_t>(swaps, task.others); ++i) // keys come in no order
    swap_keys(set.members, i, set.others, set.others.count() - 1 - i);
  return set;
}

//   0 to 5     length, of the host, of the path; digits, dots, slashes
//   6 to 13    the first letters after "www."
//   14 to 17   the last letters of the host
//   18 to 23   the first letters of the path
//   24 to 31   the last ones, what is no letter left out
//   32 to 63   pairs of letters of the host, in 32 buckets
//   64 to 95   of the path
void features_of_url(std::string_view url, std::uint8_t *features) noexcept {
  constexpr std::string_view before = "http://www.";
  std::fill_n(features, url_features, std::uint8_t{0});
  const std::string_view rest = url.substr(std::min(before.size(), url.size()));
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view host = rest.substr(0, slash), path = rest.substr(slash);
  const auto byte = [](auto n) {
    return static_cast<std::uint8_t>(std::min<std::size_t>(static_cast<std::size_t>(n), 255));
  };
  features[0] = byte(rest.size());
  features[1] = byte(host.size());
  features[2] = byte(path.size());
  features[3] = byte(std::ranges::count_if(rest, [](char c) { return c >= '0' && c <= '9'; }));
  features[4] = byte(std::ranges::count(rest, '.'));
  features[5] = byte(std::ranges::count(rest, '/'));
  const auto letters = [](auto from, auto end, std::uint8_t *to, std::size_t most) {
    for (std::size_t found = 0; from != end && found < most; ++from)
      if (is_letter(*from)) to[found++] = static_cast<std::uint8_t>(*from);
  };
  letters(host.begin(), host.end(), features + 6, 8);
  letters(host.rbegin(), host.rend(), features + 14, 4);
  letters(path.begin(), path.end(), features + 18, 6);
  letters(path.rbegin(), path.rend(), features + 24, 8);
  const auto pairs = [&](std::string_view part, std::uint8_t *buckets) {
    for (std::size_t i = 0; i + 1 < part.size(); ++i) {
      if (!is_letter(part[i]) || !is_letter(part[i + 1])) continue;
      const auto pair = static_cast<std::uint32_t>(part[i] * 256 + part[i + 1]);
      ++buckets[std::uint64_t{pair * 0x9E3779B1u} * 32 >> 32];
    }
  };
  pairs(host, features + 32);
  pairs(path, features + 64);
}

// Its bytes, and what is left of each below its upper half.
void features_of_address(std::uint32_t address, std::uint8_t *features) noexcept {
  for (unsigned i = 0; i < 4; ++i) {
    features[i] = static_cast<std::uint8_t>(address >> (24 - 8 * i));
    features[4 + i] = features[i] & 15;
  }
}

double auc_of(const std::vector<float> &members, const std::vector<float> &others) {
  std::vector<float> a = members, b = others;
  std::ranges::sort(a);
  std::ranges::sort(b);
  double below = 0;
  std::size_t less = 0, up_to = 0;
  for (const float score : a) {
    while (less < b.size() && b[less] < score) ++less;
    while (up_to < b.size() && b[up_to] <= score) ++up_to;
    below += static_cast<double>(less + up_to) / 2;
  }
  return below / (static_cast<double>(a.size()) * static_cast<double>(b.size()));
}

} // namespace weir::lab
