// Every packet is counted once: by reason, verdict and family, by its list, and by its EtherType if not IP.
#include "dataplane/packet/stages.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace weir::dataplane {
namespace {

Counter &verdict_counter(WorkerCounters &counters, Reason reason, Verdict verdict,
                         FamilySlot family) noexcept {
  return counters.verdicts[static_cast<std::size_t>(reason)][static_cast<std::size_t>(verdict)]
                          [static_cast<std::size_t>(family)];
}

void count_verdicts_of_lists(const Burst &burst, WorkerCounters &counters) noexcept {
  const FamilySlot family = burst.otherwise.family;
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

using FourValues [[gnu::vector_size(16)]] = std::uint32_t;
static_assert(burst_packets_max % 4 == 0);

// Do all denied packets name one list, of a burst that allows none? Values that name none pass; what stands
// behind the last packet may only make it false.
[[nodiscard]] bool deny_by_one_list(const Burst &burst, std::uint32_t first) noexcept {
  FourValues others{};
  for (unsigned i = 0; i < burst.count; i += 4) {
    FourValues values;
    std::memcpy(&values, burst.denials + i, sizeof values);
    const FourValues lists = values & table::value::list_mask;
    others |= (lists ^ first) & (lists != 0);
  }
  return (others[0] | others[1] | others[2] | others[3]) == 0;
}

// Whether a packet's list is that of the packet before is not to be guessed where there are many lists; so the
// burst as a whole is asked whether it has but one.
void count_lists(const Burst &burst, WorkerCounters &counters) noexcept {
  PacketMask named = burst.special;
  if (named == 0) return;
  if (burst.by_judge != 0)
    counters[CounterId::deny_denied].add(static_cast<unsigned>(std::popcount(burst.by_judge)));
  const auto count = [&](ListId list, std::uint64_t packets) {
    counters.lists[burst.image->slot_of_list[list]].add(packets);
  };
  const auto list_of = [&](int packet) { return burst.decision(static_cast<unsigned>(packet)).list; };
  if (burst.denials != nullptr && (named & ~burst.dropped) == 0) {
    const ListId first = list_of(std::countr_zero(named));
    if (list_of(63 - std::countl_zero(named)) == first && // where there are many lists it mostly is another
        deny_by_one_list(burst, burst.denials[std::countr_zero(named)] & table::value::list_mask))
      return count(first, static_cast<unsigned>(std::popcount(named)));
  }
  for (; named != 0; named &= named - 1)
    if (const ListId list = list_of(std::countr_zero(named)); list != no_list) count(list, 1);
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
