#include "control/base/texts.hpp"

#include "control/base/answers.hpp"
#include "weir/config/values.hpp"

#include <nlohmann/json.hpp>

namespace weir::push {

using Json = nlohmann::json;

bool flag_in(const Json &object, const char *name) {
  const Json &value = child(object, name);
  return value.is_boolean() && value.get<bool>();
}

bool has_number(const Json &object, const char *name) { return child(object, name).is_number(); }

std::string text_in(const Json &object, const char *name, const std::string &fallback) {
  const Json &value = child(object, name);
  if (value.is_number()) return value.dump();
  if (!value.is_string() || value.get_ref<const std::string &>().empty()) return fallback;
  return config::printable(value.get_ref<const std::string &>());
}

std::string lines_in(const Json &object, const char *name, const std::string &fallback) {
  const Json &value = child(object, name);
  if (!value.is_string() || value.get_ref<const std::string &>().empty()) return fallback;
  return config::printable_lines(value.get_ref<const std::string &>());
}

} // namespace weir::push
