#include "tests/support/capture_file.hpp"

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace weir::test {
namespace {

constexpr std::uint32_t magic_micro = 0xA1B2C3D4, magic_nano = 0xA1B23C4D;
constexpr std::int64_t ns_per_second = 1'000'000'000;

class Out {
public:
  explicit Out(const std::filesystem::path &file) : stream_(file, std::ios::binary), file_(file) {}
  template <class... T> void numbers(T... values) { (put(&values, sizeof values), ...); }
  void put(const void *bytes, std::size_t count) {
    stream_.write(static_cast<const char *>(bytes), static_cast<std::streamsize>(count));
  }
  void close() {
    stream_.close();
    if (!stream_) throw std::runtime_error("cannot write " + file_.string());
  }

private:
  std::ofstream stream_;
  std::filesystem::path file_;
};

std::uint32_t size32(std::size_t value) { return static_cast<std::uint32_t>(value); }

void write_classic(Out &out, const Capture &capture) {
  const bool nano = capture.kind == CaptureKind::nano;
  out.numbers(nano ? magic_nano : magic_micro, std::uint16_t{2}, std::uint16_t{4}, 0u, 0u,
              capture.snapshot_bytes, capture.link_type);
  for (const Frame &frame : capture.frames) {
    const std::int64_t fraction = frame.timestamp_ns % ns_per_second;
    out.numbers(static_cast<std::uint32_t>(frame.timestamp_ns / ns_per_second),
                static_cast<std::uint32_t>(nano ? fraction : fraction / 1000), size32(frame.bytes.size()),
                frame.original_bytes);
    out.put(frame.bytes.data(), frame.bytes.size());
  }
}

void write_pcapng(Out &out, const Capture &capture) {
  out.numbers(0x0A0D0D0Au, 28u, 0x1A2B3C4Du, std::uint16_t{1}, std::uint16_t{0}, std::int64_t{-1}, 28u);
  out.numbers(1u, 32u, static_cast<std::uint16_t>(capture.link_type), std::uint16_t{0},
              capture.snapshot_bytes);
  out.numbers(std::uint16_t{9}, std::uint16_t{1}, 9u, 0u, 32u); // if_tsresol: 10^-9
  for (const Frame &frame : capture.frames) {
    const std::uint32_t padding = (4 - size32(frame.bytes.size()) % 4) % 4;
    const std::uint32_t block_bytes = 32 + size32(frame.bytes.size()) + padding;
    const auto time = static_cast<std::uint64_t>(frame.timestamp_ns);
    out.numbers(6u, block_bytes, 0u, static_cast<std::uint32_t>(time >> 32), static_cast<std::uint32_t>(time),
                size32(frame.bytes.size()), frame.original_bytes);
    out.put(frame.bytes.data(), frame.bytes.size());
    out.put("\0\0\0", padding);
    out.numbers(block_bytes);
  }
}

class In {
public:
  explicit In(const std::filesystem::path &file) : file_(file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw std::runtime_error("cannot read " + file.string());
    bytes_.assign(std::istreambuf_iterator<char>(stream), {});
  }
  [[nodiscard]] bool empty() const { return at_ == bytes_.size(); }
  const char *take(std::size_t count) {
    if (count > bytes_.size() - at_) throw std::runtime_error(file_.string() + " ends inside a record");
    at_ += count;
    return bytes_.data() + at_ - count;
  }
  template <class T> T number() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }

private:
  std::filesystem::path file_;
  std::vector<char> bytes_;
  std::size_t at_ = 0;
};

} // namespace

void write_capture(const std::filesystem::path &file, const Capture &capture) {
  Out out(file);
  capture.kind == CaptureKind::pcapng ? write_pcapng(out, capture) : write_classic(out, capture);
  out.close();
}

Capture read_capture(const std::filesystem::path &file) {
  In in(file);
  Capture capture;
  const auto magic = in.number<std::uint32_t>();
  if (magic != magic_micro && magic != magic_nano)
    throw std::runtime_error(file.string() + " is no classic capture");
  capture.kind = magic == magic_nano ? CaptureKind::nano : CaptureKind::micro;
  const std::int64_t unit_ns = magic == magic_nano ? 1 : 1000;
  in.take(12); // version, time zone, accuracy
  capture.snapshot_bytes = in.number<std::uint32_t>();
  capture.link_type = in.number<std::uint32_t>();
  while (!in.empty()) {
    Frame frame;
    frame.timestamp_ns = in.number<std::uint32_t>() * ns_per_second;
    frame.timestamp_ns += in.number<std::uint32_t>() * unit_ns;
    const auto captured = in.number<std::uint32_t>();
    frame.original_bytes = in.number<std::uint32_t>();
    const char *bytes = in.take(captured);
    frame.bytes.assign(bytes, bytes + captured);
    capture.frames.push_back(std::move(frame));
  }
  return capture;
}

} // namespace weir::test
