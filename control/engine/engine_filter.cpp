// Looks after the filter in front of the allow tables while it is in force.
//
// Denied addresses that samples name often are told to a Seesaw filter as they become hot: some at each look,
// each once a generation. It seals what it can at once, and with `allow.adaptive` the rest as keys leave.
//
// And it is held against its plan: now and then the counters of the dataplane are read (for the planner's
// measured hit ratio as well): what the filter of the live generation did, and one that errs clearly more
// often than predicted (plan/rate_check.hpp) is built anew. That helps whatever the cause: another seed draws
// other errors, and a Seesaw filter guards the addresses that have become hot. Should it not help, each next
// try waits twice as long (plan/image_budget.hpp).
#include "control/base/answers.hpp"
#include "control/engine/engine.hpp"
#include "control/plan/lookups.hpp"
#include "control/plan/rate_check.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace weir::control {

namespace {

using Json = nlohmann::json;
using push::child, push::count_in, push::number_in;

constexpr auto rebuild_wait_first = std::chrono::minutes(1);

struct Rate {
  const char *whose;
  double predicted;
  plan::MeasuredRate measured;
};

// Why a filter planned like this should be built anew, from what it did; empty: it need not.
std::string excess_of(const Json &plan, const wire::CounterValues &did) {
  using enum wire::CounterId;
  const Json filter = child(plan, "allow_filter"), predicted = child(filter, "predicted");
  if (!predicted.is_object()) return {};
  const std::uint64_t right = did[allow_accepted] - std::min(did[allow_accepted], did[allow_false]);
  const std::uint64_t absent = did[allow_asked] - std::min(did[allow_asked], right);
  const double plain = number_in(predicted, "plain_churned"),
               weighted = number_in(predicted, "weighted_churned");
  const Rate rates[] = {
      {"addresses that are not allowed", std::max(plain, weighted), {absent, did[allow_false]}},
      {"denied addresses", weighted, {did[allow_denied_asked], did[allow_denied_false]}}};
  for (const Rate &rate : rates)
    if (plan::is_beyond_band(rate.predicted, rate.measured))
      return fmt::format("the filter of the allow lists accepted {:.3g} % of {} questions about {}, {:.3g} % "
                         "were predicted",
                         100 * rate.measured.rate(), rate.measured.asked, rate.whose, 100 * rate.predicted);
  return {};
}

} // namespace

void Engine::watch_filter() {
  loop_.after(options_.filter_look_wait, [this] {
    look_at_filter();
    watch_filter();
  });
}

// The next image guards them from the start.
void Engine::guard_hot_addresses() {
  constexpr std::size_t at_once = 256;
  constexpr std::uint64_t count_min = 8; // fewer samples may be chance
  if (pusher_.state() != push::Pusher::State::live || pusher_.swapping() || !hot_denied) return;
  const Json plan = Json::parse(live_record_.plan_json, nullptr, false);
  if (child(child(plan, "allow_filter"), "chosen") != "seesaw") return;
  if (std::exchange(guarded_generation_, live_record_.id) != live_record_.id) guarded_late_.clear();
  std::vector<wire::GuardedAddress> addresses;
  for (const plan::HotAddress &hot : hot_denied()) {
    if (hot.count < count_min || addresses.size() == at_once) break; // the hottest come first
    if (guarded_late_.insert(hot.address).second)
      addresses.push_back({.family = hot.address.family, .address = hot.address.bytes});
  }
  if (addresses.empty()) return;
  const wire::Guard head{.store_id = store_.id(),
                         .generation = live_record_.id,
                         .count = static_cast<std::uint32_t>(addresses.size())};
  std::vector<std::byte> payload = push::pack(head);
  const auto bytes = std::as_bytes(std::span(addresses));
  payload.insert(payload.end(), bytes.begin(), bytes.end());
  // A refusal is of no interest: another generation has come, and with it another filter.
  pusher_.channel().request(wire::Type::guard, std::move(payload), [](const Result<push::Message> &) {});
}

void Engine::look_at_filter() {
  guard_hot_addresses();
  if (reading_counters_ || !pusher_.channel().connected()) return;
  reading_counters_ = true;
  pusher_.channel().query(R"({"what":"stats"})", [this](const Result<std::string> &text) {
    reading_counters_ = false;
    if (text) look_at_counters(*text);
  });
}

// For the planner, which wants to know how many questions find something; and for the filter.
void Engine::look_at_counters(const std::string &text) {
  const Json report = Json::parse(text, nullptr, false);
  if (!report.is_object()) return;
  hits_.note(plan::lookups_in(report));
  const bool busy = change_ != nullptr || !waiting_.empty();
  if (busy || pusher_.state() != push::Pusher::State::live) return;
  const Json plan = Json::parse(live_record_.plan_json, nullptr, false),
             counters = child(report, "guard_generation");
  if (count_in(counters, "generation") != live_record_.id) return;
  const std::string why = excess_of(plan, push::counters_in(counters, wire::CounterGroup::allow_filter));
  if (!why.empty()) ask_for_image(plan::ImageCause::allow_rate, rebuild_wait_first, why);
}

} // namespace weir::control
