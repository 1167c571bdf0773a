// The P4 program as a worker's judge: `weir-dataplane --target p4`.
//
//   service thread   load(image): registers of the idle bank, then the bank is flipped
//                    in_force(): the image is published, the worker may go on
//   worker           judging(): lock, take the image, judge(burst)
//
// Packets are received, sampled, counted and sent as ever; what is left out are the stages between: parser,
// lookups and verdict are those of p4/acl.p4, run by DPDK's SWX pipeline from registers that are written from
// the same image. The image itself stays: control's questions, additions in place and the name of a packet's
// list are answered from it.
//
// The lock makes registers and generation change at once for every packet; the worker waits for a flip and a
// pointer, not for the registers to be written. An image that outgrows the registers gets a pipeline with
// larger ones, built beside the running one and filled before it takes over; counters go along. One worker,
// since a pipeline belongs to one thread.
//
// Errors: refused, when the program cannot do what the image asks for; no_memory, when there is none for
// larger registers. What was loaded before stays in force.
#pragma once

#include "dataplane/image/generations.hpp"
#include "dataplane/packet/burst.hpp"
#include "p4/export/exporter.hpp"
#include "p4/swx/gate.hpp"
#include "weir/base/result.hpp"

#include <array>
#include <memory>
#include <mutex>
#include <vector>

namespace weir::dataplane {

struct P4Setup {
  std::vector<PortSide> sides; // of the ports, by their index in the configuration
  Verdict without_image = Verdict::pass;
};

class P4Target final : public ImageFollower {
public:
  // With the program that is part of this binary, and no image.
  [[nodiscard]] static Result<std::unique_ptr<P4Target>> create(P4Setup setup);
  P4Target(const P4Target &) = delete;
  P4Target &operator=(const P4Target &) = delete;
  ~P4Target() override;

  // ---- service thread
  [[nodiscard]] Status load(const image::ImageView &view) override;
  void in_force() noexcept override;

  // ---- worker
  [[nodiscard]] std::unique_lock<std::mutex> judging() { return std::unique_lock(judging_); }
  // packets[], parsed[] -> decisions[], dropped, special
  void judge(Burst &burst) noexcept;

  // ---- service thread or worker
  // As the program itself counts, since it was created.
  [[nodiscard]] std::uint64_t packets(Reason reason) const;

private:
  // A pipeline, what writes to its registers, and how large they are.
  class Engine;

  explicit P4Target(P4Setup setup);
  [[nodiscard]] p4::Setting setting() const { return {setup_.sides, setup_.without_image}; }
  [[nodiscard]] Result<std::unique_ptr<Engine>> make_engine(const p4::Capacities &capacities);
  [[nodiscard]] Status enlarge(const p4::Capacities &capacities, const image::ImageView &view);

  P4Setup setup_;
  std::mutex judging_;
  std::unique_lock<std::mutex> held_{judging_, std::defer_lock}; // service thread, from flip to in_force()
  std::unique_ptr<Engine> engine_;
  std::array<p4::swx::Packet, burst_packets_max> packets_;
  std::array<p4::Judgement, burst_packets_max> judgements_;
};

} // namespace weir::dataplane
