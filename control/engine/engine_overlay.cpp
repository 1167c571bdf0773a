// Additions behind a chained predictor, and those that a full table does not take, go to the
// overlay. Lookups ask it first while it holds anything, so it is emptied early: when one is half full
// an image with all that is built and swapped in, while the old one goes on taking changes. The same
// happens when the filter in front of the allow tables holds more keys than it was planned for, or many
// counts that stay for ever: its answers are right all the same, and refuse less.
#include "control/engine/engine.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weir::control {

namespace {

constexpr double fill_that_rebuilds = 0.5;
constexpr auto look_wait = std::chrono::milliseconds(20); // many changes, one look
constexpr auto entries_wait = std::chrono::seconds(1), strained_wait = std::chrono::seconds(60);

struct Overlay {
  std::string name;
  std::uint64_t keys = 0, room = 0;
};

// The one nearest to being full, from the dataplane's answer.
Overlay fullest(const std::string &text) {
  const auto report = nlohmann::json::parse(text, nullptr, false);
  Overlay most{.name = {}, .keys = 0, .room = 1};
  if (!report.is_object()) return most;
  const auto all = report.find("overlays");
  if (all == report.end() || !all->is_array()) return most;
  for (const auto &one : *all) {
    const auto number = [&one](const char *name) {
      const auto at = one.find(name);
      return at != one.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
    };
    if (!one.is_object() || number("room") == 0) continue;
    if (number("keys") * most.room <= most.keys * number("room")) continue;
    const auto name = one.find("name");
    most = {name != one.end() && name->is_string() ? name->get<std::string>() : "", number("keys"),
            number("room")};
  }
  return most;
}

// Why the filter of the allow side should be built anew; empty: it need not.
std::string strain_of(const std::string &text) {
  const auto report = nlohmann::json::parse(text, nullptr, false);
  const auto guard = report.is_object() ? report.find("guard") : report.end();
  if (guard == report.end() || !guard->is_object() || !guard->value("strained", false)) return {};
  const auto number = [&guard](const char *name) { return guard->value(name, std::uint64_t{0}); };
  const std::string worn = guard->contains("cells") ? fmt::format(", {} of {} cells are stuck",
                                                                  number("cells_stuck"), number("cells"))
                                                    : fmt::format(" in {} slots", number("slots"));
  return fmt::format("the filter of the allow lists holds {} keys of {} planned{}", number("keys"),
                     number("planned_keys"), worn);
}

// The same for the stacked filter of denied hosts.
std::string growth_of(const std::string &text) {
  const auto report = nlohmann::json::parse(text, nullptr, false);
  const auto stack = report.is_object() ? report.find("stack") : report.end();
  if (stack == report.end() || !stack->is_object() || !stack->value("strained", false)) return {};
  return fmt::format("the stacked filter of denied hosts holds {} of {} planned",
                     stack->value("hosts", std::uint64_t{0}),
                     stack->value("planned_hosts", std::uint64_t{0}));
}

} // namespace

void Engine::image_fills() {
  if (looking_at_image_) return;
  looking_at_image_ = true;
  loop_.after(look_wait, [this] { look_at_image(); });
}

void Engine::look_at_image() {
  if (!pusher_.channel().connected()) {
    looking_at_image_ = false;
    return;
  }
  pusher_.channel().query(R"({"what":"info"})", [this](const Result<std::string> &text) {
    looking_at_image_ = false;
    if (!text || pusher_.state() != push::Pusher::State::live) return;
    if (const std::string why = strain_of(*text); !why.empty())
      return ask_for_image(plan::ImageCause::allow_strained, strained_wait, why);
    if (const std::string why = growth_of(*text); !why.empty())
      return ask_for_image(plan::ImageCause::entries, entries_wait, why);
    const Overlay overlay = fullest(*text);
    const double fill = static_cast<double>(overlay.keys) / static_cast<double>(overlay.room);
    if (fill >= fill_that_rebuilds)
      ask_for_image(
          plan::ImageCause::entries, entries_wait,
          fmt::format("the overlay of {} holds {} of {} entries", overlay.name, overlay.keys, overlay.room));
  });
}

} // namespace weir::control
