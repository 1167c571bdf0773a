// What misbehaved lately. Packets that no list decides about are asked of the memory of offenders; sources of packets that a
// list denies, and of packets beyond a rate, are told to it. An element is told once in some seconds, so that a flood from few
// sources wears nothing else down.
#include "dataplane/packet/burst_time.hpp"
#include "dataplane/packet/offender_rows.hpp"
#include "dataplane/packet/samples.hpp"
#include "dataplane/packet/stages.hpp"
#include "dataplane/sources/offender_memory.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <span>

namespace weir::dataplane {
namespace {

using image::OffendersView;

constexpr std::uint64_t met_salt = 0x0FF3ADE27E110ull; // reports of what was met stand beside what was told

PacketMask with_reason(const Burst &burst, Reason reason) noexcept {
  PacketMask mask = 0;
  for (unsigned i = 0; i < burst.count; ++i) mask |= PacketMask{burst.decisions[i].reason == reason} << i;
  return mask;
}

// Elements of packets of a burst; those that are asked about come first.
struct Elements {
  std::array<Address, burst_packets_max> address;
  std::array<Traits, burst_packets_max> traits;
  std::array<KeyHash, burst_packets_max> key;
  std::array<float, burst_packets_max> score{};
  std::array<std::uint8_t, burst_packets_max> packet;
  unsigned asked = 0, count = 0;

  void add(const Burst &burst, const OffendersView &view, unsigned i, const Address &of) noexcept {
    address[count] = of;
    packet[count] = static_cast<std::uint8_t>(i);
    traits[count] = {};
    if (view.element() == OffenderElement::header)
      traits[count] =
          traits_of(frame_of(burst.packets[i]), rte_pktmbuf_data_len(burst.packets[i]), burst.parsed_as(i));
    key[count] = view.key_of(of, traits[count]);
    ++count;
  }
  void keep(unsigned from, unsigned to) noexcept {
    address[to] = address[from];
    traits[to] = traits[from];
    key[to] = key[from];
    packet[to] = packet[from];
  }
};

void score(const OffendersView &view, Elements &e) noexcept {
  constexpr unsigned few = 8; // below that a walk is cheaper than a burst of the trees
  if (!view.has_trees()) return;
  if (e.count < few) {
    for (unsigned i = 0; i < e.count; ++i) e.score[i] = view.score_of(e.address[i], e.traits[i]);
    return;
  }
  OffenderRows rows;
  fill_rows(view, std::span(e.address).first(e.count), std::span(e.traits).first(e.count), rows);
  learn::Margins margins;
  view.trees().score(rows, margins);
  std::copy_n(margins.begin(), e.count, e.score.begin());
}

class OffendStage {
public:
  OffendStage(Burst &burst, const WorkerSetup &setup, Sampler &sampler, WorkerCounters &counters) noexcept
      : burst_(burst), view_(burst.image->view_of(burst.image_copy).offenders),
        memory_(*burst.image->offenders), desk_(memory_.desk(setup.id)), sampler_(sampler),
        counters_(counters), workers_(burst.image->packets_by_worker.size()), now_ns_(now_ns(burst, setup)) {}

  void run() noexcept {
    collect();
    if (e_.count == 0) return;
    score(view_, e_);
    ask();
    tell();
  }

private:
  static constexpr std::uint64_t second_ns = 1'000'000'000;
  [[nodiscard]] std::uint32_t tick() const noexcept {
    return static_cast<std::uint32_t>(now_ns_ / (second_ns / SeenLately::ticks_a_second));
  }
  // Once in a few seconds for each key.
  [[nodiscard]] bool is_news(KeyHash key) noexcept {
    SeenLately::Place place = SeenLately::place_of(key);
    if (desk_.lately.meet(place, tick()) == SeenLately::Sight::silent) return false;
    desk_.lately.told(place);
    return true;
  }

  void collect() noexcept {
    const bool by_lists = burst_.by_lists;
    const PacketMask asked =
        by_lists ? burst_.all() & ~burst_.special : with_reason(burst_, Reason::fallthrough);
    for (PacketMask rest = asked; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(rest));
      e_.add(burst_, view_, i, judged_first(burst_, i));
    }
    e_.asked = e_.count;
    if (view_.header().tells_denied == 0) return;
    const PacketMask denied = by_lists ? burst_.special & burst_.dropped : with_reason(burst_, Reason::deny);
    for (PacketMask rest = denied; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(rest));
      e_.add(burst_, view_, i, denied_address(burst_, i));
      desk_.lately.prefetch(SeenLately::place_of(e_.key[e_.count - 1]));
    }
    unsigned kept = e_.asked;
    for (unsigned i = e_.asked; i < e_.count; ++i)
      if (!view_.spares(e_.address[i]) && is_news(e_.key[i])) e_.keep(i, kept++);
    e_.count = kept;
    for (unsigned i = e_.asked; i < kept; ++i) told_ |= PacketMask{1} << i;
  }

