// What weirctl has libpcap for. A look at a capture file before a replay: is it one, is it Ethernet, how many packets are
// whole; one packet of it; filters.
#pragma once

#include "weir/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace weir::cli {

struct CaptureFacts {
  std::uint64_t packets = 0; // whole ones; only when counted
  bool cut = false;          // ends in the middle of a packet; only when counted
};

// Reads the whole file when `count` is set, else its header alone. A file that is missing, no
// capture, or not of link type Ethernet is an error; one that ends in the middle of a packet is not.
[[nodiscard]] Result<CaptureFacts> inspect_capture(const std::filesystem::path &file, bool count);

// The beginning of a frame in hexadecimal digits: `word` is such digits, or "FILE:N", the N-th packet (from 1) of a capture.
[[nodiscard]] Result<std::string> packet_text(const std::string &word);

// The same frame behind a tag of a VLAN, 1 to 4094. Errc::usage for a frame that names one already, or is too short.
[[nodiscard]] Result<std::string> in_vlan(const std::string &packet, unsigned vlan);

// An expression as tcpdump takes it, over Ethernet frames.
class PacketFilter {
public:
  // Errc::usage says what libpcap makes of it.
  [[nodiscard]] static Result<PacketFilter> compile(const std::string &expression);
  PacketFilter(PacketFilter &&) noexcept;
  PacketFilter &operator=(PacketFilter &&) noexcept;
  ~PacketFilter();

  // `length`: of the whole packet; `bytes`: its beginning.
  [[nodiscard]] bool takes(std::span<const std::uint8_t> bytes, std::uint32_t length) const;

private:
  struct Program;
  explicit PacketFilter(std::unique_ptr<Program> program);
  std::unique_ptr<Program> program_;
};

} // namespace weir::cli
