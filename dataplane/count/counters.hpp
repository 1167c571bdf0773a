// What is counted, by whom, and for how long.
//
// Each worker owns one WorkerCounters and is its only writer; everybody may read. Verdict counters,
// list slots and port counters live as long as the process and so survive generations. Packets per
// generation are counted beside the image (attached_image.hpp) and collected when it is retired.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/base/number.hpp"
#include "weir/key/verdict.hpp"
#include "weir/wire/counters.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir::dataplane {

// One writer, many readers: a relaxed load and store, cheaper than a locked add.
class Counter {
public:
  void add(std::uint64_t n) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
  std::atomic<std::uint64_t> value_{0};
};

// So that a map of strings can be asked with a view.
struct NameHash {
  using is_transparent = void;
  [[nodiscard]] std::size_t operator()(std::string_view name) const noexcept {
    return std::hash<std::string_view>()(name);
  }
};

// What a packet carried, for counting.
enum class FamilySlot : std::uint8_t { ipv4 = 0, ipv6 = 1, other = 2 };
inline constexpr std::size_t family_slots = 3;
[[nodiscard]] constexpr std::string_view name_of(FamilySlot family) noexcept {
  constexpr std::array<std::string_view, family_slots> names{"ipv4", "ipv6", "other"};
  return names[static_cast<std::size_t>(family)];
}

inline constexpr std::size_t ports_max = 32;
// The place of a list's counter, the same with every worker; 0: of all lists beyond the last free one.
using CounterSlot = Number<struct CounterSlotTag, std::uint16_t>;
inline constexpr CounterSlot no_slot = 65'535; // given to no list
inline constexpr std::size_t ethertypes = 65'536;

// Those of a catalogue (wire/counters.hpp), taken by id: a constant index is an address like a member's.
template <class Id, std::size_t count> class CountersOf {
public:
  [[nodiscard]] Counter &operator[](Id id) noexcept { return all_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Counter &operator[](Id id) const noexcept { return all_[static_cast<std::size_t>(id)]; }

private:
  std::array<Counter, count> all_;
};
// Of a packet rule: matched by it, and of those passed and dropped by it. The others went on to the lists.
struct RuleCounters {
  Counter packets, passed, dropped;
};
inline constexpr std::size_t rule_slots_max = 16'384;

using CounterId = wire::CounterId;
using PortCounterId = wire::PortCounterId;
using PortCounters = CountersOf<PortCounterId, wire::port_counter_count>;

struct alignas(cache_line_bytes) WorkerCounters : CountersOf<CounterId, wire::counter_count> {
  std::array<std::array<std::array<Counter, family_slots>, 2>, reason_count>
      verdicts; // [reason][verdict][family]
  std::array<PortCounters, ports_max> ports;
  unsigned lcore = 0; // set before the worker starts
  alignas(cache_line_bytes) PerNumber<CounterSlot, Counter> lists;
  std::array<Counter, ethertypes> non_ip;         // by EtherType; an LLC length counts under 0
  std::array<RuleCounters, rule_slots_max> rules; // by slot, as lists

  void saw_packets(std::uint64_t from_cycle, std::uint64_t to_cycle) noexcept {
    Counter &first = (*this)[CounterId::first_cycle], &last = (*this)[CounterId::last_cycle];
    if (first.get() == 0) first.add(from_cycle);
    last.add(to_cycle - last.get());
  }
};

class Counters {
public:
  explicit Counters(unsigned workers);
  [[nodiscard]] unsigned workers() const noexcept { return static_cast<unsigned>(workers_.size()); }
  [[nodiscard]] WorkerCounters &worker(unsigned id) noexcept { return *workers_[id]; }
  [[nodiscard]] const WorkerCounters &worker(unsigned id) const noexcept { return *workers_[id]; }

private:
  std::vector<std::unique_ptr<WorkerCounters>> workers_;
};

// Of all workers, since the process began. What is a part is read before its whole, so that it never is the
// larger.
[[nodiscard]] wire::CounterValues sum(const Counters &counters) noexcept;
[[nodiscard]] wire::CounterValues values_of(const WorkerCounters &worker) noexcept;
[[nodiscard]] std::uint64_t list_hits(const Counters &counters, CounterSlot slot) noexcept;

// Slots of names, of lists or of packet rules. A name keeps its slot, and its count, while the process lives; only when all slots are
// taken does a new name get the slot of one that no attached image has: the one that was let go first, whose
// count goes to nobody. Asking for and letting go of a name take the time of a look into a map.
class ListSlots {
public:
  struct Name {
    std::string name;
    std::uint64_t hits_before = 0; // of other names that had this slot
  };

  // Without counters no slot gets a second name.
  explicit ListSlots(const Counters *counters = nullptr) : counters_(counters) {}
  // Of rules: no slot gets a second name either, and those beyond the last slot share slot 0.
  [[nodiscard]] static ListSlots of_rules() { return ListSlots("(other rules)", rule_slots_max); }

  // The slot of a name, for as long as it is not let go of as often; slot 0 when attached images need all.
  [[nodiscard]] CounterSlot hold(std::string_view name);
  // No worker counts there any more.
  void let_go(CounterSlot slot);

  [[nodiscard]] std::string name_of(CounterSlot slot) const;
  [[nodiscard]] std::vector<Name> names() const; // by slot; names()[0] is "(other lists)"

private:
  struct Slot {
    Name of;
    std::uint32_t holders = 0;
    std::list<CounterSlot>::iterator idle; // while nobody holds it
  };
  ListSlots(std::string others, std::size_t most) : counters_(nullptr), most_(most) {
    all_.front().of.name = std::move(others);
  }
  [[nodiscard]] CounterSlot free_slot();

  const Counters *counters_;
  std::size_t most_ = no_slot.value();
  mutable std::mutex mutex_;
  std::unordered_map<std::string, CounterSlot, NameHash, std::equal_to<>> slots_;
  std::vector<Slot> all_{Slot{{"(other lists)", 0}, 1, {}}};
  std::list<CounterSlot> idle_; // the one let go first is in front
};

} // namespace weir::dataplane
