// What the plan of an image promises: what filters are held against while they are in force. Made from the
// plan when an image goes live; after a restart there is only the record of the generation, whose text is
// read here and nowhere else.
#pragma once

#include "control/plan/plan.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace weir::plan {

// A look at a table for one question in a thousand costs nothing that could be measured.
inline constexpr double front_tolerated = 1e-3;

struct AllowPromise {
  bool learns = false;   // a filter that can be told of denied addresses late
  bool predicts = false; // there is a filter
  // Shares of absent addresses that are accepted, with all the keys that there is room for: of any, by cost.
  double plain_churned = 0, weighted_churned = 0;

  bool operator==(const AllowPromise &) const = default;
};

struct DenyPromise {
  bool stacks = false, compact = false;
  double efpr = 1, efpb = 1, psi = 0;
  double tolerated = 0;      // errors that are not worth another image
  double samples = 0;        // that it rests on
  std::size_t hot = 0;       // known negatives that samples had named
  std::vector<double> rates; // of the layers

  bool operator==(const DenyPromise &) const = default;
};

struct Promise {
  AllowPromise allow;
  DenyPromise deny;

  bool operator==(const Promise &) const = default;
};

[[nodiscard]] Promise promise_of(const Plan &plan); // of an image that is built
// From to_json() of a plan, whose figures have six digits. What is missing there is 0.
[[nodiscard]] Promise decode_promise(const std::string &plan_json);

} // namespace weir::plan
