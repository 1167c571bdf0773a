#include "control/rules/flows.hpp"

#include "control/rules/bundled_feed.hpp"
#include "control/rules/sink.hpp"
#include "weir/config/values.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <expected>
#include <optional>

namespace weir::rules {
namespace {

using image::FlowV4, image::FlowV6;

constexpr std::size_t faults_told_max = 20;

// Addresses, ports and protocol lie one after the other in memory.
template <class Flow> constexpr std::size_t key_bytes = sizeof(Flow::addresses) + 5;
template <class Flow> [[nodiscard]] int compare(const Flow &a, const Flow &b) noexcept {
  return std::memcmp(&a, &b, key_bytes<Flow>);
}

template <class Flow> std::uint64_t sort_unique(std::vector<Flow> &flows) {
  std::ranges::sort(flows, [](const Flow &a, const Flow &b) { return compare(a, b) < 0; });
  const auto twice =
      std::ranges::unique(flows, [](const Flow &a, const Flow &b) { return compare(a, b) == 0; });
  const auto count = static_cast<std::uint64_t>(twice.size());
  flows.erase(twice.begin(), twice.end());
  return count;
}

using Fault = std::string;

struct End { // of a flow
  Address address;
  std::uint16_t port = 0;
};

std::string_view next_word(std::string_view &line) {
  line = trim(line);
  const std::size_t end = line.find_first_of(" \t");
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(word.size());
  return word;
}

std::optional<std::uint8_t> protocol_of(std::string_view word) {
  for (const ProtocolName &known : protocol_names)
    if (known.name == word) return known.number;
  const auto number = config::parse_number(word);
  if (!number || *number > 255) return std::nullopt;
  return static_cast<std::uint8_t>(*number);
}

std::unexpected<Fault> fault(std::string_view word, std::string_view what) {
  return std::unexpected(fmt::format("\"{}\": {}", config::shown(word), what));
}

std::expected<End, Fault> end_of(std::string_view word, bool with_port) {
  constexpr std::string_view form_v4 = "write 192.0.2.1:443", form_v6 = "write [2001:db8::1]:443";
  std::string_view address = word, port;
  if (with_port) {
    const bool v6 = word.starts_with('[');
    const std::size_t colon = v6 ? word.find("]:") : word.find(':');
    if (colon == word.npos || (!v6 && word.find(':', colon + 1) != word.npos))
      return fault(word, fmt::format("needs an address and a port; {} or {}", form_v4, form_v6.substr(6)));
    address = v6 ? word.substr(1, colon - 1) : word.substr(0, colon);
    port = word.substr(colon + (v6 ? 2 : 1));
    if (v6 && address.find(':') == address.npos)
      return fault(word, fmt::format("brackets are for IPv6; {}", form_v4));
  }
  const auto parsed = parse_address(address);
  if (!parsed) return fault(word, parsed.error());
  End end{.address = *parsed};
  if (!with_port) return end;
  const auto number = config::parse_number(port);
  if (!number || *number > 65'535) return fault(word, "the port is not a number from 0 to 65535");
  end.port = static_cast<std::uint16_t>(*number);
  return end;
}

template <class Flow> [[nodiscard]] Flow flow_of(const End &from, const End &to, std::uint8_t protocol) {
  Flow flow{};
  constexpr std::size_t each = sizeof(Flow::addresses) / 2;
  std::memcpy(&flow.addresses, from.address.bytes.data(), each);
  std::memcpy(reinterpret_cast<std::byte *>(&flow.addresses) + each, to.address.bytes.data(), each);
  const std::uint32_t ports = byteswap16(from.port) | std::uint32_t{byteswap16(to.port)} << 16;
  flow.word = image::flow_word::asked(ports, protocol);
  return flow;
}

std::expected<void, Fault> take_line(std::string_view line, FlowBody &body) {
  const std::string_view word = next_word(line);
  const auto protocol = protocol_of(word);
  if (!protocol)
    return fault(
        word,
        "is not a protocol; a line is protocol, from and to, such as tcp 192.0.2.1:443 198.51.100.7:51000");
  const bool with_ports = protocol_has_ports(*protocol);
  const std::string_view from_word = next_word(line), to_word = next_word(line);
  if (from_word.empty() || to_word.empty())
    return fault(word, with_ports ? "needs from and to behind it, such as 192.0.2.1:443 198.51.100.7:51000"
                                  : "needs from and to behind it, such as 192.0.2.1 198.51.100.7");
  if (const std::string_view rest = trim(line); !rest.empty())
    return fault(rest, "is one word too many; begin a comment with #");
  const auto from = end_of(from_word, with_ports);
  if (!from) return std::unexpected(from.error());
  const auto to = end_of(to_word, with_ports);
  if (!to) return std::unexpected(to.error());
  if (from->address.family != to->address.family)
    return fault(to_word, "is of another family than the address before it");
  if (from->address.family == Family::ipv4)
    body.v4.push_back(flow_of<FlowV4>(*from, *to, *protocol));
  else
    body.v6.push_back(flow_of<FlowV6>(*from, *to, *protocol));
  return {};
}

template <class Flow> std::string bytes_of(const Flow &flow) {
  std::string bytes(1, static_cast<char>(Flow::family));
  return bytes.append(reinterpret_cast<const char *>(&flow), key_bytes<Flow>);
}

template <class Flow> bool take_bytes(std::vector<Flow> &to, std::string_view bytes) {
  if (bytes.size() != key_bytes<Flow>) return false;
  Flow flow{};
  std::memcpy(&flow, bytes.data(), bytes.size());
  flow.word |= image::flow_word::used;
  to.push_back(flow);
  return true;
}

template <class Flow> std::uint64_t hashed(const std::vector<Flow> &flows, std::uint64_t seed) {
  return XXH3_64bits_withSeed(flows.data(), flows.size() * sizeof(Flow), seed);
}

} // namespace

std::uint64_t FlowBody::fingerprint() const noexcept { return hashed(v6, hashed(v4, v4.size())); }

Result<FlowBody> parse_flows(std::string_view text, const std::string &name) {
  FlowBody body;
  std::string faults;
  std::size_t count = 0;
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    line = trim(line.substr(0, line.find_first_of("#;")));
    if (line.empty()) continue;
    const auto taken = take_line(line, body);
    if (taken || ++count > faults_told_max) continue;
    faults += fmt::format("{}{}:{}: {}", faults.empty() ? "" : "\n", name, lines.number(), taken.error());
  }
  if (count > faults_told_max) faults += fmt::format("\n{}: {} more lines", name, count - faults_told_max);
  if (count > 0) return fail(Errc::parse, std::move(faults));
  body.duplicates = sort_unique(body.v4) + sort_unique(body.v6);
  if (body.v4.size() > image::flows_most || body.v6.size() > image::flows_most)
    return fail(Errc::parse,
                fmt::format("{}: more than {} flows of one family; leave some out", name, image::flows_most));
  return body;
}

Result<FlowBody> load_flows(const std::filesystem::path &file, const Bundle *files) {
  Result<FlowBody> body;
  TRY(with_feed(file, files, [&](std::string_view text) -> Status {
    body = parse_flows(text, file.string());
    return {};
  }));
  return body;
}

std::string flow_bytes(const FlowV4 &flow) { return bytes_of(flow); }
std::string flow_bytes(const FlowV6 &flow) { return bytes_of(flow); }

namespace {

Address end_of(const FlowV4 &flow, unsigned which) {
  return Address::from_wire(static_cast<std::uint32_t>(flow.addresses >> (32 * which)));
}
Address end_of(const FlowV6 &flow, unsigned which) {
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), flow.addresses.data() + std::size_t{2} * which, bytes.size());
  return Address::from_v6(bytes.data());
}

