// Every packet is counted once: by reason, verdict and family, by its list, and by its EtherType if not IP.
#include "dataplane/packet/stages.hpp"

#include <array>
#include <bit>
#include <cstdint>

namespace weir::dataplane {
namespace {

Counter &verdict_counter(WorkerCounters &counters, Reason reason, Verdict verdict,
                         FamilySlot family) noexcept {
  return counters.verdicts[static_cast<std::size_t>(reason)][static_cast<std::size_t>(verdict)]
                          [static_cast<std::size_t>(family)];
}

void count_verdicts_of_lists(const Burst &burst, WorkerCounters &counters) noexcept {
  const FamilySlot family = burst.decisions[0].family;
  const auto count = [&](Reason reason, Verdict verdict, PacketMask packets) {
    if (packets != 0)
      verdict_counter(counters, reason, verdict, family).add(static_cast<unsigned>(std::popcount(packets)));
  };
  const PacketMask common = burst.all() & ~burst.special;
  count(Reason::deny, Verdict::drop, burst.special & burst.dropped);
  count(Reason::allow, Verdict::pass, burst.special & ~burst.dropped);
  count(Reason::fallthrough, Verdict::drop, common & burst.dropped);
  count(Reason::fallthrough, Verdict::pass, common & ~burst.dropped);
}

// Additions to one place in memory wait for each other: two sets of counts halve that.
void count_verdicts(const Burst &burst, WorkerCounters &counters) noexcept {
  constexpr std::size_t verdicts = 2, places = reason_count * verdicts * family_slots;
  std::array<std::array<std::uint8_t, places>, 2> seen{};
  for (unsigned i = 0; i < burst.count; ++i) {
    const Decision &d = burst.decisions[i];
    const auto reason = static_cast<std::size_t>(d.reason), verdict = static_cast<std::size_t>(d.verdict);
    ++seen[i % 2][(reason * verdicts + verdict) * family_slots + static_cast<std::size_t>(d.family)];
    if (d.reason != Reason::non_ip) continue;
    const std::uint16_t type = burst.parsed[i].ethertype;
    counters.non_ip[type < 0x0600 ? 0 : type].add(1);
  }
  for (std::size_t place = 0; place < places; ++place)
    if (const unsigned packets = seen[0][place] + unsigned{seen[1][place]}; packets != 0)
      verdict_counter(counters, static_cast<Reason>(place / family_slots / verdicts),
                      static_cast<Verdict>(place / family_slots % verdicts),
                      static_cast<FamilySlot>(place % family_slots))
          .add(packets);
}

// Do all these packets name one list?
[[nodiscard]] bool name_one_list(const Burst &burst, PacketMask named) noexcept {
  const auto list = [&](int packet) { return burst.decisions[packet].list; };
  const ListId first = list(std::countr_zero(named));
  if (list(63 - std::countl_zero(named)) != first) return false; // so it mostly is where there are many
  unsigned others = 0;
  for (; named != 0; named &= named - 1) others += list(std::countr_zero(named)) != first;
  return others == 0;
}

// Whether a packet's list is that of the packet before is not to be guessed where there are many lists; so the
// burst as a whole is asked whether it has but one.
void count_lists(const Burst &burst, WorkerCounters &counters) noexcept {
  PacketMask named = burst.special;
  if (!burst.by_lists)
    for (PacketMask rest = named; rest != 0; rest &= rest - 1)
      if (burst.decisions[std::countr_zero(rest)].list == no_list) named ^= rest & -rest;
  if (named == 0) return;
  const auto count = [&](ListId list, std::uint64_t packets) {
    counters.lists[burst.image->slot_of_list[list]].add(packets);
    if (list == compact_list) counters[CounterId::deny_denied].add(packets);
  };
  if (name_one_list(burst, named))
    return count(burst.decisions[std::countr_zero(named)].list, static_cast<unsigned>(std::popcount(named)));
  for (; named != 0; named &= named - 1) count(burst.decisions[std::countr_zero(named)].list, 1);
}

} // namespace

void count_burst(const Burst &burst, WorkerCounters &counters) noexcept {
  if (burst.by_lists)
    count_verdicts_of_lists(burst, counters);
  else
    count_verdicts(burst, counters);
  count_lists(burst, counters);
}

} // namespace weir::dataplane
