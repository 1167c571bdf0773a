// Capture files as replay reads and writes them: the cases that no honest tool produces every day.
#include "dataplane/replay/replay_capture.hpp"
#include "dataplane/replay/replay_port.hpp"
#include "tests/support/capture_file.hpp"
#include "tests/support/process.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <string>

namespace weir::dataplane::replay_capture_test {
namespace {

using test::Capture;
using test::CaptureKind;
using test::Frame;
using test::TempDir;
using test::write_capture;

std::vector<Frame> frames_of(std::initializer_list<std::size_t> sizes) {
  std::vector<Frame> frames;
  for (const std::size_t size : sizes)
    frames.push_back({std::vector<std::uint8_t>(size, static_cast<std::uint8_t>(size)),
                      static_cast<std::uint32_t>(size + 7),
                      1'700'000'000'000'000'000 + static_cast<int>(size) * 1001});
  return frames;
}

// All packets of a file, or what was wrong.
Result<std::vector<Frame>> read_all(const std::filesystem::path &file,
                                    CaptureReader::Next end = CaptureReader::Next::end) {
  auto reader = TRY(CaptureReader::open(file));
  std::vector<Frame> frames;
  for (;;) {
    CapturedPacket packet;
    const auto next = TRY(reader.next(packet));
    if (next != CaptureReader::Next::packet) {
      EXPECT_EQ(next, end);
      return frames;
    }
    const auto *bytes = reinterpret_cast<const std::uint8_t *>(packet.bytes.data());
    frames.push_back({{bytes, bytes + packet.bytes.size()}, packet.original_bytes, packet.timestamp_ns});
  }
}

void append_be(std::string &out, std::uint32_t value, int bytes = 4) {
  while (bytes-- > 0) out += static_cast<char>(value >> (8 * bytes));
}

TEST(CaptureReader, reads_a_capture_of_the_other_byte_order) {
  const TempDir dir;
  for (const std::uint32_t magic : {0xA1B2C3D4u, 0xA1B23C4Du}) {
    std::string file;
    append_be(file, magic);
    append_be(file, 2, 2);
    append_be(file, 4, 2);
    for (const std::uint32_t word : {0u, 0u, 65'535u, 1u}) append_be(file, word);
    for (const std::uint32_t word : {1'700'000'000u, 123'456u, 3u, 60u}) append_be(file, word);
    file += "abc";
    test::write_text(dir / "in.pcap", file);
    const auto frames = read_all(dir / "in.pcap");
    ASSERT_TRUE(frames) << frames.error().message;
    ASSERT_EQ(frames->size(), 1u);
    EXPECT_EQ(frames->front().timestamp_ns,
              1'700'000'000'000'000'000 + (magic == 0xA1B2C3D4u ? 123'456'000 : 123'456));
    EXPECT_EQ(frames->front().original_bytes, 60u);
    EXPECT_EQ(CaptureReader::open(dir / "in.pcap")->nanoseconds(), magic == 0xA1B23C4Du);
  }
}

TEST(CaptureReader, refuses_a_packet_beyond_the_limit_by_its_number) {
  const TempDir dir;
  const std::uint32_t any = 0x7FFFFFFF;
  write_capture(dir / "in.pcapng", {.kind = CaptureKind::pcapng,
                                    .snapshot_bytes = any,
                                    .frames = frames_of({60, captured_bytes_max, 1 << 20})});
  const auto frames = read_all(dir / "in.pcapng");
  ASSERT_FALSE(frames);
  for (const char *part :
       {"in.pcapng: packet 3 has 1048576 captured bytes", "up to 262144", "editcap -s 262144"})
    EXPECT_NE(frames.error().message.find(part), std::string::npos) << frames.error().message;
  write_capture(
      dir / "in.pcapng",
      {.kind = CaptureKind::pcapng, .snapshot_bytes = any, .frames = frames_of({60, captured_bytes_max})});
  EXPECT_TRUE(read_all(dir / "in.pcapng"));
}

TEST(CaptureReader, refuses_a_packet_that_libpcap_would_shorten) {
  const TempDir dir;
  write_capture(dir / "in.pcap", {.snapshot_bytes = 64, .frames = frames_of({10, 64, 65, 20})});
  const auto frames = read_all(dir / "in.pcap");
  ASSERT_FALSE(frames);
  EXPECT_NE(frames.error().message.find("packet 3 is longer than the snapshot length 64"), std::string::npos)
      << frames.error().message;
  write_capture(dir / "in.pcap", {.snapshot_bytes = 64, .frames = frames_of({64, 10, 64, 64})});
  EXPECT_TRUE(read_all(dir / "in.pcap")) << "packets of exactly the snapshot length are the rule";
}

TEST(CaptureReader, tells_a_cut_from_an_end_wherever_the_cut_is) {
  const TempDir dir;
  for (const CaptureKind kind : {CaptureKind::micro, CaptureKind::pcapng}) {
    write_capture(dir / "in.pcap", {.kind = kind, .frames = frames_of({100, 100})});
    const auto whole = std::filesystem::file_size(dir / "in.pcap");
    const auto last = kind == CaptureKind::pcapng ? 132u : 116u; // bytes of the last record
    for (const auto missing : {1u, 50u, last - 17, last - 4, last - 1}) {
      std::filesystem::resize_file(dir / "in.pcap", whole - missing);
      const auto frames = read_all(dir / "in.pcap", CaptureReader::Next::cut);
      ASSERT_TRUE(frames) << frames.error().message;
      EXPECT_EQ(frames->size(), 1u) << missing;
      write_capture(dir / "in.pcap", {.kind = kind, .frames = frames_of({100, 100})});
    }
    std::filesystem::resize_file(dir / "in.pcap", whole - last);
    EXPECT_EQ(read_all(dir / "in.pcap", CaptureReader::Next::end)->size(), 1u);
  }
}

TEST(CaptureReader, refuses_a_pipe_because_it_cannot_be_read_twice) {
  const TempDir dir;
  const std::string pipe = dir / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  test::Child writer({.arguments = {"/bin/sh", "-c", "exec cat /dev/zero > '" + pipe + "'"}});
  const auto reader = CaptureReader::open(pipe);
  ASSERT_FALSE(reader);
  EXPECT_NE(reader.error().message.find("regular file"), std::string::npos) << reader.error().message;
}

TEST(CaptureReader, starts_again_from_the_first_packet) {
  const TempDir dir;
  write_capture(dir / "in.pcap", {.frames = frames_of({10, 20})});
  auto reader = CaptureReader::open(dir / "in.pcap");
  ASSERT_TRUE(reader);
  for (int round = 0; round < 3; ++round) {
    CapturedPacket packet;
    ASSERT_EQ(reader->next(packet), CaptureReader::Next::packet);
    EXPECT_EQ(packet.bytes.size(), 10u);
    ASSERT_TRUE(reader->rewind());
  }
}

TEST(CaptureWriter, gives_back_what_the_reader_gave) {
  const TempDir dir;
  for (const bool nanoseconds : {false, true}) {
    auto writer = CaptureWriter::create(dir / "out.pcap", 4096, nanoseconds);
    ASSERT_TRUE(writer);
    const auto frames = frames_of({0, 1, 4096});
    for (const Frame &frame : frames) {
      writer->begin(frame.timestamp_ns, static_cast<std::uint32_t>(frame.bytes.size()), frame.original_bytes);
      const std::size_t half = frame.bytes.size() / 2; // in two segments
      writer->append(frame.bytes.data(), half);
      writer->append(frame.bytes.data() + half, frame.bytes.size() - half);
    }
    ASSERT_TRUE(writer->close());
    const Capture got = test::read_capture(dir / "out.pcap");
    EXPECT_EQ(got.kind, nanoseconds ? CaptureKind::nano : CaptureKind::micro);
    EXPECT_EQ(got.snapshot_bytes, 4096u);
    ASSERT_EQ(got.frames.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(got.frames[i].bytes, frames[i].bytes);
      EXPECT_EQ(got.frames[i].original_bytes, frames[i].original_bytes);
      const std::int64_t lost = nanoseconds ? 0 : frames[i].timestamp_ns % 1000;
      EXPECT_EQ(got.frames[i].timestamp_ns, frames[i].timestamp_ns - lost);
    }
  }
}

TEST(CaptureWriter, reports_a_full_disk) {
  auto writer = CaptureWriter::create("/dev/full", 4096, true);
  ASSERT_TRUE(writer);
  const std::vector<std::uint8_t> bytes(1000);
  for (int i = 0; i < 2000 && writer->status(); ++i) {
    writer->begin(0, 1000, 1000);
    writer->append(bytes.data(), bytes.size());
  }
  ASSERT_FALSE(writer->status()) << "two megabytes cannot hide in a buffer";
  EXPECT_NE(writer->status().error().message.find("/dev/full"), std::string::npos);
  EXPECT_FALSE(writer->close());
}

TEST(ReplayGate, is_an_index_and_a_generation) {
  const auto gate = parse_gate("1000:2");
  ASSERT_TRUE(gate);
  EXPECT_EQ(gate->index, 1000u);
  EXPECT_EQ(gate->generation, 2u);
  for (const char *bad : {"", ":", "1", "1:", ":2", "1:2x", "x1:2", "-1:2", "1 :2", "99999999999999999999:1"})
    EXPECT_FALSE(parse_gate(bad)) << bad;
}

} // namespace
} // namespace weir::dataplane::replay_capture_test
