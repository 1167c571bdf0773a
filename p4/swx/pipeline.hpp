// A SWX program at work in this process: from plain data (spec.hpp) to a pipeline of librte_pipeline, built
// through its public configuration functions, with memory ports and access to its registers.
//
//   SwxPipeline::build(spec, options) -> run(burst, outputs) ... read_register, write_register
//
// Between text and DPDK the loader changes three things, none of which a program can notice in a packet:
//   drop        becomes tx 63: DPDK's own drop port frees the mbuf, which is the caller's
//   tx m.field  is preceded by a comparison that sends ports of 64 and more to 63: DPDK does not check
//   metadata    gets eight bytes more at its end: DPDK reads and writes eight bytes at any field
//
// build() refuses what lint.hpp finds, unless options say that the caller wants to see the damage. One
// pipeline belongs to one thread, registers included. EAL must have been started.
//
// Errors: refused (lint, a size that is too small or no power of two), no_memory, not_found (a register
// array or index), io (DPDK refuses, with its reason).
#pragma once

#include "p4/swx/memory_port.hpp"
#include "p4/swx/spec.hpp"
#include "weir/base/result.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace weir::p4 {

struct PipelineOptions {
  std::map<std::string, std::uint32_t> register_sizes; // larger powers of two, by array
  bool lint = true;
};

class SwxPipeline {
public:
  [[nodiscard]] static Result<SwxPipeline> build(const swx::Spec &spec, const PipelineOptions &options = {});

  SwxPipeline(SwxPipeline &&) noexcept = default;
  SwxPipeline &operator=(SwxPipeline &&) noexcept = default;
  ~SwxPipeline() = default;

  // outputs[i] = number of the port that packet i left by, outputs.size() = packets.size(). Fails if the
  // program does not let go of a packet; the pipeline is of no use then.
  [[nodiscard]] Status run(std::span<const swx::Packet> packets, std::span<std::uint8_t> outputs);

  [[nodiscard]] Result<std::uint32_t> register_count(std::string_view array) const;
  [[nodiscard]] Result<std::uint64_t> read_register(std::string_view array, std::uint64_t index) const;
  [[nodiscard]] Status write_registers(std::string_view array, std::uint64_t first,
                                       std::span<const std::uint64_t> values);

private:
  struct Free {
    void operator()(rte_swx_pipeline *pipeline) const;
  };

  SwxPipeline() = default;
  [[nodiscard]] Status check_range(std::string_view array, std::uint64_t first, std::uint64_t count) const;

  std::unique_ptr<swx::MemoryPort> port_; // outlives the pipeline
  std::unique_ptr<rte_swx_pipeline, Free> pipeline_;
  std::map<std::string, std::uint32_t, std::less<>> sizes_; // of register arrays
  std::string file_;
  bool stuck_ = false;
};

} // namespace weir::p4
