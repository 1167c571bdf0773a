#include "p4/swx/gate.hpp"

#include "p4/swx/spec.hpp"

#include <array>
#include <chrono>
#include <fmt/format.h>
#include <thread>

namespace weir::p4 {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto flip_timeout = std::chrono::seconds(2);

} // namespace

class Gate::Registers final : public RegisterSink {
public:
  explicit Registers(Gate &gate) : gate_(gate) {}

  Result<std::uint64_t> capacity(std::string_view array) override {
    const auto count = TRY(gate_.pipeline_.register_count(array));
    return std::uint64_t{count};
  }

  Status write(std::string_view array, std::uint64_t first, std::span<const std::uint64_t> values) override {
    return gate_.pipeline_.write_registers(array, first, values);
  }

  Status flip(unsigned bank) override {
    const std::array<std::uint64_t, 1> value{bank};
    (void)look_at_turn(); // what was written before, before
    TRY(write("bank", 0, value));
    return wait_for_the_burst_in_flight();
  }

private:
  // Either it sees a burst begin, or that burst sees all that was written until now: a full barrier between
  // both, which a fence would be as well, but the thread sanitizer knows none.
  std::uint64_t look_at_turn() { return gate_.turns_.fetch_add(0, std::memory_order_seq_cst); }

  Status wait_for_the_burst_in_flight() {
    const std::uint64_t turn = look_at_turn();
    const auto until = Clock::now() + flip_timeout;
    while (turn % 2 == 1 && gate_.turns_.load(std::memory_order_acquire) == turn) {
      if (Clock::now() > until)
        return fail(Errc::unreachable, "the worker is still judging packets of the bank before: it hangs, or "
                                       "has no processor");
      std::this_thread::yield();
    }
    return {};
  }

  Gate &gate_;
};

std::optional<Judgement> judgement_of(std::uint8_t output) {
  const bool drop = output >= drop_ports_begin;
  const unsigned reason = output - (drop ? drop_ports_begin : 0);
  if (reason >= reason_count ||
      static_cast<Reason>(reason) == Reason::rule) // the program has no packet rules
    return std::nullopt;
  return Judgement{drop ? Verdict::drop : Verdict::pass, static_cast<Reason>(reason)};
}

Gate::Gate(SwxPipeline pipeline)
    : pipeline_(std::move(pipeline)), registers_(std::make_unique<Registers>(*this)) {}

Gate::~Gate() = default;

Result<std::unique_ptr<Gate>> Gate::build(const Result<swx::Spec> &spec, const PipelineOptions &options) {
  if (!spec) return std::unexpected(spec.error());
  auto pipeline = TRY(SwxPipeline::build(*spec, options));
  return std::unique_ptr<Gate>(new Gate(std::move(pipeline)));
}

Result<std::unique_ptr<Gate>> Gate::load(const std::filesystem::path &path, const PipelineOptions &options) {
  return build(swx::read_spec(path), options);
}

Result<std::unique_ptr<Gate>> Gate::load_text(std::string_view text, std::string name,
                                              const PipelineOptions &options) {
  return build(swx::parse_spec(text, std::move(name)), options);
}

RegisterSink &Gate::registers() noexcept { return *registers_; }

Status Gate::judge(std::span<const swx::Packet> packets, std::span<Judgement> judgements) {
  outputs_.resize(packets.size());
  turns_.fetch_add(1, std::memory_order_seq_cst);
  const Status ran = pipeline_.run(packets, outputs_);
  turns_.fetch_add(1, std::memory_order_release);
  if (!ran) return ran;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const auto said = judgement_of(outputs_[i]);
    if (!said) strays_.fetch_add(1, std::memory_order_relaxed);
    judgements[i] = said.value_or(Judgement{});
  }
  return {};
}

Result<std::uint64_t> Gate::read_register(std::string_view array, std::uint64_t index) const {
  return pipeline_.read_register(array, index);
}

} // namespace weir::p4
