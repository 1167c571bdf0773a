#include "tests/support/oracle.hpp"

#include "weir/key/text.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

namespace weir::test {
namespace {

// Bytes from the front of a frame; asking for more than there is sets `short_of_bytes`.
struct Cursor {
  std::span<const std::uint8_t> rest;
  bool short_of_bytes = false;

  unsigned number(std::size_t bytes) {
    unsigned value = 0;
    for (const std::uint8_t byte : take(bytes)) value = value * 256 + byte;
    return value;
  }
  std::span<const std::uint8_t> take(std::size_t bytes) {
    if (bytes > rest.size()) {
      short_of_bytes = true;
      rest = {};
      return {};
    }
    const auto front = rest.first(bytes);
    rest = rest.subspan(bytes);
    return front;
  }
};

Prefix prefix_of(std::string_view text) {
  const auto prefix = parse_prefix(text);
  if (!prefix) throw std::invalid_argument(std::string(text) + ": " + prefix.error());
  return *prefix;
}

struct Read {
  enum class Kind { ip, not_ip, too_many_tags, broken } kind = Kind::broken;
  Address source{}, destination{};
  bool link_local = false;
  unsigned protocol = 0; // of what comes behind the IP header
  bool first_fragment = true;
  Cursor behind{};   // the IP header
  unsigned vlan = 0; // the first that is named
};

constexpr Read broken_header{};

Read read_ipv4(Cursor cursor) {
  const unsigned version_and_words = cursor.number(1);
  cursor.take(1); // DSCP and ECN
  const unsigned total_bytes = cursor.number(2);
  cursor.take(2); // identification
  const unsigned fragment = cursor.number(2);
  cursor.take(1); // TTL
  const unsigned protocol = cursor.number(1);
  cursor.take(2); // checksum
  const auto source = cursor.take(4), destination = cursor.take(4);
  if (cursor.short_of_bytes || version_and_words / 16 != 4) return broken_header;
  const unsigned words = version_and_words % 16;
  if (words < 5 || total_bytes < 4 * words) return broken_header;
  cursor.take(4 * (words - 5)); // options
  if (cursor.short_of_bytes) return broken_header;

  Read read{.kind = Read::Kind::ip};
  std::copy(source.begin(), source.end(), read.source.bytes.begin());
  std::copy(destination.begin(), destination.end(), read.destination.bytes.begin());

  const bool from_nobody = source[0] == 0 && source[1] == 0 && source[2] == 0 && source[3] == 0;
  const bool to_all = std::ranges::all_of(destination, [](std::uint8_t byte) { return byte == 255; });
  const bool first_fragment = fragment % 8192 == 0;
  read.protocol = protocol;
  read.first_fragment = first_fragment;
  read.behind = cursor;
  const unsigned from_port = cursor.number(2), to_port = cursor.number(2);
  read.link_local = from_nobody && to_all && protocol == 17 && first_fragment && !cursor.short_of_bytes &&
                    from_port == 68 && to_port == 67;
  return read;
}

bool stays_on_the_link(std::span<const std::uint8_t> address) {
  static const std::vector<Prefix> kept{prefix_of("fe80::/10"), prefix_of("ff00::/8"), prefix_of("::/128")};
  return std::ranges::any_of(kept, [&](const Prefix &prefix) {
    return masked(Address::from_v6(address.data()), prefix.length) == prefix.address;
  });
}

Read read_ipv6(Cursor cursor) {
  const unsigned version = cursor.number(4) >> 28;
  cursor.take(2); // payload length
  const unsigned next_header = cursor.number(1);
  const unsigned hop_limit = cursor.number(1);
  const auto source = cursor.take(16), destination = cursor.take(16);
  if (cursor.short_of_bytes || version != 6) return broken_header;

  Read read{.kind = Read::Kind::ip};
  read.source = Address::from_v6(source.data());
  read.destination = Address::from_v6(destination.data());
  read.protocol = next_header;
  read.behind = cursor;

  const unsigned icmp_type = cursor.number(1);
  const bool discovery =
      next_header == 58 && hop_limit == 255 && !cursor.short_of_bytes && icmp_type >= 133 && icmp_type <= 137;
  read.link_local = discovery && (stays_on_the_link(source) || stays_on_the_link(destination));
  return read;
}

Read read_ip(unsigned type, Cursor cursor) {
  if (type == 0x0800) return read_ipv4(cursor);
  if (type == 0x86DD) return read_ipv6(cursor);
  return {.kind = Read::Kind::not_ip};
}

bool starts_a_tag(unsigned type) {
  constexpr std::array kinds{0x8100u, 0x88A8u, 0x9100u, 0x9200u, 0x9300u};
  return std::ranges::find(kinds, type) != kinds.end();
}

// What follows a length: LLC, and perhaps SNAP.
Read read_llc(Cursor cursor) {
  const unsigned llc = cursor.number(3), organisation = cursor.number(3), type = cursor.number(2);
  if (cursor.short_of_bytes || llc != 0xAAAA03) return {.kind = Read::Kind::not_ip};
  const bool second_length = type < 0x0600 && (organisation == 0 || organisation == 0xF8);
  if (second_length || starts_a_tag(type)) return {.kind = Read::Kind::too_many_tags};
  return read_ip(type, cursor);
}

Read read_frame(std::span<const std::uint8_t> frame) {
  Cursor cursor{frame};
  cursor.take(12); // MAC addresses
  unsigned type = cursor.number(2), tags = 0, with_vlan = 0, first_vlan = 0;
  while (!cursor.short_of_bytes && starts_a_tag(type)) {
    if (++tags > 8) return {.kind = Read::Kind::too_many_tags};
    const unsigned vlan = cursor.number(2) % 4096;
    type = cursor.number(2);
    if (vlan != 0) ++with_vlan;
    if (first_vlan == 0) first_vlan = vlan;
    if (!cursor.short_of_bytes && with_vlan > 2) return {.kind = Read::Kind::too_many_tags};
  }
  if (cursor.short_of_bytes) return broken_header;
  Read read = type < 0x0600 ? read_llc(cursor) : read_ip(type, cursor);
  read.vlan = first_vlan;
  return read;
}

// ---- what is inside ----------------------------------------------------------------------------

constexpr Read nothing{.kind = Read::Kind::not_ip};

Read read_gre(Cursor cursor) {
  const unsigned flags = cursor.number(2), type = cursor.number(2);
  if (cursor.short_of_bytes) return broken_header;
  const bool routed = flags & 0x4000, other_version = flags % 8 != 0;
  const bool ip = type == 0x0800 || type == 0x86DD, bridged = type == 0x6558;
  if (routed || other_version || (!ip && !bridged)) return nothing;
  for (const unsigned option : {0x8000u, 0x2000u, 0x1000u})
    if (flags & option) cursor.take(4);
  if (cursor.short_of_bytes) return broken_header;
  return bridged ? read_frame(cursor.rest) : read_ip(type, cursor);
}

Read read_vxlan(Cursor cursor) {
  cursor.take(2); // source port
  const unsigned to_port = cursor.number(2);
  if (cursor.short_of_bytes || to_port != 4789) return nothing;
  cursor.take(4); // length and checksum
  const unsigned flags = cursor.number(1);
  cursor.take(7);
  if (cursor.short_of_bytes) return broken_header;
  return flags & 8 ? read_frame(cursor.rest) : nothing;
}

bool is_extension(unsigned kind) { return kind == 0 || kind == 43 || kind == 44 || kind == 60; }

Read read_inside(const Read &outer) {
  unsigned protocol = outer.protocol;
  Cursor cursor = outer.behind;
  if (!outer.first_fragment) return nothing;
  for (unsigned headers = 1; outer.source.family == Family::ipv6 && is_extension(protocol); ++headers) {
    const unsigned next = cursor.number(1), more_words = cursor.number(1), fragment = cursor.number(2);
    cursor.take(4);
    if (cursor.short_of_bytes || headers > 8) return broken_header;
    if (protocol == 44 && fragment >= 8) return nothing;
    if (protocol != 44) cursor.take(8 * more_words);
    protocol = next;
  }
  switch (protocol) {
  case 4: return read_ip(0x0800, cursor);
  case 41: return read_ip(0x86DD, cursor);
  case 47: return read_gre(cursor);
  case 17: return read_vxlan(cursor);
  default: return nothing;
  }
}

// ---- packet rules ------------------------------------------------------------------------------

struct Transport {
  unsigned protocol = 0;
  std::optional<unsigned> from_port, to_port;
};

bool knows_ports(unsigned protocol) {
  return protocol == 6 || protocol == 17 || protocol == 33 || protocol == 132 || protocol == 136;
}

Transport transport_of(const Read &read) {
  Transport transport{.protocol = read.protocol, .from_port = {}, .to_port = {}};
  Cursor cursor = read.behind;
  if (!read.first_fragment) return transport;
  const bool v6 = read.source.family == Family::ipv6;
  for (unsigned headers = 1; v6 && is_extension(transport.protocol); ++headers) {
    const unsigned next = cursor.number(1), more_words = cursor.number(1), fragment = cursor.number(2);
    cursor.take(4);
    if (cursor.short_of_bytes || headers > 8) return transport;
    const bool later = transport.protocol == 44 && fragment >= 8;
    if (transport.protocol != 44) cursor.take(8 * more_words);
    transport.protocol = next;
    if (later) return transport;
  }
  const unsigned from = cursor.number(2), to = cursor.number(2);
  if (cursor.short_of_bytes || !knows_ports(transport.protocol)) return transport;
  transport.from_port = from;
  transport.to_port = to;
  return transport;
}

bool one_of(const std::vector<Prefix> &prefixes, const Address &address) {
  return prefixes.empty() || std::ranges::any_of(prefixes, [&](const Prefix &prefix) {
           return prefix.family() == address.family && masked(address, prefix.length) == prefix.address;
         });
}

bool one_of(const std::vector<config::NumberRange> &ranges, const std::optional<unsigned> &number) {
  if (ranges.empty()) return true;
  return number && std::ranges::any_of(ranges, [&](config::NumberRange range) {
           return range.first <= *number && *number <= range.last;
         });
}

bool takes(const config::PacketRule &rule, const Read &read, const Transport &transport,
           const std::string &port) {
  if (!rule.file.empty()) return false; // by its flows alone
  const bool protocol =
      rule.protocols.empty() || std::ranges::find(rule.protocols, transport.protocol) != rule.protocols.end();
  return protocol && (rule.port.empty() || rule.port == port) && one_of(rule.vlans, read.vlan) &&
         one_of(rule.from, read.source) && one_of(rule.to, read.destination) &&
         one_of(rule.from_ports, transport.from_port) && one_of(rule.to_ports, transport.to_port);
}

std::string flow_of(const Read &read, const Transport &t) {
  return std::to_string(t.protocol) + ' ' + to_string(read.source) + ' ' +
         std::to_string(t.from_port.value_or(0)) + ' ' + to_string(read.destination) + ' ' +
         std::to_string(t.to_port.value_or(0));
}

std::string digits(const Address &address, unsigned length) {
  std::string text = address.family == Family::ipv4 ? "4:" : "6:";
  for (unsigned bit = 0; bit < length; ++bit)
    text += (address.bytes[bit / 8] >> (7 - bit % 8)) & 1 ? '1' : '0';
  return text;
}

} // namespace

std::string to_string(const Judgement &judgement) {
  std::string text(name_of(judgement.verdict));
  text += ' ';
  text += name_of(judgement.reason);
  if (!judgement.list.empty()) text += " (" + judgement.list + ')';
  return text;
}

void Oracle::PrefixMap::add(const Prefix &prefix, const std::string &list) {
  const std::string key = digits(prefix.address, prefix.length);
  sizes_.insert(key.size());
  by_digits_.emplace(key, list);
}

std::optional<std::string> Oracle::PrefixMap::find(const Address &address) const {
  std::string key = digits(address, address.family == Family::ipv4 ? 32 : 128);
  for (auto size = sizes_.rbegin(); size != sizes_.rend(); ++size) {
    if (*size > key.size()) continue;
    key.resize(*size);
    if (const auto found = by_digits_.find(key); found != by_digits_.end()) return found->second;
  }
  return std::nullopt;
}

void Oracle::allow(std::string_view prefix, const std::string &list) { allow(prefix_of(prefix), list); }
void Oracle::deny(std::string_view prefix, const std::string &list) { deny(prefix_of(prefix), list); }

Judgement Oracle::judge(std::span<const std::uint8_t> frame, PortSide side, const std::string &port) const {
  const Judgement listed = judge_by_lists(frame, side);
  const config::PacketRule *rule = rule_of(frame, port);
  const bool asked =
      listed.reason == Reason::allow || listed.reason == Reason::deny || listed.reason == Reason::fallthrough;
  if (rule == nullptr || !asked) return listed;
  switch (rule->action) {
  case RuleAction::pass: return {Verdict::pass, Reason::rule, rule->name};
  case RuleAction::drop:
  case RuleAction::reject: return {Verdict::drop, Reason::rule, rule->name};
  default: return listed;
  }
}

std::optional<std::string> Oracle::matched_rule(std::span<const std::uint8_t> frame,
                                                const std::string &port) const {
  const Judgement listed = judge_by_lists(frame, PortSide::none);
  if (listed.reason != Reason::allow && listed.reason != Reason::deny && listed.reason != Reason::fallthrough)
    return std::nullopt;
  const config::PacketRule *rule = rule_of(frame, port);
  return rule == nullptr ? std::nullopt : std::optional(rule->name);
}

const config::PacketRule *Oracle::rule_of(std::span<const std::uint8_t> frame,
                                          const std::string &port) const {
  const Read read = read_frame(frame);
  if (read.kind != Read::Kind::ip) return nullptr;
  const Transport transport = transport_of(read);
  if (transport.from_port || !knows_ports(transport.protocol))
    if (const auto flow = flows_.find(flow_of(read, transport)); flow != flows_.end())
      return &*std::ranges::find(rules_, flow->second, &config::PacketRule::name);
  for (const config::PacketRule &rule : rules_)
    if (takes(rule, read, transport, port)) return &rule;
  return nullptr;
}

Judgement Oracle::judge_by_lists(std::span<const std::uint8_t> frame, PortSide side) const {
  const Read read = read_frame(frame);
  if (read.kind == Read::Kind::broken) return {policy_.malformed, Reason::malformed, ""};
  if (read.kind == Read::Kind::not_ip) return {policy_.non_ip, Reason::non_ip, ""};
  if (read.kind == Read::Kind::too_many_tags) return {policy_.too_many_tags, Reason::too_many_tags, ""};
  if (read.link_local) return {policy_.link_local, Reason::link_local, ""};
  const Judgement outermost = judge_addresses(read.source, read.destination, side);
  if (policy_.tunnels == Tunnels::outer) return outermost;
  const Read inside = read_inside(read);
  if (inside.kind == Read::Kind::broken && policy_.malformed == Verdict::drop)
    return {Verdict::drop, Reason::malformed, ""};
  if (inside.kind == Read::Kind::too_many_tags && policy_.too_many_tags == Verdict::drop)
    return {Verdict::drop, Reason::too_many_tags, ""};
  if (inside.kind != Read::Kind::ip || inside.link_local) return outermost;
  const Judgement carried = judge_addresses(inside.source, inside.destination, side);
  return policy_.tunnels == Tunnels::inner ? carried : worse(outermost, carried);
}

// Of two answers, the first when both weigh the same.
Judgement Oracle::worse(const Judgement &first, const Judgement &second) {
  for (const Reason reason : {Reason::deny, Reason::allow})
    for (const Judgement *one : {&first, &second})
      if (one->reason == reason) return *one;
  return first;
}

Judgement Oracle::judge_addresses(const Address &source, const Address &destination, PortSide side) const {
  switch (policy_.match) {
  case Match::source: return judge_address(source);
  case Match::destination: return judge_address(destination);
  case Match::remote: return judge_address(side == PortSide::inside ? destination : source);
  case Match::either: break;
  }
  return worse(judge_address(source), judge_address(destination));
}

Judgement Oracle::judge_address(const Address &address) const {
  if (const auto list = allowed_by(address)) return {Verdict::pass, Reason::allow, *list};
  if (const auto list = denied_by(address); list && !going_on_.contains(*list))
    return {Verdict::drop, Reason::deny, *list};
  return {policy_.fallthrough, Reason::fallthrough, ""};
}

} // namespace weir::test
