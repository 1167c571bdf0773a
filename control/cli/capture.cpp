#include "control/cli/capture.hpp"

#include <fmt/format.h>
#include <pcap/pcap.h>

#include <array>
#include <cstring>
#include <memory>
#include <string_view>

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

} // namespace

Result<CaptureFacts> inspect_capture(const std::filesystem::path &file, bool count) {
  std::error_code fault;
  const auto status = std::filesystem::status(file, fault);
  if (!std::filesystem::exists(status))
    return fail(Errc::io, fmt::format("{}: there is no such file.", file.string()));
  if (std::filesystem::is_directory(status))
    return fail(Errc::io, fmt::format("{}: this is a folder; name a capture file.", file.string()));
  if (::access(file.c_str(), R_OK) != 0)
    return fail(Errc::io, fmt::format("{}: {}.", file.string(), std::strerror(errno)));

  std::array<char, PCAP_ERRBUF_SIZE> message{};
  const Capture capture(
      pcap_open_offline_with_tstamp_precision(file.c_str(), PCAP_TSTAMP_PRECISION_NANO, message.data()));
  if (!capture)
    return fail(Errc::parse,
                fmt::format("{}: not a capture in pcap or pcapng form ({}).", file.string(), message.data()));
  if (const int type = pcap_datalink(capture.get()); type != DLT_EN10MB)
    return fail(Errc::parse,
                fmt::format("{}: the link type is {}; only captures of Ethernet frames can be replayed.",
                            file.string(), link_name(type)));
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

} // namespace weir::cli
