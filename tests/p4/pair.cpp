#include "tests/p4/pair.hpp"

#include "tests/support/deny_filter_case.hpp"
#include "weir/key/parse.hpp"

#include <algorithm>
#include <stdexcept>

namespace weir::test {
namespace {

// The program asks for at most eight IPv6 lengths a side: each length becomes the next one of these.
constexpr std::array<std::uint8_t, 8> lengths_v6{0, 7, 24, 32, 48, 56, 64, 128};

RuleSet rules_for(Random &random, P4Filters filters, P4Excluded &excluded) {
  RuleSet rules = random_rules(random, {.lists = 3, .prefixes_per_list = 2u << random.below(9)});
  const bool hosts_v6 = !random.one_in(3); // without them the longest length is another one
  for (TestList &list : rules.lists)
    for (Prefix &p : list.prefixes)
      if (p.family() == Family::ipv6) {
        const std::uint8_t length = *std::ranges::lower_bound(lengths_v6, p.length);
        excluded.lengths_v6 += length != p.length;
        p.length = length;
        if (!hosts_v6 && p.length == 128) p.length = 64;
        p.address = masked(p.address, p.length);
      }
  while (rules.policy.match == Match::either) {
    ++excluded.match_either;
    rules.policy = random_policy(random);
  }
  if (filters.late) rules.policy.fallthrough = Verdict::pass;
  rules.policy.confirm = filters.late ? Confirm::on_conflict : Confirm::exact;
  return rules;
}

// `known`: memory for what the options point to.
ImageOptions options_for(Random &random, const RuleSet &rules, P4Filters filters,
                         std::vector<Address> &known) {
  ImageOptions options{.seed = random.bits(), .family = HashFamily::jhash};
  if (filters.guard) {
    options.guard = jhash_seesaw(600, 8u << random.below(8), 1u << random.below(6), 2 + random.below(5));
    for (unsigned n = 0; n < 200; ++n)
      options.guarded.push_back({{random_address(random, Family::ipv4), 32}, 1});
  }
  if (filters.stack) {
    options.stack =
        plan_of({filter::FilterKind::bloom, false, 1 + 2 * random.below(3), 5}, image::DenyFilterRole::front);
    for (unsigned n = 0; n < 300; ++n) known.push_back(interesting_address(random, rules, Family::ipv4));
    options.stack->known = known;
  }
  return options;
}

P4Acl::Answer answer_for_address(const image::ImageView &view, const Address &address) {
  const auto list_of = [&](Side side) { return image::lookup(view, side, address) & 0xFFFF; };
  const std::uint32_t denied = list_of(Side::deny);
  const bool late = !view.allow_filter.empty() && view.policy.confirm == Confirm::on_conflict;
  if (!late || denied != 0)
    if (const std::uint32_t allowed = list_of(Side::allow); allowed != 0)
      return {Verdict::pass, Reason::allow, allowed};
  if (denied != 0) return {Verdict::drop, Reason::deny, denied};
  return {view.policy.fallthrough, Reason::fallthrough, 0};
}

template <class T> T value_or_throw(Result<T> from) {
  if (!from) throw std::runtime_error(from.error().message);
  return std::move(*from);
}

} // namespace

P4Acl::Answer answer_of_image(const image::ImageView &view, const Frame &frame, PortSide side) {
  const ParsedPacket packet = parse_packet(frame.bytes.data(), frame.bytes.size());
  const Policy &policy = view.policy;
  switch (packet.kind) {
  case PacketKind::malformed: return {policy.malformed, Reason::malformed, 0};
  case PacketKind::non_ip: return {policy.non_ip, Reason::non_ip, 0};
  case PacketKind::too_many_tags: return {policy.too_many_tags, Reason::too_many_tags, 0};
  case PacketKind::ipv4:
  case PacketKind::ipv6: break;
  }
  if (packet.link_local) return {policy.link_local, Reason::link_local, 0};
  const bool destination =
      policy.match == Match::destination || (policy.match == Match::remote && side == PortSide::inside);
  return answer_for_address(view, address_at(packet, frame.bytes.data(),
                                             destination ? packet.destination_offset : packet.source_offset));
}

P4Pair::P4Pair(Random &random, P4Filters filters)
    : random_(random), rules_(rules_for(random, filters, excluded_)),
      image_(rules_, options_for(random, rules_, filters, known_)),
      writer_(value_or_throw(image::ImageWriter::attach(image_.bytes(), [] {}))),
      program_(value_or_throw(P4Acl::load())), exporter_(program_) {
  const p4::Capacities capacities = value_or_throw(p4::capacities_for(view()));
  for (const p4::ArrayInfo &info : p4::arrays) {
    const auto done = program_.enlarge(info.name, capacities[static_cast<std::size_t>(info.array)]);
    if (!done) throw std::runtime_error(done.error().message);
  }
}

bool P4Pair::change(unsigned count) {
  bool overlay = false;
  for (unsigned n = 0; n < count; ++n) {
    const TestList &list = rules_.lists[random_.below(static_cast<std::uint32_t>(rules_.lists.size()))];
    const Family family = random_.one_in(2) ? Family::ipv4 : Family::ipv6;
    Prefix p{interesting_address(random_, rules_, family), static_cast<std::uint8_t>(address_bits(family))};
    if (!list.prefixes.empty() && random_.one_in(2))
      p = list.prefixes[random_.below(static_cast<std::uint32_t>(list.prefixes.size()))];
    const image::Delta delta{.op = random_.one_in(3) ? image::DeltaOp::unset : image::DeltaOp::set,
                             .side = list.side,
                             .family = p.family(),
                             .length = p.length,
                             .list = ListId(random_.below(3)),
                             .address = p.address.bytes};
    if (!image::check(delta)) continue;
    overlay |= writer_.apply(delta) == image::Change::overlay;
    writer_.grace_passed();
  }
  return overlay;
}

p4::Registers P4Pair::registers() {
  p4::Registers out;
  for (const p4::ArrayInfo &info : p4::arrays) {
    const auto n = static_cast<std::size_t>(info.array);
    out.elements[n] = program_.machine().find(info.name)->elements;
    out.capacities[n] = out.elements[n].size();
  }
  return out;
}
} // namespace weir::test
