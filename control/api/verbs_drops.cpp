// Packets that are dropped, as they are: what the dataplane copied of them, with the entry behind each.
#include "control/api/api.hpp"
#include "control/api/explained.hpp"
#include "weir/key/text.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <utility>
#include <vector>

namespace weir::control {

namespace {

using Holders = std::map<Address, std::vector<DynamicHolder>>;

Holders addresses_in(const Json &packets, const Engine &engine) {
  Holders holders;
  for (const Json &packet : packets)
    if (const auto address = parse_address(packet.value("address", ""));
        address && !holders.contains(*address))
      holders.emplace(*address, dynamic_holders_at(engine, *address));
  return holders;
}

// The longest entry of the list that dropped the packet, by the rules of now.
void add_entries(Json &packets, const Holders &around, const RuleSet &rules, const store::Store &store) {
  std::map<std::pair<std::string, std::string>, Json> known; // by address and list
  for (Json &packet : packets) {
    const std::string text = packet.value("address", ""), list = packet.value("list", "");
    const auto address = parse_address(text);
    if (list.empty() || !address) continue;
    auto [at, is_new] = known.try_emplace({text, list});
    if (is_new) {
      Json held;
      add_holders(held, judge(rules, around.at(*address), *address), rules, nullptr, store);
      for (const Json &holder : held["held_by"])
        if (holder["list"] == list && at->second.is_null()) at->second = holder;
    }
    for (const char *field : {"entry", "comment"})
      if (at->second.contains(field)) packet[field] = at->second[field];
  }
}

} // namespace

// What packets carry is for who may change rules; others are told whose they were.
void Api::drops_follow(const Json &request, const Caller &caller, const Reply &reply) {
  const Json asked{{"what", "drops"}, {"from", request.value("from", std::uint64_t{0})}};
  ask_dataplane(asked.dump(), [this, whole = caller.may_change, reply](const Result<std::string> &said) {
    if (!said) return reply(std::unexpected(said.error()));
    Json answer = Json::parse(*said, nullptr, false);
    if (!answer.is_object() || !answer.contains("packets") || !answer["packets"].is_array())
      return reply(fail(Errc::unreachable, "the dataplane's answer cannot be read"));
    if (!whole)
      for (Json &packet : answer["packets"]) packet.erase("bytes");
    const auto rules = engine_.rules();
    if (!rules || answer["packets"].empty()) return reply(std::move(answer));
    Holders around = addresses_in(answer["packets"], engine_);
    engine_.background().run(
        [answer = std::move(answer), rules, around = std::move(around),
         &store = engine_.store()]() mutable -> Result<Json> {
          add_entries(answer["packets"], around, *rules, store);
          return std::move(answer);
        },
        reply);
  });
}

} // namespace weir::control
