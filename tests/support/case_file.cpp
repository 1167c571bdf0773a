#include "tests/support/case_file.hpp"

#include "tests/support/capture_file.hpp"
#include "tests/support/process.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <stdexcept>

namespace weir::test {
namespace {

using YAML::Node;

class Loader {
public:
  explicit Loader(const std::filesystem::path &file) : file_(file) { case_.folder = file.parent_path(); }

  Case load();

private:
  using Handlers = std::map<std::string, std::function<void(const Node &)>>;

  [[noreturn]] void fault(const Node &at, const std::string &what) const {
    throw std::runtime_error(file_.string() + ":" + std::to_string(at.Mark().line + 1) + ": " + what);
  }
  // Every key must have a handler; keys are handled in the order of the file.
  void each_key(const Node &map, const Handlers &handlers) const;
  [[nodiscard]] unsigned number(const Node &node) const;
  [[nodiscard]] std::vector<std::string> texts(const Node &node) const;
  [[nodiscard]] std::map<std::string, std::uint64_t> counts(const Node &node) const;

  void add_list(const std::string &name, const Node &node);
  void add_step(const Node &node);
  [[nodiscard]] std::vector<Frame> frames_of(const Node &node);
  void add_layers(FrameBuilder &builder, const Node &packet);
  void add_ethernet(FrameBuilder &builder, const Node &node);
  void add_snap(FrameBuilder &builder, const Node &node);
  void add_ip(FrameBuilder &builder, const Node &node);
  void add_ipv6(FrameBuilder &builder, const Node &node);
  void add_ports(FrameBuilder &builder, const std::string &protocol, const Node &node);
  void add_icmp(FrameBuilder &builder, bool ipv6, const Node &node);
  [[nodiscard]] std::vector<std::uint8_t> hex(const Node &node) const;
  [[nodiscard]] CaseExpect expect_of(const Node &node) const;

