#include "control/daemon/metrics_endpoint.hpp"

#include "control/daemon/ask.hpp"
#include "control/metrics/exposition.hpp"
#include "weir/base/say.hpp"

#include <memory>
#include <nlohmann/json.hpp>

namespace weir::control {
namespace {

constexpr auto retry_every = std::chrono::seconds(10);

struct Gathering {
  Json status, stats, lists;
};

} // namespace

MetricsEndpoint::MetricsEndpoint(push::EventLoop &loop, Engine &engine, Api &api)
    : engine_(engine), api_(api),
      listener_(loop,
                [this](metrics::Path path, const metrics::Listener::Then &then) { gather(path, then); }) {}

void MetricsEndpoint::follow() {
  if (!engine_.rules()) return;
  const std::string &wanted = engine_.rules()->config.metrics_listen;
  const auto now = push::Clock::now();
  if (wanted == wanted_ && (trouble_.empty() || now < again_)) return;
  wanted_ = wanted;
  again_ = now + retry_every;
  const Status listening = listener_.listen(wanted);
  const std::string trouble = listening ? std::string() : listening.error().message;
  if (trouble != trouble_ && !trouble.empty())
    say("weir-control", "{}; there are no metrics until it can be had", trouble);
  trouble_ = trouble;
  if (trouble.empty() && !wanted.empty()) engine_.say("metrics: http://" + listener_.where() + "/metrics");
}

// As root would ask over the socket, one verb after the other.
void MetricsEndpoint::gather(metrics::Path path, const metrics::Listener::Then &then) {
  if (path == metrics::Path::health)
    return ask_health(api_, [then](const Told &told) { then({told.sentence + "\n", told.is_well}); });
  const auto ask = [this](const char *verb, std::function<void(Json)> got) {
    ask_api(api_, verb, std::move(got));
  };
  auto all = std::make_shared<Gathering>();
  ask("status", [=, this](Json status) {
    all->status = std::move(status);
    ask("stats", [=, this](Json stats) {
      all->stats = std::move(stats);
      ask("list_show", [=, this](Json lists) {
        all->lists = std::move(lists);
        then({metrics::exposition({all->status, all->stats, all->lists, engine_.changes()})});
      });
    });
  });
}

} // namespace weir::control
