#include "control/cli/fields.hpp"

#include "control/cli/text.hpp"

#include <nlohmann/json.hpp>

namespace weir::cli {

using Json = nlohmann::json;

std::int64_t time_in(const Json &object, const char *name) {
  return static_cast<std::int64_t>(number_in(object, name));
}

bool flag_in(const Json &object, const char *name) {
  const Json &value = child(object, name);
  return value.is_boolean() && value.get<bool>();
}

bool has_number(const Json &object, const char *name) { return child(object, name).is_number(); }

std::string text_in(const Json &object, const char *name, const std::string &fallback) {
  const Json &value = child(object, name);
  if (value.is_string())
    return value.get_ref<const std::string &>().empty() ? fallback : value.get<std::string>();
  return value.is_number() ? value.dump() : fallback;
}

std::string thousands_in(const Json &object, const char *name) {
  return has_number(object, name) ? thousands(count_in(object, name)) : "-";
}

} // namespace weir::cli
