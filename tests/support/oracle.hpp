// The slow and obvious judge that everything fast must agree with.
//
// It shares no code with the packet path: it reads frames with a cursor of its own, keeps prefixes
// as strings of binary digits in a plain std::map, and tries every length from the longest down. If
// it and the dataplane disagree, one of them is wrong, and this one can be read in a minute.
#pragma once

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

namespace weir::test {

struct Judgement {
  Verdict verdict = Verdict::drop;
  Reason reason = Reason::malformed;
  std::string list; // for allow and deny

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

  [[nodiscard]] Judgement judge(std::span<const std::uint8_t> frame, PortSide side = PortSide::none) const;

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

  Policy policy_;
  PrefixMap allowed_, denied_;
};

} // namespace weir::test
