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

// from_cbor() calls itself for what is nested, also for strings of unknown length: whoever wrote the text would choose how deep.
// True: no deeper than encode() writes, all lengths are said, and nothing is cut.
bool is_flat_cbor(std::string_view text) {
  constexpr std::size_t depth_most = 4;
  std::vector<std::uint64_t> left{1}; // items that are still to come, of each level
  std::size_t at = 0;
  while (!left.empty()) {
    if (left.back() == 0) {
      left.pop_back();
      continue;
    }
    --left.back();
    if (at == text.size()) return false;
    const auto head = static_cast<unsigned char>(text[at++]);
    const unsigned kind = head >> 5, size = head & 31;
    if (size > 27) return false; // a length that is not said, or no CBOR
    std::uint64_t value = size;
    if (size >= 24) {
      value = 0;
      for (std::size_t bytes = std::size_t{1} << (size - 24); bytes > 0; --bytes) {
        if (at == text.size()) return false;
        value = value << 8 | static_cast<unsigned char>(text[at++]);
      }
    }
    switch (kind) {
    case 2: // bytes
    case 3: // text
      if (value > text.size() - at) return false;
      at += value;
      break;
    case 4: // array
    case 5: // map
      if (left.size() > depth_most || value > text.size()) return false;
      left.push_back(kind == 5 ? 2 * value : value);
      break;
    case 6: return false; // tag
    default: break;       // a number, or true, false and null
    }
  }
  return at == text.size();
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
  constexpr double all = 1 + 1e-9; // sums of rounded parts
  for (const build::ScoreGroup &group : model.groups)
    if (!(group.told >= 0 && group.told <= all && group.other >= 0 && group.other <= all))
      return bad("shares of groups do not lie between 0 and 1");
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
  if (!is_flat_cbor(text)) return fail(Errc::parse, "the model of offenders is cut, or no such thing");
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
