// Every counter of a worker, once: what it is called, what it counts, and where a report has it. Workers
// count by id; sums, differences, the JSON report, DPDK telemetry, what weir-control reads back and the table
// in docs/operating.md are loops over the two arrays below. A new counter is a row here and a line where it
// counts.
//
// Verdicts are counted by reason, verdict and family (key/verdict.hpp has those), hits by list, and packets
// that are not IP by EtherType: they are families of numbers, and not in these arrays.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::wire {

// The object of a report that a counter is a member of.
enum class CounterGroup : std::uint8_t {
  internal,     // in no report
  whole,        // the report itself
  lookups,      // questions to the tables
  allow_filter, // the filter in front of the allow tables
  deny_filter,  // the stacked filter of denied hosts
  offenders,    // the memory of offenders
  packet_rules, // rules that are asked before the lists
  list_actions, // deny lists that do not just drop
  worker,       // a row for each worker
};
// "": members of the report itself.
[[nodiscard]] constexpr std::string_view name_of(CounterGroup group) noexcept {
  constexpr std::array<std::string_view, 9> names{
      "",       "", "lookups", "allow_filter", "deny_filter", "offenders", "packet_rules", "list_actions",
      "workers"};
  return names[static_cast<std::size_t>(group)];
}

// Within a group a part stands behind the whole that it is a part of.
enum class CounterId : std::uint8_t {
  received,
  first_cycle,
  last_cycle,
  without_image,
  samples_dropped,
  probes,
  second_lines,
  allow_asked,
  allow_accepted,
  allow_false,
  allow_denied_asked,
  allow_denied_false,
  allow_table_asked,
  deny_asked,
  deny_accepted,
  deny_false,
  deny_denied,
  offender_asked,
  offender_met,
  offender_spared,
  offender_marked,
  offender_limited,
  offender_told,
  offender_over_rate,
  shadow_told,
  shadow_missed,
  shadow_others,
  shadow_accepted,
  rule_asked,
  rule_matched,
  rule_flows,
  rule_limited,
  rejects_sent,
  rejects_held,
  list_matched,
  list_limited,
  list_rejects_sent,
  list_rejects_held,
  judged,
  busy_cycles,
  idle_cycles,
  bursts,
  empty_polls,
  timed_packets,
  receive_cycles,
  parse_cycles,
  lookup_cycles,
  judge_cycles,
  send_cycles,
  count_cycles,
};
inline constexpr std::size_t counter_count = 50;

enum class PortCounterId : std::uint8_t {
  rx_packets,
  rx_bytes,
  tx_packets,
  tx_bytes,
  rx_missed,
  tx_refused,
  tx_retried,
};
inline constexpr std::size_t port_counter_count = 7;

enum class CounterUnit : std::uint8_t { packets, bytes, addresses, probes, bursts, polls, cycles, samples };
[[nodiscard]] constexpr std::string_view name_of(CounterUnit unit) noexcept {
  constexpr std::array<std::string_view, 8> names{"packets", "bytes", "addresses", "probes",
                                                  "bursts",  "polls", "cycles",    "samples"};
  return names[static_cast<std::size_t>(unit)];
}
// A counter only grows while the process lives; a mark is a moment.
enum class CounterKind : std::uint8_t { counter, mark };

struct CounterInfo {
  CounterId id;
  CounterGroup group;
  std::string_view name; // the member of the report, unique in its group
  CounterUnit unit;
  std::string_view help;
  CounterKind kind = CounterKind::counter;
};

