// What deny lists do besides dropping: packets that such a list denies are counted, limited or rejected. Where several addresses
// of a packet are judged, each is asked in turn until one decides, so that a list that only counts hides no other.
#include "dataplane/packet/burst_time.hpp"
#include "dataplane/packet/stages.hpp"

#include <bit>
#include <cstdint>

namespace weir::dataplane {
namespace {

class ListsStage {
public:
  ListsStage(Burst &burst, const WorkerSetup &setup, RateLimit &replies, WorkerCounters &counters) noexcept
      : burst_(burst), actions_(*burst.image->list_actions), setup_(setup), replies_(replies),
        counters_(counters) {}

  void run() noexcept {
    for (PacketMask rest = burst_.dropped & burst_.special; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(rest));
      const Decision decision = burst_.decision(i);
      if (decision.reason != Reason::deny || actions_.of(decision.list).action == RuleAction::drop) continue;
      ++matched_;
      if (burst_.questions() == 1)
        judge_one(i, decision);
      else
        judge_several(i, decision);
    }
    if (matched_ == 0) return;
    counters_[CounterId::list_matched].add(matched_);
    if (limited_ != 0) counters_[CounterId::list_limited].add(limited_);
    if (rejected_ != 0)
      reject_packets(burst_, rejected_, setup_, replies_,
                     {CounterId::list_rejects_sent, CounterId::list_rejects_held}, counters_);
  }

private:
  void judge_one(unsigned i, const Decision &decision) noexcept {
    if (decides(i, decision.list, judged_first(burst_, i))) return;
    go_on(i, {burst_.image->view.policy.fallthrough, Reason::fallthrough, decision.family});
  }

  // What is left when lists that decide nothing are left out: the first address that is denied, else the first that is allowed.
  void judge_several(unsigned i, const Decision &before) noexcept {
    Decision now{burst_.image->view.policy.fallthrough, Reason::fallthrough, before.family};
    each_question(burst_, i, [&](unsigned slot, const ParsedPacket &header, std::uint16_t offset) {
      if (now.reason == Reason::deny) return;
      const std::uint32_t allow = burst_.lookup.allow(slot), deny = burst_.lookup.deny(slot);
      if (table::value::is_set(allow)) {
        if (now.reason == Reason::fallthrough)
          now = {Verdict::pass, Reason::allow, before.family, 0, table::value::list_of(allow), no_rule};
      } else if (table::value::is_set(deny) &&
                 decides(i, table::value::list_of(deny),
                         address_at(header, frame_of(burst_.packets[i]), offset))) {
        now = {Verdict::drop, Reason::deny, before.family, 0, table::value::list_of(deny), no_rule};
      }
    });
    go_on(i, now);
  }

  // Is the packet dropped because of this list? What is not counts as its hit here, for no decision names it.
  [[nodiscard]] bool decides(unsigned i, ListId list, const Address &address) noexcept {
    const ListActions::Action &action = actions_.of(list);
    switch (action.action) {
    case RuleAction::reject: rejected_ |= PacketMask{1} << i; return true;
    case RuleAction::rate_limit:
      if (within(*action.limit, address)) break;
      ++limited_;
      return true;
    case RuleAction::count: break;
    default: return true;
    }
    counters_.lists[burst_.image->slot_of_list[list]].add(1);
    return false;
  }

  [[nodiscard]] bool within(RateLimit &limit, const Address &address) noexcept {
    if (now_ns_ == 0) now_ns_ = now_ns(burst_, setup_);
    if (!limit.is_per_source()) return limit.takes(now_ns_);
    return limit.takes(limit.source_of(address.bytes.data(), address.family == Family::ipv6), now_ns_);
  }

  void go_on(unsigned i, const Decision &decision) noexcept {
    burst_.write_decisions();
    burst_.by_lists = false;
    burst_.decisions[i] = decision;
    if (decision.verdict == Verdict::pass) burst_.dropped &= ~(PacketMask{1} << i);
  }

  Burst &burst_;
  const ListActions &actions_;
  const WorkerSetup &setup_;
  RateLimit &replies_;
  WorkerCounters &counters_;
  std::uint64_t now_ns_ = 0; // 0: nobody has asked
  PacketMask rejected_ = 0;
  unsigned matched_ = 0, limited_ = 0;
};

} // namespace

void act_for_lists(Burst &burst, const WorkerSetup &setup, RateLimit &replies,
                   WorkerCounters &counters) noexcept {
  ListsStage(burst, setup, replies, counters).run();
}

} // namespace weir::dataplane
