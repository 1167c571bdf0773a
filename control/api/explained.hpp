// Why an address or a packet passes or drops, as rules say it: which entries hold the address, and what people wrote
// beside them.
#pragma once

#include "control/engine/engine.hpp"
#include "control/engine/holders.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir::control {

inline constexpr std::size_t holders_shown_max = 100;

// Entries of `list add` around an address, with times of the system clock. On the loop.
[[nodiscard]] std::vector<DynamicHolder> dynamic_holders_at(const Engine &engine, const Address &address);

// What is asked about: an address, or the beginning of a frame that enters a port.
struct Question {
  std::optional<Address> address;
  std::vector<std::uint8_t> frame;
  std::string port; // may be empty
};
// Errc::usage unless the request has one of both, and Errc::parse for what is none.
[[nodiscard]] Result<Question> question_of(const nlohmann::json &request);
// The addresses that rules may be asked about: the one, or those in the headers of the frame.
[[nodiscard]] std::vector<Address> addresses_of(const Question &question);

// Any thread, as all that follows. Adds held_by[{list, action, entry, comment?, added_at?, expires_at?, dynamic}], the one
// that decides first and at most holders_shown_max of them, and held_by_total. `candidate` (may be null): rules whose
// contents are not all in the store.
void add_holders(nlohmann::json &answer, const RuleVerdict &said, const RuleSet &rules,
                 const Candidate *candidate, const store::Store &store);

// Which entry decided, and what people wrote beside it: the first of held_by of the list that the answer names.
void add_entry(nlohmann::json &answer);

// The same with verdict, reason, list and entry: what these rules would say. not_found, or usage, for a port.
[[nodiscard]] Result<nlohmann::json> explain_by_rules(const Candidate &candidate,
                                                      const std::vector<DynamicHolder> &dynamic,
                                                      const Question &question, const store::Store &store);

} // namespace weir::control
