// Packet rules: of packets that the lists were asked about, exact flows and then patterns are asked of the outermost headers,
// each family apart and a burst at a time. What a rule decides stands in place of the lists' answer, which comes from the same
// burst and costs no wait of its own.
#include "dataplane/packet/burst_time.hpp"
#include "dataplane/packet/stages.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace weir::dataplane {
namespace {

using image::FlowV4, image::FlowV6;

template <class Flow> using KeyOf = std::conditional_t<std::is_same_v<Flow, FlowV6>, RuleKeyV6, RuleKeyV4>;

// Packets of one family of a burst.
struct Group {
  std::array<std::uint8_t, burst_packets_max> packet;
  unsigned count = 0;

  void add(unsigned i) noexcept { packet[count++] = static_cast<std::uint8_t>(i); }
};

class RulesStage {
public:
  RulesStage(Burst &burst, const WorkerSetup &setup, RateLimit &replies, WorkerCounters &counters) noexcept
      : burst_(burst), view_(burst.image->view_of(burst.image_copy)), tables_(*burst.image->rules),
        setup_(setup), replies_(replies), counters_(counters) {}

  void run() noexcept {
    collect();
    ask<FlowV4>(v4_, view_.flows.v4());
    ask<FlowV6>(v6_, view_.flows.v6());
    counters_[CounterId::rule_asked].add(v4_.count + v6_.count);
    if (matched_ == 0) return;
    counters_[CounterId::rule_flows].add(static_cast<unsigned>(std::popcount(by_flow_)));
    counters_[CounterId::rule_matched].add(static_cast<unsigned>(std::popcount(matched_)));
    act();
    if (rejected_ != 0)
      reject_packets(burst_, rejected_, setup_, replies_, {CounterId::rejects_sent, CounterId::rejects_held},
                     counters_);
  }

private:
  [[nodiscard]] PacketMask asked_about() const noexcept {
    if (burst_.by_lists) return burst_.all();
    PacketMask mask = 0;
    for (unsigned i = 0; i < burst_.count; ++i) {
      const Reason reason = burst_.decisions[i].reason;
      mask |= PacketMask{reason == Reason::allow || reason == Reason::deny || reason == Reason::fallthrough}
              << i;
    }
    return mask;
  }

  void collect() noexcept {
    for (PacketMask rest = asked_about(); rest != 0; rest &= rest - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(rest));
      const std::uint8_t *const frame = frame_of(burst_.packets[i]);
      const std::size_t captured = rte_pktmbuf_data_len(burst_.packets[i]);
      // Under `inner` the header of what is inside may stand in parsed[].
      tuples_[i] =
          tuple_of(frame, captured,
                   burst_.tunnels == Tunnels::inner ? parse_packet(frame, captured) : burst_.parsed_as(i));
      (tuples_[i].is_v6 ? v6_ : v4_).add(i);
    }
  }

  void found(unsigned i, RuleId rule) noexcept {
    rules_[i] = rule;
    matched_ |= PacketMask{1} << i;
  }

  template <class Flow> void ask(const Group &group, const image::FlowBuckets<Flow> &flows) noexcept {
    if (group.count == 0) return;
    if (!flows.empty()) ask_flows(group, flows);
    ask_patterns<KeyOf<Flow>>(group);
  }

  template <class Flow> void ask_flows(const Group &group, const image::FlowBuckets<Flow> &flows) noexcept {
    std::array<Flow, burst_packets_max> questions;
    std::array<image::FlowPlaces, burst_packets_max> places;
    Group asked;
    for (unsigned n = 0; n < group.count; ++n) {
      const unsigned i = group.packet[n];
      if (!image::is_of_a_flow(tuples_[i])) continue;
      questions[asked.count] = image::question_of<Flow>(tuples_[i], frame_of(burst_.packets[i]));
      places[asked.count] = flows.places(questions[asked.count]);
      flows.prefetch(places[asked.count]);
      asked.add(i);
    }
    for (unsigned n = 0; n < asked.count; ++n)
      if (const RuleId rule = flows.find(questions[n], places[n]); rule != no_rule) {
        found(asked.packet[n], rule);
        by_flow_ |= PacketMask{1} << asked.packet[n];
      }
  }

