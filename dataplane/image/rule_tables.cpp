#include "dataplane/image/rule_tables.hpp"

#include "dataplane/image/classifier_bound.hpp"
#include "weir/base/say.hpp"

#include <fmt/format.h>

#include <rte_acl.h>
#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace weir::dataplane {
namespace {

using image::RulePattern;

static_assert(rules_max < RTE_ACL_MAX_PRIORITY && image::rule_ports_max < 0xFE);

template <class Key> constexpr unsigned address_words = std::is_same_v<Key, RuleKeyV6> ? 4 : 1;
template <class Key> constexpr unsigned fields = 1 + 2 * address_words<Key> + 5;

constexpr rte_acl_field_def field(std::uint8_t type, std::uint8_t size, unsigned number, unsigned word,
                                  std::size_t offset) {
  return {type, size, static_cast<std::uint8_t>(number), static_cast<std::uint8_t>(word),
          static_cast<std::uint32_t>(offset)};
}

// A word of the key each: the protocol alone, those of the addresses, both ports, VLAN with port and has_ports.
template <class Key> std::array<rte_acl_field_def, fields<Key>> definitions() {
  constexpr unsigned words = address_words<Key>, ports = 1 + 2 * words, last = ports + 1;
  std::array<rte_acl_field_def, fields<Key>> all{};
  all[0] = field(RTE_ACL_FIELD_TYPE_BITMASK, 1, 0, 0, offsetof(Key, protocol));
  for (unsigned w = 0; w < words; ++w) {
    all[1 + w] = field(RTE_ACL_FIELD_TYPE_MASK, 4, 1 + w, 1 + w, offsetof(Key, from) + 4 * w);
    all[1 + words + w] =
        field(RTE_ACL_FIELD_TYPE_MASK, 4, 1 + words + w, 1 + words + w, offsetof(Key, to) + 4 * w);
  }
  all[ports] = field(RTE_ACL_FIELD_TYPE_RANGE, 2, ports, ports, offsetof(Key, ports));
  all[ports + 1] = field(RTE_ACL_FIELD_TYPE_RANGE, 2, ports + 1, ports, offsetof(Key, ports) + 2);
  all[ports + 2] = field(RTE_ACL_FIELD_TYPE_RANGE, 2, ports + 2, last, offsetof(Key, vlan));
  all[ports + 3] = field(RTE_ACL_FIELD_TYPE_BITMASK, 1, ports + 3, last, offsetof(Key, port));
  all[ports + 4] = field(RTE_ACL_FIELD_TYPE_BITMASK, 1, ports + 4, last, offsetof(Key, has_ports));
  return all;
}

template <class Key> struct AclRule {
  rte_acl_rule_data data;
  rte_acl_field field[fields<Key>];
};

static_assert(sizeof(AclRule<RuleKeyV4>) == RTE_ACL_RULE_SZ(fields<RuleKeyV4>) &&
              sizeof(AclRule<RuleKeyV6>) == RTE_ACL_RULE_SZ(fields<RuleKeyV6>));

// A prefix as a mask for each of its words.
template <class Key>
void set_prefix(rte_acl_field *to, const std::array<std::uint8_t, 16> &bytes, unsigned length) {
  for (unsigned w = 0; w < address_words<Key>; ++w) {
    to[w].value.u32 = byteswap32(load_unaligned<std::uint32_t>(bytes.data() + 4 * w));
    to[w].mask_range.u32 = length > 32 * w ? std::min(length - 32 * w, 32u) : 0;
  }
}

template <class Key> AclRule<Key> acl_rule(const RulePattern &p, std::size_t place) {
  constexpr unsigned words = address_words<Key>, ports = 1 + 2 * words;
  AclRule<Key> rule{};
  rule.data.category_mask = 1;
  rule.data.priority = static_cast<std::int32_t>(RTE_ACL_MAX_PRIORITY - place); // the first pattern decides
  rule.data.userdata = p.rule + 1u;
  rule.field[0].value.u8 = p.protocol;
  rule.field[0].mask_range.u8 = p.names_protocol != 0 ? 0xFF : 0;
  set_prefix<Key>(rule.field + 1, p.from, p.from_length);
  set_prefix<Key>(rule.field + 1 + words, p.to, p.to_length);
  const auto range = [&rule](unsigned at, std::uint16_t first, std::uint16_t last) {
    rule.field[at].value.u16 = first;
    rule.field[at].mask_range.u16 = last;
  };
  const bool named = p.names_ports != 0;
  range(ports, named ? p.from_port_first : 0, named ? p.from_port_last : 0xFFFF);
  range(ports + 1, named ? p.to_port_first : 0, named ? p.to_port_last : 0xFFFF);
  range(ports + 2, p.vlan_first, p.vlan_last == image::vlan_max ? 0xFFFF : p.vlan_last);
  rule.field[ports + 3].value.u8 = p.port == RulePattern::any_port ? 0 : p.port;
  rule.field[ports + 3].mask_range.u8 = p.port == RulePattern::any_port ? 0 : 0xFF;
  rule.field[ports + 4].value.u8 = named ? 1 : 0;
  rule.field[ports + 4].mask_range.u8 = named ? 0xFF : 0;
  return rule;
}

// rte_acl_create() hands out the classifier that has a name already.
std::string fresh_name() {
  static std::atomic<unsigned> made{0};
  return fmt::format("weir_rules_{}", made++);
}

std::unexpected<Error> cannot_classify(std::size_t patterns, const std::string &why) {
  return fail(
      Errc::no_memory,
      fmt::format(
          "packet rules: the classifier of their {} patterns cannot be made: {}. Write fewer rules, or with "
          "fewer networks and ranges of ports that cross; exact flows of a file cost little",
          patterns, why));
}

std::uint64_t sum_of_heaps(std::uint64_t (*of)(const rte_malloc_socket_stats &)) {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < rte_socket_count(); ++i)
    if (rte_malloc_socket_stats heap{}; rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &heap) == 0)
      sum += of(heap);
  return sum;
}
std::uint64_t heap_bytes_used() {
  return sum_of_heaps(
      [](const rte_malloc_socket_stats &heap) { return std::uint64_t{heap.heap_allocsz_bytes}; });
}

