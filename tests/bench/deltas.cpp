// Changes of a running image: how many a second come into force, and what they cost the worker that runs
// at full rate meanwhile.
//
// A client on the dataplane's own socket sends batches of 1024 deltas, each batch after the
// acknowledgement of the one before, which comes when every worker has passed a quiescent state: what
// is counted is in force. A batch adds 1024 hosts that were not listed, the next one removes them. The
// worker has CPU 1 to itself; service thread and client share CPU 0 as two processes would.
//
//   paced     200,000 a second, the floor's rate: the loss of speed in the closing table is this one's
//   flat out  as fast as acknowledgements come
//
// Speed is packets over CPU time of the worker's thread, in short windows that take turns with quiet ones:
// what is asked for is a percent or two, and within a tenth of a second neighbours on the same machine
// change its speed by more than that.
#include "dataplane/service.hpp"
#include "tests/bench/running_gate.hpp"
#include "tests/support/dataplane_client.hpp"

#include <fmt/core.h>

#include <thread>

namespace weir::bench {
namespace {

constexpr std::uint32_t batch = 1024;
constexpr double paced_per_second = 200'000;
constexpr std::chrono::milliseconds window{25};
constexpr unsigned rounds_each = 10; // to one of the other benchmarks

// Serves the dataplane's socket on a thread of its own.
class Serving {
public:
  explicit Serving(RunningGate &gate) : socket(gate.folder() / "dataplane.sock"), service_(gate.dataplane()) {
    if (const auto listening = service_.listen(socket); !listening) give_up(listening.error().message);
    thread_ = std::thread([this] {
      while (!stop_) (void)!service_.turn(std::chrono::microseconds(500));
    });
  }
  ~Serving() {
    stop_ = true;
    thread_.join();
  }
  Serving(const Serving &) = delete;
  Serving &operator=(const Serving &) = delete;
  const std::filesystem::path socket;

private:
  dataplane::Service service_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class Changes {
public:
  Changes(const std::filesystem::path &socket, std::uint32_t keys, std::uint64_t sequence = 0)
      : client_(socket), next_host_(keys), sequence_(sequence) {
    if (!client_.connected()) give_up("the dataplane's socket does not answer");
  }

  // For one window; `per_second` 0: as fast as acknowledgements come. Gives what came into force a second.
  double run(double per_second) {
    const auto start = Clock::now(), end = start + window;
    std::uint64_t sent = 0;
    for (auto due = start; due < end && Clock::now() < end; sent += batch) {
      std::this_thread::sleep_until(due);
      one_batch();
      if (per_second > 0)
        due += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(batch / per_second));
    }
    if (per_second > 0) std::this_thread::sleep_until(end);
    return static_cast<double>(sent) / ns_since(start) * 1e9;
  }
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  [[nodiscard]] std::uint64_t in_overlay() const { return in_overlay_; }

private:
  void one_batch() {
    std::vector<image::Delta> deltas(batch);
    for (std::uint32_t i = 0; i < batch; ++i) {
      deltas[i].op = adding_ ? image::DeltaOp::set : image::DeltaOp::unset;
      deltas[i].length = 32;
      deltas[i].address = Address::from_wire(scrambled_address(next_host_ + i)).bytes;
    }
    if (!adding_) next_host_ += batch;
    adding_ = !adding_;
    const test::WireMessage answer = client_.deltas(wire::Target::live, sequence_ + 1, deltas);
    if (!answer.is(wire::Type::applied)) give_up("deltas were refused: " + answer.refusal());
    sequence_ += batch;
    in_overlay_ += answer.as<wire::Applied>().in_overlay;
  }

