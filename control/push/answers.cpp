#include "control/push/answers.hpp"

#include <nlohmann/json.hpp>

namespace weir::push {

using Json = nlohmann::json;

const Json &child(const Json &object, const char *name) {
  static const Json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

std::uint64_t count_in(const Json &object, const char *name) {
  const Json &value = child(object, name);
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  const double number = number_in(object, name);
  return number < 0 ? 0 : static_cast<std::uint64_t>(number);
}

double number_in(const Json &object, const char *name) {
  const Json &value = child(object, name);
  return value.is_number() ? value.get<double>() : 0;
}

} // namespace weir::push
