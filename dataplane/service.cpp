#include "dataplane/service.hpp"

#include "dataplane/report/queries.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <vector>

namespace weir::dataplane {
namespace {

using namespace std::chrono_literals;
constexpr auto samples_every = 20ms;
// By SampleSort: 102,000, 51,000, 12,800 and 12,800 a second.
constexpr std::array<std::size_t, sample_sorts> samples_at_once{2048, 1024, 256, 256};

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

} // namespace

void block_stop_signals() {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Service::Service(Dataplane &dataplane)
    : dataplane_(dataplane),
      channel_(dataplane.generations, dataplane.background,
               [&dataplane](std::string_view query) { return answer_query(dataplane, query); }) {
  const sigset_t set = stop_signals();
  signals_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  channel_.on_live = [&dataplane](Generation generation) {
    dataplane.meter.generation_live(generation, dataplane.counters);
    if (dataplane.replay) dataplane.replay->generation_live(generation);
  };
}

Service::~Service() { close(signals_); }

void Service::run() {
  if (dataplane_.replay) dataplane_.replay->generation_live(dataplane_.slot.live_generation());
  while (turn(dataplane_.replay ? 1ms : 20ms)) continue;
}

bool Service::turn(std::chrono::microseconds patience) {
  std::vector<pollfd> polled{{signals_, POLLIN, 0}, {dataplane_.background.fd(), POLLIN, 0}};
  channel_.add_to(polled);
  // Grace periods end within microseconds: while one is under way, look again soon.
  const bool grace_under_way = dataplane_.generations.tick();
  const std::chrono::nanoseconds wait = grace_under_way ? 20us : patience;
  const timespec timeout{wait / 1s, (wait % 1s).count()};
  const int ready = ppoll(polled.data(), polled.size(), &timeout, nullptr);

  if (ready > 0) {
    dataplane_.background.run_completions();
    channel_.handle(polled);
  }
  dataplane_.generations.tick();
  forward_samples();
  if (auto memory = dataplane_.generations.offenders().due_to_save())
    dataplane_.background.submit([this, memory = std::move(memory)]() -> Background::Completion {
      (void)dataplane_.generations.offenders().write(*memory); // it keeps what went wrong
      return {};
    });
  look_around();
  if (polled[0].revents != 0 && stop_was_asked()) {
    if (!dataplane_.replay || stopping_) return false;
    stopping_ = true;
    dataplane_.replay->request_stop();
  }
  return !dataplane_.replay || !dataplane_.replay->finished();
}

bool Service::stop_was_asked() {
  signalfd_siginfo signal{};
  bool asked = false;
  while (read(signals_, &signal, sizeof signal) == sizeof signal) asked = true;
  return asked;
}

// A replay counts every packet of its capture itself, and its workers wait while its sink is full.
void Service::look_around() {
  const auto now = Watchdog::Clock::now();
  if (!dataplane_.replay) {
    if (dataplane_.worker_looks.all_come_round()) dataplane_.forwarding_gap.note(ForwardingGap::boot_clock());
    dataplane_.port_looks.look_if_due(dataplane_.ports, dataplane_.counters);
    dataplane_.port_links.look_if_due(dataplane_.ports);
    WorkerLooks &workers = dataplane_.worker_looks;
    const bool well = workers.all_come_round();
    workers.look_if_due(dataplane_.counters, now);
    if (well != workers.all_come_round())
      notify("STATUS=" + (well ? workers.warnings().front() : "every worker comes round its loop"));
  }
  // Only while every worker comes round: a gate with a worker that hangs is to be started anew.
  if (dataplane_.worker_looks.all_come_round() && watchdog_.due(now)) watchdog_.feed(now);
}

void Service::forward_samples() {
  const auto now = std::chrono::steady_clock::now();
  if (now < samples_due_) return;
  samples_due_ = now + samples_every;
  if (dataplane_.drops) dataplane_.drops->turn(now);
  for (std::size_t sort = 0; sort < sample_sorts; ++sort) {
    const auto samples = dataplane_.samples.collect(static_cast<SampleSort>(sort), samples_at_once[sort]);
    if (!samples.empty()) channel_.send_samples(samples);
  }
}

} // namespace weir::dataplane
