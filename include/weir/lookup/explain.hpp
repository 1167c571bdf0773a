// Why would a packet with this address pass or drop? Answered by the view that workers use.
#pragma once

#include "weir/image/view.hpp"
#include "weir/key/address.hpp"
#include "weir/key/verdict.hpp"

#include <string>
#include <vector>

namespace weir::lookup {

struct Explanation {
  struct Step {
    std::string step;
    std::string text;
  };
  Verdict verdict = Verdict::pass;
  Reason reason = Reason::fallthrough;
  std::string list;    // empty: none
  std::string entry;   // the prefix that matched
  std::string rule;    // of Reason::rule
  bool judged = false; // denied by a filter alone (compact mode): whether a rule says so only the rules know
  std::vector<Step> path;
};

[[nodiscard]] Explanation explain(const image::ImageView &view, const Address &address);

} // namespace weir::lookup
