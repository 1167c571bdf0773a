// Rules on their way to becoming a generation: read from files (apply, first load, replace) or from
// the store (rollback, restart). Everything here runs on a background thread.
#pragma once

#include "control/engine/rule_set.hpp"
#include "control/offenders/model_file.hpp"
#include "control/plan/plan.hpp"
#include "control/rules/guards.hpp"
#include "control/store/store.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir::rules {
class Bundle; // bundle.hpp
}

namespace weir::control {

class Progress; // control/base/progress.hpp

struct ListDiff {
  std::string name;
  bool first_load = false; // no content before: max_change is not asked
  rules::ListChange change;
  std::filesystem::path file = {}; // what the content was read from; empty: the configuration itself
};

// A list of the live rules that these lack, or have on the other side. Its dynamic entries stay under its
// number for as long as a kept generation names it: for a rollback alone.
struct LeftList {
  std::string name;
  ListId number{};
  Side action = Side::deny; // as it was
  bool turned = false;      // the name is there, on the other side and with a new number
};

struct Candidate {
  std::shared_ptr<RuleSet> rules; // sources are made; content versions of `unwritten` are still 0
  struct Unwritten {
    std::size_t list = 0;                            // index in rules->lists
    std::shared_ptr<const rules::ListContent> notes; // its entries have moved to the list's body
  };
  std::vector<Unwritten> unwritten;
  std::vector<std::size_t> unwritten_flows; // indexes in rules->flows
  std::vector<ListDiff> diffs;
  std::vector<LeftList> left;
  std::shared_ptr<const offenders::ModelFile> offender_model; // that the configuration names; null: none
  std::vector<std::string> warnings;

  [[nodiscard]] bool is_written() const noexcept { return unwritten.empty() && unwritten_flows.empty(); }
};

// Reads all lists of a configuration, the flows of its rules and its model of offenders. Lists whose content is what `live`
// (may be null) has keep its version and memory, and lists that it has on the same side their number; others get a free
// one, which is taken when the rules become live. All faults of all files come in one error.
// The lists' files are those of `files`; without, they are opened. `progress` is told what was read.
[[nodiscard]] Result<Candidate> read_candidate(const config::Config &config, std::string config_text,
                                               const RuleSet *live, store::Store &store,
                                               const rules::Bundle *files = nullptr,
                                               Progress *progress = nullptr);

// The live rules with the content of one list taken from `file`.
[[nodiscard]] Result<Candidate> replace_candidate(const RuleSet &live, const std::string &list,
                                                  const std::filesystem::path &file, store::Store &store,
                                                  const rules::Bundle *files = nullptr,
                                                  Progress *progress = nullptr);

// What a kept generation said.
[[nodiscard]] Result<Candidate> restore_candidate(const store::GenerationRecord &record, const RuleSet *live,
                                                  store::Store &store, Progress *progress = nullptr);

// The guards over all lists (rules/guards.hpp); `live` may be null.
[[nodiscard]] Result<std::vector<std::string>> check_changes(const Candidate &candidate, const RuleSet *live,
                                                             const rules::GuardsAsked &asked);

// What the candidate's lists take while they become a generation and afterwards; `live` may be null, and
// `dynamic_bytes` is what entries take that were added by hand. `came_along`: the text of its files came with the request.
[[nodiscard]] plan::ListsMemory memory_of(const Candidate &candidate, const RuleSet *live,
                                          std::uint64_t dynamic_bytes, bool came_along);

// Enters what the candidate's lists have changed: it is in force.
void account(rules::ChangeAccount &spent, const std::vector<ListDiff> &lists, bool forced,
             std::uint64_t now_s);

// What becomes of entries that were added by hand to lists that leave: a warning each, or a refusal for a
// list that turns from deny to allow, unless forced. `entries_of` counts them.
[[nodiscard]] Result<std::vector<std::string>>
check_left(const Candidate &candidate, const std::function<std::uint64_t(ListId)> &entries_of, bool force);

// Writes the contents that the store does not have yet, all or none: the versions of `unwritten`, for
// enter_versions() on the loop, since rules may be read by others meanwhile.
[[nodiscard]] Result<std::vector<std::uint64_t>> write_contents(const Candidate &candidate,
                                                                store::Store &store);
void enter_versions(Candidate &candidate, const std::vector<std::uint64_t> &versions);

// The text of a configuration file, for read_candidate() and the generation's record.
[[nodiscard]] Result<std::string> read_text(const std::filesystem::path &file,
                                            const rules::Bundle *files = nullptr);

[[nodiscard]] std::uint64_t now_s(); // since the epoch
[[nodiscard]] std::uint64_t now_ms();

} // namespace weir::control
