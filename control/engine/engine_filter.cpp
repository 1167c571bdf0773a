// Looks after the filter in front of the allow tables while it is in force.
//
// Denied addresses that samples name often are told to a Seesaw filter as they become hot: some at each look,
// each once a generation. It seals what it can at once, and with `allow.adaptive` the rest as keys leave.
//
// And it is held against its plan (watch/allow_filter_watch.hpp): now and then the counters of the dataplane
// are read, for the planner's measured hit ratio as well. Should another image not help, each next try waits
// twice as long (watch/image_budget.hpp).
#include "control/base/answers.hpp"
#include "control/engine/engine.hpp"
#include "control/plan/lookups.hpp"

#include <nlohmann/json.hpp>

#include <span>
#include <utility>

namespace weir::control {

using Json = nlohmann::json;
using push::child, push::count_in;

void Engine::watch_filter() {
  loop_.after(options_.filter_look_wait, [this] {
    look_at_filter();
    watch_filter();
  });
}

// The next image guards them from the start.
void Engine::tell_of_hot_addresses() {
  constexpr std::size_t at_once = 256;
  constexpr std::uint64_t count_min = 8; // fewer samples may be chance
  if (pusher_.state() != push::Pusher::State::live || pusher_.swapping() || !allow_watch_.learns()) return;
  if (std::exchange(told_generation_, live_record_.id) != live_record_.id) told_late_.clear();
  std::vector<wire::HostAddress> addresses;
  for (const plan::HotAddress &hot : traffic_.hot_denied()) {
    if (hot.count < count_min || addresses.size() == at_once) break; // the hottest come first
    if (told_late_.insert(hot.address).second)
      addresses.push_back({.family = hot.address.family, .address = hot.address.bytes});
  }
  if (addresses.empty()) return;
  const wire::Learn head{.store_id = store_.id(),
                         .generation = live_record_.id,
                         .count = static_cast<std::uint32_t>(addresses.size())};
  std::vector<std::byte> payload = push::pack(head);
  const auto bytes = std::as_bytes(std::span(addresses));
  payload.insert(payload.end(), bytes.begin(), bytes.end());
  // A refusal is of no interest: another generation has come, and with it another filter.
  pusher_.channel().request(wire::Type::learn, std::move(payload), [](const Result<push::Message> &) {});
}

void Engine::look_at_filter() {
  tell_of_hot_addresses();
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
  traffic_.note_lookups(plan::lookups_in(report));
  const bool busy = change_ != nullptr || !waiting_.empty();
  if (busy || pusher_.state() != push::Pusher::State::live) return;
  const Json &counters = child(report, "allow_filter_generation");
  if (count_in(counters, "generation") != live_record_.id) return;
  ask_for_image(allow_watch_.look(push::counters_in(counters, wire::CounterGroup::allow_filter)));
}

} // namespace weir::control
