// The stages of a worker, one a file. Each takes a burst as the stage before left it.
#pragma once

#include "dataplane/packet/burst.hpp"
#include "dataplane/packet/tx_patience.hpp"
#include "dataplane/packet/worker.hpp"
#include "weir/filter/key_batch.hpp"

namespace weir::dataplane {

class Sampler;

// measure_burst() and parse_burst() come first: packets.hpp has them, so that their file sees no lookup.

// parsed[], judged[] -> questions under way, while the burst `ahead`, if there is one, is probed.
void ask_burst(Burst &burst, Burst *ahead) noexcept;
// What ask_burst() does for a burst ahead, when there is none behind it.
void probe_burst(Burst &burst) noexcept;

// answers -> decision(), dropped, special; in the order of the reasons
void judge_burst(Burst &burst, Verdict without_image) noexcept;

// decision() of what the lists were asked about -> reason rule, where a packet rule decides; under an image without packet
// rules nothing. `replies`: how many answers to rejected packets may be sent
void judge_by_rules(Burst &burst, const WorkerSetup &setup, RateLimit &replies,
                    WorkerCounters &counters) noexcept;
// decision() of what a deny list denied that does not just drop -> what it does; under an image that has such lists
void act_for_lists(Burst &burst, const WorkerSetup &setup, RateLimit &replies,
                   WorkerCounters &counters) noexcept;

struct RejectCounters {
  CounterId sent, held;
};
// Tells the senders of these packets, by the port that they came in by, as far as `replies` allows. Of a replay nobody is told.
void reject_packets(const Burst &burst, PacketMask packets, const WorkerSetup &setup, RateLimit &replies,
                    RejectCounters of, WorkerCounters &counters) noexcept;

// What a judge alone denied in a burst (compact mode): for each packet the address for whose sake it was, as tables hash it.
using JudgeDenials = filter::KeyBatch;

// decision() of what a judge denied -> by_judge, `denials`
void find_judge_denials(Burst &burst, JudgeDenials &denials) noexcept;
// their lists, where the image has a class map
void name_denials(Burst &burst, const JudgeDenials &denials) noexcept;
// The address by which a packet is judged: under `either` its source, and of the outermost header where what is inside
// counts too. The other one is that for whose sake the judge denied the packet.
[[nodiscard]] inline Address judged_first(const Burst &burst, unsigned packet) noexcept {
  const ParsedPacket &parsed = burst.parsed_as(packet);
  return address_at(parsed, frame_of(burst.packets[packet]),
                    burst.judges_destination ? parsed.destination_offset : parsed.source_offset);
}
// The address that a list denied; under several questions it is not always the first. Of a burst that the stages judged.
[[nodiscard]] Address denied_address(const Burst &burst, unsigned packet) noexcept;
[[nodiscard]] Address denied_by_the_judge(const Burst &burst, unsigned packet) noexcept;

// decision() of what no list decides about -> reason offender, where the memory of offenders knows it; tells the memory what
// was denied
void meet_offenders(Burst &burst, const WorkerSetup &setup, Sampler &sampler,
                    WorkerCounters &counters) noexcept;

// decision() -> the peer's queue, the denied ring or back to the pool; what a queue still refuses after `patience` is decided anew
void send_burst(Burst &burst, const WorkerSetup &setup, TxPatience &patience,
                WorkerCounters &counters) noexcept;

// decision() as it is in the end -> counters. `common`: a list that many packets of late named, no_list at first.
void count_burst(const Burst &burst, WorkerCounters &counters, ListId &common) noexcept;

} // namespace weir::dataplane
