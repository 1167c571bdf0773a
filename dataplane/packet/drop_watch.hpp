// A look at packets that are dropped, for as long as somebody asks for them (`weirctl drops -f`). Their beginnings are
// copied, the packets go their way.
//
//   worker    copies a dropped packet into its ring: twenty thousand a second at most, spread evenly; counts what
//             it leaves out, or has no room for
//   service   takes them out, numbers them, keeps the newest few thousand
//   asker     names the number from which on it wants them; each question keeps the watch open for some seconds
//
// While nobody asks, a burst costs one look at a flag.
#pragma once

#include "dataplane/packet/burst.hpp"
#include "weir/base/result.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

struct rte_ring;

namespace weir::dataplane {

struct DropRecord {
  std::uint64_t number = 0; // from 1, given by the service thread
  std::uint64_t at_ns = 0;  // since the epoch; from the worker in cycles of the TSC
  std::uint64_t generation = 0;
  std::uint32_t wire_bytes = 0;
  std::uint32_t left_out = 0; // dropped by the same worker since the record before, and not copied
  std::uint16_t captured = 0; // of bytes
  std::uint16_t port = 0;     // index
  std::uint16_t queue = 0;
  CounterSlot list = no_slot; // of reason deny; of reason rule that of the rule
  Reason reason = Reason::deny;
  FamilySlot family = FamilySlot::other; // of `address`; other: no address was judged
  std::array<std::uint8_t, 6> reserved{};
  std::array<std::uint8_t, 16> address{}; // the one that was denied, or judged first
  std::array<std::uint8_t, 184> bytes{};  // of the frame
};
static_assert(sizeof(DropRecord) == 248);

// The worker's end.
class DropDesk {
public:
  DropDesk() = default;
  // `by_stages`: they judge, and not the P4 program.
  DropDesk(rte_ring *ring, const std::atomic<std::uint32_t> *opening, bool by_stages) noexcept;
  // A burst that has been judged and not been sent.
  void look(const Burst &burst) noexcept {
    if (opening_ == nullptr || burst.dropped == 0) return;
    if (const std::uint32_t opening = opening_->load(std::memory_order_relaxed); opening != 0) [[unlikely]]
      take(burst, opening);
  }

private:
  void take(const Burst &burst, std::uint32_t opening) noexcept;
  [[nodiscard]] bool has_room(std::uint64_t now) noexcept;

  rte_ring *ring_ = nullptr;
  const std::atomic<std::uint32_t> *opening_ = nullptr;
  std::uint64_t cycles_each_ = 0; // between two records, on average
  std::uint64_t next_ = 0;        // when one is due by that
  std::uint32_t left_out_ = 0;
  std::uint32_t seen_opening_ = 0;
  bool by_stages_ = true;
};

// The service thread's end.
class DropWatch {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kept_max = 8192;
  static constexpr std::chrono::seconds open_for{5};

  [[nodiscard]] static Result<std::unique_ptr<DropWatch>> create(unsigned workers);
  DropWatch(const DropWatch &) = delete;
  DropWatch &operator=(const DropWatch &) = delete;
  ~DropWatch() = default;

  [[nodiscard]] DropDesk desk(unsigned worker, bool by_stages) const noexcept {
    return {rings_[worker].get(), &opening_, by_stages};
  }

  // Takes in what workers have copied, and closes when nobody has asked for a while.
  void turn(Clock::time_point now = Clock::now());

  struct Seen {
    std::vector<const DropRecord *> records; // valid until the next turn()
    std::uint64_t next = 0;                  // ask from here on
    std::uint64_t overwritten = 0;           // wanted, and not kept any more
  };
  // Records from this number on, `most` of them; 0: from now on, which gives none yet.
  [[nodiscard]] Seen ask(std::uint64_t from, std::size_t most, Clock::time_point now = Clock::now());

private:
  struct Free {
    void operator()(rte_ring *ring) const noexcept;
  };
  DropWatch() = default;
  void open();

  std::vector<std::unique_ptr<rte_ring, Free>> rings_;
  std::atomic<std::uint32_t> opening_{0}; // number of the one under way; 0: closed
  std::uint32_t openings_ = 0;
  Clock::time_point closes_at_;
  std::deque<DropRecord> kept_;
  std::uint64_t next_ = 1; // number of the next record
};

} // namespace weir::dataplane
