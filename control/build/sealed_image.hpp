// Effective rules to a sealed image ready for the dataplane: plan, memory check, allocation, build
// (which asks every key through the real view), seal.
#pragma once

#include "control/plan/plan.hpp"
#include "control/rules/flows.hpp"
#include "control/rules/normalise.hpp"
#include "weir/build/image_builder.hpp"
#include "weir/config/config.hpp"
#include "weir/image/memory_file.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace weir::control {
class Progress; // control/base/progress.hpp
}

namespace weir::build {

struct ImageRequest {
  image::ImageIdentity identity; // bytes: what comes of it
  Target target = Target::cpp;
  std::uint64_t running_bytes = 0;  // the image that stays in memory meanwhile
  std::filesystem::path state = {}; // where measured figures are kept
  plan::Workload workload = {};
  double build_ns_per_key = 0;            // of the last build; 0: unknown
  std::vector<plan::HotAddress> hot = {}; // denied addresses that samples name
  workload::Negatives negatives = {};     // what samples say of addresses that nothing denies
  plan::ListsMemory lists = {};
  std::shared_ptr<const offenders::Model> offender_model = {}; // null: nothing has been learned
  std::vector<rules::RuleFlows> flows = {};                    // of packet rules
  std::uint64_t offender_seed = 0;       // of the dataplane's memory, the same each time
  control::Progress *progress = nullptr; // is told of phases
};

struct SealedImage {
  OwnedFd fd;
  image::ImageIdentity identity;
  image::Pages pages = image::Pages::ordinary;
  image::Digest digest{};
  BuildReport report;
  plan::Plan plan;
  std::vector<std::byte>
      neighbours; // of the deny lists, for a training of offenders; empty: none are remembered
};

[[nodiscard]] Result<SealedImage> build_sealed(const rules::Effective &rules, const config::Config &config,
                                               const ImageRequest &request);

} // namespace weir::build
