#include "tests/attack/feeder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weir::attack {

namespace {

constexpr int pipe_bytes = 1 << 18; // a full one is some three thousand packets, hundredths of a second
constexpr std::size_t chunk_packets = 512; // made at a time, more than a burst
constexpr std::size_t source_at = 26;

template <class... T> void put(std::vector<std::uint8_t> &out, T... values) {
  const auto one = [&](const auto &value) {
    const auto *bytes = reinterpret_cast<const std::uint8_t *>(&value);
    out.insert(out.end(), bytes, bytes + sizeof value);
  };
  (one(values), ...);
}

// Cut short, so that it is dropped as malformed: keeps the port from waiting in the middle of a burst.
const std::vector<std::uint8_t> &filler() {
  static const std::vector<std::uint8_t> bytes = test::FrameBuilder().ethernet().ipv4().frame(20).bytes;
  return bytes;
}

} // namespace

Feeder::Feeder(const std::filesystem::path &pipe) {
  if (mkfifo(pipe.c_str(), 0600) == 0) fd_ = open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  EXPECT_GE(fd_, 0) << "no pipe at " << pipe;
  fcntl(fd_, F_SETPIPE_SZ, pipe_bytes);
  put(out_, 0xA1B2C3D4u, std::uint16_t{2}, std::uint16_t{4}, 0u, 0u, 262'144u, 1u); // a capture of Ethernet
  thread_ = std::thread([this] { run(); });
}

Feeder::~Feeder() {
  stop_ = true;
  thread_.join();
  close(fd_);
}

void Feeder::flood(const test::Frame &like, Next next) {
  const std::lock_guard lock(mutex_);
  like_ = like.bytes;
  next_ = std::move(next);
}

void Feeder::steady(std::vector<test::Frame> frames, double per_second) {
  const std::lock_guard lock(mutex_);
  steady_ = std::move(frames);
  per_second_ = per_second;
  steady_since_.reset();
  steady_sent_ = 0;
}

Clock::time_point Feeder::steady_since() const {
  const std::lock_guard lock(mutex_);
  return steady_since_.value_or(Clock::time_point::max());
}

void Feeder::append(const std::vector<std::uint8_t> &frame) {
  const auto bytes = static_cast<std::uint32_t>(frame.size());
  put(out_, 0u, 0u, bytes, bytes);
  out_.insert(out_.end(), frame.begin(), frame.end());
  ++written_;
}

bool Feeder::write_out() {
  for (std::size_t at = 0; at < out_.size();) {
    const ssize_t done = write(fd_, out_.data() + at, out_.size() - at);
    if (done > 0) at += static_cast<std::size_t>(done);
    pollfd room{fd_, POLLOUT, 0};
    if (done < 0) poll(&room, 1, 20);
    if (stop_) return false;
  }
  out_.clear();
  return true;
}

void Feeder::run() {
  while (write_out()) {
    bool flooding = false;
    {
      const std::lock_guard lock(mutex_);
      if (!steady_.empty()) {
        const auto now = Clock::now();
        if (!steady_since_) steady_since_ = now;
        const auto due = static_cast<std::uint64_t>(Seconds(now - *steady_since_).count() * per_second_) + 1;
        for (; steady_sent_ < due; ++steady_sent_)
          for (const test::Frame &frame : steady_) append(frame.bytes);
      }
      flooding = next_ != nullptr;
      for (std::size_t i = 0; flooding && i < chunk_packets; ++i) {
        next_(like_.data());
        append(like_);
      }
    }
    if (flooding) continue;
    for (unsigned i = 0; i < 64; ++i) append(filler());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Passed::look() {
  std::ifstream in(file_, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(at_));
  const auto now = Clock::now();
  for (std::array<std::uint32_t, 4> head{}; in.read(reinterpret_cast<char *>(head.data()), sizeof head);) {
    std::vector<std::uint8_t> frame(head[2]);
    if (!in.read(reinterpret_cast<char *>(frame.data()), static_cast<std::streamsize>(frame.size()))) return;
    at_ += sizeof head + frame.size();
    if (frame.size() < source_at + 4) continue;
    const std::uint8_t *source = frame.data() + source_at;
    Seen &seen =
        seen_.try_emplace(fmt::format("{}.{}.{}.{}", source[0], source[1], source[2], source[3]), Seen{now})
            .first->second;
    ++seen.packets;
  }
}

std::optional<Clock::time_point> Passed::first(const std::string &source) const {
  const auto at = seen_.find(source);
  return at == seen_.end() ? std::nullopt : std::optional(at->second.first);
}

std::uint64_t Passed::packets(const std::string &source) const {
  const auto at = seen_.find(source);
  return at == seen_.end() ? 0 : at->second.packets;
}

std::string dotted(std::uint32_t host) {
  return fmt::format("{}.{}.{}.{}", host >> 24, host >> 16 & 255, host >> 8 & 255, host & 255);
}

void put_source(std::uint8_t *frame, std::uint32_t host) {
  for (unsigned byte = 0; byte < 4; ++byte)
    frame[source_at + byte] = static_cast<std::uint8_t>(host >> (24 - 8 * byte));
}

} // namespace weir::attack