  void ask() noexcept {
    if (e_.asked == 0) return;
    counters_[CounterId::offender_asked].add(e_.asked);
    const auto keys = std::span(e_.key).first(e_.asked);
    PacketMask met = memory_.contains_batch(keys, std::span(e_.score).first(e_.asked));
    hold_against_shadow(met);
    hear_rates();
    if (!memory_.marks().empty()) met = with_marks(met);
    unsigned spared = 0;
    for (PacketMask rest = met; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(rest));
      if (!view_.spares(e_.address[i])) continue;
      met &= ~(PacketMask{1} << i);
      ++spared;
    }
    if (spared != 0) counters_[CounterId::offender_spared].add(spared);
    for (PacketMask rest = ~(met | told_) & (~PacketMask{0} >> (burst_packets_max - e_.asked)); rest != 0;
         rest &= rest - 1) {
      if (!sampler_.other_is_due()) continue;
      const auto i = static_cast<unsigned>(std::countr_zero(rest));
      sampler_.offender(wire::sample_offender_other, e_.address[i], e_.traits[i], counters_);
    }
    if (met != 0) act(met);
  }

  void hold_against_shadow(PacketMask met) noexcept {
    const std::uint64_t told = memory_.told();
    for (unsigned i = 0; i < e_.asked; ++i) {
      if (!Shadow::has(e_.key[i])) continue;
      const bool knew = (met >> i & 1) != 0;
      switch (memory_.shadow().knows(e_.key[i], told)) {
      case Shadow::Knows::within:
        counters_[CounterId::shadow_told].add(1);
        counters_[CounterId::shadow_missed].add(knew ? 0 : 1);
        break;
      case Shadow::Knows::never:
        counters_[CounterId::shadow_others].add(1);
        counters_[CounterId::shadow_accepted].add(knew ? 1 : 0);
        break;
      case Shadow::Knows::before: break;
      }
    }
  }

  // Those beyond their rate are to be told.
  void hear_rates() noexcept {
    const std::uint32_t most = view_.header().tells_above;
    if (most == 0) return;
    const auto second = static_cast<std::uint32_t>(now_ns_ / second_ns);
    std::array<KeyHash, burst_packets_max> source;
    for (unsigned i = 0; i < e_.asked; ++i) {
      source[i] = image::offender_key(OffenderElement::source, e_.address[i], {}, view_.header().seed);
      desk_.rates.prefetch(source[i]);
    }
    for (unsigned i = 0; i < e_.asked; ++i)
      if (desk_.rates.exceeds(source[i], second, most) && !view_.spares(e_.address[i]) &&
          is_news(e_.key[i])) {
        told_ |= PacketMask{1} << i;
        counters_[CounterId::offender_over_rate].add(1);
      }
  }

  [[nodiscard]] PacketMask with_marks(PacketMask met) noexcept {
    for (unsigned i = 0; i < e_.asked; ++i) {
      const Mark mark = memory_.marks().of(e_.address[i]);
      if (mark == Mark::forgotten) met &= ~(PacketMask{1} << i);
      if (mark == Mark::marked) marked_ |= PacketMask{1} << i;
    }
    if (marked_ != 0)
      counters_[CounterId::offender_marked].add(static_cast<unsigned>(std::popcount(marked_)));
    return met | marked_;
  }

  void act(PacketMask met) noexcept {
    const Verdict otherwise = burst_.image->view.policy.fallthrough;
    const double share = 1 / static_cast<double>(workers_); // of a limit, for this worker
    unsigned limited = 0;
    burst_.write_decisions();
    burst_.by_lists = false;
    for (PacketMask rest = met; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(rest));
      Verdict verdict = otherwise;
      if (view_.action() == OffenderAction::drop) verdict = Verdict::drop;
      if (view_.action() == OffenderAction::rate_limit && otherwise == Verdict::pass &&
          !desk_.takes_token(view_.group_of(e_.score[i]), now_ns_, view_.header().limit * share,
                             std::max(view_.header().burst * share, 1.0))) {
        verdict = Verdict::drop;
        ++limited;
      }
      const PacketMask bit = PacketMask{1} << e_.packet[i];
      Decision &decision = burst_.decisions[e_.packet[i]];
      decision.verdict = verdict;
      decision.reason = Reason::offender;
      burst_.special |= bit;
      burst_.dropped = verdict == Verdict::drop ? burst_.dropped | bit : burst_.dropped & ~bit;
      // Who is marked is one to learn from, though the memory is not told.
      const unsigned told = (marked_ >> i & 1) != 0 ? wire::sample_offender_told : 0;
      if (is_news({e_.key[i].bits ^ met_salt}))
        sampler_.offender(static_cast<std::uint16_t>(wire::sample_offender_met | told), e_.address[i],
                          e_.traits[i], counters_);
    }
    counters_[CounterId::offender_met].add(static_cast<unsigned>(std::popcount(met)));
    if (limited != 0) counters_[CounterId::offender_limited].add(limited);
  }

  void tell() noexcept {
    if (told_ == 0) return;
    std::array<KeyHash, burst_packets_max> keys;
    std::array<float, burst_packets_max> scores;
    unsigned count = 0;
    const bool marks = !memory_.marks().empty();
    for (PacketMask rest = told_; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(rest));
      keys[count] = e_.key[i];
      scores[count++] = e_.score[i];
      if (marks) memory_.marks().lift(e_.address[i]);
      sampler_.offender(wire::sample_offender_told, e_.address[i], e_.traits[i], counters_);
    }
    memory_.insert_batch(std::span(keys).first(count), std::span(scores).first(count));
    counters_[CounterId::offender_told].add(count);
  }

  Burst &burst_;
  const OffendersView &view_;
  OffenderMemory &memory_;
  OffenderDesk &desk_;
  Sampler &sampler_;
  WorkerCounters &counters_;
  std::size_t workers_;
  std::uint64_t now_ns_;
  Elements e_;
  PacketMask told_ = 0, marked_ = 0; // of elements
};

} // namespace

void meet_offenders(Burst &burst, const WorkerSetup &setup, Sampler &sampler,
                    WorkerCounters &counters) noexcept {
  if (burst.image == nullptr || burst.image->offenders == nullptr) return;
  OffendStage(burst, setup, sampler, counters).run();
}

} // namespace weir::dataplane
