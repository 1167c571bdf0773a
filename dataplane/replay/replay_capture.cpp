#include "dataplane/replay/replay_capture.hpp"

#include <pcap/pcap.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

namespace weir::dataplane {
namespace {

constexpr std::size_t stream_buffer_bytes = 1 << 20;
constexpr std::int64_t ns_per_second = 1'000'000'000;
constexpr std::uint32_t magic_micro = 0xA1B2C3D4;
constexpr std::uint32_t magic_nano = 0xA1B23C4D;
constexpr std::uint32_t magic_modified = 0xA1B2CD34; // records carry eight bytes more
constexpr std::uint32_t magic_pcapng = 0x0A0D0D0A;

std::string os_error(const char *what, const std::filesystem::path &file) {
  return std::string("cannot ") + what + ' ' + file.string() + ": " + std::strerror(errno);
}

struct FileHeader {
  std::uint32_t magic;
  std::uint16_t version_major = 2;
  std::uint16_t version_minor = 4;
  std::uint32_t zone = 0;
  std::uint32_t accuracy = 0;
  std::uint32_t snapshot_bytes;
  std::uint32_t link_type = DLT_EN10MB;
};
static_assert(sizeof(FileHeader) == 24);

struct RecordHeader {
  std::uint32_t seconds;
  std::uint32_t fraction; // microseconds or nanoseconds
  std::uint32_t captured_bytes;
  std::uint32_t original_bytes;
};
static_assert(sizeof(RecordHeader) == 16);

} // namespace

void CaptureReader::Close::operator()(pcap *handle) const noexcept { pcap_close(handle); }

Result<CaptureReader> CaptureReader::open(const std::filesystem::path &file) {
  CaptureReader reader;
  reader.file_ = file;
  std::FILE *stream = std::fopen(file.c_str(), "rb");
  if (!stream) return fail(Errc::io, os_error("open the capture", file));

  reader.buffer_ = std::make_unique<char[]>(stream_buffer_bytes);
  std::setvbuf(stream, reader.buffer_.get(), _IOFBF, stream_buffer_bytes);
  std::uint32_t magic = 0;
  const std::size_t got = std::fread(&magic, 1, sizeof magic, stream);
  if (std::ferror(stream) || std::fseek(stream, 0, SEEK_SET) != 0) {
    auto error = fail(Errc::io, os_error("read the capture", file) + " (it must be a regular file)");
    std::fclose(stream);
    return error;
  }
  if (got < sizeof magic) magic = 0;
  if (magic == magic_nano || byteswap32(magic) == magic_nano) reader.kind_ = Kind::nano;
  if (magic == magic_modified || byteswap32(magic) == magic_modified) reader.kind_ = Kind::modified;
  if (magic == magic_pcapng) reader.kind_ = Kind::pcapng;

  char why[PCAP_ERRBUF_SIZE] = {};
  reader.handle_.reset(pcap_fopen_offline_with_tstamp_precision(stream, PCAP_TSTAMP_PRECISION_NANO, why));
  if (!reader.handle_) {
    std::fclose(stream);
    return fail(Errc::parse, file.string() + " is not a capture that can be read: " + why +
                                 " (classic pcap and pcapng are)");
  }
  const int link_type = pcap_datalink(reader.handle_.get());
  if (link_type != DLT_EN10MB) {
    const char *name = pcap_datalink_val_to_name(link_type);
    return fail(Errc::parse, file.string() + " has link type " + (name ? name : std::to_string(link_type)) +
                                 "; only Ethernet (EN10MB) captures can be replayed: capture on an Ethernet "
                                 "interface, not on \"any\" or a tunnel");
  }
  reader.snapshot_bytes_ = static_cast<std::uint32_t>(pcap_snapshot(reader.handle_.get()));
  reader.offset_ = sizeof(FileHeader);
  return reader;
}

Status CaptureReader::rewind() {
  const std::filesystem::path file = file_;
  auto again = TRY(open(file));
  handle_.reset(); // before its buffer
  *this = std::move(again);
  return {};
}

// libpcap silently shortens a packet that is longer than the capture's own snapshot length. Only a
// packet of exactly that length can be one; then the file must stand where its record ends.
Status CaptureReader::check_not_clipped(std::uint32_t captured_bytes) {
  offset_ += static_cast<std::int64_t>(sizeof(RecordHeader)) + captured_bytes;
  if (captured_bytes != snapshot_bytes_ || (kind_ != Kind::micro && kind_ != Kind::nano)) return {};
  if (ftello(pcap_file(handle_.get())) == offset_) return {};
  return fail(Errc::parse, file_.string() + ": packet " + std::to_string(packets_) +
                               " is longer than the snapshot length " + std::to_string(snapshot_bytes_) +
                               " that the file declares; rewrite it with a larger one");
}

Result<CaptureReader::Next> CaptureReader::next(CapturedPacket &packet) {
  pcap_pkthdr *header = nullptr;
  const u_char *bytes = nullptr;
  const int answer = pcap_next_ex(handle_.get(), &header, &bytes);
  if (answer == PCAP_ERROR_BREAK) return Next::end;
  if (answer != 1) {
    const std::string_view why = pcap_geterr(handle_.get());
    if (why.starts_with("truncated")) return Next::cut;
    return fail(Errc::parse,
                file_.string() + ": packet " + std::to_string(packets_) + ": " + std::string(why));
  }
  ++packets_;
  packet.timestamp_ns =
      std::int64_t{header->ts.tv_sec} * ns_per_second + header->ts.tv_usec; // nanoseconds: asked for
  packet.original_bytes = header->len;
  packet.bytes = {reinterpret_cast<const std::byte *>(bytes), header->caplen};
  // A pcapng may declare any snapshot length, and libpcap then hands out what it finds.
  if (header->caplen > captured_bytes_max)
    return fail(Errc::parse, file_.string() + ": packet " + std::to_string(packets_) + " has " +
                                 std::to_string(header->caplen) +
                                 " captured bytes, replay takes frames of up to " +
                                 std::to_string(captured_bytes_max) + ": cut it with editcap -s " +
                                 std::to_string(captured_bytes_max) + ", or leave it out");
  TRY(check_not_clipped(header->caplen));
  return Next::packet;
}

Result<CaptureWriter> CaptureWriter::create(const std::filesystem::path &file, std::uint32_t snapshot_bytes,
                                            bool nanoseconds) {
  CaptureWriter writer;
  writer.file_ = file;
  writer.nanoseconds_ = nanoseconds;
  writer.buffer_ = std::make_unique<char[]>(stream_buffer_bytes);
  writer.stream_.reset(std::fopen(file.c_str(), "wb"));
  if (!writer.stream_) return fail(Errc::io, os_error("write", file));
  std::setvbuf(writer.stream_.get(), writer.buffer_.get(), _IOFBF, stream_buffer_bytes);
  const FileHeader header{.magic = nanoseconds ? magic_nano : magic_micro, .snapshot_bytes = snapshot_bytes};
  writer.append(&header, sizeof header);
  return writer;
}

void CaptureWriter::begin(std::int64_t timestamp_ns, std::uint32_t captured_bytes,
                          std::uint32_t original_bytes) noexcept {
  const std::int64_t fraction_ns = timestamp_ns % ns_per_second;
  const RecordHeader header{static_cast<std::uint32_t>(timestamp_ns / ns_per_second),
                            static_cast<std::uint32_t>(nanoseconds_ ? fraction_ns : fraction_ns / 1000),
                            captured_bytes, original_bytes};
  append(&header, sizeof header);
}

// A failed write leaves the stream's error flag set, which status() reads.
void CaptureWriter::append(const void *bytes, std::size_t count) noexcept {
  if (stream_) (void)!fwrite_unlocked(bytes, 1, count, stream_.get());
}

Status CaptureWriter::status() const {
  if (stream_ && std::ferror(stream_.get())) return fail(Errc::io, os_error("write", file_));
  return {};
}

Status CaptureWriter::close() {
  if (!stream_) return {};
  const bool bad = std::fflush(stream_.get()) != 0 || std::ferror(stream_.get());
  auto result = bad ? Status(fail(Errc::io, os_error("write", file_))) : Status{};
  stream_.reset();
  return result;
}

} // namespace weir::dataplane
