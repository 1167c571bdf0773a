// Capture files as plain data, for tests: written and read without libpcap, so that a fault of the
// dataplane's reader or writer cannot hide behind the same fault here.
#pragma once

#include "tests/support/packets.hpp"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace weir::test {

enum class CaptureKind : std::uint8_t { micro, nano, pcapng };

struct Capture {
  CaptureKind kind = CaptureKind::nano;
  std::uint32_t snapshot_bytes = 262'144;
  std::uint32_t link_type = 1; // Ethernet
  std::vector<Frame> frames;
};

// Classic captures lose what their resolution cannot hold; pcapng is written with nanoseconds.
void write_capture(const std::filesystem::path &file, const Capture &capture);

// Reads classic captures of this machine's byte order. Throws std::runtime_error when there is
// anything in the file that should not be.
[[nodiscard]] Capture read_capture(const std::filesystem::path &file);

} // namespace weir::test
