// Before a verb: may this caller ask for it? After one that changes something: who did it, in the log.
#include "control/api/api.hpp"

#include "weir/config/values.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weir::control {

namespace {

constexpr std::size_t reason_bytes_max = 300;

std::string ask_text(const Ask &ask) {
  std::string text = ask.verb;
  if (!ask.list.empty()) text += ' ' + config::shown(ask.list);
  if (ask.entries > 0) text += fmt::format(", {} {}", ask.entries, ask.entries == 1 ? "entry" : "entries");
  return text;
}

std::string peer_text(const Peer &peer) {
  if (peer.uid == Peer::nobody_known) return "a user that the kernel does not name";
  return fmt::format("uid {}, gid {}, pid {}", peer.uid, peer.gid, peer.pid);
}

} // namespace

Ask ask_of(const Json &fields) {
  const auto text = [&fields](const char *name) {
    const auto at = fields.find(name);
    return at != fields.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  Ask ask{.verb = text("verb"), .list = text("list")};
  const auto entries = fields.find("entries");
  if (entries != fields.end()) ask.entries = entries->size();
  const auto applies = fields.find("apply");
  ask.applies = applies != fields.end() && applies->is_boolean() && applies->get<bool>();
  return ask;
}

Result<Api::Reply> Api::admit(const Ask &ask, Caller &caller, Reply reply) {
  const Right right = right_for(ask.verb, ask.applies);
  caller.may_change = access_.allows(caller.peer, Right::change).has_value();
  const Status allowed = access_.allows(caller.peer, right);
  if (!allowed) {
    if (const auto left_out = refusals_logged_.line(LogLimit::Clock::now()))
      engine_.say(
          fmt::format("{} by {}: refused{}", ask_text(ask), peer_text(caller.peer),
                      *left_out == 0 ? "" : fmt::format(" ({} more before it are not logged)", *left_out)));
    return std::unexpected(allowed.error());
  }
  if (right == Right::read) return reply;
  return Reply([&engine = engine_, said = ask_text(ask) + " by " + peer_text(caller.peer),
                reply = std::move(reply)](Result<Json> result) {
    const std::string why = result ? "" : result.error().message;
    engine.say(said + ": " +
               (result ? "done" : config::printable(why.substr(0, why.find('\n')), reason_bytes_max)));
    reply(std::move(result));
  });
}

} // namespace weir::control
