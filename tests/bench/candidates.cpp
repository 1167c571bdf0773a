#include "tests/bench/candidates.hpp"

#include <algorithm>
#include <ranges>

namespace weir::bench {

std::span<const PlanShape> plan_shapes() {
  using enum plan::FrontFilter;
  using enum plan::Predictor;
  static constexpr PlanShape shapes[] = {
      {"inline_bits", plain_plan, 1.10, 1.07},
      {"inline_bits, bloom", {split_block_bloom, inline_bits}, 0, 0},
      {"chained", {none, chained}, 1.00, 1.00},
      {"chained, bloom", {split_block_bloom, chained}, 0, 0},
  };
  return shapes;
}

const PlanShape &words_shape() {
  static constexpr PlanShape shape{"words", plain_plan, 0, 0, build::HostHome::words};
  return shape;
}

Candidate::Candidate(const PlanShape &shape, std::span<const build::EntryV4> v4,
                     std::span<const build::EntryV6> v6, unsigned lists)
    : shape_(shape), image_(std::make_unique<Image>(v4, v6, shape.option, lists, shape.home)),
      is_v6_(v4.empty()) {
  restart_count();
}

void Candidate::restart_count() { lookup_ = std::make_unique<WeirLookup>(image_->view()); }

std::uint64_t Candidate::table_bytes() const {
  return is_v6_ ? image_->report().deny_v6.bytes : image_->report().deny_v4_bytes();
}

std::uint64_t least_table_bytes(std::span<const Candidate> candidates) {
  return std::ranges::min(candidates | std::views::transform(&Candidate::table_bytes));
}

std::vector<Candidate> make_candidates(std::span<const build::EntryV4> v4,
                                       std::span<const build::EntryV6> v6) {
  std::vector<Candidate> candidates;
  for (const PlanShape &shape : plan_shapes()) candidates.emplace_back(shape, v4, v6);
  return candidates;
}

} // namespace weir::bench
