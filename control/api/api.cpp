#include "control/api/api.hpp"
#include "control/api/fields.hpp"
#include "control/engine/traffic_note.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace weir::control {

namespace {

std::string text_of(const Json &answer) {
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Written as text on another thread, so that nobody waits for it.
bool is_long(const Json &answer) {
  constexpr std::size_t members_max = 1000;
  return std::ranges::any_of(answer, [](const Json &member) { return member.size() > members_max; });
}

} // namespace

std::string failure_line(const Error &error) {
  return text_of(Json{{"ok", false}, {"code", name_of(error.code)}, {"message", error.message}});
}

Api::Api(Engine &engine, Access access) : engine_(engine), access_(std::move(access)) {}

// The line as JSON, found to be one of the requests that there are. Touches nothing: runs on any thread.
Result<std::shared_ptr<const Json>> Api::read(const std::string &line) {
  auto fields = std::make_shared<Json>();
  try {
    *fields = Json::parse(line);
  } catch (const Json::exception &error) {
    constexpr std::size_t bytes_max = 200; // it quotes the request
    return fail(Errc::usage, fmt::format("the request cannot be read: {}",
                                         std::string(error.what()).substr(0, bytes_max)));
  }
  TRY(check_fields(*fields));
  return fields;
}

void Api::handle(Request request, const std::function<void(std::string)> &reply) {
  const Reply answer = [this, reply](Result<Json> result) {
    if (!result) return reply(failure_line(result.error()));
    (*result)["ok"] = true;
    if (!is_long(*result)) return reply(text_of(*result));
    engine_.background().run(
        [answer = std::move(*result)] { return Result<std::string>(text_of(answer)); },
        [reply](const Result<std::string> &text) { reply(text ? *text : failure_line(text.error())); });
  };
  Caller caller{.peer = std::move(request.peer), .fds = {}, .arrived = request.arrived};
  for (OwnedFd &fd : request.fds) caller.fds.push_back(std::make_shared<OwnedFd>(std::move(fd)));
  if (request.line.size() <= long_line_bytes) return run(read(request.line), caller, answer);
  engine_.background().run([line = std::move(request.line)] { return parse_entry_request(line); },
                           [this, caller = std::move(caller), answer](Result<EntryRequest> read) {
                             run_entries(std::move(read), caller, answer);
                           });
}

void Api::run_entries(Result<EntryRequest> request, Caller caller, const Reply &answer) {
  if (!request) return answer(std::unexpected(request.error()));
  const Ask ask{.verb = request->verb, .list = request->list, .entries = request->entries.size()};
  const auto reply = admit(ask, caller, answer);
  if (!reply) return answer(std::unexpected(reply.error()));
  request->arrived = caller.arrived;
  request->by = user_text(caller.peer);
  change_entries(std::move(*request), *reply);
}

void Api::run(const Result<std::shared_ptr<const Json>> &fields, const Caller &caller, const Reply &answer) {
  using Verb = void (Api::*)(const Json &, const Caller &, const Reply &);
  static const std::map<std::string_view, Verb> verbs{{"status", &Api::status},
                                                      {"ping", &Api::ping},
                                                      {"progress", &Api::progress},
                                                      {"list_show", &Api::list_show},
                                                      {"list_add", &Api::list_add},
                                                      {"list_del", &Api::list_del},
                                                      {"list_replace", &Api::list_replace},
                                                      {"list_export", &Api::list_export},
                                                      {"check", &Api::check},
                                                      {"plan", &Api::plan},
                                                      {"diff", &Api::diff},
                                                      {"apply", &Api::apply},
                                                      {"confirm", &Api::confirm},
                                                      {"rollback", &Api::rollback},
                                                      {"generations", &Api::generations},
                                                      {"log", &Api::log},
                                                      {"explain", &Api::explain},
                                                      {"stats", &Api::stats},
                                                      {"drops", &Api::drops},
                                                      {"drops_follow", &Api::drops_follow},
                                                      {"top", &Api::top},
                                                      {"offenders", &Api::offenders},
                                                      {"offender_mark", &Api::offender_mark},
                                                      {"offender_unmark", &Api::offender_mark},
                                                      {"offender_train", &Api::offender_train},
                                                      {"offender_model", &Api::offender_model}};
  if (!fields) return answer(std::unexpected(fields.error()));
  const auto &verb = (**fields).at("verb").get_ref<const std::string &>();
  Caller admitted = caller;
  const auto reply = admit(ask_of(**fields), admitted, answer);
  if (!reply) return answer(std::unexpected(reply.error()));
  (this->*verbs.find(verb)->second)(**fields, admitted, *reply);
}

} // namespace weir::control
