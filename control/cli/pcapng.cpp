#include "control/cli/pcapng.hpp"

#include "control/cli/options.hpp"
#include "weir/base/version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weir::cli {

namespace {

constexpr std::uint32_t section_block = 0x0A0D0D0A, interface_block = 1, packet_block = 6;
constexpr std::uint16_t link_ethernet = 1, nanoseconds = 9;
constexpr std::uint16_t option_end = 0, option_comment = 1, section_program = 4, interface_name = 2,
                        interface_resolution = 9, packet_drops = 4, packet_queue = 6;

// In the byte order of this machine, which the section's magic tells.
template <class T> void add(std::string &to, T value) {
  to.append(reinterpret_cast<const char *>(&value), sizeof value);
}

void pad(std::string &to) { to.append((4 - to.size() % 4) % 4, '\0'); }

void add_option(std::string &to, std::uint16_t code, std::string_view value) {
  value = value.substr(0, 0xFFFF);
  add(to, code);
  add(to, static_cast<std::uint16_t>(value.size()));
  to += value;
  pad(to);
}

template <class T> void add_number_option(std::string &to, std::uint16_t code, T value) {
  add_option(to, code, {reinterpret_cast<const char *>(&value), sizeof value});
}

std::string block(std::uint32_t type, const std::string &body) {
  const auto length = static_cast<std::uint32_t>(body.size() + 12);
  std::string whole;
  add(whole, type);
  add(whole, length);
  whole += body;
  add(whole, length);
  return whole;
}

std::string section() {
  std::string body;
  add(body, std::uint32_t{0x1A2B3C4D});
  add(body, std::uint16_t{1});
  add(body, std::uint16_t{0});
  add(body, ~std::uint64_t{0}); // its length is not known
  add_option(body, section_program, std::string("weirctl ") + version_text);
  add_option(body, option_end, "");
  return block(section_block, body);
}

std::string interface(const std::string &name) {
  std::string body;
  add(body, link_ethernet);
  add(body, std::uint16_t{0});
  add(body, std::uint32_t{0}); // no limit to what is captured
  add_option(body, interface_name, name);
  add_option(body, interface_resolution, std::string(1, static_cast<char>(nanoseconds)));
  add_option(body, option_end, "");
  return block(interface_block, body);
}

std::string packet_of(const NotedPacket &packet, std::uint32_t number) {
  std::string body;
  add(body, number);
  add(body, static_cast<std::uint32_t>(packet.at_ns >> 32));
  add(body, static_cast<std::uint32_t>(packet.at_ns));
  add(body, static_cast<std::uint32_t>(packet.bytes.size()));
  add(body, std::max(packet.length, static_cast<std::uint32_t>(packet.bytes.size())));
  body.append(reinterpret_cast<const char *>(packet.bytes.data()), packet.bytes.size());
  pad(body);
  add_option(body, option_comment, packet.comment);
  add_number_option(body, packet_drops, packet.left_out);
  add_number_option(body, packet_queue, packet.queue);
  add_option(body, option_end, "");
  return block(packet_block, body);
}

} // namespace

Result<PcapngWriter> PcapngWriter::create(const std::filesystem::path &file, std::uint64_t bytes_max,
                                          unsigned files) {
  PcapngWriter writer;
  writer.path_ = file;
  writer.bytes_max_ = bytes_max;
  writer.files_ = std::max(files, 2u);
  TRY(writer.open());
  return writer;
}

Status PcapngWriter::open() {
  file_.reset(std::fopen(path_.c_str(), "wbe"));
  if (!file_)
    return fail(Errc::io, fmt::format("{}: cannot be written: {}.", path_.string(), std::strerror(errno)));
  bytes_ = 0;
  interfaces_.clear();
  return put(section());
}

Status PcapngWriter::put(const std::string &block) {
  if (std::fwrite(block.data(), 1, block.size(), file_.get()) != block.size())
    return fail(Errc::io, fmt::format("{}: cannot be written: {}.", path_.string(), std::strerror(errno)));
  bytes_ += block.size();
  return {};
}

// The oldest goes, the others move up by one.
Status PcapngWriter::rotate() {
  TRY(flush());
  file_.reset();
  const auto name = [&](unsigned n) {
    return n == 0 ? path_ : std::filesystem::path(fmt::format("{}.{}", path_.string(), n));
  };
  for (unsigned n = files_ - 1; n-- > 0;) {
    std::error_code failed;
    if (std::filesystem::exists(name(n), failed)) std::filesystem::rename(name(n), name(n + 1), failed);
    if (failed)
      return fail(Errc::io, fmt::format("{}: cannot become {}: {}.", name(n).string(), name(n + 1).string(),
                                        failed.message()));
  }
  return open();
}

Result<std::uint32_t> PcapngWriter::interface_of(const std::string &port) {
  const auto [at, is_new] = interfaces_.try_emplace(port, static_cast<std::uint32_t>(interfaces_.size()));
  if (is_new) TRY(put(interface(port)));
  return at->second;
}

Status PcapngWriter::write(const NotedPacket &packet) {
  if (bytes_max_ != 0 && bytes_ >= bytes_max_) TRY(rotate());
  return put(packet_of(packet, TRY(interface_of(packet.port))));
}

Status PcapngWriter::flush() {
  if (std::fflush(file_.get()) == 0) return {};
  return fail(Errc::io, fmt::format("{}: cannot be written: {}.", path_.string(), std::strerror(errno)));
}

} // namespace weir::cli
