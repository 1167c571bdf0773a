#include "control/cli/capture.hpp"

#include "weir/base/hex.hpp"
#include "weir/key/tuple.hpp"
#include "weir/lookup/explain_packet.hpp"

#include <fmt/format.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace weir::cli {

namespace {

struct Closer {
  void operator()(pcap_t *capture) const { pcap_close(capture); }
};
using Capture = std::unique_ptr<pcap_t, Closer>;

std::string link_name(int type) {
  const char *name = pcap_datalink_val_to_name(type);
  const char *meaning = pcap_datalink_val_to_description(type);
  if (name == nullptr) return fmt::format("number {}", type);
  return meaning == nullptr ? std::string(name) : fmt::format("{} ({})", name, meaning);
}

Result<Capture> open_capture(const std::filesystem::path &file) {
  std::error_code fault;
  const auto status = std::filesystem::status(file, fault);
  if (!std::filesystem::exists(status))
    return fail(Errc::io, fmt::format("{}: there is no such file.", file.string()));
  if (std::filesystem::is_directory(status))
    return fail(Errc::io, fmt::format("{}: this is a folder; name a capture file.", file.string()));
  if (::access(file.c_str(), R_OK) != 0)
    return fail(Errc::io, fmt::format("{}: {}.", file.string(), std::strerror(errno)));

  std::array<char, PCAP_ERRBUF_SIZE> message{};
  Capture capture(
      pcap_open_offline_with_tstamp_precision(file.c_str(), PCAP_TSTAMP_PRECISION_NANO, message.data()));
  if (!capture)
    return fail(Errc::parse,
                fmt::format("{}: not a capture in pcap or pcapng form ({}).", file.string(), message.data()));
  if (const int type = pcap_datalink(capture.get()); type != DLT_EN10MB)
    return fail(Errc::parse,
                fmt::format("{}: the link type is {}; only captures of Ethernet frames can be read.",
                            file.string(), link_name(type)));
  return capture;
}

Result<std::string> packet_of_capture(const std::filesystem::path &file, std::uint64_t number) {
  const Capture capture = TRY(open_capture(file));
  pcap_pkthdr *header = nullptr;
  const u_char *bytes = nullptr;
  for (std::uint64_t at = 1;; ++at) {
    const int answer = pcap_next_ex(capture.get(), &header, &bytes);
    if (answer == PCAP_ERROR_BREAK)
      return fail(Errc::not_found,
                  fmt::format("{}: there is no packet {}; it has {}.", file.string(), number, at - 1));
    if (answer != 1)
      return fail(Errc::parse, fmt::format("{}: packet {} cannot be read: {}.", file.string(), at,
                                           pcap_geterr(capture.get())));
    if (at == number)
      return hex_of(bytes, std::min<std::size_t>(header->caplen, lookup::explained_bytes_max));
  }
}

} // namespace

Result<std::string> in_vlan(const std::string &packet, unsigned vlan) {
  constexpr std::size_t macs = 12, type = 2;
  std::vector<std::uint8_t> frame = TRY(bytes_of_hex(packet));
  if (frame.size() < macs + type)
    return fail(Errc::usage,
                fmt::format("--vlan {}: the packet ends before its EtherType, so that no tag can "
                            "stand in front of it.",
                            vlan));
  const unsigned named = vlan_of(frame.data(), parse_packet(frame.data(), frame.size()).tags);
  if (named != 0)
    return fail(Errc::usage, fmt::format("--vlan {}: the packet has a tag of VLAN {} already; leave --vlan "
                                         "out, or give the packet without its tag.",
                                         vlan, named));
  const std::array<std::uint8_t, 4> tag{0x81, 0x00, static_cast<std::uint8_t>(vlan >> 8),
                                        static_cast<std::uint8_t>(vlan)};
  frame.insert(frame.begin() + macs, tag.begin(), tag.end());
  return hex_of(frame.data(), std::min(frame.size(), lookup::explained_bytes_max));
}

Result<std::string> packet_text(const std::string &word) {
  const std::size_t colon = word.rfind(':');
  const auto bytes = bytes_of_hex(word);
  if (bytes) return hex_of(bytes->data(), std::min(bytes->size(), lookup::explained_bytes_max));
  std::uint64_t number = 0;
  const char *const end = word.data() + word.size();
  const bool is_file = colon != std::string::npos && colon > 0;
  if (is_file) {
    const auto [stopped, fault] = std::from_chars(word.data() + colon + 1, end, number);
    if (fault != std::errc() || stopped != end || number == 0)
      return fail(Errc::usage,
                  fmt::format("--packet {}: which packet? Write FILE:N, such as in.pcap:1.", word));
    return packet_of_capture(word.substr(0, colon), number);
  }
  return fail(
      Errc::usage,
      fmt::format("--packet: \"{}\" is neither a capture and a number (in.pcap:1) nor a frame in hexadecimal "
                  "digits: {}.",
                  word, bytes.error().message));
}

Result<CaptureFacts> inspect_capture(const std::filesystem::path &file, bool count) {
  const Capture capture = TRY(open_capture(file));
  CaptureFacts facts;
  if (!count) return facts;
  for (;;) {
    pcap_pkthdr *header = nullptr;
    const u_char *bytes = nullptr;
    const int answer = pcap_next_ex(capture.get(), &header, &bytes);
    if (answer == 1) {
      ++facts.packets;
      continue;
    }
    if (answer == PCAP_ERROR_BREAK) return facts;
    const std::string_view why = pcap_geterr(capture.get());
    if (why.find("truncated") == std::string_view::npos)
      return fail(Errc::parse,
                  fmt::format("{}: packet {} cannot be read: {}.", file.string(), facts.packets + 1, why));
    facts.cut = true;
    return facts;
  }
}

struct PacketFilter::Program {
  bpf_program code{};
  ~Program() { pcap_freecode(&code); }
};

PacketFilter::PacketFilter(std::unique_ptr<Program> program) : program_(std::move(program)) {}
PacketFilter::PacketFilter(PacketFilter &&) noexcept = default;
PacketFilter &PacketFilter::operator=(PacketFilter &&) noexcept = default;
PacketFilter::~PacketFilter() = default;

Result<PacketFilter> PacketFilter::compile(const std::string &expression) {
  constexpr int whole_packet = 262'144;
  const Capture none(pcap_open_dead(DLT_EN10MB, whole_packet));
  auto program = std::make_unique<Program>();
  if (!none || pcap_compile(none.get(), &program->code, expression.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0)
    return fail(Errc::usage, fmt::format("--filter \"{}\": {}.", expression,
                                         none ? pcap_geterr(none.get()) : "no memory"));
  return PacketFilter(std::move(program));
}

bool PacketFilter::takes(std::span<const std::uint8_t> bytes, std::uint32_t length) const {
  pcap_pkthdr header{};
  header.caplen = static_cast<std::uint32_t>(bytes.size());
  header.len = std::max(length, header.caplen);
  return pcap_offline_filter(&program_->code, &header, bytes.data()) != 0;
}

} // namespace weir::cli
