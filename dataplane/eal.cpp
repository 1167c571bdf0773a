#include "dataplane/eal.hpp"

#include "dataplane/port/memory.hpp"
#include "weir/base/cpus.hpp"
#include "weir/base/memlock.hpp"
#include "weir/config/cards.hpp"
#include "weir/config/kernel_interface.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace weir::dataplane {
namespace {

constexpr unsigned service_lcore = RTE_MAX_LCORE - 1;

// The cores of `eal.lcores`.
Result<std::vector<unsigned>> core_list(const std::string &text) {
  auto cores = cpu_list(text, service_lcore);
  if (!cores) return fail(Errc::config, "eal.lcores: " + cores.error().message);
  return cores;
}

void add_memory(EalPlan &plan, const config::Eal &eal, const Machine &machine) {
  using Hugepages = config::Eal::Hugepages;
  const bool enough = machine.hugepages_free_bytes >= config::hugepages_needed_bytes;
  auto &arguments = plan.arguments;
  if (eal.hugepages == Hugepages::yes || (eal.hugepages == Hugepages::automatic && enough)) {
    arguments.push_back("--in-memory");
    plan.memory = "hugepages (2 MiB)";
    if (eal.memory_mib > 0) arguments.insert(arguments.end(), {"-m", std::to_string(eal.memory_mib)});
    return;
  }
  const unsigned mib = eal.memory_mib > 0 ? eal.memory_mib : config::ordinary_memory_mib;
  arguments.insert(arguments.end(), {"--no-huge", "-m", std::to_string(mib)});
  plan.memory = eal.hugepages == Hugepages::no ? "ordinary pages (as configured)"
                                               : "ordinary pages (no hugepages free)";
}

// The service thread on an lcore of its own that may use every CPU that is not a worker's: what it
// does for changes must not come out of their speed. Workers where they were put.
Status add_lcores(EalPlan &plan, const std::string &wanted, bool replay, const Machine &machine) {
  if (wanted.empty() || replay) {
    plan.arguments.insert(plan.arguments.end(),
                          {"--lcores", fmt::format("0@({0}),1@({0})", fmt::join(machine.cpus, ","))});
    plan.shared_cpus = true;
    return {};
  }
  const auto cores = TRY(core_list(wanted));
  std::string list = fmt::format("{}@({})", service_lcore, fmt::join(cpus_beside(machine.cpus, cores), ","));
  for (const unsigned core : cores) list += fmt::format(",{0}@{0}", core);
  plan.arguments.insert(plan.arguments.end(),
                        {"--lcores", list, "--main-lcore", std::to_string(service_lcore)});
  return {};
}

// PCI devices that EAL is to look for: those of eal.allow, which may have arguments behind a comma, and the
// ports'.
std::vector<std::string> cards(const config::Config &config) {
  std::vector<std::string> all = config.eal.allow;
  for (const config::Port &port : config.ports) {
    const auto is_it = [&port](const std::string &one) {
      return one.substr(0, one.find(',')) == port.device;
    };
    if (config::is_card(port.device) && std::ranges::none_of(all, is_it)) all.push_back(port.device);
  }
  return all;
}

} // namespace

Status check_memlock(std::uint64_t allowed_bytes, std::uint64_t needed_bytes) {
  if (needed_bytes <= allowed_bytes) return {};
  const std::uint64_t kib = (needed_bytes + 1023) / 1024;
  return fail(
      Errc::no_memory,
      fmt::format("ports: cards work on locked memory: {} KiB are needed, and this user may lock {}: "
                  "raise the limit (`ulimit -l {}` or unlimited, LimitMEMLOCK=infinity in a systemd unit, "
                  "memlock in /etc/security/limits.conf), or give the program CAP_IPC_LOCK",
                  kib, allowed_bytes / 1024, kib));
}

Machine Machine::here() {
  Machine machine{geteuid() == 0, dataplane::hugepages_free_bytes(), cpus_allowed(), weir::memlock_bytes()};
  std::erase_if(machine.cpus, [](unsigned cpu) { return cpu >= RTE_MAX_LCORE; });
  return machine;
}

Result<EalPlan> plan_eal(const Options &options, const config::Config &config, const Machine &machine) {
  EalPlan plan;
  plan.arguments.push_back(options.program);
  const bool replay = options.replay.has_value();
  plan.private_runtime_folder = replay || !machine.root;
  // Whoever gave a run folder removes it, even after a process was killed.
  plan.runtime_parent = options.run_dir.value_or("");
  if (options.eal_arguments) {
    plan.arguments.insert(plan.arguments.end(), options.eal_arguments->begin(), options.eal_arguments->end());
    const bool ordinary =
        std::find(plan.arguments.begin(), plan.arguments.end(), "--no-huge") != plan.arguments.end();
    plan.memory = ordinary ? "ordinary pages (as asked by --no-huge)" : "hugepages (2 MiB)";
    return plan;
  }

  const config::Eal &eal = config.eal;
  TRY(add_lcores(plan, eal.lcores, replay, machine));
  add_memory(plan, eal, machine);
  auto &arguments = plan.arguments;
  if (replay) {
    arguments.insert(arguments.end(), {"--no-pci", "--no-telemetry", "--log-level", "*:warning"});
    if (plan.memory.starts_with("ordinary")) arguments.push_back("--no-shconf");
    return plan;
  }
  arguments.insert(arguments.end(), {"--file-prefix", eal.file_prefix, "--log-level", "lib.eal:warning"});
  const std::vector<std::string> devices = cards(config);
  if (devices.empty())
    arguments.push_back("--no-pci");
  else
    TRY(check_memlock(machine.memlock_bytes,
                      config::locked_bytes(config, !plan.memory.starts_with("ordinary"))));
  for (const std::string &device : devices) arguments.insert(arguments.end(), {"-a", device});
  for (const std::string &device : config::vdevs_for_mtu(eal, config.ports))
    arguments.insert(arguments.end(), {"--vdev", device});
  arguments.insert(arguments.end(), eal.extra.begin(), eal.extra.end());
  return plan;
}

Result<Eal> Eal::start(const EalPlan &plan) {
  std::filesystem::path folder;
  if (plan.private_runtime_folder) {
    std::error_code failed;
    const auto parent = plan.runtime_parent.empty() ? std::filesystem::temp_directory_path(failed)
                                                    : std::filesystem::absolute(plan.runtime_parent, failed);
    std::filesystem::create_directories(parent, failed);
    std::string name = (parent / "weir-eal-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return fail(Errc::io, "cannot make a runtime folder in " + name);
    folder = name;
    setenv("RUNTIME_DIRECTORY", name.c_str(), 1);
  }
  Eal eal(std::move(folder));
  std::vector<std::string> texts = plan.arguments;
  std::vector<char *> argv;
  for (std::string &text : texts) argv.push_back(text.data());
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0)
    return fail(Errc::io, fmt::format("EAL does not start ({}); arguments were: {}", rte_strerror(rte_errno),
                                      fmt::join(plan.arguments, " ")));
  eal.started_ = true;
  return eal;
}

Eal::Eal(Eal &&other) noexcept
    : folder_(std::exchange(other.folder_, {})), started_(std::exchange(other.started_, false)) {}

Eal::~Eal() {
  if (started_) rte_eal_cleanup();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

} // namespace weir::dataplane
