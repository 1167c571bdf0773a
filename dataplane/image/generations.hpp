// The life of images, as the service thread sees it: staged, in force, retired.
//
//   set_staged() -> apply(staged) ... -> commit() -> [grace] -> swap recorded, the old one retired
//
// All calls come from the service thread. Readers on other threads (telemetry, replay's report)
// take lock() for as long as they look at live(): an image is only retired under it.
#pragma once

#include "dataplane/image/attached_image.hpp"
#include "dataplane/image/background.hpp"
#include "dataplane/image/image_slot.hpp"
#include "dataplane/image/kept_images.hpp"
#include "weir/base/histogram.hpp"
#include "weir/base/result.hpp"
#include "weir/wire/messages.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace weir::dataplane {

struct Swap {
  Generation generation{};
  std::uint64_t swap_ns = 0; // publish to quiesced on every worker
};

// What judges packets from a form of its own of the live image (p4_target.hpp). Called from the service
// thread.
class ImageFollower {
public:
  virtual ~ImageFollower() = default;

  // This image is about to go into force, or is and has changed. An error says why it cannot be followed;
  // what was loaded before stays.
  [[nodiscard]] virtual Status load(const image::ImageView &view) = 0;
  // After each load() that went well: it is in force by now.
  virtual void in_force() noexcept = 0;

protected:
  ImageFollower() = default;
  ImageFollower(const ImageFollower &) = default;
  ImageFollower &operator=(const ImageFollower &) = default;
};

class Generations {
public:
  Generations(ImageSlot &slot, ListSlots &lists, Background &background, unsigned workers,
              std::filesystem::path state_dir, bool keeps_images = true,
              std::vector<int> nodes = {any_node}); // NUMA nodes of the workers, each once
  ~Generations();                                   // workers have left

  // Before anything is attached; they have to outlive what is.
  void set_rules(RuleKeeping &rules) noexcept { rules_ = &rules; }
  void set_follower(ImageFollower &follower) noexcept { follower_ = &follower; }

  [[nodiscard]] AttachContext attach_context();
  [[nodiscard]] OffenderMemories &offenders() noexcept { return offenders_; }
  [[nodiscard]] const OffenderMemories &offenders() const noexcept { return offenders_; }
  [[nodiscard]] KeptImages &kept() noexcept { return kept_; }
  [[nodiscard]] const KeptImages &kept() const noexcept { return kept_; }

  // The image of an earlier run, or the one before it, goes into force; not_found when there is none.
  [[nodiscard]] Status attach_last();

  // `saving`: what kept().prepare() made of it, to be kept once it is live.
  void set_staged(std::unique_ptr<AttachedImage> image, KeptImages::Handle saving = nullptr);
  void discard_staged();
  [[nodiscard]] AttachedImage *staged() noexcept { return staged_.get(); }
  [[nodiscard]] AttachedImage *live() noexcept { return slot_.live(); }

  struct DeltasDone {
    std::uint64_t sequence = 0;
    std::uint32_t in_overlay = 0;
    bool filter_saturated = false;
    bool stack_saturated = false;
    bool map_saturated = false;
    GraceToken token; // acknowledge when it has passed
  };
  // Applies what is new of a batch; deltas already applied are skipped.
  [[nodiscard]] Result<DeltasDone> apply(const wire::Deltas &about, std::span<const image::Delta> deltas);

  struct Learned {
    wire::Learned answer;
    GraceToken token; // answer when it has passed
  };
  // The live image's filter should not accept these addresses.
  [[nodiscard]] Result<Learned> learn(const wire::Learn &about, std::span<const wire::HostAddress> addresses);

  struct RelieveDone {
    wire::Relieved relieved;
    GraceToken token; // answer when it has passed
  };
  // No rule denies these hosts: a filter that judges is not to deny them in the live image, nor in the
  // staged.
  [[nodiscard]] Result<RelieveDone> relieve(const wire::Relieve &about,
                                            std::span<const wire::RelievedAddress> addresses);

  // Marks addresses as offenders, or forgets them, in the memory in force; at once, since no reader holds what it replaces.
  [[nodiscard]] Result<wire::Marked> mark(const wire::Mark &about,
                                          std::span<const wire::HostAddress> addresses);

  // Publishes the staged image. `done` is called with the swap once every worker has seen it.
  [[nodiscard]] Status commit(const wire::Commit &commit, std::function<void(const Swap &)> done);

  // Calls `then` once every worker has passed a quiescent state since `token`.
  void after(GraceToken token, std::function<void()> then);

  // Finishes what waited for grace periods that have passed. False when nothing waits any more.
  bool tick();

  // ---- for readers on other threads
  [[nodiscard]] std::unique_lock<std::mutex> lock() const { return std::unique_lock(mutex_); }
  // Of the one in force and of the hundred before it; both take the lock.
  [[nodiscard]] std::map<Generation, std::uint64_t> packets_by_generation() const;
  [[nodiscard]] std::uint64_t earlier_packets() const; // of all others together
  [[nodiscard]] std::vector<Swap> swaps() const;       // takes the lock
  [[nodiscard]] std::uint64_t swap_count() const;      // takes the lock
  static constexpr std::array<double, 7> swap_bounds{1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1}; // seconds
  using SwapTimes = Histogram<swap_bounds.size()>;
  [[nodiscard]] SwapTimes swap_times() const; // takes the lock

private:
  struct Waiting {
    GraceToken token;
    std::function<void()> then;
  };

  [[nodiscard]] Result<AttachedImage *> target_of(const wire::Deltas &about);
  [[nodiscard]] Status is_live(const image::StoreId &store, Generation generation, const char *what);
  void forget(const Address &address);                            // as an offender
  void wait_for_grace();                                          // in the middle of a change; spins
  [[nodiscard]] Status load_follower(const AttachedImage &image); // the follower, if there is one
  [[nodiscard]] Status reload_follower(const AttachedImage &live);
  void publish(std::unique_ptr<AttachedImage> image, std::function<void(const Swap &)> done);
  void retire(std::unique_ptr<AttachedImage> image);
  void record(const Swap &swap);

  ImageFollower *follower_ = nullptr;
  ImageSlot &slot_;
  ListSlots &lists_;
  Background &background_;
  unsigned workers_;
  std::vector<int> nodes_;
  KeptImages kept_;
  OffenderMemories offenders_;
  RuleKeeping *rules_ = nullptr;
  std::unique_ptr<AttachedImage> staged_;
  std::chrono::steady_clock::time_point displace_again_{}; // reliefs may take the places of others
  GraceToken last_change_;      // after it, slots freed by deltas to the live image may be refilled
  std::deque<Waiting> waiting_; // tokens never fall
  mutable std::mutex mutex_;
  std::deque<std::pair<Generation, std::uint64_t>> retired_packets_; // generation, packets: newest last
  std::uint64_t earlier_packets_ = 0;                                // of those that left it
  std::deque<Swap> swaps_;                                           // the last swaps_kept
  std::uint64_t swap_count_ = 0;
  SwapTimes swap_times_{swap_bounds};
};

} // namespace weir::dataplane