template <class Flow> std::string flow_line(const Flow &flow) {
  const auto protocol = static_cast<std::uint8_t>(flow.word >> 32);
  const std::string_view name = name_of_protocol(protocol);
  std::string text = name.empty() ? std::to_string(protocol) : std::string(name);
  for (const unsigned which : {0u, 1u}) {
    const std::string address = to_string(end_of(flow, which));
    const auto port = byteswap16(static_cast<std::uint16_t>(flow.word >> (16 * which)));
    if (!protocol_has_ports(protocol))
      text += ' ' + address;
    else
      text += fmt::format(Flow::family == Family::ipv6 ? " [{}]:{}" : " {}:{}", address, port);
  }
  return text;
}

// Both sorted by their bytes, as a FlowBody has them.
template <class Flow>
void collect_changes(const std::vector<Flow> &before, const std::vector<Flow> &after, FlowChange &change) {
  constexpr std::size_t examples_max = 3;
  const auto tell = [](const Flow &flow, std::uint64_t &count, std::vector<std::string> &examples) {
    ++count;
    if (examples.size() < examples_max) examples.push_back(flow_line(flow));
  };
  std::size_t b = 0, a = 0;
  while (b < before.size() || a < after.size()) {
    const int order = b == before.size() ? 1 : a == after.size() ? -1 : compare(before[b], after[a]);
    if (order < 0)
      tell(before[b++], change.removed, change.removed_examples);
    else if (order > 0)
      tell(after[a++], change.added, change.added_examples);
    else
      ++b, ++a;
  }
}

} // namespace

std::string flow_text(const FlowV4 &flow) { return flow_line(flow); }
std::string flow_text(const FlowV6 &flow) { return flow_line(flow); }

FlowChange flow_change(const FlowBody &before, const FlowBody &after) {
  FlowChange change{
      .before = before.size(), .after = after.size(), .added_examples = {}, .removed_examples = {}};
  collect_changes(before.v4, after.v4, change);
  collect_changes(before.v6, after.v6, change);
  return change;
}

bool add_flow(FlowBody &to, std::string_view bytes) {
  if (bytes.empty()) return false;
  const char family = bytes.front();
  bytes.remove_prefix(1);
  if (family == static_cast<char>(Family::ipv4)) return take_bytes(to.v4, bytes);
  return family == static_cast<char>(Family::ipv6) && take_bytes(to.v6, bytes);
}

} // namespace weir::rules
