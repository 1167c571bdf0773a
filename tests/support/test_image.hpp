// A rule set as an image in memory, built and attached like a real one.
#pragma once

#include "tests/support/random_rules.hpp"
#include "weir/build/cuckoo_builder.hpp"
#include "weir/build/deny_filter_builder.hpp"
#include "weir/build/image_builder.hpp"
#include "weir/build/seesaw_builder.hpp"
#include "weir/build/stacked_counting_builder.hpp"
#include "weir/image/view.hpp"

#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

namespace weir::test {

struct ImageOptions {
  std::uint64_t seed = 1;
  std::uint64_t generation = 1;
  bool front_filter = false;
  build::AllowFilterParams guard{}; // a filter in front of the allow tables
  std::vector<build::VulnerableKey> guarded{};
  std::optional<build::DenyFilterSizes> stack{};  // of denied hosts
  bool class_map = false;                         // of a stack that judges: it names their lists
  std::vector<std::byte> offenders{};             // section offender_model
  std::vector<std::byte> packet_rules{}, flows{}; // their sections
  std::vector<std::byte> list_actions{};          // in place of what the lists have
  HashFamily family = HashFamily::xxh3; // jhash: with chained predictors; a Seesaw filter takes it over
};

class TestImage {
public:
  // Throws std::runtime_error with the builder's or the reader's message.
  explicit TestImage(const RuleSet &rules, const ImageOptions &options = {});

  [[nodiscard]] const image::ImageView &view() const noexcept { return *view_; }
  [[nodiscard]] MutableBytes bytes() const noexcept { return {memory_.get(), size_}; }
  [[nodiscard]] const build::BuildReport &report() const noexcept { return report_; }

private:
  struct Free {
    void operator()(std::byte *memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<std::byte[], Free> memory_;
  std::size_t size_ = 0;
  std::unique_ptr<image::ImageView> view_;
  build::BuildReport report_;
};

// The same image under another generation and sequence number.
[[nodiscard]] std::vector<std::byte> relabelled(Bytes image, std::uint64_t generation,
                                                std::uint64_t sequence);

} // namespace weir::test