inline constexpr std::array<CounterInfo, counter_count> counters{{
    {CounterId::received, CounterGroup::internal, "received", CounterUnit::packets,
     "taken from receive queues"},
    {CounterId::first_cycle, CounterGroup::internal, "first_cycle", CounterUnit::cycles,
     "timestamp at the first packet", CounterKind::mark},
    {CounterId::last_cycle, CounterGroup::internal, "last_cycle", CounterUnit::cycles,
     "timestamp at the latest packet", CounterKind::mark},
    {CounterId::without_image, CounterGroup::whole, "without_image", CounterUnit::packets,
     "judged while no generation was attached"},
    {CounterId::samples_dropped, CounterGroup::whole, "samples_dropped", CounterUnit::samples,
     "samples that found their ring full"},
    {CounterId::probes, CounterGroup::lookups, "probes", CounterUnit::probes,
     "keys asked of a table, one for each prefix length in use"},
    {CounterId::second_lines, CounterGroup::lookups, "second_lines", CounterUnit::probes,
     "probes that needed a second cache line of table"},
    {CounterId::allow_asked, CounterGroup::allow_filter, "asked", CounterUnit::addresses,
     "addresses that the filter of the allow lists was asked about"},
    {CounterId::allow_accepted, CounterGroup::allow_filter, "accepted", CounterUnit::addresses,
     "addresses of `asked` that it took for allowed, by one of their prefixes at least"},
    {CounterId::allow_false, CounterGroup::allow_filter, "false_accepted", CounterUnit::addresses,
     "addresses of `accepted` that no allow table has"},
    {CounterId::allow_denied_asked, CounterGroup::allow_filter, "denied_asked", CounterUnit::addresses,
     "addresses of `asked` that the deny side matched"},
    {CounterId::allow_denied_false, CounterGroup::allow_filter, "denied_false_accepted",
     CounterUnit::addresses, "addresses of `denied_asked` that are accepted and in no allow table"},
    {CounterId::allow_table_asked, CounterGroup::allow_filter, "table_asked", CounterUnit::probes,
     "probes of an allow table"},
    {CounterId::deny_asked, CounterGroup::deny_filter, "asked", CounterUnit::addresses,
     "addresses that the stacked filter of denied hosts was asked about"},
    {CounterId::deny_accepted, CounterGroup::deny_filter, "accepted", CounterUnit::addresses,
     "addresses of `asked` that it took for denied"},
    {CounterId::deny_false, CounterGroup::deny_filter, "false_accepted", CounterUnit::addresses,
     "addresses of `accepted`, in front of a table, that no table has"},
    {CounterId::deny_denied, CounterGroup::deny_filter, "denied", CounterUnit::packets,
     "dropped on its word alone (compact mode)"},
    {CounterId::offender_asked, CounterGroup::offenders, "asked", CounterUnit::packets,
     "no list decided about, so the memory of offenders was asked"},
    {CounterId::offender_met, CounterGroup::offenders, "met", CounterUnit::packets,
     "packets of `asked` that it took for an offender's"},
    {CounterId::offender_spared, CounterGroup::offenders, "spared", CounterUnit::packets,
     "packets of `asked` that it would have, had guard.never_deny not named the address"},
    {CounterId::offender_marked, CounterGroup::offenders, "marked", CounterUnit::packets,
     "packets of `met` whose source is marked by weirctl offender mark"},
    {CounterId::offender_limited, CounterGroup::offenders, "limited", CounterUnit::packets,
     "packets of `met` dropped by a rate limit"},
    {CounterId::offender_told, CounterGroup::offenders, "told", CounterUnit::packets,
     "packets whose source or headers were told to the memory"},
    {CounterId::offender_over_rate, CounterGroup::offenders, "over_rate", CounterUnit::packets,
     "packets of `told` of a source beyond its rate"},
    {CounterId::shadow_told, CounterGroup::offenders, "shadow_told", CounterUnit::packets,
     "packets of `asked`, of one key in 64, that were told within the gap"},
    {CounterId::shadow_missed, CounterGroup::offenders, "shadow_missed", CounterUnit::packets,
     "packets of `shadow_told` that the memory did not know"},
    {CounterId::shadow_others, CounterGroup::offenders, "shadow_others", CounterUnit::packets,
     "packets of `asked`, of one key in 64, that were not told"},
    {CounterId::shadow_accepted, CounterGroup::offenders, "shadow_accepted", CounterUnit::packets,
     "packets of `shadow_others` that the memory took for an offender's"},
    {CounterId::rule_asked, CounterGroup::packet_rules, "asked", CounterUnit::packets,
     "packet rules were asked, under an image that has some"},
    {CounterId::rule_matched, CounterGroup::packet_rules, "matched", CounterUnit::packets,
     "packets of `asked` that a rule matched"},
    {CounterId::rule_flows, CounterGroup::packet_rules, "flows", CounterUnit::packets,
     "packets of `matched` that are of an exact flow"},
    {CounterId::rule_limited, CounterGroup::packet_rules, "limited", CounterUnit::packets,
     "packets of `matched` dropped by a rate limit"},
    {CounterId::rejects_sent, CounterGroup::packet_rules, "rejects_sent", CounterUnit::packets,
     "TCP resets and ICMP errors sent for packets of `matched` that a rule rejected"},
    {CounterId::rejects_held, CounterGroup::packet_rules, "rejects_held", CounterUnit::packets,
     "packets of `matched` that a rule rejected and nobody was told: over the cap, or not to be answered"},
    {CounterId::list_matched, CounterGroup::list_actions, "matched", CounterUnit::packets,
     "denied by a list that does not just drop (on_match)"},
    {CounterId::list_limited, CounterGroup::list_actions, "limited", CounterUnit::packets,
     "packets of `matched` dropped by a rate limit"},
    {CounterId::list_rejects_sent, CounterGroup::list_actions, "rejects_sent", CounterUnit::packets,
     "TCP resets and ICMP errors sent for packets of `matched` that a list rejected"},
    {CounterId::list_rejects_held, CounterGroup::list_actions, "rejects_held", CounterUnit::packets,
     "packets of `matched` that a list rejected and nobody was told: over the cap, or not to be answered"},
    {CounterId::judged, CounterGroup::worker, "packets", CounterUnit::packets, "left with a verdict"},
    {CounterId::busy_cycles, CounterGroup::worker, "busy_cycles", CounterUnit::cycles,
     "of rounds that brought packets"},
    {CounterId::idle_cycles, CounterGroup::worker, "idle_cycles", CounterUnit::cycles,
     "of rounds that brought none"},
    {CounterId::bursts, CounterGroup::worker, "bursts", CounterUnit::bursts, "polls that brought packets"},
    {CounterId::empty_polls, CounterGroup::worker, "empty_polls", CounterUnit::polls,
     "polls of a receive queue that brought none"},
    {CounterId::timed_packets, CounterGroup::worker, "timed_packets", CounterUnit::packets,
     "of the polls, one of 64, whose stages were timed"},
    {CounterId::receive_cycles, CounterGroup::worker, "receive_cycles", CounterUnit::cycles,
     "of those polls: taking packets from the receive queue"},
    {CounterId::parse_cycles, CounterGroup::worker, "parse_cycles", CounterUnit::cycles,
     "of those polls: reading headers"},
    {CounterId::lookup_cycles, CounterGroup::worker, "lookup_cycles", CounterUnit::cycles,
     "of those polls: asking filters, tables and range maps"},
    {CounterId::judge_cycles, CounterGroup::worker, "judge_cycles", CounterUnit::cycles,
     "of those polls: the rest of the answers, verdicts"},
    {CounterId::send_cycles, CounterGroup::worker, "send_cycles", CounterUnit::cycles,
     "of those polls: samples, transmit queues, dropped packets back to their pool"},
    {CounterId::count_cycles, CounterGroup::worker, "count_cycles", CounterUnit::cycles,
     "of those polls: counting verdicts and lists"},
}};

