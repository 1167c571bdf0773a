// Every packet is counted once: by reason, verdict and family, by its list, and by its EtherType if not IP.
#include "dataplane/packet/stages.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <xmmintrin.h>

namespace weir::dataplane {
namespace {

Counter &verdict_counter(WorkerCounters &counters, Reason reason, Verdict verdict,
                         FamilySlot family) noexcept {
  return counters.verdicts[static_cast<std::size_t>(reason)][static_cast<std::size_t>(verdict)]
                          [static_cast<std::size_t>(family)];
}

void count_verdicts_of_lists(const Burst &burst, WorkerCounters &counters) noexcept {
  const auto count_of = [&](Reason reason, Verdict verdict, FamilySlot family, PacketMask packets) {
    if (packets != 0)
      verdict_counter(counters, reason, verdict, family).add(static_cast<unsigned>(std::popcount(packets)));
  };
  const auto count = [&](Reason reason, Verdict verdict, PacketMask packets) {
    count_of(reason, verdict, FamilySlot::ipv4, packets & ~burst.v6);
    if (burst.v6 != 0) count_of(reason, verdict, FamilySlot::ipv6, packets & burst.v6);
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
constexpr int packets_to_compare = 8; // fewer are counted one by one

// Bit i: value i names the list. Of the whole array, whatever stands behind the last packet.
[[nodiscard]] PacketMask naming(const std::uint32_t *values, ListId list) noexcept {
  const std::uint32_t wanted = list.value() + 1u;
  PacketMask found = 0;
  for (unsigned i = 0; i < burst_packets_max; i += 4) {
    FourValues four;
    std::memcpy(&four, values + i, sizeof four);
    const auto same = (four & table::value::list_mask) == wanted;
    found |= PacketMask{static_cast<unsigned>(_mm_movemask_ps(std::bit_cast<__m128>(same)))} << i;
  }
  return found;
}

// Additions to the counter of one list wait for each other, so that packets of the list that was common of late
// are counted as a whole.
void count_lists(const Burst &burst, WorkerCounters &counters, ListId &common) noexcept {
  PacketMask named = burst.special;
  if (named == 0) return;
  if (burst.by_judge != 0)
    counters[CounterId::deny_denied].add(static_cast<unsigned>(std::popcount(burst.by_judge)));
  const auto count = [&](ListId list, std::uint64_t packets) {
    counters.lists[burst.image->slot_of_list[list]].add(packets);
  };
  if (burst.denials == nullptr) {
    for (; named != 0; named &= named - 1)
      if (const ListId list = burst.decisions[std::countr_zero(named)].list; list != no_list) count(list, 1);
    return;
  }
  const auto count_each = [&](const std::uint32_t *values, PacketMask packets) {
    for (; packets != 0; packets &= packets - 1)
      count(table::value::list_of(values[std::countr_zero(packets)]), 1);
  };
  PacketMask denied = named & burst.dropped;
  count_each(burst.allowances, named & ~denied);
  const int packets = std::popcount(denied);
  if (packets < packets_to_compare) return count_each(burst.denials, denied);
  const PacketMask alike = naming(burst.denials, common) & denied;
  if (alike != 0) count(common, static_cast<unsigned>(std::popcount(alike)));
  denied &= ~alike;
  if (4 * std::popcount(alike) < packets)
    common = table::value::list_of(burst.denials[std::countr_zero(denied)]);
  count_each(burst.denials, denied);
}

} // namespace

void count_burst(const Burst &burst, WorkerCounters &counters, ListId &common) noexcept {
  if (burst.by_lists)
    count_verdicts_of_lists(burst, counters);
  else
    count_verdicts(burst, counters);
  count_lists(burst, counters, common);
}

} // namespace weir::dataplane
