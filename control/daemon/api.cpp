#include "control/daemon/verbs.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>

namespace weir::control {

std::string failure_line(const Error &error) {
  return Json{{"ok", false}, {"code", name_of(error.code)}, {"message", error.message}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

Api::Api(Engine &engine) : engine_(engine) {
  engine_.on_samples = [this](std::span<const wire::Sample> samples) { samples_.take(samples); };
  engine_.hot_denied = [this] { return hot_denied(); };
}

std::vector<plan::HotAddress> Api::hot_denied() const {
  std::vector<plan::HotAddress> hot;
  for (const SampleTable::Row &row : samples_.top(SampleTable::rows_max))
    if (row.denied) hot.push_back({row.address, row.count});
  return hot;
}

void Api::handle(Request request, const std::function<void(std::string)> &reply) {
  using Verb = void (Api::*)(const Json &, const Caller &, const Reply &);
  static const std::map<std::string, Verb> verbs{{"status", &Api::status},
                                                 {"ping", &Api::ping},
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
                                                 {"explain", &Api::explain},
                                                 {"stats", &Api::stats},
                                                 {"drops", &Api::drops},
                                                 {"top", &Api::top}};
  const Reply answer = [reply](Result<Json> result) {
    if (!result) return reply(failure_line(result.error()));
    (*result)["ok"] = true;
    reply(result->dump(-1, ' ', false, Json::error_handler_t::replace));
  };
  // Whatever a request contains, its connection gets an answer and the daemon lives.
  try {
    const Json fields = Json::parse(request.line);
    if (!fields.is_object() || !fields.contains("verb"))
      return answer(fail(Errc::usage, "a request is a JSON object with a verb"));
    const auto verb = verbs.find(fields.at("verb").get<std::string>());
    if (verb == verbs.end())
      return answer(fail(Errc::usage, fmt::format("no verb is named {}", fields.at("verb").dump())));
    Caller caller{.peer = std::move(request.peer), .fds = {}};
    for (OwnedFd &fd : request.fds) caller.fds.push_back(std::make_shared<OwnedFd>(std::move(fd)));
    (this->*verb->second)(fields, caller, answer);
  } catch (const Json::exception &error) {
    answer(fail(Errc::usage, fmt::format("the request cannot be read: {}", error.what())));
  }
}

} // namespace weir::control
