#include "control/api/fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace weir::control {

namespace {

using Json = nlohmann::json;

enum class Type : std::uint8_t { text, words, flag, count, to_add, to_delete };

struct Field {
  std::string_view name;
  Type type = Type::text;
  bool needed = false;
  std::uint64_t least = 0, most = 0; // of a count its value, of a text its bytes
};

struct Verb {
  std::string_view name;
  std::array<Field, 5> holds{}; // those without a name are not there

  [[nodiscard]] constexpr std::span<const Field> fields() const {
    const auto end = std::ranges::find(holds, std::string_view(), &Field::name);
    return {holds.begin(), end};
  }
};

constexpr Field list{"list", Type::text, true, 1, list_name_bytes_max};
constexpr Field list_if_any{"list", Type::text, false, 0, list_name_bytes_max};
constexpr Field file{"file", Type::text, true, 1, path_bytes_max};
constexpr Field file_of_old{"file", Type::text, false, 0,
                            path_bytes_max}; // of a weirctl that knew no descriptors
constexpr Field config{"config", Type::text, false, 0, path_bytes_max};
constexpr Field force{"force", Type::flag};
constexpr Field apply_plan{"apply", Type::flag};
constexpr Field confirm_s{"confirm_s", Type::count, false, 0, confirm_s_max};
constexpr Field generation{"generation", Type::count, false, 0, std::numeric_limits<std::uint64_t>::max()};
constexpr Field generation_kept{"generation", Type::count, false, 1,
                                std::numeric_limits<std::uint64_t>::max()};
constexpr Field from{"from", Type::count, false, 1, std::numeric_limits<std::uint64_t>::max()};
constexpr Field from_any{"from", Type::count, false, 0, std::numeric_limits<std::uint64_t>::max()};
constexpr Field to{"to", Type::count, false, 1, std::numeric_limits<std::uint64_t>::max()};
constexpr Field since{"since", Type::count, false, 0, std::numeric_limits<std::uint64_t>::max()};
constexpr Field one_address{"address", Type::text, false, 1, address_bytes_max};
constexpr Field packet{"packet", Type::text, false, 1, packet_digits_max};
constexpr Field port{"port", Type::text, false, 1, list_name_bytes_max};
constexpr Field rows{"n", Type::count, false, 0, rows_max};
constexpr Field to_add{"entries", Type::to_add, true};
constexpr Field to_delete{"entries", Type::to_delete, true};

constexpr std::array verbs{
    Verb{"status", {}},
    Verb{"ping", {}},
    Verb{"progress", {}},
    Verb{"list_show", {list_if_any}},
    Verb{"list_add", {list, to_add, force}},
    Verb{"list_del", {list, to_delete}},
    Verb{"list_replace", {list, file, force}},
    Verb{"list_export", {list, file_of_old}},
    Verb{"check", {config}},
    Verb{"plan", {config, apply_plan}},
    Verb{"diff", {config, from, to}},
    Verb{"apply", {config, confirm_s, force}},
    Verb{"confirm", {}},
    Verb{"rollback", {generation}},
    Verb{"generations", {}},
    Verb{"explain", {one_address, packet, port, config, generation_kept}},
    Verb{"log", {rows, list_if_any, since}},
    Verb{"stats", {}},
    Verb{"drops", {}},
    Verb{"drops_follow", {from_any}},
    Verb{"top", {rows}},
    Verb{"offenders", {}},
    Verb{"offender_mark", {to_delete}},
    Verb{"offender_unmark", {to_delete}},
    Verb{"offender_train", {}},
    Verb{"offender_model", {}},
};

constexpr Field prefix{"prefix", Type::text, true, 1, prefix_bytes_max};
constexpr Field ttl{"ttl", Type::count, false, 0, ttl_s_max};
constexpr Field comment{"comment", Type::words};
constexpr std::array entry_to_add{prefix, ttl, comment};
constexpr std::array entry_to_delete{prefix};

std::unexpected<Error> wrong(std::string sentence) { return fail(Errc::usage, std::move(sentence)); }

// What somebody sent, short enough for a sentence; trees are not walked, they may be deep.
std::string shown(const Json &value) {
  constexpr std::size_t bytes_max = 60;
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > bytes_max) text = text.substr(0, bytes_max) + "...";
  return text;
}

