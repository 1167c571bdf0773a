#include "tests/support/test_image.hpp"

#include "weir/base/hash.hpp"
#include "weir/build/class_map_builder.hpp"
#include "weir/image/reader.hpp"

#include <cstring>
#include <map>
#include <stdexcept>

namespace weir::test {
namespace {

struct Entries {
  std::vector<build::EntryV4> v4;
  std::vector<build::EntryV6> v6;
};

// The first list that has a prefix names it; std::map puts them in the order the builder wants.
Entries effective(const RuleSet &rules, Side side) {
  std::map<Prefix, ListId> named;
  for (std::size_t i = 0; i < rules.lists.size(); ++i)
    if (rules.lists[i].side == side)
      for (const Prefix &prefix : rules.lists[i].prefixes) named.emplace(prefix, ListId(i));
  Entries entries;
  for (const auto &[prefix, list] : named)
    if (prefix.family() == Family::ipv4)
      entries.v4.push_back({.host = prefix.address.host(), .length = prefix.length, .list = list});
    else
      entries.v6.push_back({.address = prefix.address.bytes, .length = prefix.length, .list = list});
  return entries;
}

} // namespace

TestImage::TestImage(const RuleSet &rules, const ImageOptions &options) {
  const Entries deny = effective(rules, Side::deny), allow = effective(rules, Side::allow);
  build::BuildInput input;
  input.policy = rules.policy;
  for (std::size_t i = 0; i < rules.lists.size(); ++i)
    input.lists.push_back({rules.lists[i].name, ListId(i), rules.lists[i].side});
  input.deny = {.v4 = deny.v4, .v6 = deny.v6, .front_filter = options.front_filter};
  input.allow = {.v4 = allow.v4, .v6 = allow.v6};
  input.allow_filter = {.params = options.guard, .guarded = options.guarded};
  input.offenders = options.offenders;
  std::vector<image::ListActionEntry> actions;
  for (std::size_t i = 0; i < rules.lists.size(); ++i) {
    const RuleAction action = rules.lists[i].on_match;
    if (action == RuleAction::drop) continue;
    const std::uint32_t rate = action == RuleAction::rate_limit ? rule_rate_max : 0; // no test reaches it
    actions.push_back({.list = ListId(i),
                       .action = action,
                       .per = RulePer::rule,
                       .packets = rate,
                       .burst = rate,
                       .reserved = {}});
  }
  const std::vector<std::byte> list_actions =
      options.list_actions.empty() ? image::list_actions_section(actions) : options.list_actions;
  input.list_actions = list_actions;
  input.packet_rules = options.packet_rules;
  input.flows = options.flows;
  input.identity.generation = Generation(options.generation);
  input.seed = options.seed;
  input.family = options.family;
  if (const auto *seesaw = options.guard.as<build::SeesawParams>()) {
    build::SeesawParams params = *seesaw;
    params.family = options.family;
    input.allow_filter.params = params;
  }
  if (options.family == HashFamily::jhash)
    input.deny.predictor = input.allow.predictor = build::Predictor::chained;

  build::DenyFilter stack;
  std::vector<std::byte> class_map;
  if (options.stack) {
    build::DenyFilterSizes plan = *options.stack;
    plan.family = options.family;
    auto made = build::build_deny_filter(input.deny, plan, input.seed);
    if (!made) throw std::runtime_error(made.error().message);
    stack = std::move(*made);
    input.deny_filter = stack.input(options.stack->known);
    if (options.class_map) {
      class_map = build::build_class_map(input.deny, input.seed).value();
      input.deny_filter.class_map = class_map;
    }
  }
  auto built = build::build_growing(input, [this](std::uint64_t size) -> Result<MutableBytes> {
    size_ = size;
    memory_.reset(static_cast<std::byte *>(std::aligned_alloc(64, round_up(size_, 64))));
    std::memset(memory_.get(), 0, size_);
    return bytes();
  });
  if (!built) throw std::runtime_error(built.error().message);
  report_ = *built;
  auto view = image::attach(bytes());
  if (!view) throw std::runtime_error(view.error().message);
  view_ = std::make_unique<image::ImageView>(*view);
}

std::vector<std::byte> relabelled(Bytes image, std::uint64_t generation, std::uint64_t sequence) {
  std::vector<std::byte> bytes(image.begin(), image.end());
  auto header = load_unaligned<image::ImageHeader>(bytes.data());
  header.generation = Generation(generation);
  header.sequence = sequence;
  std::memcpy(bytes.data(), &header, sizeof header);
  header.header_checksum = checksum({bytes.data(), offsetof(image::ImageHeader, header_checksum)});
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

} // namespace weir::test
