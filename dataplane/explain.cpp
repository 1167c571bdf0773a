#include "dataplane/explain.hpp"

#include "weir/image/reader.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>

namespace weir::dataplane {
namespace {

using image::Side;

std::string lengths_text(const image::ImageView &view, Side side, const Address &address) {
  std::string text;
  const auto s = static_cast<std::size_t>(side);
  if (address.family == Family::ipv4) {
    if (view.lengths_v4[s].empty()) return "no IPv4 entries";
    const std::uint64_t cell = view.lengths_v4[s].cell(address.wire());
    if (table::short_value(cell) != 0)
      text += fmt::format(" /{}", image::value::length_of(table::short_value(cell)));
    for (unsigned length = table::short_length_max + 1; length <= 32; ++length)
      if ((cell & table::length_bit(length)) != 0) text += fmt::format(" /{}", length);
    const Prefix sixteen{masked(address, table::short_length_max), table::short_length_max};
    return text.empty() ? fmt::format("none below {}", to_string(sixteen))
                        : fmt::format("below {}:{}", to_string(sixteen), text);
  }
  for (unsigned length = 0; length <= 128; ++length)
    if (view.lengths_v6[s].has(length)) text += fmt::format(" /{}", length);
  return text.empty() ? "no IPv6 entries" : "in use:" + text;
}

// What a side says about an address; fills in list and entry when it matches.
bool ask(const image::ImageView &view, Side side, const Address &address, Explanation &out) {
  const std::string name(image::name_of(side));
  out.path.push_back({name + " lengths", lengths_text(view, side, address)});
  const std::uint32_t value = image::lookup(view, side, address);
  if (!image::value::is_set(value)) {
    out.path.push_back({name, "no match"});
    return false;
  }
  const unsigned length = image::value::length_of(value);
  out.list = image::list_name(view, image::value::list_of(value));
  out.entry = to_string(Prefix{masked(address, length), static_cast<std::uint8_t>(length)});
  out.path.push_back({name, fmt::format("{} on list {}", out.entry, out.list)});
  return true;
}

} // namespace

Explanation explain(const image::ImageView &view, const Address &address) {
  Explanation out;
  out.path.push_back({"image", fmt::format("generation {}", view.header->generation)});
  out.path.push_back({"parse", fmt::format("{} address {}", address.family == Family::ipv4 ? "ipv4" : "ipv6",
                                           to_string(address))});
  if (ask(view, Side::allow, address, out)) {
    out.verdict = Verdict::pass;
    out.reason = Reason::allow;
  } else if (ask(view, Side::deny, address, out)) {
    out.verdict = Verdict::drop;
    out.reason = Reason::deny;
  } else {
    out.verdict = view.policy.fallthrough;
    out.reason = Reason::fallthrough;
    out.path.push_back({"default", fmt::format("policy.default is {}", name_of(out.verdict))});
  }
  return out;
}

} // namespace weir::dataplane
