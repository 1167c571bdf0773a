// The image reader. The input is a list of edits to a small honest image, which are made before the
// image is attached, with or without repairing the checksums afterwards:
//
//   byte 0    bit 0: repair checksums; bit 1: the rest is an image as it stands, no edits; bit 2: the honest
//             image is one whose denied hosts are judged by a stacked filter; else bit 3: whose denied IPv4 hosts stand in
//             words; else bit 4: one with packet rules and flows; else bit 5: one that a chained filter judges, with a class map
//             and a memory of offenders
//   then      [kind 1][place 4, little-endian][value 8] each
//     kind 0  header and section table     1  byte place % 128 of section place / 128
//     kind 2  anywhere                      3  cut to place % size bytes
//
// What attach() accepts is asked and changed; the sanitizers watch the borders. Without repair, any
// change of a byte that a checksum covers must be refused.
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/honest_image.hpp"
#include "weir/image/reader.hpp"
#include "weir/image/writer.hpp"
#include "weir/lookup/burst_lookup.hpp"

#include <algorithm>
#include <memory>

namespace {

using namespace weir;
using fuzz::Buffer;
using fuzz::honest_image;
using fuzz::require;
using fuzz::test_hosts;

image::ImageHeader *header_of(MutableBytes image) {
  return reinterpret_cast<image::ImageHeader *>(image.data());
}

std::span<image::SectionEntry> sections_of(MutableBytes image) {
  if (image.size() < sizeof(image::ImageHeader)) return {};
  const std::size_t room = (image.size() - sizeof(image::ImageHeader)) / sizeof(image::SectionEntry);
  const std::size_t count = std::min<std::size_t>({header_of(image)->section_count, room, 64});
  return {reinterpret_cast<image::SectionEntry *>(image.data() + sizeof(image::ImageHeader)), count};
}

void edit(Buffer &image, Bytes edits) {
  constexpr std::size_t edit_bytes = 13;
  for (; edits.size() >= edit_bytes; edits = edits.subspan(edit_bytes)) {
    const auto place = load_unaligned<std::uint32_t>(edits.data() + 1);
    std::size_t offset = 0, room = image.bytes;
    std::size_t at = place;
    const auto sections = sections_of(image.all());
    switch (static_cast<unsigned>(edits[0]) % 4) {
    case 0: room = std::min(room, sizeof(image::ImageHeader) + sections.size_bytes()); break;
    case 1:
      if (sections.empty()) continue;
      offset = sections[place / 128 % sections.size()].offset;
      room = std::min<std::size_t>(sections[place / 128 % sections.size()].bytes, 128);
      at = std::min<std::size_t>(place % 128, room - std::min<std::size_t>(room, 8));
      break;
    case 2: break;
    case 3: image.bytes = place % (image.bytes + 1); continue;
    }
    if (room < 8 || offset > image.bytes || image.bytes - offset < room) continue;
    std::copy_n(edits.data() + 5, 8, image.data.get() + offset + at % (room - 7));
  }
}

void repair_checksums(MutableBytes image) {
  if (image.size() < sizeof(image::ImageHeader)) return;
  image::ImageHeader &header = *header_of(image);
  const auto sections = sections_of(image);
  for (image::SectionEntry &section : sections)
    if (section.offset <= image.size() && section.bytes <= image.size() - section.offset)
      section.checksum = checksum(Bytes(image).subspan(section.offset, section.bytes));
  header.section_checksum = checksum(std::as_bytes(sections));
  header.header_checksum = checksum(Bytes(image).first(offsetof(image::ImageHeader, header_checksum)));
}

// Is a byte different that the honest image's checksums cover?
bool covered_change(MutableBytes image, fuzz::Honest kind) {
  const MutableBytes honest = honest_image(kind).all();
  if (image.size() < honest.size()) return true;
  const auto differs = [&](std::size_t offset, std::size_t bytes) {
    return std::memcmp(image.data() + offset, honest.data() + offset, bytes) != 0;
  };
  const auto sections = sections_of(honest);
  if (differs(0, sizeof(image::ImageHeader) + sections.size_bytes())) return true;
  return std::ranges::any_of(sections, [&](const auto &s) { return differs(s.offset, s.bytes); });
}

// A packet of each family, with ports and without, of rules and flows.
void ask_packet_rules(const image::ImageView &view) {
  for (const bool v6 : {false, true})
    for (std::uint8_t i = 0; i < 20; ++i) {
      std::array<std::uint8_t, 64> frame{};
      PacketTuple tuple;
      tuple.is_v6 = v6;
      tuple.protocol = i % 3 == 0 ? 1 : 6;
      tuple.source_offset = 8;
      tuple.destination_offset = v6 ? 24 : 12;
      tuple.ports_offset = i % 3 == 0 ? 0 : 40;
      tuple.vlan = i;
      frame[8] = frame[11] = frame[40] = i;
      const RuleId by_flow = view.flows.find(tuple, frame.data());
      const RuleId by_pattern = view.packet_rules.first_match(tuple, frame.data(), "wan");
      for (const RuleId id : {by_flow, by_pattern})
        if (id != no_rule) require(!view.packet_rules.rule(id).name_text().empty(), "a rule has a name");
    }
}

// Whatever its tables hold, a class map names a list that denies something, alone and in a batch.
void ask_class_map(const image::ImageView &view) {
  if (view.class_map.empty()) return;
  std::array<KeyHash, filter::batch_max> hosts;
  std::array<std::uint32_t, filter::batch_max> numbers{};
  for (std::size_t i = 0; i < hosts.size(); ++i)
    hosts[i] = hash_v4(byteswap32(0x51000000 + static_cast<std::uint32_t>(i) * 7919), view.seeds_v4[32]);
  view.class_map.numbers_of(hosts, numbers.data());
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const ListId list = view.class_map.list_of(hosts[i]);
    require(image::ClassMapView::list_at(numbers[i]) == list, "a batch names the list that one host has");
    require(std::ranges::any_of(view.lists, [&](const image::ListEntry &l) { return l.number == list; }),
            "a class map names a list of the image");
  }
}

