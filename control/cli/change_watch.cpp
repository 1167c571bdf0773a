#include "control/cli/change_watch.hpp"

#include "control/cli/fields.hpp"
#include "control/cli/progress_text.hpp"

#include <nlohmann/json.hpp>

namespace weir::cli {

namespace {

using namespace std::chrono_literals;

// What the engine calls the changes of a verb, or how their names begin.
std::string change_of(const Options &options) {
  switch (options.verb) {
  case Verb::apply: return "apply";
  case Verb::list_replace: return "replace " + options.list;
  case Verb::rollback: return "rollback";
  case Verb::plan: return options.apply_plan ? "plan" : "";
  default: return {};
  }
}

std::string meaning_of(const Options &options) {
  switch (options.verb) {
  case Verb::apply:
  case Verb::list_replace:
  case Verb::rollback: return "waiting for weir-control";
  case Verb::plan: return "planning";
  case Verb::diff: return "comparing";
  case Verb::explain: return "reading lists";
  case Verb::list_export: return "writing the list";
  case Verb::list_add:
  case Verb::list_del: return "bringing the entries into force";
  case Verb::offender_train: return "training";
  default: return {};
  }
}

} // namespace

ChangeWatch::ChangeWatch(const Options &options)
    : socket_(options.socket), asked_(change_of(options)), meaning_(meaning_of(options)) {}

std::string ChangeWatch::text() {
  if (meaning_.empty() || asked_.empty()) return meaning_;
  const std::string text = said();
  return text.empty() ? meaning_ : text;
}

std::string ChangeWatch::said() {
  if (!client_) {
    auto client = Client::connect(socket_, {.connect_max = 0ms, .send_max = 0ms});
    if (!client) return {};
    client_.emplace(std::move(*client));
  }
  const auto line = client_->ask(R"({"verb":"progress"})", 400ms);
  if (!line) {
    client_.reset(); // an answer that comes later is nobody's
    return {};
  }
  const Json answer = Json::parse(*line, nullptr, false);
  return answer.is_object() && flag_in(answer, "ok") ? progress_text(answer, asked_) : std::string();
}

} // namespace weir::cli
