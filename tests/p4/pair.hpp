// The text of p4/acl.p4, interpreted, beside an image of random rules: what both are asked must have the same
// answer. Entries come and go, and the image is exported to the program's registers by the exporter that
// real targets have.
#pragma once

#include "p4/export/exporter.hpp"
#include "p4/export/text_sink.hpp"
#include "tests/p4/acl.hpp"
#include "tests/support/random_rules.hpp"
#include "tests/support/test_image.hpp"
#include "weir/image/writer.hpp"

#include <array>
#include <vector>

namespace weir::test {

// Verdict, reason and list that weir's own parser and lookup give a frame.
[[nodiscard]] P4Acl::Answer answer_of_image(const image::ImageView &view, const Frame &frame, PortSide side);

struct P4Filters {
  bool guard = false, late = false, stack = false;
};

// Of the random rules, what the program cannot do and was made into something that it can.
struct P4Excluded {
  unsigned lengths_v6 = 0;   // prefixes of another length than eight
  unsigned match_either = 0; // policies
};

class P4Pair {
public:
  static constexpr std::array port_sides{PortSide::none, PortSide::outside, PortSide::inside};

  // Throws std::runtime_error with the message of whatever cannot be built or loaded.
  P4Pair(Random &random, P4Filters filters);

  [[nodiscard]] const image::ImageView &view() const noexcept { return writer_.view(); }
  [[nodiscard]] const RuleSet &rules() const noexcept { return rules_; }
  [[nodiscard]] P4Acl &program() noexcept { return program_; }
  [[nodiscard]] const P4Excluded &excluded() const noexcept { return excluded_; }

  [[nodiscard]] Result<p4::ExportReport> export_image() {
    return exporter_.write(view(), {.ports = port_sides});
  }

  // A few entries come and go. True: some of them stand in the overlay now.
  bool change(unsigned count);

  // A copy of all registers.
  [[nodiscard]] p4::Registers registers();

private:
  Random &random_;
  P4Excluded excluded_;
  RuleSet rules_;
  std::vector<Address> known_; // what the options of the image point to
  TestImage image_;
  image::ImageWriter writer_;
  P4Acl program_;
  p4::Exporter exporter_;
};

} // namespace weir::test
