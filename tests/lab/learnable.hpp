// Keys of both sides that differ by a law of stated strength, as URL-like strings, addresses, or addresses with traits of a packet.
//
//   effects   every part of a key (a word of the host, a folder, an ending; the first 4, 8 and 12 bits of an address; classes of port, TTL, length, flags) adds an
//             effect drawn once for the data set: their sum L has variance s^2
//   sides     a key is a member with probability 1 / (1 + exp(-L)), so that L is the logarithm of the ratio of both sides'
//             densities, and nothing that looks at a key can separate the sides better than L does
//   strength  s is chosen so that L has the area under the ROC curve that is asked for (AUC; 0.5: nothing to learn)
//
// Classifiers see no part and no effect, but bytes taken from the key: lengths, counts, letters at both ends, counts of pairs
// of letters that share a bucket. What they reach is less than what is possible, and is printed beside it.
#pragma once

#include "control/learn/trees.hpp"
#include "weir/base/hash.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::lab {

enum class LearnableKind : std::uint8_t { urls, addresses, traffic };
[[nodiscard]] constexpr const char *name_of(LearnableKind kind) noexcept {
  switch (kind) {
  case LearnableKind::urls: return "urls";
  case LearnableKind::addresses: return "addresses";
  case LearnableKind::traffic: return "traffic";
  }
  return "unknown";
}

struct LearnableTask {
  LearnableKind kind = LearnableKind::urls;
  double auc = 0.95; // that can be reached
  std::uint64_t members = 30'000, others = 30'000,
                unseen = 100'000; // unseen: others that nobody knows beforehand
  double swapped = 0;             // share of the members that change places with others
  std::uint64_t seed = 1;
};

// Keys with what classifiers see of them; labels are left to who trains.
struct LearnableKeys {
  std::vector<KeyHash> keys;
  learn::Samples samples;
  std::vector<float> best; // L, which nobody may look at who wants to learn it

  [[nodiscard]] std::size_t count() const noexcept { return keys.size(); }
};

struct LearnableSet {
  LearnableKeys members, others, unseen_members, unseen_others;
};

[[nodiscard]] LearnableSet make_learnable(const LearnableTask &task);
[[nodiscard]] std::vector<std::string> learnable_texts(const LearnableTask &task,
                                                       std::uint64_t count); // of URLs

// The standard deviation of L that gives this AUC, and the other way round: by integration over a normal L.
[[nodiscard]] double strength_for(double auc);
[[nodiscard]] double auc_of_strength(double strength);

// What classifiers see. 96 bytes of a URL, 8 of an address in host order; of traffic what the dataplane's classifier sees (image/offenders.hpp).
inline constexpr unsigned url_features = 96, address_features = 8;
void features_of_url(std::string_view url, std::uint8_t *features) noexcept;
void features_of_address(std::uint32_t address, std::uint8_t *features) noexcept;

// Area under the ROC curve: of a member and another key, how often the member's score is higher; half for equal ones.
[[nodiscard]] double auc_of(const std::vector<float> &members, const std::vector<float> &others);

} // namespace weir::lab
