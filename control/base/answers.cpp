#include "control/base/answers.hpp"

#include <nlohmann/json.hpp>

#include <limits>

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
  constexpr double too_many = 18446744073709551616.0; // 2^64
  if (number >= too_many) return std::numeric_limits<std::uint64_t>::max();
  return number > 0 ? static_cast<std::uint64_t>(number) : 0;
}

double number_in(const Json &object, const char *name) {
  const Json &value = child(object, name);
  return value.is_number() ? value.get<double>() : 0;
}

wire::CounterValues counters_in(const Json &object, wire::CounterGroup group) {
  wire::CounterValues values;
  for (const wire::CounterInfo &info : wire::counters)
    if (info.group == group) values[info.id] = count_in(object, std::string(info.name).c_str());
  return values;
}

} // namespace weir::push
