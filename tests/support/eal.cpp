#include "tests/support/eal.hpp"

#include "dataplane/eal.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <memory>

// What the leak checker of check-asan shall not report: 22.11 forgets eight bytes of each table of a P4
// pipeline that it frees.
extern "C" const char *__lsan_default_suppressions() { return "leak:librte_pipeline"; }

namespace weir::test {

bool start_eal() {
  static const std::unique_ptr<dataplane::Eal> eal = []() -> std::unique_ptr<dataplane::Eal> {
    const std::string cpus = fmt::format("{}", fmt::join(dataplane::Machine::here().cpus, ","));
    dataplane::EalPlan plan;
    plan.private_runtime_folder = true;
    plan.arguments = {"weir-test",   "--no-huge",      "--no-shconf",
                      "--no-pci",    "--no-telemetry", "-m",
                      "256",         "--lcores",       "0@(" + cpus + "),1@(" + cpus + "),2@(" + cpus + ")",
                      "--log-level", "*:warning"};
    auto started = dataplane::Eal::start(plan);
    if (started) return std::make_unique<dataplane::Eal>(std::move(*started));
    std::fprintf(stderr, "%s\n", started.error().message.c_str());
    return nullptr;
  }();
  return eal != nullptr;
}

} // namespace weir::test