  std::filesystem::path file_;
  Case case_;
};

void Loader::each_key(const Node &map, const Handlers &handlers) const {
  if (!map.IsMap()) fault(map, "keys and values are needed here");
  for (const auto &pair : map) {
    const auto key = pair.first.as<std::string>();
    const auto handler = handlers.find(key);
    if (handler == handlers.end()) fault(pair.first, "unknown key " + key);
    handler->second(pair.second);
  }
}

unsigned Loader::number(const Node &node) const {
  const auto text = node.as<std::string>();
  const bool is_hex = text.starts_with("0x");
  unsigned value = 0;
  const char *begin = text.data() + (is_hex ? 2 : 0), *end = text.data() + text.size();
  const auto read = std::from_chars(begin, end, value, is_hex ? 16 : 10);
  if (read.ec != std::errc{} || read.ptr != end) fault(node, "not a number: " + text);
  return value;
}

std::vector<std::string> Loader::texts(const Node &node) const {
  if (node.IsScalar()) return {node.as<std::string>()};
  std::vector<std::string> out;
  for (const auto &item : node) out.push_back(item.as<std::string>());
  return out;
}

std::map<std::string, std::uint64_t> Loader::counts(const Node &node) const {
  std::map<std::string, std::uint64_t> out;
  for (const auto &pair : node) out[pair.first.as<std::string>()] = number(pair.second);
  return out;
}

Case Loader::load() {
  const Node root = YAML::LoadFile(file_.string());
  each_key(root, {
                     {"name", [&](const Node &n) { case_.name = n.as<std::string>(); }},
                     {"lists",
                      [&](const Node &n) {
                        for (const auto &pair : n) add_list(pair.first.as<std::string>(), pair.second);
                      }},
                     {"policy",
                      [&](const Node &n) {
                        for (const auto &pair : n)
                          case_.policy.emplace_back(pair.first.as<std::string>(),
                                                    pair.second.as<std::string>());
                      }},
                     {"never_deny", [&](const Node &n) { case_.never_deny = texts(n); }},
                     {"config", [&](const Node &n) { case_.config = n.as<std::string>(); }},
                     {"refused", [&](const Node &n) { case_.refused = texts(n); }},
                     {"loop", [&](const Node &n) { case_.loop = number(n); }},
                     {"steps",
                      [&](const Node &n) {
                        for (const auto &step : n) add_step(step);
                      }},
                 });
  if (case_.name.empty()) fault(root, "the case needs a name");
  return std::move(case_);
}

void Loader::add_list(const std::string &name, const Node &node) {
  CaseList list;
  list.name = name;
  const auto setting = [&](const char *key) {
    return [&list, key](const Node &n) {
      list.settings.push_back(std::string(key) + ": " + n.as<std::string>());
    };
  };
  each_key(node, {
                     {"action", [&](const Node &n) { list.allow = n.as<std::string>() == "allow"; }},
                     {"entries", [&](const Node &n) { list.entries = texts(n); }},
                     {"text", [&](const Node &n) { list.text = n.as<std::string>(); }},
                     {"format", [&](const Node &n) { list.format = n.as<std::string>(); }},
                     {"on_error", setting("on_error")},
                     {"comment", setting("comment")},
                 });
  case_.lists.push_back(std::move(list));
}

void Loader::add_step(const Node &node) {
  CaseStep step;
  step.line = node.Mark().line + 1;
  each_key(node, {
                     {"send", [&](const Node &n) { step.frames = frames_of(n); }},
                     {"expect", [&](const Node &n) { step.expect = expect_of(n); }},
                     {"replace",
                      [&](const Node &n) {
                        step.kind = CaseStep::Kind::replace;
                        for (const auto &pair : n)
                          step.replace.emplace_back(pair.first.as<std::string>(), texts(pair.second));
                      }},
                     {"counters",
                      [&](const Node &n) {
                        step.kind = CaseStep::Kind::counters;
                        step.expect = expect_of(n);
                      }},
                 });
  case_.steps.push_back(std::move(step));
}

CaseExpect Loader::expect_of(const Node &node) const {
  CaseExpect expect;
  Handlers handlers{
      {"verdict", [&](const Node &n) { expect.verdict = n.as<std::string>(); }},
      {"reason", [&](const Node &n) { expect.reason = n.as<std::string>(); }},
      {"list", [&](const Node &n) { expect.list = n.as<std::string>(); }},
      {"reasons", [&](const Node &n) { expect.reasons = counts(n); }},
      {"list_hits", [&](const Node &n) { expect.lists = counts(n); }},
      {"lost", [&](const Node &n) { expect.lost = number(n); }},
  };
  for (const char *count : {"packets", "pass", "drop"})
    handlers[count] = [&, count](const Node &n) { expect.counts[count] = number(n); };
  each_key(node, handlers);
  return expect;
}

// One packet, several, or a capture.
std::vector<Frame> Loader::frames_of(const Node &node) {
  std::vector<Frame> frames;
  if (node.IsSequence()) {
    for (const auto &item : node)
      for (Frame &frame : frames_of(item)) frames.push_back(std::move(frame));
    return frames;
  }
  if (node["pcap"]) {
    frames = read_capture(case_.folder / node["pcap"].as<std::string>()).frames;
    if (frames.empty()) fault(node, "the capture holds no packet");
    return frames;
  }
  FrameBuilder builder;
  add_layers(builder, node);
  std::optional<std::size_t> cut;
  if (node["cut"]) cut = number(node["cut"]);
  return std::vector<Frame>(node["count"] ? number(node["count"]) : 1, builder.frame(cut));
}

void Loader::add_layers(FrameBuilder &builder, const Node &packet) {
  const bool begins_with_bytes = packet.IsMap() && packet.begin()->first.as<std::string>() == "hex";
  if (!packet["eth"] && !begins_with_bytes) builder.ethernet();
  each_key(packet, {
                       {"eth", [&](const Node &n) { add_ethernet(builder, n); }},
                       {"ip", [&](const Node &n) { add_ip(builder, n); }},
                       {"udp", [&](const Node &n) { add_ports(builder, "udp", n); }},
                       {"tcp", [&](const Node &n) { add_ports(builder, "tcp", n); }},
                       {"icmp", [&](const Node &n) { add_icmp(builder, false, n); }},
                       {"icmp6", [&](const Node &n) { add_icmp(builder, true, n); }},
                       {"arp",
                        [&](const Node &n) {
                          builder.arp(n["sender"].as<std::string>(), n["target"].as<std::string>());
                        }},
                       {"mpls", [&](const Node &n) { builder.mpls(number(n)); }},
                       {"pppoe", [&](const Node &) { builder.pppoe(); }},
                       {"llc", [&](const Node &) { builder.llc(); }},
                       {"snap", [&](const Node &n) { add_snap(builder, n); }},
                       {"gre",
                        [&](const Node &n) {
                          std::optional<unsigned> type;
                          if (n["type"]) type = number(n["type"]);
                          builder.gre(n["flags"] ? number(n["flags"]) : 0, type);
                        }},
                       {"vxlan", [&](const Node &n) { builder.vxlan(n["flags"] ? number(n["flags"]) : 8); }},
                       {"inner_eth", [&](const Node &n) { add_ethernet(builder, n); }},
                       {"inner_ip", [&](const Node &n) { add_ip(builder, n); }},
                       {"innermost_ip", [&](const Node &n) { add_ip(builder, n); }},
                       {"payload", [&](const Node &n) { builder.payload(number(n)); }},
                       {"hex", [&](const Node &n) { builder.raw(hex(n)); }},
                       {"cut", [](const Node &) {}},
                       {"count", [](const Node &) {}},
                   });
}

void Loader::add_ethernet(FrameBuilder &builder, const Node &node) {
  std::optional<unsigned> type;
  if (node["type"]) type = number(node["type"]);
  builder.ethernet(type);
  each_key(node, {
                     {"type", [](const Node &) {}},
                     {"vlan",
                      [&](const Node &tags) {
                        for (const auto &tag : tags)
                          if (tag.IsMap())
                            builder.vlan(number(tag["id"]), number(tag["type"]));
                          else
                            builder.vlan(number(tag));
                      }},
                 });
}

void Loader::add_snap(FrameBuilder &builder, const Node &node) {
  unsigned organisation = 0;
  std::optional<unsigned> type, length;
  if (node.IsMap())
    each_key(node, {
                       {"oui", [&](const Node &n) { organisation = number(n); }},
                       {"type", [&](const Node &n) { type = number(n); }},
                       {"length", [&](const Node &n) { length = number(n); }},
                   });
  builder.snap(organisation, type, length);
}

void Loader::add_ip(FrameBuilder &builder, const Node &node) {
  if (node["src"].as<std::string>().find(':') != std::string::npos) return add_ipv6(builder, node);
  Ipv4Fields ip;
  each_key(node, {
                     {"src", [&](const Node &n) { ip.source = n.as<std::string>(); }},
                     {"dst", [&](const Node &n) { ip.destination = n.as<std::string>(); }},
                     {"ttl", [&](const Node &n) { ip.ttl = number(n); }},
                     {"options", [&](const Node &n) { ip.options_words = number(n); }},
                     {"fragment", [&](const Node &n) { ip.fragment_offset = number(n); }},
                     {"more", [&](const Node &n) { ip.more_fragments = n.as<bool>(); }},
                     {"protocol", [&](const Node &n) { ip.protocol = number(n); }},
                     {"version", [&](const Node &n) { ip.version = number(n); }},
                     {"ihl", [&](const Node &n) { ip.ihl = number(n); }},
                     {"length", [&](const Node &n) { ip.total_length = number(n); }},
                 });
  builder.ipv4(ip);
}

void Loader::add_ipv6(FrameBuilder &builder, const Node &node) {
  static const std::map<std::string, unsigned> kinds{
      {"hop_by_hop", 0}, {"routing", 43}, {"fragment", 44}, {"destination", 60}};
  Ipv6Fields ip;
  each_key(node, {
                     {"src", [&](const Node &n) { ip.source = n.as<std::string>(); }},
                     {"dst", [&](const Node &n) { ip.destination = n.as<std::string>(); }},
                     {"hop_limit", [&](const Node &n) { ip.hop_limit = number(n); }},
                     {"next_header", [&](const Node &n) { ip.next_header = number(n); }},
                     {"version", [&](const Node &n) { ip.version = number(n); }},
                     {"length", [&](const Node &n) { ip.payload_length = number(n); }},
                     {"extensions",
                      [&](const Node &n) {
                        for (const std::string &kind : texts(n)) {
                          if (!kinds.contains(kind)) fault(n, "unknown extension header " + kind);
                          ip.extensions.push_back(kinds.at(kind));
                        }
                      }},
                 });
  builder.ipv6(ip);
}

void Loader::add_ports(FrameBuilder &builder, const std::string &protocol, const Node &node) {
  unsigned from = 40'000, to = 80;
  each_key(node, {
                     {"sport", [&](const Node &n) { from = number(n); }},
                     {"dport", [&](const Node &n) { to = number(n); }},
                 });
  protocol == "udp" ? builder.udp(from, to) : builder.tcp(from, to);
}

void Loader::add_icmp(FrameBuilder &builder, bool ipv6, const Node &node) {
  unsigned type = ipv6 ? 128 : 8, code = 0;
  each_key(node, {
                     {"type", [&](const Node &n) { type = number(n); }},
                     {"code", [&](const Node &n) { code = number(n); }},
                 });
  ipv6 ? builder.icmp6(type, code) : builder.icmp(type, code);
}

std::vector<std::uint8_t> Loader::hex(const Node &node) const {
  std::string digits = node.as<std::string>();
  std::erase_if(digits, [](char c) { return c == ' ' || c == '\n'; });
  if (digits.size() % 2 != 0) fault(node, "an odd number of hexadecimal digits");
  std::vector<std::uint8_t> bytes(digits.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char *at = digits.data() + 2 * i;
    if (std::from_chars(at, at + 2, bytes[i], 16).ptr != at + 2) fault(node, "not hexadecimal");
  }
  return bytes;
}

} // namespace

std::string Case::list_text(const CaseList &list) const {
  if (list.text) return *list.text;
  std::string text = "# " + list.name + '\n';
  for (const std::string &entry : list.entries) text += entry + '\n';
  return text;
}

std::string Case::weir_yaml() const {
  if (config) return *config;
  std::string text = "version: 1\neal: {hugepages: no}\n";
  if (!policy.empty()) {
    text += "policy:\n";
    for (const auto &[key, word] : policy) text += "  " + key + ": " + word + '\n';
  }
  if (!lists.empty()) text += "lists:\n";
  for (const CaseList &list : lists) {
    text += "- name: " + list.name + "\n  action: " + (list.allow ? "allow" : "deny") +
            "\n  file: " + list.name + ".txt\n";
    if (!list.format.empty()) text += "  format: " + list.format + '\n';
    for (const std::string &setting : list.settings) text += "  " + setting + '\n';
  }
  // Cases are about packets and have prefixes of every length in files.
  text += "guard:\n"
          "  shortest_prefix: {deny: {ipv4: /0, ipv6: /0}, allow: {ipv4: /0, ipv6: /0}}\n"
          "  max_covered: {deny: {ipv4: 100%, ipv6: 100%}, allow: {ipv4: 100%, ipv6: 100%}}\n"
          "  max_nested: {ipv4: 32, ipv6: 128}\n";
  if (!never_deny.empty()) {
    text += "  never_deny:\n";
    for (const std::string &prefix : never_deny) text += "  - \"" + prefix + "\"\n";
  }
  return text;
}

Oracle Case::oracle(std::size_t step) const {
  Policy words;
  words.match = Match::source; // what a replay without sides means by remote
  for (const auto &[key, word] : policy) {
    const Verdict verdict = word == "drop" ? Verdict::drop : Verdict::pass;
    if (key == "default") words.fallthrough = verdict;
    if (key == "non_ip") words.non_ip = verdict;
    if (key == "too_many_tags") words.too_many_tags = verdict;
    if (key == "link_local") words.link_local = verdict;
    if (key == "malformed") words.malformed = verdict;
    if (key == "tunnels" && word == "inner") words.tunnels = Tunnels::inner;
    if (key == "tunnels" && word == "both") words.tunnels = Tunnels::both;
    if (key == "match" && word == "destination") words.match = Match::destination;
    if (key == "match" && word == "either") words.match = Match::either;
  }
  std::map<std::string, std::vector<std::string>> now;
  for (const CaseList &list : lists) now[list.name] = list.entries;
  for (std::size_t i = 0; i < step; ++i)
    for (const auto &[list, entries] : steps[i].replace) now[list] = entries;

  Oracle oracle(words);
  for (const std::string &prefix : never_deny) oracle.allow(prefix, "never_deny");
  for (const CaseList &list : lists)
    for (const std::string &prefix : now[list.name])
      list.allow ? oracle.allow(prefix, list.name) : oracle.deny(prefix, list.name);
  return oracle;
}

// Timestamps rise by a little more than a millisecond, so that nothing can be mixed up or rounded.
std::vector<Frame> Case::frames() const {
  std::vector<Frame> all;
  for (const CaseStep &step : steps)
    for (Frame frame : step.frames) {
      frame.timestamp_ns = 1'700'000'000'000'000'000 + static_cast<std::int64_t>(all.size()) * 1'000'001;
      all.push_back(std::move(frame));
    }
  return all;
}

Case load_case(const std::filesystem::path &file) {
  try {
    return Loader(file).load();
  } catch (const YAML::Exception &e) {
    throw std::runtime_error(file.string() + ":" + std::to_string(e.mark.line + 1) + ": " + e.msg);
  } catch (const std::invalid_argument &e) {
    throw std::runtime_error(file.string() + ": " + e.what());
  }
}

std::vector<std::filesystem::path> find_cases() {
  std::vector<std::filesystem::path> found;
  for (const auto &entry : std::filesystem::directory_iterator(source_tree() / "pcaps"))
    if (std::filesystem::exists(entry.path() / "case.yaml")) found.push_back(entry.path() / "case.yaml");
  std::ranges::sort(found);
  return found;
}

} // namespace weir::test
