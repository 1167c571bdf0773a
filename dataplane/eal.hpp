// DPDK's environment: arguments made from weir.yaml, memory decided before it starts (EAL cannot be
// started twice in a process), a runtime folder of our own where we have no right to the usual one.
#pragma once

#include "dataplane/options.hpp"
#include "weir/base/result.hpp"
#include "weir/config/config.hpp"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace weir::dataplane {

struct EalPlan {
  std::vector<std::string> arguments; // program name first
  bool private_runtime_folder = false;
  std::filesystem::path runtime_parent; // where to make it; empty: the system's temporary folder
  bool shared_cpus = false;             // lcores float over CPUs that others use too
  std::string memory;                   // for people: "hugepages (2 MiB)" or "ordinary pages (why)"
};

// What the machine offers; a parameter so that tests can say what it is.
struct Machine {
  bool root = false;
  std::uint64_t hugepages_free_bytes = 0;
  std::vector<unsigned> cpus;                                              // those this process may use
  std::uint64_t memlock_bytes = std::numeric_limits<std::uint64_t>::max(); // that may be locked; max: any

  [[nodiscard]] static Machine here();
};

// Cards read and write packets where they lie: that memory has to be locked, and the kernel counts it. An
// error where it would refuse some, since cards would then start, and lose packets under load.
[[nodiscard]] Status check_memlock(std::uint64_t allowed_bytes, std::uint64_t needed_bytes);

[[nodiscard]] Result<EalPlan> plan_eal(const Options &options, const config::Config &config,
                                       const Machine &machine);

// EAL as a resource: started once, cleaned up and its private folder removed at the end.
class Eal {
public:
  [[nodiscard]] static Result<Eal> start(const EalPlan &plan);
  Eal(Eal &&other) noexcept;
  Eal &operator=(Eal &&) = delete;
  ~Eal();

private:
  explicit Eal(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_; // empty: none of our own
  bool started_ = false;
};

} // namespace weir::dataplane
