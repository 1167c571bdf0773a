// weir-control: rules in, images and deltas out. Serves until SIGTERM or SIGINT.
#include "control/api/access.hpp"
#include "control/api/api.hpp"
#include "control/api/server.hpp"
#include "control/daemon/health_hook.hpp"
#include "control/daemon/metrics_endpoint.hpp"
#include "control/daemon/notify.hpp"
#include "control/daemon/run_lock.hpp"
#include "control/engine/engine.hpp"
#include "control/engine/give_back.hpp"
#include "weir/base/notify.hpp"
#include "weir/base/private_folder.hpp"
#include "weir/base/say.hpp"
#include "weir/config/groups.hpp"
#include "weir/wire/sockets.hpp"

#include <fmt/format.h>
#include <getopt.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>

namespace {

using namespace weir;

constexpr int exit_failed = 1, exit_usage = 2;

struct Options {
  std::filesystem::path config, run, state;
  build::Target target = build::Target::cpp;
  bool log = false;
  bool own_user_alone = false;
  config::HealthHook health = {};
  control::Access access = {};
};

constexpr const char *usage =
    "usage: weir-control -c FILE [--run-dir DIR] [--state-dir DIR] [--target cpp|p4] [--private] "
    "[--foreground-log]\n"
    "  -c, --config FILE   weir.yaml\n"
    "  --run-dir DIR       where the sockets are (default: paths.run)\n"
    "  --state-dir DIR     where the store is (default: paths.state)\n"
    "  --target cpp|p4     what reads the images: the dataplane's C++ (default) or its P4 program\n"
    "  --private           serve root and the own user alone, whatever paths says of groups\n"
    "  --foreground-log    say on stderr what happens\n";

std::optional<build::Target> target_from(std::string_view text) {
  for (const build::Target target : {build::Target::cpp, build::Target::p4})
    if (text == name_of(target)) return target;
  say("weir-control", "--target {}: there are cpp and p4", text);
  return std::nullopt;
}

std::optional<Options> options_from(int argc, char **argv) {
  const option names[] = {{"config", required_argument, nullptr, 'c'},
                          {"run-dir", required_argument, nullptr, 'r'},
                          {"state-dir", required_argument, nullptr, 's'},
                          {"target", required_argument, nullptr, 't'},
                          {"private", no_argument, nullptr, 'p'},
                          {"foreground-log", no_argument, nullptr, 'l'},
                          {"help", no_argument, nullptr, 'h'},
                          {nullptr, 0, nullptr, 0}};
  Options options;
  for (int got; (got = getopt_long(argc, argv, "c:h", names, nullptr)) != -1;) {
    switch (got) {
    case 'c': options.config = std::filesystem::absolute(optarg); break;
    case 'r': options.run = optarg; break;
    case 's': options.state = optarg; break;
    case 't': {
      const auto target = target_from(optarg);
      if (!target) return std::nullopt;
      options.target = *target;
      break;
    }
    case 'p': options.own_user_alone = true; break;
    case 'l': options.log = true; break;
    case 'h': std::fputs(usage, stdout); std::exit(0);
    default: return std::nullopt;
    }
  }
  if (options.config.empty() || optind != argc) return std::nullopt;
  return options;
}

Status settle_folders(Options &options) {
  if (!options.run.empty() && !options.state.empty()) return {};
  const auto config = TRY(config::load(options.config));
  if (options.run.empty()) options.run = config.paths.run;
  if (options.state.empty()) options.state = config.paths.state;
  return {};
}

// A configuration that cannot be read is no reason not to serve what the store holds, to the own user.
Status settle_access(Options &options) {
  options.access = control::Access::own();
  if (options.own_user_alone) return {};
  const auto text = config::read(options.config);
  if (!text) return {};
  const auto groups = config::groups(*text, options.config);
  if (!groups) return {};
  auto access = control::Access::of(*groups);
  if (!access) return std::unexpected(std::move(access.error()));
  options.access = std::move(*access);
  return {};
}

// Of the file that is there at the start. One that cannot be read is no reason not to serve, but somebody waits for word.
void settle_health(Options &options) {
  const auto text = config::read(options.config);
  if (!text || text->find("health") == std::string::npos)
    return; // a large file is not read twice for nothing
  if (auto config = config::parse(*text, options.config))
    options.health = std::move(config->health);
  else
    say("weir-control", "no program is told of health: {}", config.error().message);
}

int failed(const Error &error) {
  say_sentence("weir-control", error.message);
  return exit_failed;
}

// Signals are read like any other event; blocked before threads start, which inherit the mask.
int signal_fd() {
  sigset_t stopping;
  sigemptyset(&stopping);
  sigaddset(&stopping, SIGTERM);
  sigaddset(&stopping, SIGINT);
  sigprocmask(SIG_BLOCK, &stopping, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signalfd(-1, &stopping, SFD_CLOEXEC | SFD_NONBLOCK);
}

Status serve(const Options &options) {
  const int signals = signal_fd();
  std::optional<push::EventLoop> has_loop;
  try {
    has_loop.emplace();
  } catch (const std::system_error &thrown) {
    return fail(Errc::io, fmt::format("cannot begin to serve: {}; raise the limit of open files "
                                      "(LimitNOFILE), or give this process more memory",
                                      thrown.what()));
  }
  push::EventLoop &loop = *has_loop;
  loop.watch(signals, EPOLLIN, [&loop](std::uint32_t) { loop.stop(); });

  const auto alone = TRY(control::RunLock::take(options.run, options.state));
  auto store = TRY(store::Store::open(options.state / "store"));
  control::notify_reading(store.bytes());
  control::EngineOptions engine_options;
  engine_options.config_file = options.config;
  engine_options.run = options.run;
  engine_options.state = options.state;
  engine_options.target = options.target;
  engine_options.log = options.log;
  control::Engine engine(loop, std::move(store), std::move(engine_options));
  control::Api api(engine, options.access);
  control::Server server(loop, [&api](control::Request request, const control::Server::Reply &reply) {
    api.handle(std::move(request), reply);
  });
  const Status started = engine.start([](const Result<control::ChangeDone> &done) {
    if (!done) say("weir-control", "nothing is enforced yet: {}", done.error().message);
  });
  if (!started) return started;
  const control::Access &access = options.access;
  const Status listening =
      server.listen(options.run / wire::control_socket_name,
                    {access.socket_mode(), access.socket_group(), access.socket_group_name()});
  if (!listening) return listening;
  control::notify_ready("serving");
  control::MetricsEndpoint metrics(loop, engine, api);
  control::HealthHook health(loop, api, options.health,
                             [](const std::string &sentence) { say_sentence("weir-control", sentence); });
  Watchdog watchdog; // fed by the loop that serves requests
  std::function<void()> look_at_store = [&] {
    if (const auto now = Watchdog::Clock::now(); watchdog.due(now)) watchdog.feed(now);
    metrics.follow();
    health.look_if_due();
    if (engine.store().damaged()) return loop.stop();
    loop.after(std::chrono::milliseconds(200), look_at_store);
  };
  look_at_store();
  loop.run();
  if (engine.store().damaged())
    return fail(Errc::no_memory, "memory was refused in the middle of a write to the store, which can be "
                                 "trusted again after a restart; what was acknowledged is in it, and "
                                 "forwarding goes on. Give this process more memory and start it again");
  engine.save_traffic();
  control::notify_stopping();
  loop.forget(signals);
  close(signals);
  return {};
}

} // namespace

int main(int argc, char **argv) {
  control::keep_few_arenas();
  auto options = options_from(argc, argv);
  if (!options) {
    std::fputs(usage, stderr);
    return exit_usage;
  }
  if (const Status settled = settle_folders(*options); !settled) return failed(settled.error());
  if (const Status settled = settle_access(*options); !settled) return failed(settled.error());
  settle_health(*options);
  std::error_code ignored;
  std::filesystem::create_directories(options->run, ignored);
  umask(0077); // the sockets set theirs
  if (const auto failed = make_private(options->state))
    say("weir-control", "{}: cannot be created: {}", options->state.string(), failed.message());
  if (const Status served = serve(*options); !served) return failed(served.error());
  return 0;
}
