#include "control/daemon/ask.hpp"

#include "control/base/answers.hpp"
#include "control/base/health.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace weir::control {
namespace {

using Json = nlohmann::json;

Json answered(const std::string &line) {
  Json answer = Json::parse(line, nullptr, false);
  return answer.is_object() && answer.value("ok", false) ? answer : Json::object();
}

} // namespace

void ask_api(Api &api, const std::string &verb, std::function<void(Json)> got) {
  Request request;
  request.line = fmt::format(R"({{"verb":"{}"}})", verb);
  request.peer = {.pid = getpid(), .uid = geteuid(), .gid = getegid(), .groups = {}};
  api.handle(std::move(request), [got = std::move(got)](const std::string &line) { got(answered(line)); });
}

Told told_of(const Json &status) {
  const Health health = health_of(status);
  if (health.faults.empty())
    return {true, fmt::format("healthy: generation {} is in force", push::count_in(status, "generation"))};
  std::string first = health.faults.front();
  std::ranges::replace(first, '\n', ' ');
  return {false, "WRONG: " + first};
}

void ask_health(Api &api, std::function<void(Told)> got) {
  ask_api(api, "status", [got = std::move(got)](const Json &status) { got(told_of(status)); });
}

} // namespace weir::control
