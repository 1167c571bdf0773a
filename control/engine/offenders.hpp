// The memory of offenders as control sees it: samples for the training, trainings, marks, bans. The memory itself is the
// dataplane's (dataplane/sources/offender_memory.hpp).
//
//   samples   -> training set -> train (a thread) -> model -> a note of the store -> an image with it
//   a file that the configuration names           -> model, in place of what was learned before
//             -> bans: what the memory met goes on a dynamic list, where the action says so
//
// A model and the seed of the memory are kept in the store, so that the bytes of the next image are those of this one and
// the dataplane keeps what it remembers.
#pragma once

#include "control/engine/background.hpp"
#include "control/engine/entry_request.hpp"
#include "control/engine/rule_set.hpp"
#include "control/offenders/model_file.hpp"
#include "control/offenders/training_set.hpp"
#include "control/push/pusher.hpp"
#include "control/store/store.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weir::control {

class Offenders {
public:
  // What it sees of the engine, which outlives it.
  struct Around {
    push::EventLoop &loop;
    push::Pusher &pusher;
    store::Store &store;
    Background &background;
    const std::shared_ptr<const RuleSet> &live; // null: none
    std::function<std::uint64_t()> now_s;
    std::function<void(std::string why)> build_image;
    std::function<void(const std::string &list, NewEntry entry)> add;
    std::function<void(const std::string &sentence)> say;
  };
  using Trained = std::function<void(Result<std::shared_ptr<const offenders::Model>>)>;

  explicit Offenders(Around around);

  // Takes up what an earlier process kept. Errors: those of the store and of the seed.
  [[nodiscard]] Status resume();
  void look(); // is a training due? Now and then

  [[nodiscard]] static bool concerns(const wire::Sample &sample) noexcept {
    return (sample.flags &
            (wire::sample_offender_told | wire::sample_offender_other | wire::sample_offender_met)) != 0;
  }
  void take(const wire::Sample &sample);

  // What was learned, or came with a configuration; null: nothing.
  [[nodiscard]] std::shared_ptr<const offenders::Model> model() const { return model_; }
  [[nodiscard]] offenders::ModelAtHand at_hand() const { return {model_, taken_up_}; }
  // It is that of the rules in force.
  void take_up(const offenders::ModelFile &file);
  [[nodiscard]] std::uint64_t seed_for(const config::Config &config) const noexcept {
    return config.offenders ? config.offenders->seed.value_or(seed_) : seed_;
  }
  // Of the deny lists as the last image has them, for the next training.
  void note_neighbours(std::vector<std::byte> neighbours) { neighbours_ = std::move(neighbours); }

  // Now, whatever the schedule says. One at a time. Errors: refused, where nothing is to be trained or too little is known.
  void train(Trained done);
  // Errors: refused, for an address that guard.never_deny names, and without a memory; unreachable.
  void mark(std::span<const Address> addresses, bool forget, std::function<void(Result<wire::Marked>)> done);

  // For the verb: the model, the training set, bans.
  [[nodiscard]] nlohmann::json about() const;

private:
  [[nodiscard]] const config::Offenders *wanted() const;
  void trained(Result<offenders::Model> model, const Trained &done);
  void ban(const Address &address);

  Around around_;
  std::uint64_t seed_ = 0;
  std::shared_ptr<const offenders::Model> model_;
  std::string taken_up_; // digest of the file
  std::vector<std::byte> neighbours_;
  offenders::TrainingSet samples_;
  OffenderElement element_{}; // of the samples
  bool training_ = false;
  std::uint64_t tried_at_ = 0;
  std::string why_not_; // the last training was refused
  std::map<Address, std::uint64_t> banned_until_;
  std::uint64_t bans_ = 0, bans_left_out_ = 0, minute_ = 0;
  unsigned bans_this_minute_ = 0;
};

} // namespace weir::control
