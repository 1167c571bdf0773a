// The gate of p4/acl.p4 as the dataplane's worker calls it: packets in, verdict and reason of each out.
//
//   Gate::load(path) -> registers() for the exporter, judge(packets, judgements) for the worker
//
// The program says what it decided by the number of the output port: the reason's number to pass, 16 more to
// drop. Any other port is a stray: the packet is dropped as malformed and counted, so that a faulty program
// closes the gate instead of opening it.
//
// Threads: one judges. Another one may use registers() meanwhile: it fills the bank that the program does not
// use, and flip() comes back when no packet of the bank before is left. Counters can be read at any time;
// they are 64-bit words that the judging thread goes on changing.
//
// Nothing is decided here, and nothing is known of tables: what the registers mean is between the exporter
// (p4/export) and the program.
#pragma once

#include "p4/export/sink.hpp"
#include "p4/swx/pipeline.hpp"
#include "weir/key/verdict.hpp"

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::p4 {

struct Judgement {
  Verdict verdict = Verdict::drop;
  Reason reason = Reason::malformed;

  friend bool operator==(const Judgement &, const Judgement &) = default;
};

inline constexpr unsigned drop_ports_begin = 16; // ports 0 to 15 pass, 16 to 31 drop

// What port `output` says; nothing if it says nothing.
[[nodiscard]] std::optional<Judgement> judgement_of(std::uint8_t output);

class Gate {
public:
  [[nodiscard]] static Result<std::unique_ptr<Gate>> load(const std::filesystem::path &path,
                                                          const PipelineOptions &options = {});
  [[nodiscard]] static Result<std::unique_ptr<Gate>> load_text(std::string_view text, std::string name,
                                                               const PipelineOptions &options = {});

  Gate(const Gate &) = delete;
  Gate &operator=(const Gate &) = delete;
  ~Gate();

  // judgements.size() = packets.size(), any number.
  [[nodiscard]] Status judge(std::span<const swx::Packet> packets, std::span<Judgement> judgements);

  [[nodiscard]] RegisterSink &registers() noexcept;
  [[nodiscard]] Result<std::uint64_t> read_register(std::string_view array, std::uint64_t index) const;
  [[nodiscard]] std::uint64_t strays() const noexcept { return strays_.load(std::memory_order_relaxed); }

private:
  class Registers;

  explicit Gate(SwxPipeline pipeline);
  [[nodiscard]] static Result<std::unique_ptr<Gate>> build(const Result<swx::Spec> &spec,
                                                           const PipelineOptions &options);

  SwxPipeline pipeline_;
  std::unique_ptr<Registers> registers_;
  std::vector<std::uint8_t> outputs_;
  std::atomic<std::uint64_t> turns_{0}; // odd while a burst is judged
  std::atomic<std::uint64_t> strays_{0};
};

} // namespace weir::p4
