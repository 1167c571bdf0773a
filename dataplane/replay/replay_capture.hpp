// Capture files as replay needs them: libpcap for reading, a small writer of its own for classic
// pcap. libpcap's pcap_dump() wants each frame in one piece and does not report a full disk; the
// writer takes a frame in segments and does.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/base/result.hpp"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>

struct pcap;

namespace weir::dataplane {

// The longest frame that replay takes, as libpcap's own limit for Ethernet is.
inline constexpr std::uint32_t captured_bytes_max = 262'144;

struct CapturedPacket {
  std::int64_t timestamp_ns = 0;
  std::uint32_t original_bytes = 0; // on the wire
  Bytes bytes;                      // captured; valid until the next call
};

// Reads classic pcap and pcapng of link type Ethernet. A packet longer than captured_bytes_max, or than the
// snapshot length that its file declares, is an error that gives its number.
class CaptureReader {
public:
  enum class Next : std::uint8_t { packet, end, cut }; // cut: the file ends inside a packet

  [[nodiscard]] static Result<CaptureReader> open(const std::filesystem::path &file);

  [[nodiscard]] Result<Next> next(CapturedPacket &packet);
  [[nodiscard]] Status rewind();

  [[nodiscard]] std::uint32_t snapshot_bytes() const noexcept { return snapshot_bytes_; }
  // Whether the file can hold nanoseconds: true for pcapng, whose resolution libpcap does not tell.
  [[nodiscard]] bool nanoseconds() const noexcept { return kind_ != Kind::micro && kind_ != Kind::modified; }

private:
  enum class Kind : std::uint8_t { micro, nano, modified, pcapng };
  struct Close {
    void operator()(pcap *handle) const noexcept;
  };

  [[nodiscard]] Status check_not_clipped(std::uint32_t captured_bytes);

  std::filesystem::path file_;
  std::unique_ptr<char[]> buffer_; // stdio's, so it must outlive handle_
  std::unique_ptr<pcap, Close> handle_;
  Kind kind_ = Kind::micro;
  std::uint32_t snapshot_bytes_ = 0;
  std::uint64_t packets_ = 0;
  std::int64_t offset_ = 0; // where the next record of a classic capture starts
};

// Writes classic pcap of link type Ethernet. A writer without a file swallows everything.
class CaptureWriter {
public:
  CaptureWriter() = default;
  [[nodiscard]] static Result<CaptureWriter> create(const std::filesystem::path &file,
                                                    std::uint32_t snapshot_bytes, bool nanoseconds);

  // One record: begin(), then append() until `captured_bytes` are there.
  void begin(std::int64_t timestamp_ns, std::uint32_t captured_bytes, std::uint32_t original_bytes) noexcept;
  void append(const void *bytes, std::size_t count) noexcept;

  [[nodiscard]] Status status() const;
  [[nodiscard]] Status close(); // flushes

private:
  struct Close {
    void operator()(std::FILE *stream) const noexcept { std::fclose(stream); }
  };

  std::filesystem::path file_;
  std::unique_ptr<char[]> buffer_;
  std::unique_ptr<std::FILE, Close> stream_;
  bool nanoseconds_ = false;
};

} // namespace weir::dataplane
