#include "dataplane/packet/p4_target.hpp"

#include "p4/swx/program.hpp"
#include "weir/image/reader.hpp"

#include <rte_mbuf.h>

#include <algorithm>
#include <span>
#include <utility>

namespace weir::dataplane {
namespace {

// The list that answered; what the program says goes to its registers, packet by packet.
ListId list_of(const Burst &burst, unsigned packet, Reason reason) noexcept {
  const Side side = reason == Reason::allow ? Side::allow : Side::deny;
  const ParsedPacket &parsed = burst.parsed_as(packet);
  const std::size_t at = burst.judges_destination ? parsed.destination_offset : parsed.source_offset;
  const std::uint8_t *address = frame_of(burst.packets[packet]) + at;
  const std::uint32_t value =
      parsed.kind == PacketKind::ipv4
          ? image::lookup_v4(burst.image->view, side, load_unaligned<std::uint32_t>(address))
          : image::lookup_v6(burst.image->view, side, address);
  return table::value::list_of(value);
}

} // namespace

// Also the exporter's sink: passes on what is written, and stops the worker where the bank is flipped.
class P4Target::Engine final : public p4::RegisterSink {
public:
  Engine(std::unique_ptr<p4::Gate> gate, const p4::Capacities &capacities)
      : gate_(std::move(gate)), capacities_(capacities), exporter_(*this) {}

  Result<std::uint64_t> capacity(std::string_view array) override {
    return gate_->registers().capacity(array);
  }
  Status write(std::string_view array, std::uint64_t first, std::span<const std::uint64_t> values) override {
    return gate_->registers().write(array, first, values);
  }
  Status flip(unsigned bank) override {
    if (held_ != nullptr && !held_->owns_lock())
      held_->lock(); // a flip that failed is tried again before the next
    Status flipped = gate_->registers().flip(bank);
    if (!flipped && held_ != nullptr) held_->unlock();
    return flipped;
  }

  // Packets are judged by it from now on.
  void takes_over(std::unique_lock<std::mutex> &held) noexcept { held_ = &held; }
  [[nodiscard]] Status load(const image::ImageView &view, const p4::Setting &setting) {
    return status_of(exporter_.write(view, setting));
  }
  [[nodiscard]] Status load_none(const p4::Setting &setting) {
    return status_of(exporter_.write_none(setting));
  }
  [[nodiscard]] Status copy_counters(const Engine &from) {
    for (const p4::Array array : {p4::Array::packets, p4::Array::bytes, p4::Array::list_hits}) {
      const p4::ArrayInfo &info = p4::info_of(array);
      for (std::uint64_t i = 0; i < info.elements; ++i) {
        const auto value = TRY(from.gate_->read_register(info.name, i));
        if (value == 0) continue;
        if (Status ok = write(info.name, i, std::span(&value, 1)); !ok) return ok;
      }
    }
    return {};
  }

  [[nodiscard]] p4::Gate &gate() noexcept { return *gate_; }
  [[nodiscard]] const p4::Capacities &capacities() const noexcept { return capacities_; }

private:
  [[nodiscard]] static Status status_of(const Result<p4::ExportReport> &report) {
    return report ? Status() : std::unexpected(report.error());
  }

  std::unique_ptr<p4::Gate> gate_;
  p4::Capacities capacities_;
  p4::Exporter exporter_;
  std::unique_lock<std::mutex> *held_ = nullptr; // null: nobody is judged by it yet
};

P4Target::P4Target(P4Setup setup) : setup_(std::move(setup)) {}
P4Target::~P4Target() = default;

Result<std::unique_ptr<P4Target::Engine>> P4Target::make_engine(const p4::Capacities &capacities) {
  p4::PipelineOptions options;
  for (const p4::ArrayInfo &info : p4::arrays)
    if (info.banked && !info.fixed)
      options.register_sizes[std::string(info.name)] =
          static_cast<std::uint32_t>(capacities[static_cast<std::size_t>(info.array)]);
  auto gate = p4::Gate::load_text(p4::program_spec(), "acl.spec", options);
  if (!gate && gate.error().code == Errc::no_memory)
    return fail(Errc::no_memory, gate.error().message + ": give it more with eal.memory_mib");
  if (!gate) return std::unexpected(gate.error());
  return std::make_unique<Engine>(std::move(*gate), capacities);
}

Result<std::unique_ptr<P4Target>> P4Target::create(P4Setup setup) {
  std::unique_ptr<P4Target> target(new P4Target(std::move(setup)));
  auto engine = TRY(target->make_engine(p4::default_capacities()));
  TRY(engine->load_none(target->setting()));
  target->engine_ = std::move(engine);
  target->engine_->takes_over(target->held_);
  return target;
}

Status P4Target::load(const image::ImageView &view) {
  Status loaded = engine_->load(view, setting());
  if (loaded || loaded.error().code != Errc::refused) return loaded;
  // Too much for the registers, or for the program whatever their size?
  const auto wanted = p4::capacities_for(view);
  if (!wanted) return loaded;
  p4::Capacities larger = engine_->capacities();
  for (std::size_t i = 0; i < larger.size(); ++i) larger[i] = std::max(larger[i], (*wanted)[i]);
  return larger == engine_->capacities() ? loaded : enlarge(larger, view);
}

Status P4Target::enlarge(const p4::Capacities &capacities, const image::ImageView &view) {
  auto engine = TRY(make_engine(capacities));
  TRY(engine->load(view, setting()));
  held_.lock();
  if (Status copied = engine->copy_counters(*engine_); !copied) {
    held_.unlock();
    return copied;
  }
  std::swap(engine_, engine);
  engine_->takes_over(held_);
  return {};
}

void P4Target::in_force() noexcept {
  if (held_.owns_lock()) held_.unlock();
}

std::uint64_t P4Target::packets(Reason reason) const {
  return engine_->gate().read_register("packets", static_cast<std::uint64_t>(reason)).value_or(0);
}

void P4Target::judge(Burst &burst) noexcept {
  for (unsigned i = 0; i < burst.count; ++i)
    packets_[i] = {burst.packets[i], burst.from->port_index, burst.lengths[i]};
  const auto judgements = std::span(judgements_).first(burst.count);
  // A pipeline that does not let go of a packet drops it, and all that follow.
  if (const Status done = engine_->gate().judge(std::span(packets_).first(burst.count), judgements); !done)
    std::ranges::fill(judgements, p4::Judgement{});
  burst.by_lists = false;
  burst.denials = nullptr;
  burst.special = burst.all();
  burst.dropped = 0;
  for (unsigned i = 0; i < burst.count; ++i) {
    const auto [verdict, reason] = judgements[i];
    Decision &decision = burst.decisions[i];
    decision = Decision{verdict, reason, family_of(burst.parsed_as(i))};
    const bool listed = reason == Reason::allow || reason == Reason::deny;
    if (listed && burst.image != nullptr) decision.list = list_of(burst, i, reason);
    burst.dropped |= PacketMask{verdict == Verdict::drop} << i;
  }
}

} // namespace weir::dataplane
