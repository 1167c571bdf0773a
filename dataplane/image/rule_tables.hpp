// The packet rules of an image as workers ask them: a classifier of DPDK (rte_acl) for each family, made from the patterns of
// section packet_rules when the image is attached, and beside each rule its counter and its rate limit.
//
// Most rules have their classifier within a second or two, in one pass and in small tries. Where networks on both sides and ranges
// of both ports cross each other that cannot be done, and larger tries are tried, which takes minutes at most.
//
// A key is what a pattern can ask for, in network order. Patterns without ports leave `has_ports` open; those of a port that
// this dataplane has not match nothing.
#pragma once

#include "dataplane/count/counters.hpp"
#include "dataplane/sources/rate_limit.hpp"
#include "weir/base/result.hpp"
#include "weir/image/list_actions.hpp"
#include "weir/image/packet_rules.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct rte_acl_ctx;

namespace weir::dataplane {

struct RuleKeyV4 {
  std::uint8_t protocol;
  std::array<std::uint8_t, 3> reserved;
  std::uint32_t from, to;
  std::uint32_t ports; // source, then destination
  std::uint16_t vlan;
  std::uint8_t port, has_ports;
};
struct RuleKeyV6 {
  std::uint8_t protocol;
  std::array<std::uint8_t, 3> reserved;
  std::array<std::uint32_t, 4> from, to;
  std::uint32_t ports;
  std::uint16_t vlan;
  std::uint8_t port, has_ports;
};
static_assert(sizeof(RuleKeyV4) == 20 && sizeof(RuleKeyV6) == 44);

// Rate limits by rule or list, so that one goes on under the next image if it has the same there. Called from any thread.
class RateLimits {
public:
  [[nodiscard]] std::shared_ptr<RateLimit> of(const image::RuleEntry &rule);
  [[nodiscard]] std::shared_ptr<RateLimit> of_list(std::string_view name, const image::ListActionEntry &list);

private:
  [[nodiscard]] std::shared_ptr<RateLimit> known_as(const std::string &name, std::uint32_t packets,
                                                    std::uint32_t burst, RulePer per);

  std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<RateLimit>> known_;
};

// What outlives images.
struct RuleKeeping {
  ListSlots slots = ListSlots::of_rules();
  RateLimits limits;
  std::vector<std::string> ports; // of the dataplane, by index
};

class RuleTables {
public:
  struct Rule {
    RuleAction action{};
    CounterSlot slot = no_slot;
    std::shared_ptr<RateLimit> limit; // of rate_limit
  };

  // Errors: no_memory where the classifier of these rules would be larger than it may, and what to do. Logs when it takes long.
  [[nodiscard]] static Result<std::unique_ptr<RuleTables>> build(const image::PacketRulesView &rules,
                                                                 RuleKeeping &keeping);

  [[nodiscard]] Rule &rule(RuleId id) noexcept { return rules_[id.value()]; }
  [[nodiscard]] const Rule &rule(RuleId id) const noexcept { return rules_[id.value()]; }
  [[nodiscard]] std::size_t size() const noexcept { return rules_.size(); }
  // What a key says of the port that a packet enters.
  [[nodiscard]] std::uint8_t place_of_port(unsigned port_index) const noexcept {
    return port_index < places_.size() ? places_[port_index] : no_place;
  }

  [[nodiscard]] bool has_v4() const noexcept { return v4_ != nullptr; }
  [[nodiscard]] bool has_v6() const noexcept { return v6_ != nullptr; }
  // `keys` point at such keys; `found` is the number of the rule that the first matching pattern belongs to plus one, or 0.
  void classify_v4(const std::uint8_t **keys, std::uint32_t *found, unsigned count) const noexcept;
  void classify_v6(const std::uint8_t **keys, std::uint32_t *found, unsigned count) const noexcept;

  // Names of ports that rules ask for and this dataplane has not, each once.
  [[nodiscard]] const std::vector<std::string> &unknown_ports() const noexcept { return unknown_ports_; }

private:
  struct Free {
    void operator()(rte_acl_ctx *context) const noexcept;
  };
  using Classifier = std::unique_ptr<rte_acl_ctx, Free>;
  struct Attempt;
  static constexpr std::uint8_t no_place = 0xFE; // that no pattern asks for

  RuleTables() = default;
  void place_ports(const image::PacketRulesView &rules, const std::vector<std::string> &ports);
  template <class Key> [[nodiscard]] Result<Classifier> classifier(const image::PacketRulesView &rules) const;

  std::vector<Rule> rules_;
  std::vector<std::uint8_t> places_; // by port
  std::vector<std::string> unknown_ports_;
  Classifier v4_, v6_; // null: no pattern of that family
};

} // namespace weir::dataplane
