// Every packet is counted once: by reason, verdict and family, by its list, and by its EtherType if not IP.
#include "dataplane/packet/stages.hpp"

#include <bit>
#include <cstdint>

namespace weir::dataplane {
namespace {

void count_many(const Burst &burst, const Decision &d, std::uint64_t packets,
                WorkerCounters &counters) noexcept {
  counters
      .verdicts[static_cast<std::size_t>(d.reason)][static_cast<std::size_t>(d.verdict)]
               [static_cast<std::size_t>(d.family)]
      .add(packets);
  if (d.list == compact_list) counters[CounterId::deny_denied].add(packets);
  if (d.list != no_list) counters.lists[burst.image->slot_of_list[d.list]].add(packets);
}

} // namespace

// Additions to one place in memory wait for each other: what is alike is counted in a register, one
// addition for IPv4 that no list named, one for each run of special packets decided alike.
void count_burst(const Burst &burst, WorkerCounters &counters) noexcept {
  const PacketMask common = burst.all() & ~burst.special;
  for (const Verdict verdict : {Verdict::pass, Verdict::drop}) {
    const PacketMask alike = common & (verdict == Verdict::drop ? burst.dropped : ~burst.dropped);
    if (alike != 0)
      count_many(burst, {verdict, Reason::fallthrough, FamilySlot::ipv4},
                 static_cast<unsigned>(std::popcount(alike)), counters);
  }
  Decision last;
  unsigned run = 0;
  for (PacketMask rest = burst.special; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<unsigned>(std::countr_zero(rest));
    const Decision &d = burst.decisions[i];
    if (d != last) {
      if (run != 0) count_many(burst, last, run, counters);
      last = d;
      run = 0;
    }
    ++run;
    if (d.reason == Reason::non_ip) {
      const std::uint16_t type = burst.parsed[i].ethertype;
      counters.non_ip[type < 0x0600 ? 0 : type].add(1);
    }
  }
  if (run != 0) count_many(burst, last, run, counters);
}

} // namespace weir::dataplane
