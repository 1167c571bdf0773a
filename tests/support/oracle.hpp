// The slow and obvious judge that everything fast must agree with.
//
// It shares no code with the packet path: it reads frames with a cursor of its own, keeps prefixes
// as strings of binary digits in a plain std::map, and tries every length from the longest down. If
// it and the dataplane disagree, one of them is wrong, and this one can be read in a minute.
#pragma once

#include "weir/config/packet_rules.hpp"
#include "weir/key/address.hpp"
#include "weir/key/policy.hpp"
#include "weir/key/verdict.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::test {

struct Judgement {
  Verdict verdict = Verdict::drop;
  Reason reason = Reason::malformed;
  std::string list; // for allow and deny; for rule the name of the rule

  friend bool operator==(const Judgement &, const Judgement &) = default;
};
[[nodiscard]] std::string to_string(const Judgement &judgement);

class Oracle {
public:
  explicit Oracle(Policy policy = {}) : policy_(policy) {}

  // A prefix that is there already keeps the list that named it first.
  void allow(const Prefix &prefix, const std::string &list) { allowed_.add(prefix, list); }
  void deny(const Prefix &prefix, const std::string &list) { denied_.add(prefix, list); }
  void allow(std::string_view prefix, const std::string &list);
  void deny(std::string_view prefix, const std::string &list);

  // A deny list that decides nothing: it counts, or has a rate limit, which is never reached.
  void lets_go_on(const std::string &list) { going_on_.insert(list); }

  // Packet rules, in the order in which they are asked. A flow is written as "6 192.0.2.1 443 198.51.100.7 51000", ports 0
  // where the protocol has none. A rate limit is one that is never reached.
  void add_rule(const config::PacketRule &rule) { rules_.push_back(rule); }
  void add_flow(const std::string &flow, const std::string &rule) { flows_.emplace(flow, rule); }

  // `port`: the name of the one that the frame enters.
  [[nodiscard]] Judgement judge(std::span<const std::uint8_t> frame, PortSide side = PortSide::none,
                                const std::string &port = {}) const;
  // The rule that a frame matches, if it is one that rules are asked about and one matches.
  [[nodiscard]] std::optional<std::string> matched_rule(std::span<const std::uint8_t> frame,
                                                        const std::string &port = {}) const;

  // The list that names the longest matching prefix; what the tables are asked.
  [[nodiscard]] std::optional<std::string> denied_by(const Address &address) const {
    return denied_.find(address);
  }
  [[nodiscard]] std::optional<std::string> allowed_by(const Address &address) const {
    return allowed_.find(address);
  }

  [[nodiscard]] const Policy &policy() const noexcept { return policy_; }
  void set_policy(const Policy &policy) noexcept { policy_ = policy; }

private:
  class PrefixMap {
  public:
    void add(const Prefix &prefix, const std::string &list);
    [[nodiscard]] std::optional<std::string> find(const Address &address) const;

  private:
    std::map<std::string, std::string> by_digits_; // "4:00001010" -> list
    std::set<std::size_t> sizes_;                  // of the keys in use
  };

  [[nodiscard]] Judgement judge_addresses(const Address &source, const Address &destination,
                                          PortSide side) const;
  [[nodiscard]] Judgement judge_address(const Address &address) const;
  [[nodiscard]] static Judgement worse(const Judgement &first, const Judgement &second);

  [[nodiscard]] const config::PacketRule *rule_of(std::span<const std::uint8_t> frame,
                                                  const std::string &port) const;
  [[nodiscard]] Judgement judge_by_lists(std::span<const std::uint8_t> frame, PortSide side) const;

  Policy policy_;
  std::vector<config::PacketRule> rules_;
  std::map<std::string, std::string> flows_;
  PrefixMap allowed_, denied_;
  std::set<std::string> going_on_;
};

} // namespace weir::test