// How large a classifier may become. Ordinary pages are all there from the start; of hugepages more are taken.
std::size_t bytes_allowed() {
  const std::size_t most = classifier_bytes_max;
  if (rte_eal_has_hugepages() != 0) return most;
  const auto free = sum_of_heaps(
      [](const rte_malloc_socket_stats &heap) { return std::uint64_t{heap.greatest_free_size}; });
  return std::min<std::size_t>(most, free);
}

} // namespace

std::shared_ptr<RateLimit> RateLimits::of(const image::RuleEntry &rule) {
  return known_as(fmt::format("rule {}", rule.name_text()), rule.packets, rule.burst, rule.per);
}

std::shared_ptr<RateLimit> RateLimits::of_list(std::string_view name, const image::ListActionEntry &list) {
  return known_as(fmt::format("list {}", name), list.packets, list.burst, list.per);
}

std::shared_ptr<RateLimit> RateLimits::known_as(const std::string &name, std::uint32_t packets,
                                                std::uint32_t burst, RulePer per) {
  const std::string key = fmt::format("{} {} {} {}", name, packets, burst, static_cast<unsigned>(per));
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [](const auto &known) { return known.second.expired(); });
  std::weak_ptr<RateLimit> &place = known_[key];
  if (auto known = place.lock()) return known;
  auto fresh = std::make_shared<RateLimit>(packets, burst, per);
  place = fresh;
  return fresh;
}

void RuleTables::Free::operator()(rte_acl_ctx *context) const noexcept { rte_acl_free(context); }

void RuleTables::place_ports(const image::PacketRulesView &rules, const std::vector<std::string> &ports) {
  places_.assign(ports.size(), no_place);
  for (std::size_t place = 0; place < rules.ports().size(); ++place) {
    const std::string name = rules.ports()[place].name.data();
    const auto port = std::ranges::find(ports, name);
    if (port == ports.end())
      unknown_ports_.push_back(name);
    else
      places_[static_cast<std::size_t>(port - ports.begin())] = static_cast<std::uint8_t>(place);
  }
}

// A classifier, or the code of the refusal.
struct RuleTables::Attempt {
  Classifier made;
  int code = 0;
  std::uint64_t bytes = 0; // of EAL's memory, about

