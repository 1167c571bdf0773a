// A small image without faults, for targets that need one to start from.
#pragma once

#include "tests/fuzz/fuzz.hpp"
#include "weir/build/class_map_builder.hpp"
#include "weir/build/deny_filter_builder.hpp"
#include "weir/build/flow_table_builder.hpp"
#include "weir/build/image_builder.hpp"
#include "weir/build/offenders_builder.hpp"
#include "weir/build/packet_rules_builder.hpp"
#include "weir/build/seesaw_builder.hpp"
#include "weir/image/reader.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace weir::fuzz {

struct Free {
  void operator()(std::byte *p) const { std::free(p); }
};

// Exactly `bytes` long and aligned, so that the address sanitizer sees the first byte too far.
struct Buffer {
  std::unique_ptr<std::byte, Free> data;
  std::size_t bytes = 0;

  explicit Buffer(Bytes content) : bytes(content.size()) {
    void *p = nullptr;
    if (posix_memalign(&p, cache_line_bytes, std::max<std::size_t>(bytes, 1)) != 0) std::abort();
    data.reset(static_cast<std::byte *>(p));
    std::ranges::copy(content, data.get());
  }
  [[nodiscard]] MutableBytes all() const { return {data.get(), bytes}; }
};

inline constexpr std::uint32_t test_hosts[] = {0, 0x0A000001, 0x0A000002, 0xC0000201, 0xFFFFFFFF};

// Where denied IPv4 hosts stand: in tables behind a front filter, nowhere since a stacked filter judges them, or in words; with
// packet rules, flows and actions of lists beside them; or nowhere since a chained filter judges them, with a class map and a memory of offenders.
enum class Honest : std::uint8_t { front, stack, words, rules, chained };

inline std::vector<std::byte> honest_packet_rules() {
  const std::vector<image::RuleEntry> rules{build::rule_entry("telnet", RuleAction::drop),
                                            build::rule_entry("flows", RuleAction::pass)};
  std::vector<image::RulePattern> patterns{build::any_packet(0), build::any_packet(0)};
  patterns[0].names_protocol = patterns[0].names_ports = 1;
  patterns[0].protocol = 6;
  patterns[0].from_port_last = 65'535;
  patterns[0].to_port_first = patterns[0].to_port_last = 23;
  patterns[1].port = 0;
  patterns[1].family = 4;
  patterns[1].from = {10};
  patterns[1].from_length = 8;
  const std::vector<std::string> ports{"wan"};
  return build::build_packet_rules({.rules = rules, .patterns = patterns, .ports = ports}).value();
}

inline std::vector<std::byte> honest_flows() {
  std::vector<image::FlowV4> v4;
  std::vector<image::FlowV6> v6;
  for (std::uint64_t i = 0; i < 20; ++i) {
    const std::uint64_t word =
        image::flow_word::leading_to(image::flow_word::asked(static_cast<std::uint32_t>(i), 6), RuleId(1));
    v4.push_back({i * 0x01000001, word});
    v6.push_back({{i, 0, i + 1, 0}, word});
  }
  return build::build_flow_table({.v4 = v4, .v6 = v6, .seed = 3}).value();
}

inline std::vector<std::byte> honest_list_actions() {
  const std::vector<image::ListActionEntry> entries{{.list = 1,
                                                     .action = RuleAction::reject,
                                                     .per = RulePer::rule,
                                                     .packets = 0,
                                                     .burst = 0,
                                                     .reserved = {}},
                                                    {.list = 2,
                                                     .action = RuleAction::rate_limit,
                                                     .per = RulePer::source,
                                                     .packets = 100,
                                                     .burst = 200,
                                                     .reserved = {}}};
  return image::list_actions_section(entries);
}

inline std::vector<std::byte> honest_offenders() {
  static constexpr std::array<build::ScoreGroup, 1> all{{{1, 1}}};
  build::OffendersInput in;
  in.targets = {.accepted = 0.05, .missed = 0.1, .gap = 200};
  in.plan = build::plan_rotating_offenders({}, all, in.targets).value();
  in.seed = 5;
  return build::build_offenders(in).value();
}

