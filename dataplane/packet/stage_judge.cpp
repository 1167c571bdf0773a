// The verdict order: no image, malformed, not IP, link local, allow, deny, default.
#include "dataplane/packet/stages.hpp"
#include "weir/lookup/kernels/choose.hpp"

#include <optional>

namespace weir::dataplane {
namespace {

void decide(Decision &decision, Verdict verdict, Reason reason) noexcept {
  decision.verdict = verdict;
  decision.reason = reason;
}

// One address: an allow entry exempts it, else a deny entry drops the packet.
void judge_one(const Burst &burst, unsigned slot, Verdict fallthrough, Decision &decision) noexcept {
  if (const std::uint32_t allow = burst.lookup.allow(slot); table::value::is_set(allow)) {
    decide(decision, Verdict::pass, Reason::allow);
    decision.list = table::value::list_of(allow);
  } else if (const std::uint32_t deny = burst.lookup.deny(slot); table::value::is_set(deny)) {
    decide(decision, Verdict::drop, Reason::deny);
    decision.list = table::value::list_of(deny);
  } else {
    decide(decision, fallthrough, Reason::fallthrough);
  }
}

// Each address alone: one denied drops the packet, one allowed does not save another.
void judge_several(const Burst &burst, unsigned packet, Verdict fallthrough, Decision &decision) noexcept {
  each_question(burst, packet, [&](unsigned slot, const ParsedPacket &, std::uint16_t) {
    if (decision.reason == Reason::deny) return;
    Decision now = decision;
    now.list = no_list;
    judge_one(burst, slot, fallthrough, now);
    if (now.reason == Reason::deny || decision.reason != Reason::allow) decision = now;
  });
}

// False when no list has a say.
[[nodiscard]] bool judge_kind(PacketKind kind, const Policy &policy, Decision &decision) noexcept {
  switch (kind) {
  case PacketKind::malformed: decide(decision, policy.malformed, Reason::malformed); return false;
  case PacketKind::non_ip: decide(decision, policy.non_ip, Reason::non_ip); return false;
  case PacketKind::too_many_tags: decide(decision, policy.too_many_tags, Reason::too_many_tags); return false;
  case PacketKind::ipv4:
  case PacketKind::ipv6: break;
  }
  return true;
}

void judge(const Burst &burst, unsigned packet, Decision &decision) noexcept {
  const Policy &policy = burst.image->view.policy;
  const ParsedPacket &parsed = burst.parsed_as(packet);
  if (!judge_kind(parsed.kind, policy, decision)) return;
  if (parsed.link_local) return decide(decision, policy.link_local, Reason::link_local);
  if (burst.has_inside && burst.inside(packet).kind != PacketKind::non_ip)
    if (!judge_kind(burst.inside(packet).kind, policy, decision)) return;
  if (burst.questions() != 1) return judge_several(burst, packet, policy.fallthrough, decision);
  judge_one(burst, packet, policy.fallthrough, decision);
}

// Answers in the order of packets.
void take_answers(Burst &burst, const lookup::Kernels &kernels) noexcept {
  lookup::BurstLookup &of = burst.lookup;
  if (burst.v6 == 0 || burst.v6 == burst.all()) {
    const bool v4 = burst.v6 == 0;
    burst.denials = v4 ? of.deny_v4() : of.deny_v6();
    burst.allowances = v4 ? of.allow_v4() : of.allow_v6();
    return;
  }
  kernels.weave(of.deny_v4(), of.deny_v6(), burst.count, burst.v6, burst.woven[Side::deny].data());
  kernels.weave(of.allow_v4(), of.allow_v6(), burst.count, burst.v6, burst.woven[Side::allow].data());
  burst.denials = burst.woven[Side::deny].data();
  burst.allowances = burst.woven[Side::allow].data();
}

// Nothing but the lists has a say: no packet is looked at one by one.
void judge_plain(Burst &burst) noexcept {
  const lookup::Kernels &kernels = lookup::best_kernels();
  take_answers(burst, kernels);
  burst.otherwise = burst.image->view.policy.fallthrough;
  const PacketMask allowed = kernels.listed(burst.allowances, burst.count);
  const PacketMask denied = kernels.listed(burst.denials, burst.count) & ~allowed;
  burst.special = allowed | denied;
  burst.dropped = denied | (burst.otherwise == Verdict::drop ? burst.all() & ~allowed : 0);
}

} // namespace

Address denied_address(const Burst &burst, unsigned packet) noexcept {
  if (burst.questions() == 1) return judged_first(burst, packet);
  std::optional<Address> denied;
  each_question(burst, packet, [&](unsigned slot, const ParsedPacket &header, std::uint16_t offset) {
    if (!denied && table::value::is_set(burst.lookup.deny(slot)) &&
        !table::value::is_set(burst.lookup.allow(slot)))
      denied = address_at(header, frame_of(burst.packets[packet]), offset);
  });
  return denied.value_or(judged_first(burst, packet));
}

void judge_burst(Burst &burst, Verdict without_image) noexcept {
  if (burst.image != nullptr) {
    burst.lookup.finish();
    burst.by_lists = burst.plain;
    if (burst.plain) return judge_plain(burst);
  }
  burst.by_lists = false;
  burst.denials = nullptr;
  burst.special = burst.all();
  burst.dropped = 0;
  for (unsigned i = 0; i < burst.count; ++i) {
    Decision &decision = burst.decisions[i];
    decision = Decision{without_image, Reason::no_image, family_of(burst.parsed_as(i))};
    if (burst.image != nullptr) judge(burst, i, decision);
    burst.dropped |= PacketMask{decision.verdict == Verdict::drop} << i;
  }
}

} // namespace weir::dataplane