void ask_offenders(const image::ImageView &view) {
  if (view.offenders.empty()) return;
  for (std::uint32_t i = 0; i < 16; ++i) {
    const Address address = Address::from_host(0x0A000000 + i);
    const float score = view.offenders.score_of(address, {});
    require(view.offenders.group_of(score) < view.offenders.groups().size(), "a score has a group");
    (void)view.offenders.spares(address);
  }
}

void ask_everything(const image::ImageView &view) {
  ask_class_map(view);
  ask_offenders(view);
  ask_packet_rules(view);
  for (std::uint16_t list = 0; list < 5; ++list)
    if (const auto *const action = view.list_actions.of(ListId(list)); action != nullptr)
      require(action->list == ListId(list) && !image::text_of(*action).empty(), "a list has its own action");
  static const auto burst = std::make_unique<lookup::BurstLookup>();
  std::array<std::array<std::uint8_t, 16>, 16> v6{};
  if (!view.allow_filter.empty()) {
    std::array<KeyHash, filter::batch_max> keys;
    for (std::size_t i = 0; i < keys.size(); ++i)
      keys[i] = hash_v4(byteswap32(0x0A000000 + static_cast<std::uint32_t>(i)), view.seeds_v4[32]);
    filter::HitMask one_by_one = 0;
    for (std::size_t i = 0; i < keys.size(); ++i)
      one_by_one |= filter::HitMask{view.allow_filter.contains(keys[i])} << i;
    require(view.allow_filter.contains_batch(keys) == one_by_one, "a batch answers like its keys");
  }
  burst->begin(view);
  unsigned slot = 0;
  for (const std::uint32_t host : test_hosts) burst->ask_v4(slot++, byteswap32(host));
  for (std::uint32_t i = 0; slot < 40; ++i) burst->ask_v4(slot++, byteswap32(0x51000000 + i * 7919));
  for (std::uint8_t i = 0; i < v6.size(); ++i) {
    v6[i] = {0x20, 0x01, 0x0D, 0xB8, static_cast<std::uint8_t>(i * 3), 0, 0, i};
    burst->ask_v6(slot++, v6[i].data());
  }
  burst->send();
  burst->probe_first();
  burst->finish();
  for (unsigned i = 0; i < slot; ++i) (void)image::list_name(view, table::value::list_of(burst->deny(i)));
  for (const std::uint32_t host : test_hosts) {
    const Address address = Address::from_host(host);
    (void)image::lookup(view, Side::deny, address);
    (void)image::lookup(view, Side::allow, address);
  }
  for (const auto &address : v6) (void)image::lookup(view, Side::deny, Address::from_v6(address.data()));
}

void change_something(MutableBytes image) {
  auto writer = image::ImageWriter::attach(image, [] {});
  if (!writer) return;
  for (std::uint32_t i = 0; i < 24; ++i) {
    image::Delta delta;
    delta.op = i % 3 == 2 ? image::DeltaOp::unset : image::DeltaOp::set;
    delta.side = i % 2 == 0 ? Side::allow : Side::deny;
    delta.family = i % 4 == 3 ? Family::ipv6 : Family::ipv4;
    const bool v6 = delta.family == Family::ipv6, host = i % 5 == 4;
    delta.length = static_cast<std::uint8_t>(host ? address_bits(delta.family) : v6 ? 48 : 8 + i);
    delta.list = 1;
    Address address = Address::from_host(0x0A000000 + i * 0x01010101);
    address.family = delta.family;
    delta.address = masked(address, delta.length).bytes;
    require(image::check(delta).has_value(), "the delta is well formed");
    if (writer->apply(delta) == image::Change::needs_rebuild) break;
    (void)writer->relieve(address);
    if (i % 8 == 7) writer->grace_passed();
  }
}

} // namespace

FUZZ_TARGET(image, data) {
  if (data.empty()) return;
  const unsigned flags = static_cast<unsigned>(data[0]);
  const bool repair = (flags & 1) != 0, raw = (flags & 2) != 0;
  const fuzz::Honest kind = (flags & 4) != 0    ? fuzz::Honest::stack
                            : (flags & 8) != 0  ? fuzz::Honest::words
                            : (flags & 16) != 0 ? fuzz::Honest::rules
                            : (flags & 32) != 0 ? fuzz::Honest::chained
                                                : fuzz::Honest::front;
  Buffer image(raw ? data.subspan(1) : Bytes(honest_image(kind).all()));
  if (!raw) edit(image, data.subspan(1));
  if (repair) repair_checksums(image.all());

  const Buffer exact(image.all()); // a cut must be a real end
  const auto view = image::attach(exact.all());
  require(raw || repair || !view || !covered_change(exact.all(), kind), "a changed image is refused");
  if (!view) {
    require(!view.error().message.empty(), "a refusal says why");
    return;
  }
  ask_everything(*view);
  change_something(exact.all());
  ask_everything(*view);
}
