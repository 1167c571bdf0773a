#include "dataplane/packet/drop_watch.hpp"

#include "dataplane/packet/stages.hpp"

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

namespace weir::dataplane {
namespace {

constexpr unsigned ring_records = 1024;
constexpr std::uint64_t records_a_second = 20'000; // of a worker
constexpr std::uint64_t burst_records = 256;       // at once, when it was quiet before

std::uint64_t now_ns() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

void fill(DropRecord &record, const Burst &burst, unsigned packet, bool by_stages) noexcept {
  const Decision decision = burst.decision(packet);
  record.generation = burst.image != nullptr ? burst.image->generation.value() : 0;
  record.wire_bytes = burst.lengths[packet];
  record.port = static_cast<std::uint16_t>(burst.from->port_index);
  record.queue = burst.from->queue;
  if (burst.image != nullptr && decision.reason == Reason::deny && decision.list != no_list)
    record.list = burst.image->slot_of_list[decision.list];
  if (decision.reason == Reason::rule) record.list = burst.image->rules->rule(decision.rule).slot;
  record.reason = decision.reason;
  const std::size_t captured = rte_pktmbuf_data_len(burst.packets[packet]);
  record.captured = static_cast<std::uint16_t>(std::min(captured, record.bytes.size()));
  std::memcpy(record.bytes.data(), frame_of(burst.packets[packet]), record.captured);
  record.family = FamilySlot::other;
  if (burst.image == nullptr || !burst.parsed_as(packet).is_judged()) return;
  const Address address = by_stages && decision.reason == Reason::deny ? denied_address(burst, packet)
                                                                       : judged_first(burst, packet);
  record.family = address.family == Family::ipv4 ? FamilySlot::ipv4 : FamilySlot::ipv6;
  record.address = address.bytes;
}

} // namespace

DropDesk::DropDesk(rte_ring *ring, const std::atomic<std::uint32_t> *opening, bool by_stages) noexcept
    : ring_(ring), opening_(opening),
      cycles_each_(std::max<std::uint64_t>(rte_get_tsc_hz() / records_a_second, 1)), by_stages_(by_stages) {}

// `next_` runs ahead of the time by what has been taken, and falls behind it by one burst at most.
bool DropDesk::has_room(std::uint64_t now) noexcept {
  next_ = std::max(next_, now - std::min(now, burst_records * cycles_each_));
  if (next_ > now) return false;
  next_ += cycles_each_;
  return true;
}

void DropDesk::take(const Burst &burst, std::uint32_t opening) noexcept {
  if (opening != std::exchange(seen_opening_, opening)) left_out_ = 0;
  const std::uint64_t now = rte_rdtsc();
  for (PacketMask rest = burst.dropped; rest != 0; rest &= rest - 1) {
    if (!has_room(now)) {
      ++left_out_;
      continue;
    }
    DropRecord record;
    record.at_ns = now;
    record.left_out = left_out_;
    fill(record, burst, static_cast<unsigned>(std::countr_zero(rest)), by_stages_);
    if (rte_ring_sp_enqueue_elem(ring_, &record, sizeof record) == 0)
      left_out_ = 0;
    else
      ++left_out_;
  }
}

void DropWatch::Free::operator()(rte_ring *ring) const noexcept { rte_ring_free(ring); }

Result<std::unique_ptr<DropWatch>> DropWatch::create(unsigned workers) {
  static std::atomic<unsigned> made{0};
  std::unique_ptr<DropWatch> watch(new DropWatch());
  for (unsigned i = 0; i < workers; ++i) {
    const std::string name = "weir_drops_" + std::to_string(made++);
    auto &ring = watch->rings_.emplace_back(rte_ring_create_elem(
        name.c_str(), sizeof(DropRecord), ring_records, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ));
    if (!ring)
      return fail(Errc::no_memory,
                  std::string("cannot make a ring for dropped packets: ") + rte_strerror(rte_errno));
  }
  return watch;
}

void DropWatch::turn(Clock::time_point now) {
  if (opening_.load(std::memory_order_relaxed) == 0) return;
  const std::uint64_t wall_ns = now_ns(), cycles = rte_rdtsc();
  const double ns_a_cycle = 1e9 / static_cast<double>(rte_get_tsc_hz());
  const auto first_new = static_cast<std::ptrdiff_t>(kept_.size());
  for (const auto &ring : rings_) {
    DropRecord record;
    for (unsigned i = 0;
         i < ring_records && rte_ring_sc_dequeue_elem(ring.get(), &record, sizeof record) == 0; ++i) {
      const auto ago = static_cast<std::uint64_t>(
          static_cast<double>(cycles - std::min(cycles, record.at_ns)) * ns_a_cycle);
      record.at_ns = wall_ns - ago;
      kept_.push_back(record);
    }
  }
  std::ranges::sort(kept_.begin() + first_new, kept_.end(), {}, &DropRecord::at_ns);
  for (auto record = kept_.begin() + first_new; record != kept_.end(); ++record) record->number = next_++;
  if (kept_.size() > kept_max)
    kept_.erase(kept_.begin(), kept_.end() - static_cast<std::ptrdiff_t>(kept_max));
  if (now < closes_at_) return;
  opening_.store(0, std::memory_order_relaxed);
  kept_ = {};
}

// What workers copied while the opening before this one ended is of no interest.
void DropWatch::open() {
  DropRecord record;
  for (const auto &ring : rings_)
    for (unsigned i = 0;
         i < ring_records && rte_ring_sc_dequeue_elem(ring.get(), &record, sizeof record) == 0;)
      ++i;
  opening_.store(++openings_, std::memory_order_relaxed);
}

DropWatch::Seen DropWatch::ask(std::uint64_t from, std::size_t most, Clock::time_point now) {
  closes_at_ = now + open_for;
  if (opening_.load(std::memory_order_relaxed) == 0) open();
  Seen seen;
  seen.next = next_;
  if (from == 0 || from > next_) return seen; // from another life of this process, too
  const std::uint64_t oldest = kept_.empty() ? next_ : kept_.front().number;
  seen.overwritten = oldest - std::min(oldest, from);
  for (std::uint64_t number = std::max(from, oldest); number < next_ && seen.records.size() < most; ++number)
    seen.records.push_back(&kept_[number - oldest]);
  seen.next = seen.records.empty() ? next_ : seen.records.back()->number + 1;
  return seen;
}

} // namespace weir::dataplane