  template <class Key> void ask_patterns(const Group &group) noexcept {
    constexpr bool v6 = std::is_same_v<Key, RuleKeyV6>;
    if (v6 ? !tables_.has_v6() : !tables_.has_v4()) return;
    std::array<Key, burst_packets_max> keys;
    std::array<const std::uint8_t *, burst_packets_max> at;
    std::array<std::uint32_t, burst_packets_max> matches;
    Group asked;
    const std::uint8_t port = tables_.place_of_port(burst_.from->port_index);
    for (unsigned n = 0; n < group.count; ++n) {
      const unsigned i = group.packet[n];
      if ((by_flow_ >> i & 1) != 0) continue;
      write_key(keys[asked.count], i, port);
      at[asked.count] = reinterpret_cast<const std::uint8_t *>(&keys[asked.count]);
      asked.add(i);
    }
    if (asked.count == 0) return;
    v6 ? tables_.classify_v6(at.data(), matches.data(), asked.count)
       : tables_.classify_v4(at.data(), matches.data(), asked.count);
    for (unsigned n = 0; n < asked.count; ++n)
      if (matches[n] != 0) found(asked.packet[n], RuleId(static_cast<std::uint16_t>(matches[n] - 1)));
  }

  template <class Key> void write_key(Key &key, unsigned i, std::uint8_t port) const noexcept {
    const std::uint8_t *const frame = frame_of(burst_.packets[i]);
    const PacketTuple &tuple = tuples_[i];
    key.protocol = tuple.protocol;
    key.reserved = {};
    key.from = load_unaligned<decltype(Key::from)>(frame + tuple.source_offset);
    key.to = load_unaligned<decltype(Key::to)>(frame + tuple.destination_offset);
    key.ports = tuple.has_ports() ? load_unaligned<std::uint32_t>(frame + tuple.ports_offset) : 0;
    key.vlan = byteswap16(tuple.vlan);
    key.port = port;
    key.has_ports = tuple.has_ports() ? 1 : 0;
  }

  void act() noexcept {
    for (PacketMask rest = matched_; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(rest));
      const RuleTables::Rule &rule = tables_.rule(rules_[i]);
      RuleCounters &counters = counters_.rules[rule.slot.value()];
      counters.packets.add(1);
      if (rule.action == RuleAction::reject) rejected_ |= PacketMask{1} << i;
      if (decides(rule, i))
        decide(i, rule.action == RuleAction::pass ? Verdict::pass : Verdict::drop, counters);
    }
  }

  [[nodiscard]] bool decides(const RuleTables::Rule &rule, unsigned i) noexcept {
    if (rule.action == RuleAction::count) return false;
    if (rule.action != RuleAction::rate_limit) return true;
    const bool within =
        rule.limit->is_per_source()
            ? rule.limit->takes(rule.limit->source_of(frame_of(burst_.packets[i]) + tuples_[i].source_offset,
                                                      tuples_[i].is_v6),
                                now())
            : rule.limit->takes(now());
    if (!within) counters_[CounterId::rule_limited].add(1);
    return !within;
  }

  [[nodiscard]] std::uint64_t now() noexcept {
    if (now_ns_ == 0) now_ns_ = now_ns(burst_, setup_);
    return now_ns_;
  }

  void decide(unsigned i, Verdict verdict, RuleCounters &counters) noexcept {
    burst_.write_decisions();
    burst_.by_lists = false;
    const PacketMask bit = PacketMask{1} << i;
    const bool drops = verdict == Verdict::drop;
    burst_.decisions[i] = {verdict, Reason::rule, tuples_[i].is_v6 ? FamilySlot::ipv6 : FamilySlot::ipv4,
                           0,       no_list,      rules_[i]};
    burst_.special |= bit;
    burst_.dropped = drops ? burst_.dropped | bit : burst_.dropped & ~bit;
    (drops ? counters.dropped : counters.passed).add(1);
  }

  Burst &burst_;
  const image::ImageView &view_;
  const RuleTables &tables_;
  const WorkerSetup &setup_;
  RateLimit &replies_;
  WorkerCounters &counters_;
  std::uint64_t now_ns_ = 0; // 0: nobody has asked
  PacketMask matched_ = 0, by_flow_ = 0, rejected_ = 0;
  Group v4_, v6_;
  std::array<PacketTuple, burst_packets_max> tuples_;
  std::array<RuleId, burst_packets_max> rules_;
};

} // namespace

void judge_by_rules(Burst &burst, const WorkerSetup &setup, RateLimit &replies,
                    WorkerCounters &counters) noexcept {
  RulesStage(burst, setup, replies, counters).run();
}

} // namespace weir::dataplane
