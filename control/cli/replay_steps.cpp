#include "control/cli/replay.hpp"

#include "control/cli/fields.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weir::cli {

Result<std::vector<ReplayStep>> replay_steps(const std::vector<ReplayApply> &applies, std::uint64_t packets) {
  std::vector<ReplayStep> steps;
  const std::uint64_t shares = applies.size() + 1;
  if (packets < shares)
    return fail(Errc::refused,
                fmt::format("{} packets cannot be divided among {} generations so that each judges "
                            "some; send the capture more often with --loop.",
                            packets, shares));
  std::uint64_t previous = 0;
  for (std::uint64_t i = 0; i < applies.size(); ++i) {
    const ReplayApply &apply = applies[i];
    ReplayStep step{apply.config, Generation(i + 2), 0, 0};
    if (apply.at) {
      step.first_packet = *apply.at;
      step.after = *apply.at;
    } else {
      // The swap should find traffic under way: half of the share before it has passed, half is to come.
      step.first_packet =
          static_cast<std::uint64_t>(static_cast<unsigned __int128>(packets) * (i + 1) / shares);
      step.after = previous + (step.first_packet - std::min(previous, step.first_packet) + 1) / 2;
    }
    if (step.first_packet <= previous)
      return fail(Errc::usage,
                  fmt::format("--apply {}: generation {} would begin at packet {}, not after packet {} "
                              "where the one before begins.",
                              apply.config.string(), step.generation, step.first_packet, previous));
    if (step.first_packet >= packets)
      return fail(Errc::refused,
                  fmt::format("--apply {}@{}: there are only {} packets, so it would judge none.",
                              apply.config.string(), step.first_packet, packets));
    previous = step.first_packet;
    steps.push_back(std::move(step));
  }
  return steps;
}

void note_progress(const nlohmann::json &stats, std::uint64_t packets_all, std::uint64_t bytes_all,
                   ReplayProgress &progress) {
  std::uint64_t packets = 0, bytes = 0;
  for (const nlohmann::json &port : child(stats, "ports")) {
    packets += count_in(port, "rx_packets");
    bytes += count_in(port, "rx_bytes");
  }
  constexpr std::uint64_t head_bytes = 16; // of a packet in a classic capture
  bytes += head_bytes * packets;
  if (packets_all == 0 && bytes > 0)
    packets_all = static_cast<std::uint64_t>(static_cast<double>(bytes_all) * static_cast<double>(packets) /
                                             static_cast<double>(bytes));
  progress.total = packets_all;
  progress.packets = packets;
}

} // namespace weir::cli
