// What is counted, by whom, and for how long.
//
// Each worker owns one WorkerCounters and is its only writer; everybody may read. Verdict counters,
// list slots and port counters live as long as the process and so survive generations. Packets per
// generation are counted beside the image (attached_image.hpp) and collected when it is retired.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/key/verdict.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
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

// What a packet carried, for counting.
enum class FamilySlot : std::uint8_t { ipv4 = 0, ipv6 = 1, other = 2 };
inline constexpr std::size_t family_slots = 3;
[[nodiscard]] constexpr std::string_view name_of(FamilySlot family) noexcept {
  constexpr std::array<std::string_view, family_slots> names{"ipv4", "ipv6", "other"};
  return names[static_cast<std::size_t>(family)];
}

inline constexpr std::size_t ports_max = 32;
inline constexpr std::size_t list_slots = 65'536; // slot 0: lists beyond the last free slot
inline constexpr std::size_t ethertypes = 65'536;

struct PortCounters {
  Counter rx_packets, rx_bytes, tx_packets, tx_bytes, tx_refused;
};

struct alignas(cache_line_bytes) WorkerCounters {
  std::array<std::array<std::array<Counter, family_slots>, 2>, reason_count>
      verdicts; // [reason][verdict][family]
  std::array<PortCounters, ports_max> ports;
  Counter received; // packets taken from rx queues
  Counter judged;   // packets that left with a verdict
  Counter bursts;   // polls that brought packets
  Counter busy_cycles, idle_cycles;
  Counter first_cycle, last_cycle; // timestamp counter at the first and the latest packet
  Counter samples_dropped;
  Counter without_image; // packets judged under no generation
  Counter probes;        // keys asked of a table
  Counter second_lines;  // of them, how many needed a second line
  // The filter in front of the allow tables. An address is accepted when one of its prefixes is; under
  // `on_conflict` only addresses that the deny side matched are asked about, and all of one burst in 64.
  Counter guard_asked;        // addresses the filter was asked about
  Counter guard_accepted;     // of them, those it took for allowed
  Counter guard_false;        // of these, those that no allow table has
  Counter guard_denied_asked; // as guard_asked, of addresses that the deny side matched
  Counter guard_denied_false; // as guard_false, of these
  Counter allow_table_asked;  // probes of an allow table, one a prefix length in use
  // The stacked filter of denied hosts.
  Counter stack_asked;    // addresses the filter was asked about
  Counter stack_accepted; // of them, those it took for denied
  Counter stack_false;    // of these, in front of a table, those that no table has
  Counter stack_denied;   // packets that were dropped on its word alone
  unsigned lcore = 0;     // set before the worker starts
  alignas(cache_line_bytes) std::array<Counter, list_slots> lists;
  std::array<Counter, ethertypes> non_ip; // by EtherType; an LLC length counts under 0

  void saw_packets(std::uint64_t from_cycle, std::uint64_t to_cycle) noexcept {
    if (first_cycle.get() == 0) first_cycle.add(from_cycle);
    last_cycle.add(to_cycle - last_cycle.get());
  }
};

// Slots of list names: given once, never reused while the process lives.
class ListSlots {
public:
  // The slot of a name, a new one if it has none yet; slot 0 when all are taken.
  [[nodiscard]] std::uint16_t slot_of(std::string_view name);
  [[nodiscard]] std::string name_of(std::uint16_t slot) const;
  [[nodiscard]] std::vector<std::string> names() const; // by slot; names()[0] is "(other lists)"

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint16_t, std::less<>> slots_;
  std::vector<std::string> names_{"(other lists)"};
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

} // namespace weir::dataplane
