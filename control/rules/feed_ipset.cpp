// What `ipset save` writes: a create line a set, then its add lines. All sets of the file together
// make the list.
#include "control/rules/sink.hpp"
#include "weir/config/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

namespace weir::rules {
namespace {

struct Set {
  Family family = Family::ipv4;
  bool refused = false; // its create line was a fault
};

constexpr std::array<std::string_view, 11> options_with_value{"timeout", "packets",    "bytes",    "skbmark",
                                                              "skbprio", "skbqueue",   "hashsize", "maxelem",
                                                              "family",  "bucketsize", "initval"};

class Parser {
public:
  explicit Parser(Sink &sink) : sink_(sink) {}

  void line(std::uint64_t number, std::string_view text) {
    number_ = number;
    text_ = text;
    rest_ = text;
    const std::string_view verb = word();
    if (verb == "add")
      add();
    else if (verb == "create")
      create();
    else
      fault("ipset save has lines that begin with create or add");
  }

private:
  void fault(std::string_view reason) { sink_.fault(number_, text_, reason); }

  // The next word, or what stands in the next quotes; empty at the end.
  std::string_view word() noexcept {
    rest_ = trim(rest_);
    if (!rest_.empty() && rest_.front() == '"') {
      const std::size_t close = rest_.find('"', 1);
      const std::string_view quoted = rest_.substr(1, close == std::string_view::npos ? close : close - 1);
      rest_.remove_prefix(std::min(rest_.size(), close == std::string_view::npos ? close : close + 1));
      return quoted;
    }
    const std::size_t size = std::min(rest_.find_first_of(" \t"), rest_.size());
    const std::string_view w = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return w;
  }
  bool more() noexcept {
    rest_ = trim(rest_);
    return !rest_.empty();
  }

  void create() {
    const std::string_view name = word(), type = word();
    if (name.empty() || type.empty()) return fault("create needs a name and a type");
    const auto [at, fresh] = sets_.emplace(name, Set{});
    if (!fresh) return fault("this set was created before");
    Set &set = at->second;
    set.refused = true;
    if (type != "hash:ip" && type != "hash:net")
      return fault(
          fmt::format("a set of type {} cannot be a list; hash:ip and hash:net can", type.substr(0, 30)));
    while (more()) {
      const std::string_view option = word();
      if (option == "family") {
        const std::string_view family = word();
        if (family != "inet" && family != "inet6") return fault("family is inet or inet6");
        set.family = family == "inet" ? Family::ipv4 : Family::ipv6;
      } else if (option == "netmask" || option == "bitmask") {
        return fault(
            fmt::format("with {} an address stands for a network; save the set as hash:net", option));
      } else if (takes_value(option)) {
        word();
      } else if (option != "counters" && option != "comment" && option != "skbinfo" && option != "forceadd" &&
                 option != "-exist") {
        return fault(fmt::format("unknown option {}", option.substr(0, 30)));
      }
    }
    set.refused = false;
  }

  void add() {
    const std::string_view name = word(), entry = word();
    const auto set = sets_.find(name);
    if (name.empty() || entry.empty()) return fault("add needs the name of a set and an address");
    if (set == sets_.end()) return fault("no create line above names this set");
    if (set->second.refused) return sink_.unlisted_fault();
    Prefix prefix;
    if (!sink_.take(number_, text_, entry, prefix)) return;
    if (prefix.family() != set->second.family)
      return fault(set->second.family == Family::ipv4 ? "an IPv6 address in a set of family inet"
                                                      : "an IPv4 address in a set of family inet6");
    std::uint64_t ttl_s = 0;
    std::string_view comment;
    while (more()) {
      const std::string_view option = word();
      if (option == "nomatch")
        return fault("nomatch makes an exception of this entry; put it on an allow list instead");
      if (option == "comment") {
        comment = word();
      } else if (takes_value(option)) {
        const std::string_view value = word();
        if (option != "timeout") continue;
        const auto seconds = config::parse_number(value);
        if (!seconds) return fault("timeout needs a number of seconds");
        ttl_s = *seconds;
      } else if (option != "-exist") {
        return fault(fmt::format("unknown option {}", option.substr(0, 30)));
      }
    }
    sink_.add(prefix, number_);
    if (ttl_s != 0 || !comment.empty()) sink_.note(prefix, comment, ttl_s);
  }

  static bool takes_value(std::string_view option) noexcept {
    return std::ranges::find(options_with_value, option) != options_with_value.end();
  }

  Sink &sink_;
  std::map<std::string, Set, std::less<>> sets_;
  std::uint64_t number_ = 0;
  std::string_view text_, rest_;
};

} // namespace

void parse_ipset_save(std::string_view text, Sink &sink) {
  Lines lines(text);
  std::string_view line;
  Parser parser(sink);
  ReadSoFar so_far(text, sink);
  while (lines.next(line)) {
    so_far.up_to(line.data());
    line = trim(line);
    if (!line.empty() && line.front() != '#') parser.line(lines.number(), line);
  }
  sink.content.lines = lines.number();
}

} // namespace weir::rules
