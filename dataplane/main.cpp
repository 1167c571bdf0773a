// weir-dataplane: options, memory, the last image, ports, workers, then the service loop until told
// to stop; at the end what is in flight leaves and the totals are printed.
#include "dataplane/eal.hpp"
#include "dataplane/gate/dataplane.hpp"
#include "dataplane/options.hpp"
#include "dataplane/port/bypass.hpp"
#include "dataplane/report/queries.hpp"
#include "dataplane/report/snapshot.hpp"
#include "dataplane/report/telemetry.hpp"
#include "dataplane/service.hpp"
#include "weir/base/notify.hpp"
#include "weir/base/private_folder.hpp"
#include "weir/base/say.hpp"
#include "weir/config/config.hpp"
#include "weir/lookup/kernels/choose.hpp"
#include "weir/wire/sockets.hpp"

#include <fmt/format.h>

#include <rte_lcore.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace {

using namespace weir;
using namespace weir::dataplane;

enum Exit : int { done = 0, failed = 1, usage = 2 };

int complain(const Error &error) {
  say_sentence("weir-dataplane", error.message);
  return error.code == Errc::usage ? Exit::usage : Exit::failed;
}

Status print(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return {};
  return fail(Errc::io, fmt::format("standard output: {}", std::strerror(errno)));
}

// One worker a worker lcore, but none without a queue. `alone`: there can be only one.
Result<unsigned> worker_count(const config::Config &config, bool alone) {
  const unsigned lcores = rte_lcore_count() - 1;
  if (lcores == 0) return fail(Errc::config, "EAL has one lcore; workers need at least one more");
  unsigned queues = 0;
  for (const config::Port &port : config.ports) queues += port.rx_queues;
  return alone ? 1 : std::clamp(queues, 1u, lcores);
}

Status prepare(Dataplane &dataplane, const Options &options, const config::Config &config, Bypass &bypass) {
  if (const auto failed = make_private(dataplane.setup.state_dir))
    return fail(Errc::io, fmt::format("{}: {}", dataplane.setup.state_dir.string(), failed.message()));
  TRY(dataplane.open_target(config.ports));
  // Before any port starts, so that a restart does not open the gate.
  if (auto attached = dataplane.generations.attach_last(); attached)
    say("weir-dataplane", "generation {} of the last run is in force", dataplane.slot.live_generation());
  else if (attached.error().code != Errc::not_found)
    say("weir-dataplane", "the image of the last run is refused: {}", attached.error().message);
  return options.replay ? dataplane.open_replay(options.replay->capture)
                        : dataplane.open_ports(config.ports, config.eal, bypass);
}

Status finish_replay(Dataplane &dataplane, const Options &options) {
  auto end = dataplane.replay->finish();
  dataplane.stop_workers();
  if (!end) return std::unexpected(end.error());
  return write_report(dataplane, options.replay->report);
}

// Workers run: for how long did they not?
void tell_gap(Dataplane &dataplane, const std::filesystem::path &run, bool bypassed) {
  if (const Status kept = dataplane.forwarding_gap.open(run / "forwarding"); !kept)
    say_sentence("weir-dataplane", kept.error().message);
  dataplane.forwarding_gap.begin(ForwardingGap::boot_clock());
  if (const auto gap = dataplane.forwarding_gap.gap())
    say("weir-dataplane", "packets were not forwarded for {:.1f} s, from the end of the last run to now{}",
        std::chrono::duration<double>(*gap).count(),
        bypassed ? "; between ports with on_exit: bypass the kernel carried them" : "");
}

Status serve(const Options &options, const config::Config &config, const EalPlan &plan) {
  const auto workers = TRY(worker_count(config, options.replay.has_value() || options.p4));
  Bypass bypass(options.replay ? std::vector<BypassPair>() : bypass_pairs(config));
  Dataplane dataplane({.workers = workers,
                       .state_dir = options.state_dir.value_or(config.paths.state),
                       .no_image = config.no_image,
                       .when_idle = plan.shared_cpus ? WhenIdle::yield : WhenIdle::spin,
                       .memory = plan.memory,
                       .sample_one_in = config.sample_one_in,
                       .p4 = options.p4,
                       .node_of_worker = {},
                       .for_replay = options.replay.has_value()});
  TRY(prepare(dataplane, options, config, bypass));
  Service service(dataplane);
  const auto socket = options.run_dir.value_or(config.paths.run) / wire::dataplane_socket_name;
  TRY(service.listen(socket));
  const Telemetry telemetry(dataplane);
  TRY(dataplane.start_workers());
  if (dataplane.replay)
    dataplane.replay->start();
  else
    tell_gap(dataplane, options.run_dir.value_or(config.paths.run), !bypass_pairs(config).empty());
  say("weir-dataplane", "{} port(s), {} worker(s), memory: {}, {}, listening on {}",
      dataplane.ports.all().size(), workers, plan.memory,
      options.p4 ? "target: p4" : fmt::format("kernels: {}", lookup::best_kernels().name), socket.string());

  // Ports are bound, the socket listens, workers run.
  notify(fmt::format("READY=1\nSTATUS={} port(s), {} worker(s)", dataplane.ports.all().size(), workers));
  service.run();
  notify("STOPPING=1");

  Status end;
  if (dataplane.replay)
    end = finish_replay(dataplane, options);
  else
    dataplane.stop_workers(), dataplane.forwarding_gap.note(ForwardingGap::boot_clock());
  bypass.put_back(); // before memory is given back, which takes its time
  if (options.print_totals || !dataplane.replay) {
    const Status printed = print(totals_text(take_snapshot(dataplane)));
    if (!printed && !options.print_totals)
      complain(printed.error()); // a gate that was stopped has done its work
    else if (end)
      end = printed;
  }
  return end;
}

// For a unit's ExecStopPost, and for people.
int set_bypass_of(const config::Config &config, bool on) {
  const std::vector<BypassPair> pairs = bypass_pairs(config);
  if (const Status set = set_bypass(pairs, on); !set) return complain(set.error());
  if (pairs.empty()) say_sentence("weir-dataplane", "no port has on_exit: bypass, nothing is changed");
  for (const BypassPair &pair : pairs)
    say("weir-dataplane", "bypass {} between {} and {}{}", on ? "on" : "off", pair.one, pair.other,
        on ? ": packets pass unjudged" : "");
  return Exit::done;
}

} // namespace

int main(int argc, char **argv) {
  const auto options = parse_options({argv, argv + argc});
  if (!options) return complain(options.error());
  if (options->help) {
    const Status printed = print(usage_text());
    return printed ? Exit::done : complain(printed.error());
  }
  if (auto kernels = lookup::check_wanted_kernels(); !kernels) return complain(kernels.error());
  const auto config = config::load(options->config);
  if (!config) return complain(config.error());
  if (options->bypass) return set_bypass_of(*config, *options->bypass);
  block_stop_signals();
  std::signal(SIGPIPE, SIG_IGN); // a reader of our messages that has gone takes no gate with it
  const auto plan = plan_eal(*options, *config, Machine::here());
  if (!plan) return complain(plan.error());
  const auto eal = Eal::start(*plan);
  if (!eal) return complain(eal.error());
  const Status end = serve(*options, *config, *plan);
  return end ? Exit::done : complain(end.error());
}
