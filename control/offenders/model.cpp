#include "control/offenders/model.hpp"

#include "weir/image/offenders.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>

namespace weir::offenders {
namespace {

using Json = nlohmann::json;

Json::binary_t binary(std::span<const std::byte> bytes) {
  const auto *begin = reinterpret_cast<const std::uint8_t *>(bytes.data());
  return Json::binary_t(std::vector<std::uint8_t>(begin, begin + bytes.size()));
}
std::vector<std::byte> bytes_of(const Json &json) {
  const auto &binary = json.get_binary();
  const auto *begin = reinterpret_cast<const std::byte *>(binary.data());
  return {begin, begin + binary.size()};
}

// Most nets have no denied neighbours: two bytes of a net and one of its value, for each that has.
constexpr std::size_t packed_bytes = 3;
std::vector<std::byte> packed(std::span<const std::byte> neighbours) {
  std::vector<std::byte> out;
  for (std::size_t net = 0; net < neighbours.size(); ++net)
    if (neighbours[net] != std::byte{0})
      for (const std::byte part :
           {static_cast<std::byte>(net & 255), static_cast<std::byte>(net >> 8), neighbours[net]})
        out.push_back(part);
  return out;
}
std::vector<std::byte> unpacked(std::span<const std::byte> some) {
  std::vector<std::byte> out(image::offender_neighbours);
  for (; some.size() >= packed_bytes; some = some.subspan(packed_bytes))
    out[std::to_integer<std::size_t>(some[0]) | std::to_integer<std::size_t>(some[1]) << 8] = some[2];
  return out;
}

// What the dataplane would refuse is not kept.
Status check(const Model &model) {
  const auto bad = [](const std::string &why) { return fail(Errc::parse, "the model of offenders: " + why); };
  if (model.groups.empty() || model.groups.size() > image::offender_groups_max ||
      model.thresholds.size() + 1 != model.groups.size())
    return bad("groups and thresholds do not go together");
  for (std::size_t i = 0; i < model.thresholds.size(); ++i)
    if (!std::isfinite(model.thresholds[i]) || (i > 0 && !(model.thresholds[i - 1] < model.thresholds[i])))
      return bad("thresholds do not rise");
  if (model.neighbours.size() != image::offender_neighbours) return bad("its table of neighbours is cut");
  if (model.gains.size() != image::offender_features(model.element)) return bad("gains of other features");
  const auto trees = learn::Trees::of(model.trees);
  if (!trees) return bad(trees.error().message);
  if (trees->view().features() != image::offender_features(model.element))
    return bad("its trees see other features than the element has");
  return {};
}

} // namespace

std::string encode(const Model &model) {
  Json groups = Json::array();
  for (const build::ScoreGroup &group : model.groups) groups.push_back({group.told, group.other});
  const Json json{{"number", model.number},
                  {"trained_at", model.trained_at},
                  {"element", name_of(model.element)},
                  {"told", model.told},
                  {"others", model.others},
                  {"auc", model.auc},
                  {"thresholds", model.thresholds},
                  {"groups", groups},
                  {"gains", model.gains},
                  {"neighbours_packed", binary(packed(model.neighbours))},
                  {"trees", binary(model.trees)}};
  const std::vector<std::uint8_t> bytes = Json::to_cbor(json);
  return {bytes.begin(), bytes.end()};
}

Result<Model> decode(std::string_view text) {
  Model model;
  try {
    const Json json = Json::from_cbor(text.begin(), text.end());
    model.number = json.at("number");
    model.trained_at = json.at("trained_at");
    model.element = json.at("element") == name_of(OffenderElement::header) ? OffenderElement::header
                                                                           : OffenderElement::source;
    model.told = json.at("told");
    model.others = json.at("others");
    model.auc = json.at("auc");
    model.thresholds = json.at("thresholds").get<std::vector<float>>();
    for (const Json &group : json.at("groups")) model.groups.push_back({group.at(0), group.at(1)});
    model.gains = json.at("gains").get<std::vector<double>>();
    model.neighbours = json.contains("neighbours") ? bytes_of(json.at("neighbours"))
                                                   : unpacked(bytes_of(json.at("neighbours_packed")));
    model.trees = bytes_of(json.at("trees"));
  } catch (const Json::exception &error) {
    return fail(Errc::parse, std::string("the model of offenders cannot be read: ") + error.what());
  }
  TRY(check(model));
  return model;
}

} // namespace weir::offenders
