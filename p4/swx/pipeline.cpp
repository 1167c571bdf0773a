#include "p4/swx/pipeline.hpp"

#include "p4/swx/configure.hpp"
#include "p4/swx/dpdk.hpp"
#include "p4/swx/lint.hpp"

#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <rte_lcore.h>

namespace weir::p4 {
namespace {

constexpr std::uint32_t instructions_a_round = 128;
// No program has as many instructions; one that runs longer for a packet is in a loop.
constexpr std::uint64_t instructions_max = 1'000'000;

// What the program may write in front of a packet: every header once.
std::size_t emitted_bytes(const swx::Spec &spec) {
  std::size_t bytes = 0;
  for (const swx::Header &header : spec.headers) bytes += spec.type_of(header).bytes;
  return bytes;
}

Result<std::map<std::string, std::uint32_t, std::less<>>>
sizes_of(const swx::Spec &spec, const std::map<std::string, std::uint32_t> &larger) {
  std::map<std::string, std::uint32_t, std::less<>> sizes;
  for (const swx::RegisterArray &array : spec.arrays) sizes.emplace(array.name, array.size);
  for (const auto &[name, size] : larger) {
    const auto declared = sizes.find(name);
    if (declared == sizes.end())
      return fail(Errc::not_found,
                  fmt::format("{}: there is no register array {} to be enlarged", spec.file, name));
    if (!std::has_single_bit(size) || size < declared->second)
      return fail(Errc::refused,
                  fmt::format("{}: {} registers for array {}: give a power of two, at least {}", spec.file,
                              size, name, declared->second));
    declared->second = size;
  }
  return sizes;
}

} // namespace

void SwxPipeline::Free::operator()(rte_swx_pipeline *pipeline) const { rte_swx_pipeline_free(pipeline); }

Result<SwxPipeline> SwxPipeline::build(const swx::Spec &spec, const PipelineOptions &options) {
  if (options.lint) TRY(swx::check(spec));
  auto sizes = TRY(sizes_of(spec, options.register_sizes));

  SwxPipeline out;
  out.file_ = spec.file;
  out.sizes_ = std::move(sizes);
  rte_swx_pipeline *pipeline = nullptr;
  if (const int status = rte_swx_pipeline_config(&pipeline, nullptr, static_cast<int>(rte_socket_id())))
    return fail(Errc::io, fmt::format("{}: DPDK makes no pipeline: {}", spec.file, std::strerror(-status)));
  out.pipeline_.reset(pipeline);
  out.port_ = std::make_unique<swx::MemoryPort>(spec.header_named(swx::port_header_name).has_value(),
                                                emitted_bytes(spec));
  TRY(out.port_->connect(pipeline));
  TRY(swx::configure(pipeline, spec, out.sizes_));
  if (const int status = rte_swx_pipeline_build(pipeline))
    return fail(status == -ENOMEM ? Errc::no_memory : Errc::io,
                fmt::format("{}: DPDK does not build the pipeline: {}; registers take {} MiB of its memory",
                            spec.file, std::strerror(-status), [&] {
                              std::uint64_t bytes = 0;
                              for (const auto &[name, size] : out.sizes_) bytes += 8ull * size;
                              return bytes >> 20;
                            }()));
  return out;
}

Status SwxPipeline::run(std::span<const swx::Packet> packets, std::span<std::uint8_t> outputs) {
  if (stuck_ || packets.size() != outputs.size())
    return fail(Errc::usage, fmt::format("{}: one output a packet, and no pipeline that is stuck", file_));
  port_->begin(packets, outputs);
  std::uint64_t left = instructions_max * packets.size();
  while (!port_->done()) {
    rte_swx_pipeline_run(pipeline_.get(), instructions_a_round);
    if (left < instructions_a_round) {
      stuck_ = true;
      return fail(Errc::io,
                  fmt::format("{}: the program does not let go of a packet: look for a loop", file_));
    }
    left -= instructions_a_round;
  }
  return {};
}

Status SwxPipeline::check_range(std::string_view array, std::uint64_t first, std::uint64_t count) const {
  const auto size = TRY(register_count(array));
  if (first <= size && count <= size - first) return {};
  return fail(Errc::not_found, fmt::format("{}: registers {} to {} of {}, which has {}: enlarge it", file_,
                                           first, first + count - 1, array, size));
}

Result<std::uint32_t> SwxPipeline::register_count(std::string_view array) const {
  const auto found = sizes_.find(array);
  if (found == sizes_.end())
    return fail(Errc::not_found, fmt::format("{}: there is no register array {}", file_, array));
  return found->second;
}

Result<std::uint64_t> SwxPipeline::read_register(std::string_view array, std::uint64_t index) const {
  TRY(check_range(array, index, 1));
  std::uint64_t value = 0;
  const int status = rte_swx_ctl_pipeline_regarray_read(pipeline_.get(), std::string(array).c_str(),
                                                        static_cast<std::uint32_t>(index), &value);
  if (status)
    return fail(Errc::io, fmt::format("{}: {}[{}]: {}", file_, array, index, std::strerror(-status)));
  return value;
}

Status SwxPipeline::write_registers(std::string_view array, std::uint64_t first,
                                    std::span<const std::uint64_t> values) {
  TRY(check_range(array, first, values.size()));
  const std::string name(array);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto index = static_cast<std::uint32_t>(first + i);
    if (const int status =
            rte_swx_ctl_pipeline_regarray_write(pipeline_.get(), name.c_str(), index, values[i]))
      return fail(Errc::io, fmt::format("{}: {}[{}]: {}", file_, array, index, std::strerror(-status)));
  }
  return {};
}

} // namespace weir::p4
