// The plans that an image of given entries can follow, each built and ready to be asked.
#pragma once

#include "control/plan/calibration.hpp"
#include "tests/bench/contenders.hpp"

namespace weir::bench {

struct PlanShape {
  const char *name;
  plan::Option option;
  double lines_floor, lines_aim;                 // a lookup without front filter
  build::HostHome home = build::HostHome::table; // where there are prefixes too
  [[nodiscard]] bool has_front() const { return option.front_filter != plan::FrontFilter::none; }
};

// The first is the plain one: inline_bits behind no front filter.
[[nodiscard]] std::span<const PlanShape> plan_shapes();
// IPv4 hosts in one word each, which no predictor and no filter goes with.
[[nodiscard]] const PlanShape &words_shape();

class Candidate {
public:
  // Entries name lists 0 to `lists` - 1.
  Candidate(const PlanShape &shape, std::span<const build::EntryV4> v4, std::span<const build::EntryV6> v6,
            unsigned lists = 1);

  [[nodiscard]] std::string name() const { return shape_.name; }
  [[nodiscard]] const PlanShape &shape() const { return shape_; }
  [[nodiscard]] const Image &image() const { return *image_; }
  [[nodiscard]] WeirLookup &lookup() { return *lookup_; }

  // Since the last restart.
  [[nodiscard]] double lines_per_lookup() const { return lookup_->lines_per_lookup(); }
  void restart_count();

  // Of the hosts: without front filter.
  [[nodiscard]] std::uint64_t table_bytes() const;

private:
  PlanShape shape_;
  std::unique_ptr<Image> image_;
  std::unique_ptr<WeirLookup> lookup_;
  bool is_v6_;
};

// What LIMIT is to read lines of: no candidate reads lines of less.
[[nodiscard]] std::uint64_t least_table_bytes(std::span<const Candidate> candidates);

[[nodiscard]] std::vector<Candidate> make_candidates(std::span<const build::EntryV4> v4,
                                                     std::span<const build::EntryV6> v6);

} // namespace weir::bench