// The stages of a worker, in the order of a packet's way.
inline constexpr std::array stage_counters{CounterId::receive_cycles, CounterId::parse_cycles,
                                           CounterId::lookup_cycles,  CounterId::judge_cycles,
                                           CounterId::send_cycles,    CounterId::count_cycles};

[[nodiscard]] constexpr std::string_view stage_name(CounterId id) noexcept {
  const std::string_view name = counters[static_cast<std::size_t>(id)].name;
  return name.substr(0, name.rfind('_'));
}

// Of each port; in a report a row for each.
struct PortCounterInfo {
  PortCounterId id;
  std::string_view name;
  CounterUnit unit;
  std::string_view help;
  bool by_card = false; // the card counts it, no worker does
};
inline constexpr std::array<PortCounterInfo, port_counter_count> port_counters{{
    {PortCounterId::rx_packets, "rx_packets", CounterUnit::packets, "received"},
    {PortCounterId::rx_bytes, "rx_bytes", CounterUnit::bytes, "received"},
    {PortCounterId::tx_packets, "tx_packets", CounterUnit::packets, "sent"},
    {PortCounterId::tx_bytes, "tx_bytes", CounterUnit::bytes, "sent"},
    {PortCounterId::rx_missed, "rx_missed", CounterUnit::packets,
     "lost by the card before a worker came for them", true},
    {PortCounterId::tx_refused, "tx_refused", CounterUnit::packets,
     "dropped because the queue to this port was full, or the port down, and stayed so while it was asked "
     "again"},
    {PortCounterId::tx_retried, "tx_retried", CounterUnit::packets,
     "packets of `tx_packets` that the queue took only when it was asked again"},
}};

static_assert(
    [] {
      for (std::size_t i = 0; i < counter_count; ++i) {
        if (static_cast<std::size_t>(counters[i].id) != i) return false;
        for (std::size_t j = 0; j < i; ++j)
          if (counters[i].group == counters[j].group && counters[i].name == counters[j].name) return false;
      }
      for (std::size_t i = 0; i < port_counter_count; ++i)
        if (static_cast<std::size_t>(port_counters[i].id) != i) return false;
      return true;
    }(),
    "counters stand in the order of the enumerations, and no two of a group share a name");

// One number for each row of a catalogue.
template <class Id, std::size_t count> struct ValuesOf {
  std::array<std::uint64_t, count> of{};

  [[nodiscard]] constexpr std::uint64_t &operator[](Id id) noexcept {
    return of[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] constexpr std::uint64_t operator[](Id id) const noexcept {
    return of[static_cast<std::size_t>(id)];
  }
  friend constexpr ValuesOf operator-(ValuesOf a, const ValuesOf &b) noexcept {
    for (std::size_t i = 0; i < count; ++i) a.of[i] -= b.of[i];
    return a;
  }
};
using CounterValues = ValuesOf<CounterId, counter_count>;
using PortCounterValues = ValuesOf<PortCounterId, port_counter_count>;

} // namespace weir::wire
