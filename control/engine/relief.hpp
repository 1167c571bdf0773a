// Sources that a judge (compact mode) denies in error, and how they are let through.
//
// What a judge denied is held against the rules as soon as a sample names it. Whoever sends packets decides
// how many samples come, and others wait for the loop: a batch at a time is looked up on a thread of its own,
// in the files of the rules, which never change; what no file denies is then held against the entries of
// `list add`, which belong to the loop, a few at a time. Files that came into force in between are asked
// again.
//
// A source that no rule denies is told to the dataplane, which lets it through from then on, and it is known
// to the next image. A place for it is taken at second sight: spoofed sources come once.
//
// A host that is added to a judge sets bits of its odd layers, and known negatives that only the old bits
// kept out of layer 1 are in no layer that would save them (build/stacked_drift.hpp). So they are asked again
// after additions, and those that it has come to deny are let through: next to nothing of memory, where every
// addition in the overlay would take a slot each and fill it at one host in 128.
#pragma once

#include "control/engine/background.hpp"
#include "control/engine/rule_set.hpp"
#include "control/engine/sample_queue.hpp"
#include "control/push/pusher.hpp"
#include "control/store/store.hpp"
#include "control/watch/deny_filter_watch.hpp"
#include "control/workload/busy_networks.hpp"
#include "control/workload/second_sight.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weir::control {

class Relief {
public:
  // What it sees of the engine, which outlives it.
  struct Around {
    push::EventLoop &loop;
    push::Pusher &pusher;
    const store::Store &store;
    const std::shared_ptr<const RuleSet> &live, &staged; // null: none
    const store::GenerationRecord &record;               // of the live generation
    const DynamicEntries &dynamic;
    watch::DenyFilterWatch &watch;
  };
  explicit Relief(const Around &around) : around_(around), checker_(around.loop, 1) {}

  void take(std::span<const wire::Sample> samples);
  // The judge's known negatives, when entries have come since they were asked.
  void ask_known_again();

  [[nodiscard]] std::uint64_t relieved() const noexcept { return relieved_; } // sources, so far
  // Packets that the judge denied in error, as samples tell, by the list whose name the class map gave them; of the
  // dataplane that runs now.
  [[nodiscard]] std::map<ListId, double> denied_in_error() const;
  // In the last minute or two: samples that were not held against the rules, sources denied in error without
  // a place in the overlay, and where they came from.
  [[nodiscard]] workload::BusyNetworks &left_out() noexcept { return left_out_; }
  [[nodiscard]] workload::BusyNetworks &no_place() noexcept { return no_place_; }

private:
  struct CheckedSamples;
  struct KnownSources {
    std::pair<Generation, std::uint64_t> at; // generation and sequence
    std::vector<Address> sources;
  };
  [[nodiscard]] bool is_denied(const Address &address) const;
  void check();
  void take_checked(const std::shared_ptr<CheckedSamples> &batch);
  [[nodiscard]] bool take_verdict(const CheckedAddress &one);
  void count_in_error(const SampleToCheck &sample);
  void relieve(const std::vector<Address> &addresses);
  void ask_known_from(std::shared_ptr<const KnownSources> known, std::size_t from);
  void note_no_place(std::span<const wire::RelievedAddress> told, std::uint64_t count);
  void tell_to_let_through(std::span<const wire::RelievedAddress> told,
                           std::function<void(std::optional<std::uint64_t>)> done);

  Around around_;
  SampleQueue waiting_;
  bool checking_ = false, asking_known_ = false;
  workload::SecondSight<Address> wrong_once_{32'768};
  workload::BusyNetworks left_out_, no_place_;
  std::map<ListId, double> in_error_;
  std::pair<std::uint32_t, std::uint32_t> in_error_of_{}; // the run of the dataplane that counts them
  std::map<Address, push::Clock::time_point> relieved_at_;
  std::uint64_t relieved_ = 0;
  std::pair<Generation, std::uint64_t> known_asked_at_{}; // generation and sequence
  Background checker_; // last, so that its thread has ended before anything else goes
};

} // namespace weir::control
