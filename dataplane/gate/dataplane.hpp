// Everything a running dataplane is made of, in the order in which it must come and go.
#pragma once

#include "dataplane/count/counters.hpp"
#include "dataplane/count/generation_meter.hpp"
#include "dataplane/count/worker_looks.hpp"
#include "dataplane/gate/forwarding_gap.hpp"
#include "dataplane/image/background.hpp"
#include "dataplane/image/generations.hpp"
#include "dataplane/image/image_copies.hpp"
#include "dataplane/image/image_slot.hpp"
#include "dataplane/packet/drop_watch.hpp"
#include "dataplane/packet/p4_target.hpp"
#include "dataplane/packet/samples.hpp"
#include "dataplane/packet/worker.hpp"
#include "dataplane/port/bypass.hpp"
#include "dataplane/port/port.hpp"
#include "dataplane/port/port_links.hpp"
#include "dataplane/port/port_looks.hpp"
#include "dataplane/replay/replay_port.hpp"
#include "weir/base/result.hpp"
#include "weir/config/config.hpp"

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace weir::dataplane {

struct DataplaneSetup {
  unsigned workers = 1;
  std::filesystem::path state_dir;
  config::NoImage no_image = config::NoImage::open;
  WhenIdle when_idle = WhenIdle::spin;
  std::string memory;                 // for people, from EalPlan
  std::uint32_t sample_one_in = 1024; // packets that control is told of
  bool p4 = false;                    // the P4 program judges
  std::vector<int> node_of_worker;    // NUMA nodes; empty: as the lcores lie
  bool for_replay = false;            // no image is kept, and no counter slot gets a second name
};

class Dataplane {
public:
  explicit Dataplane(DataplaneSetup setup);
  ~Dataplane(); // stops the workers
  Dataplane(const Dataplane &) = delete;
  Dataplane &operator=(const Dataplane &) = delete;

  // Before an image is attached: packet rules know the ports, and the P4 program judges, if the setup says so.
  [[nodiscard]] Status open_target(const std::vector<config::Port> &ports);

  // Before start(): where packets come from.
  [[nodiscard]] Status open_ports(const std::vector<config::Port> &ports, const config::Eal &eal,
                                  Bypass &bypass);
  [[nodiscard]] Status open_replay(const ReplayOptions &options);

  // One worker on each worker lcore, the first `workers` of them.
  [[nodiscard]] Status start_workers();
  void stop_workers(); // what is in flight leaves first

  const DataplaneSetup setup;
  Counters counters;
  ListSlots lists;
  RuleKeeping rules;
  WorkerNodes nodes;
  ImageSlot slot;
  GenerationMeter meter;
  Background background;
  Generations generations;
  SampleRings samples;
  std::unique_ptr<DropWatch> drops; // null: before start_workers()
  Ports ports;
  PortLooks port_looks;
  PortLinks port_links;
  WorkerLooks worker_looks;
  ForwardingGap forwarding_gap;
  std::unique_ptr<P4Target> p4;       // null: the stages judge
  std::unique_ptr<ReplayPort> replay; // null: ports of the configuration

private:
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<unsigned> lcores_;
  std::atomic<bool> stop_{false};
  std::atomic<unsigned> running_{0}; // workers that have not returned
  friend struct LcoreEntry;
};

} // namespace weir::dataplane