std::string names_of(const auto &all) {
  std::vector<std::string_view> names;
  for (const auto &one : all) names.push_back(one.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// `whose` stands before a field's name in sentences: "entry 3: ".
Status check_text(const Field &field, const Json &value, const std::string &whose) {
  if (!value.is_string())
    return wrong(fmt::format("{}{} is {}; it is a text", whose, field.name, shown(value)));
  const auto &text = value.get_ref<const std::string &>();
  if (text.size() < field.least) return wrong(fmt::format("{}{} is empty", whose, field.name));
  if (text.size() > field.most)
    return wrong(
        fmt::format("{}{} has {} bytes; it may have {}", whose, field.name, text.size(), field.most));
  if (text.find('\0') != std::string::npos)
    return wrong(
        fmt::format("{}{} is {}; it may not contain the character NUL", whose, field.name, shown(value)));
  return {};
}

Status check_count(const Field &field, const Json &value, const std::string &whose) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() >= field.least &&
      value.get<std::uint64_t>() <= field.most)
    return {};
  return wrong(fmt::format("{}{} is {}; it is a whole number from {} to {}", whose, field.name, shown(value),
                           field.least, field.most));
}

Status check_entries(const Field &field, const Json &value);

Status check_value(const Field &field, const Json &value, const std::string &whose) {
  switch (field.type) {
  case Type::text: return check_text(field, value, whose);
  case Type::words: // of any length and with any characters: see whoever takes them
    if (value.is_string()) return {};
    return wrong(fmt::format("{}{} is {}; it is a text", whose, field.name, shown(value)));
  case Type::count: return check_count(field, value, whose);
  case Type::flag:
    if (value.is_boolean()) return {};
    return wrong(fmt::format("{}{} is {}; it is true or false", whose, field.name, shown(value)));
  case Type::to_add:
  case Type::to_delete: return check_entries(field, value);
  }
  return {};
}

Status check_object(const Json &object, std::span<const Field> fields, std::string_view verb,
                    const std::string &whose) {
  for (const Field &field : fields) {
    const auto value = object.find(field.name);
    if (value == object.end()) {
      if (field.needed) return wrong(fmt::format("{}{} needs the field {}", whose, verb, field.name));
    } else
      TRY(check_value(field, *value, whose));
  }
  for (const auto &[name, value] : object.items()) {
    if (whose.empty() && name == "verb") continue;
    if (std::ranges::find(fields, std::string_view(name), &Field::name) != fields.end()) continue;
    const std::string known = fields.empty() ? "no fields" : names_of(fields);
    return wrong(fmt::format("{}{} has no field {}; it has {}", whose, verb, shown(name), known));
  }
  return {};
}

Status check_entries(const Field &field, const Json &value) {
  if (!value.is_array()) return wrong(fmt::format("{} is {}; it is an array", field.name, shown(value)));
  const std::span<const Field> fields = field.type == Type::to_add ? std::span<const Field>(entry_to_add)
                                                                   : std::span<const Field>(entry_to_delete);
  for (std::size_t i = 0; i < value.size(); ++i) {
    const Json &entry = value[i];
    const std::string whose = fmt::format("entry {}: ", i + 1);
    if (!entry.is_string() && !entry.is_object())
      return wrong(fmt::format("{}it is {}; it is a text or an object with a prefix", whose, shown(entry)));
    const Status good =
        entry.is_string() ? check_text(prefix, entry, whose) : check_object(entry, fields, "an entry", whose);
    if (!good) return good;
  }
  return {};
}

} // namespace

Result<std::string_view> check_fields(const Json &request) {
  if (!request.is_object()) return wrong("a request is a JSON object with a verb");
  const auto named = request.find("verb");
  if (named == request.end()) return wrong("a request is a JSON object with a verb");
  if (!named->is_string()) return wrong(fmt::format("verb is {}; it is a text", shown(*named)));
  const auto verb = std::ranges::find(verbs, named->get_ref<const std::string &>(), &Verb::name);
  if (verb == verbs.end())
    return wrong(fmt::format("no verb is named {}; there are {}", shown(*named), names_of(verbs)));
  TRY(check_object(request, verb->fields(), verb->name, ""));
  return verb->name;
}

} // namespace weir::control
