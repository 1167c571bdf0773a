// Elements that samples name, for the next training: so many at most of those told and of the others, each a fair draw of what
// came lately. What came before the last training counts half each time, so that the set follows the traffic.
#pragma once

#include "weir/key/address.hpp"
#include "weir/key/traits.hpp"
#include "weir/wire/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace weir::offenders {

struct Element {
  Address address;
  Traits traits;
};

class TrainingSet {
public:
  explicit TrainingSet(std::uint64_t seed) : random_(seed) {}

  // Of each side.
  void keep(std::size_t most) {
    told_.keep(most);
    others_.keep(most);
  }
  void take(const wire::Sample &sample) {
    Side *const side = (sample.flags & wire::sample_offender_told) != 0    ? &told_
                       : (sample.flags & wire::sample_offender_other) != 0 ? &others_
                                                                           : nullptr;
    if (side != nullptr) side->take({{sample.family, sample.address}, Traits::of(sample.traits)}, random_);
  }
  void age() noexcept {
    told_.age();
    others_.age();
  }
  void clear() noexcept {
    told_ = {.elements = {}, .most = told_.most};
    others_ = {.elements = {}, .most = others_.most};
  }
  [[nodiscard]] const std::vector<Element> &told() const noexcept { return told_.elements; }
  [[nodiscard]] const std::vector<Element> &others() const noexcept { return others_.elements; }

private:
  struct Side {
    std::vector<Element> elements;
    std::size_t most = 20'000;
    std::uint64_t came = 0; // what it is a draw of

    void keep(std::size_t wanted) {
      most = wanted;
      if (elements.size() > most) elements.resize(most);
    }
    void take(const Element &element, std::mt19937_64 &random) {
      ++came;
      if (elements.size() < most) return elements.push_back(element);
      if (const std::uint64_t place = random() % came; place < most) elements[place] = element;
    }
    void age() noexcept { came /= 2; }
  };
  Side told_, others_;
  std::mt19937_64 random_;
};

} // namespace weir::offenders