  test::DataplaneClient client_;
  std::uint32_t next_host_;
  std::uint64_t sequence_, in_overlay_ = 0;
  bool adding_ = true;
};

void bench_deltas(const Options &options, std::vector<Standing> &standings) {
  const std::string rate_target = "deltas applied and in force, a second, worker at full rate";
  const std::string loss_target = "worker's loss of speed under 200,000 deltas a second, %";
  if (cpus() < 2) {
    standings.push_back(not_measured(rate_target, 200'000, 1'000'000, "needs two CPUs"));
    standings.push_back(not_measured(loss_target, 2, 2, "needs two CPUs", true));
    return;
  }
  run_on_cpu(0);
  const std::uint32_t keys = options.quick ? 1'000'000 : 10'000'000;
  const Image image(make_entries(keys), {}, false);
  const auto sources = make_queries(keys, 10, 1u << 19, 5);
  RunningGate gate(sources);
  gate.put_in_force(attached_copy(image, 1, gate.dataplane().generations.attach_context()));
  Serving serving(gate);
  Changes changes(serving.socket, keys);

  std::vector<double> quiet, paced, flat_out, paced_rate, flat_out_rate;
  const auto rest = [&] { return gate.mpps_while([] { std::this_thread::sleep_for(window); }); };
  for (unsigned round = 0; round < options.rounds() * rounds_each; ++round) {
    const double before = rest();
    paced.push_back(gate.mpps_while([&] { paced_rate.push_back(changes.run(paced_per_second)); }));
    quiet.push_back((before + rest()) / 2); // what lies on both sides of the paced window
    flat_out.push_back(gate.mpps_while([&] { flat_out_rate.push_back(changes.run(0)); }));
  }

  const auto loss_percent = [&](const std::vector<double> &with) {
    Figure loss = ratio_of(with, quiet);
    loss.median = 100 * (1 - loss.median);
    return loss; // its spread stays that of the ratio: percent of full speed
  };
  // Once more with an image for each of two NUMA nodes, which this machine need not have.
  dataplane::AttachContext two_nodes = gate.dataplane().generations.attach_context();
  two_nodes.nodes = {any_node, any_node};
  auto two = attached_copy(image, 1, two_nodes);
  two->sequence = changes.sequence();
  gate.put_in_force(std::move(two));
  std::vector<double> two_copies, two_copies_rate;
  Changes changes_of_two(serving.socket, keys, changes.sequence());
  for (unsigned round = 0; round < options.rounds() * rounds_each; ++round)
    two_copies.push_back(gate.mpps_while([&] { two_copies_rate.push_back(changes_of_two.run(0)); }));

  const Figure rate = figure_of(flat_out_rate), loss = loss_percent(paced),
               loss_flat_out = loss_percent(flat_out);
  Grid grid{{"", "deltas a second", "worker, Mpps", "loss of speed"}, {}};
  grid.rows.push_back({"none", "0", with_spread(figure_of(quiet)), ""});
  grid.rows.push_back({"paced", with_spread(figure_of(paced_rate)), with_spread(figure_of(paced)),
                       fmt::format("{:.1f} %", loss.median)});
  grid.rows.push_back({"flat out", with_spread(rate), with_spread(figure_of(flat_out)),
                       fmt::format("{:.1f} %", loss_flat_out.median)});
  grid.rows.push_back({"flat out, image of two copies", with_spread(figure_of(two_copies_rate)),
                       with_spread(figure_of(two_copies)),
                       fmt::format("{:.1f} %", loss_percent(two_copies).median)});
  show(options, "deltas",
       fmt::format("changes of an image of {} keys under full traffic, {} of them through the overlay",
                   count_words(keys), changes.in_overlay()),
       grid);
  JsonLines lines(options, "deltas");
  lines.line({{"bench", "deltas"},
              {"keys", std::uint64_t{keys}},
              {"per_second", rate.median},
              {"spread_percent", rate.spread_percent},
              {"loss_percent_paced", loss.median},
              {"loss_percent_flat_out", loss_flat_out.median},
              {"per_second_two_copies", figure_of(two_copies_rate).median},
              {"in_overlay", changes.in_overlay()}});
  standings.push_back(standing(rate_target, 200'000, 1'000'000, rate));
  standings.push_back({loss_target, 2, 2, loss.median, true, loss.spread_percent});
}

const Benchmark deltas_benchmark{53, "deltas", bench_deltas};

} // namespace
} // namespace weir::bench
