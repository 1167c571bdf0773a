// Why an address passes or drops: by the image in force, or by rules that are not in force.
#include "control/api/api.hpp"
#include "control/api/explained.hpp"
#include "control/api/judged.hpp"
#include "control/api/request_files.hpp"
#include "control/engine/kept.hpp"
#include "weir/base/hex.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace weir::control {

namespace {

// The one that decided.
std::optional<Address> address_of(const Json &answer, const Question &question) {
  if (question.address) return question.address;
  const auto at = answer.find("address");
  if (at == answer.end() || !at->is_string()) return std::nullopt;
  const auto parsed = parse_address(at->get<std::string>());
  return parsed ? std::optional(*parsed) : std::nullopt;
}

std::vector<DynamicHolder> dynamic_around(const Engine &engine, const Question &question) {
  std::vector<DynamicHolder> all;
  for (const Address &address : addresses_of(question))
    for (const DynamicHolder &holder : dynamic_holders_at(engine, address))
      if (std::ranges::find(all, std::pair(holder.list, holder.prefix),
                            [](const DynamicHolder &h) { return std::pair(h.list, h.prefix); }) == all.end())
        all.push_back(holder);
  return all;
}

} // namespace

void Api::explain(const Json &request, const Caller &caller, const Reply &reply) {
  const bool of_file = !request.value("config", "").empty(), of_kept = request.contains("generation");
  if (of_file && of_kept)
    return reply(fail(Errc::usage, "explain: give it a configuration or a generation, not both"));
  of_file || of_kept ? explain_others(request, caller, reply) : explain_live(request, caller, reply);
}

// The dataplane says what its own view answers; which entries hold the address is in the lists. In which line
// of a table an address belongs, and what a filter says of it, follows from the secret seed: that is for who
// may change rules, others are told the verdict.
void Api::explain_live(const Json &request, const Caller &caller, const Reply &reply) {
  auto question = question_of(request);
  if (!question) return reply(std::unexpected(std::move(question.error())));
  Json asked{{"what", "explain"}};
  if (question->address)
    asked["address"] = to_string(*question->address);
  else
    asked["packet"] = hex_of(question->frame.data(), question->frame.size());
  if (!question->port.empty()) asked["port"] = question->port;
  ask_dataplane(asked.dump(), [this, question = *question, whole = caller.may_change,
                               reply](const Result<std::string> &said) {
    if (!said) {
      const bool silent = said.error().code == Errc::unreachable;
      return reply(fail(said.error().code,
                        said.error().message +
                            (silent ? "; only its own view can explain a verdict. `explain --config` and "
                                      "`--generation` ask the rules themselves"
                                    : "")));
    }
    Json answer = Json::parse(*said, nullptr, false);
    if (!answer.is_object()) return reply(fail(Errc::unreachable, "the dataplane's answer cannot be read"));
    if (!whole) answer.erase("path");
    answer["generation"] = engine_.pusher().dataplane_generation();
    const auto address = address_of(answer, question);
    if (!address || !engine_.rules()) return reply(std::move(answer));
    if (answer.value("judged", false) && denied_in_error(engine_, *address)) {
      answer["list"] = image::compact_list_name;
      if (whole) answer["path"].push_back({{"step", "rules"}, {"text", "none denies it: the filter errs"}});
    }
    engine_.background().run(
        [answer = std::move(answer), rules = engine_.rules(), address = *address, &store = engine_.store(),
         dynamic = dynamic_holders_at(engine_, *address)]() mutable -> Result<Json> {
          add_holders(answer, judge(*rules, dynamic, address), *rules, nullptr, store);
          add_entry(answer);
          return std::move(answer);
        },
        reply);
  });
}

// By a configuration that came along, or a generation that is kept; with the entries that were added by hand,
// which belong to no generation.
void Api::explain_others(const Json &request, const Caller &caller, const Reply &reply) {
  auto question = question_of(request);
  if (!question) return reply(std::unexpected(std::move(question.error())));
  const std::string config = request.value("config", "");
  auto files = files_of(caller, config);
  if (!files) return reply(std::unexpected(std::move(files.error())));
  const Generation generation(request.value("generation", Generation::rep{0}));
  auto dynamic = dynamic_around(engine_, *question);
  engine_.background().run(
      [config, generation, question = std::move(*question), files = std::move(*files), live = engine_.rules(),
       &store = engine_.store(), in_force = engine_.live_record().id,
       dynamic = std::move(dynamic)]() -> Result<Json> {
        const auto read = [&]() -> Result<Candidate> {
          if (config.empty())
            return restore_candidate(TRY(kept_generation(store, generation)), live.get(), store);
          auto text = TRY(read_text(config, files.get()));
          const auto parsed = TRY(config::parse(text, config));
          return read_candidate(parsed, std::move(text), live.get(), store, files.get());
        };
        const Candidate candidate = TRY(read());
        Json answer = TRY(explain_by_rules(candidate, dynamic, question, store));
        answer["by"] = config.empty() ? fmt::format("generation {}", generation) : config;
        if (config.empty()) answer["generation"] = generation;
        answer["in_force"] = config.empty() && generation == in_force;
        return answer;
      },
      reply);
}

} // namespace weir::control
