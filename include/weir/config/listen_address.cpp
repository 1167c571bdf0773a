#include "weir/config/listen_address.hpp"

#include "weir/config/values.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>

namespace weir::config {

Result<HostAndPort> parse_listen(const std::string &text) {
  HostAndPort at;
  const std::string path = text.starts_with("unix:") ? text.substr(5) : text;
  if (path.starts_with('/')) {
    at.path = path;
    return at;
  }
  const auto bad = [&](const char *why) {
    return fail(Errc::config,
                fmt::format("\"{}\" {}; write 127.0.0.1:9273, [::1]:9273 or the path of a unix socket",
                            shown(text), why));
  };
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return bad("is neither HOST:PORT nor an absolute path");
  const auto port = parse_number(std::string_view(text).substr(colon + 1));
  if (!port || *port > 65535) return bad("has no port from 0 to 65535");
  at.port = static_cast<std::uint16_t>(*port);
  std::string host = text.substr(0, colon);
  if (host == "localhost") host = "127.0.0.1";
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto address = parse_address(host);
  if (!address) return bad("names no address");
  at.is_v6 = address->family == Family::ipv6;
  at.v4 = at.is_v6 ? 0 : address->host();
  const bool loopback = at.is_v6 ? *address == parse_address("::1").value() : at.v4 >> 24 == 127;
  if (!loopback)
    return bad(
        "is not of loopback, and there is no password: whoever shall read from elsewhere needs a proxy in "
        "front");
  return at;
}

} // namespace weir::config
