// Spamhaus DROP as JSON: one object a line. These lists are small, so a general parser does.
#include "control/rules/sink.hpp"

#include <nlohmann/json.hpp>

namespace weir::rules {
namespace {

using nlohmann::json;

constexpr std::size_t json_line_bytes_max = 64 * 1024;

void take_object(std::uint64_t number, std::string_view line, const json &object, Sink &sink) {
  const auto cidr = object.find("cidr");
  if (cidr == object.end()) {
    const auto type = object.find("type");
    if (type != object.end() && type->is_string() && type->get_ref<const std::string &>() == "metadata")
      return;
    return sink.fault(number, line,
                      object.contains("asn")
                          ? "a list of AS numbers; the list of prefixes has a \"cidr\" in each line"
                          : "no \"cidr\" in the object");
  }
  if (!cidr->is_string()) return sink.fault(number, line, "\"cidr\" is not a text");
  Prefix prefix;
  if (!sink.take(number, line, cidr->get_ref<const std::string &>(), prefix)) return;
  sink.add(prefix, number);
  const auto id = object.find("sblid");
  if (id != object.end() && id->is_string()) sink.note(prefix, id->get_ref<const std::string &>(), 0);
}

} // namespace

void parse_spamhaus_json(std::string_view text, Sink &sink) {
  Lines lines(text);
  std::string_view line;
  ReadSoFar so_far(text, sink);
  while (lines.next(line)) {
    so_far.up_to(line.data());
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    if (line.size() > json_line_bytes_max) {
      sink.fault(lines.number(), line, "longer than 64 KiB; each line holds one object");
      continue;
    }
    const json object = json::parse(line, nullptr, false);
    if (object.is_discarded())
      sink.fault(lines.number(), line, "not a JSON object; was the file cut?");
    else if (!object.is_object())
      sink.fault(lines.number(), line, "not a JSON object; each line holds one object");
    else
      take_object(lines.number(), line, object, sink);
  }
  sink.content.lines = lines.number();
}

} // namespace weir::rules