  // `bytes_max` 0: in small tries, one pass. Else in the largest ones that fit, a pass for each size that does not.
  template <class Key> static Attempt at(const std::vector<AclRule<Key>> &rules, std::size_t bytes_max) {
    const auto count = static_cast<std::uint32_t>(rules.size());
    const std::string name = fresh_name();
    const rte_acl_param about{name.c_str(), SOCKET_ID_ANY, RTE_ACL_RULE_SZ(fields<Key>), count};
    Attempt attempt{.made = Classifier(rte_acl_create(&about))};
    if (!attempt.made) return {.made = {}, .code = -ENOMEM};
    rte_acl_config config{};
    config.num_categories = 1;
    config.num_fields = fields<Key>;
    config.max_size = bytes_max;
    std::ranges::copy(definitions<Key>(), config.defs);
    const std::uint64_t before = heap_bytes_used();
    attempt.code =
        rte_acl_add_rules(attempt.made.get(), reinterpret_cast<const rte_acl_rule *>(rules.data()), count);
    if (attempt.code == 0) attempt.code = rte_acl_build(attempt.made.get(), &config);
    if (const std::uint64_t after = heap_bytes_used(); after > before) attempt.bytes = after - before;
    if (attempt.code != 0) attempt.made.reset();
    return attempt;
  }
};

template <class Key>
Result<RuleTables::Classifier> RuleTables::classifier(const image::PacketRulesView &rules) const {
  constexpr Family family = std::is_same_v<Key, RuleKeyV6> ? Family::ipv6 : Family::ipv4;
  std::vector<AclRule<Key>> all;
  for (std::size_t i = 0; i < rules.patterns().size(); ++i)
    if (const RulePattern &p = rules.patterns()[i]; p.is_for(family)) all.push_back(acl_rule<Key>(p, i));
  if (all.empty()) return Classifier();

  Attempt quick = Attempt::at(all, 0);
  if (quick.made && quick.bytes <= classifier_bytes_max) return std::move(quick.made);
  quick.made.reset();
  if (all.size() > crossing_patterns_max)
    return cannot_classify(all.size(),
                           fmt::format("they cross so much that it would take minutes; at most {} such "
                                       "patterns are possible",
                                       crossing_patterns_max));
  const std::size_t allowed = bytes_allowed();
  say("weir-dataplane",
      "packet rules: networks and ranges of ports of {} patterns cross so much that their "
      "classifier takes long to make; rules in force stay meanwhile",
      all.size());
  const auto begin = std::chrono::steady_clock::now();
  Attempt slow = Attempt::at(all, allowed);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  say("weir-dataplane", "packet rules: the classifier took {:.1f} s and {}", took.count(),
      slow.made ? fmt::format("{} MiB", slow.bytes >> 20) : "cannot be made");
  if (!slow.made)
    return cannot_classify(
        all.size(), fmt::format("its tries do not fit the {} MiB that there are for it{} ({})", allowed >> 20,
                                allowed < classifier_bytes_max ? "; eal.memory_mib gives more" : "",
                                std::strerror(-slow.code)));
  return std::move(slow.made);
}

Result<std::unique_ptr<RuleTables>> RuleTables::build(const image::PacketRulesView &rules,
                                                      RuleKeeping &keeping) {
  std::unique_ptr<RuleTables> tables(new RuleTables());
  for (const image::RuleEntry &rule : rules.rules())
    tables->rules_.push_back(
        {rule.action, no_slot, rule.action == RuleAction::rate_limit ? keeping.limits.of(rule) : nullptr});
  tables->place_ports(rules, keeping.ports);
  tables->v4_ = TRY(tables->classifier<RuleKeyV4>(rules));
  tables->v6_ = TRY(tables->classifier<RuleKeyV6>(rules));
  return tables;
}

void RuleTables::classify_v4(const std::uint8_t **keys, std::uint32_t *found, unsigned count) const noexcept {
  (void)rte_acl_classify(v4_.get(), keys, found, count, 1);
}

void RuleTables::classify_v6(const std::uint8_t **keys, std::uint32_t *found, unsigned count) const noexcept {
  (void)rte_acl_classify(v6_.get(), keys, found, count, 1);
}

} // namespace weir::dataplane