inline Buffer make_honest_image(Honest kind) {
  const bool stack = kind == Honest::stack, chained = kind == Honest::chained;
  std::vector<build::EntryV4> v4;
  for (const std::uint32_t host : test_hosts) v4.push_back({.host = host, .length = 32, .list = 1});
  v4.push_back({.host = 0x0A000000, .length = 8, .list = 1});
  v4.push_back({.host = 0x0A000000, .length = 24, .list = 2});
  for (std::uint32_t i = 0; i < 64; ++i)
    v4.push_back({.host = 0x51000000 + i * 7919, .length = 32, .list = 2});
  std::ranges::sort(v4);
  std::vector<build::EntryV6> v6;
  for (std::uint8_t i = 0; i < 40; ++i) {
    build::EntryV6 entry{.address = {0x20, 0x01, 0x0D, 0xB8, i}, .length = 64, .list = 1};
    v6.push_back(entry);
  }
  const std::vector<build::EntryV4> allowed{{.host = 0x0A000007, .length = 32, .list = 0}};
  build::BuildInput input;
  input.lists = {{.name = "ops", .number = 0, .side = Side::allow},
                 {.name = "drop", .number = 1, .side = Side::deny},
                 {.name = "bans", .number = 2, .side = Side::deny}};
  input.deny = {.v4 = v4, .v6 = v6, .front_filter = kind == Honest::front};
  if (kind == Honest::words) input.deny.hosts_v4 = build::HostHome::words;
  input.allow = {.v4 = allowed, .v6 = {}, .predictor = build::Predictor::chained};
  const std::vector<build::VulnerableKey> guarded{{{Address::from_host(0x0A000001), 32}, 1},
                                                  {{Address::from_host(0x0A000002), 32}, 1}};
  input.allow_filter = {.params =
                            build::SeesawParams{.planned_keys = 8, .cell_words = 16, .modulator_words = 8},
                        .guarded = guarded};
  const std::vector<std::byte> packet_rules = honest_packet_rules(), flows = honest_flows(),
                               list_actions = honest_list_actions();
  if (kind == Honest::rules) {
    input.packet_rules = packet_rules;
    input.flows = flows;
    input.list_actions = list_actions;
  }
  input.identity.generation = 7;
  input.seed = 11;
  const std::vector<Address> known{Address::from_host(0x0A000005), Address::from_host(0x0A000006)};
  const std::vector<Prefix> spared{{Address::from_host(0x0A000100), 24}};
  build::DenyFilterSizes plan;
  plan.role = image::DenyFilterRole::judge;
  plan.fuse_below = true;
  plan.layers = {{.keys = 1, .bits = 6}, {.digits = 4}, {.keys = 1, .bits = 6}};
  plan.known = known;
  plan.spared = spared;
  if (chained) {
    plan.base = filter::FilterKind::chained_and_shared;
    plan.fuse_below = false;
    plan.layers = {{.digits = 6}, {.digits = 1}};
  }
  build::DenyFilter section;
  std::vector<std::byte> class_map, offenders;
  if (stack || chained) {
    auto made = build::build_deny_filter(input.deny, plan, input.seed);
    require(made.has_value(), "the honest stack is built");
    section = std::move(*made);
    input.deny_filter = section.input();
  }
  if (chained) {
    class_map = build::build_class_map(input.deny, input.seed).value();
    offenders = honest_offenders();
    input.deny_filter.class_map = class_map;
    input.offenders = offenders;
  }
  Buffer bytes(std::vector<std::byte>(build::image_bytes(input)));
  require(build::build_image(input, bytes.all()).has_value(), "the honest image is built");
  require(image::attach(bytes.all()).has_value(), "the honest image is accepted");
  return bytes;
}
inline const Buffer &honest_image(Honest kind = Honest::front) {
  static const Buffer images[] = {make_honest_image(Honest::front), make_honest_image(Honest::stack),
                                  make_honest_image(Honest::words), make_honest_image(Honest::rules),
                                  make_honest_image(Honest::chained)};
  return images[static_cast<std::size_t>(kind)];
}

} // namespace weir::fuzz
