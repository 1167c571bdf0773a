#include "weir/image/reader.hpp"

#include "weir/image/family_check.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace weir::image {
namespace {

[[nodiscard]] std::unexpected<Error> bad(std::string what) {
  return fail(Errc::bad_image, "image refused: " + std::move(what));
}

[[nodiscard]] std::string number(std::uint64_t v) { return std::to_string(v); }

[[nodiscard]] constexpr bool all_zero(const auto &bytes) noexcept {
  for (const auto b : bytes)
    if (b != 0) return false;
  return true;
}

// The sections of an image by kind, bounds already checked.
class Sections {
public:
  [[nodiscard]] Bytes of(SectionKind kind) const noexcept {
    const auto n = static_cast<std::uint32_t>(kind);
    return n < known_.size() ? known_[n] : Bytes{};
  }
  [[nodiscard]] Status add(SectionKind kind, Bytes bytes) {
    Bytes &place = known_[static_cast<std::uint32_t>(kind)];
    if (!place.empty()) return bad("section " + std::string(name_of(kind)) + " stands twice");
    place = bytes;
    return {};
  }

private:
  std::array<Bytes, 64> known_{};
};

[[nodiscard]] Status check_header(Bytes bytes, const ImageHeader &h) {
  if (h.magic != magic) return bad("the first bytes are not those of an image");
  if (h.format_version != format_version)
    return bad("format version " + number(h.format_version) + ", this program reads " +
               number(format_version) + ": " +
               (h.format_version < format_version ? "an earlier" : "a later") +
               " weir wrote it; a weir-control of this version builds it again from its rules");
  if (h.header_bytes != sizeof(ImageHeader)) return bad("header of " + number(h.header_bytes) + " bytes");
  if (checksum(bytes.first(offsetof(ImageHeader, header_checksum))) != h.header_checksum)
    return bad("the header's checksum does not match");
  if (h.total_bytes > bytes.size())
    return bad("cut short: " + number(bytes.size()) + " of " + number(h.total_bytes) + " bytes");
  const auto family = static_cast<HashFamily>(h.hash_family);
  if (family != HashFamily::xxh3 && family != HashFamily::jhash)
    return bad("hash family " + number(h.hash_family) + ", this program has xxh3 (1) and jhash (2)");
  if (!all_zero(h.reserved)) return bad("reserved header bytes are not zero");
  if (h.section_count == 0) return bad("it has no sections");
  if (h.section_count > 64) return bad(number(h.section_count) + " sections, at most 64");
  if (h.total_bytes < sizeof(ImageHeader) + h.section_count * sizeof(SectionEntry))
    return bad("the section table does not fit");
  return {};
}

[[nodiscard]] Status check_section(Bytes image, const SectionEntry &e, Check check, std::string_view name) {
  const std::uint64_t total = image.size();
  if (e.offset % cache_line_bytes != 0)
    return bad("section " + std::string(name) + " is not aligned to 64 bytes");
  if (e.offset > total || e.bytes > total - e.offset)
    return bad("section " + std::string(name) + " points outside the image");
  if ((e.flags & ~(section_mutable | section_optional)) != 0)
    return bad("section " + std::string(name) + " has unknown flags");
  if (check == Check::not_the_mutable_checksums && (e.flags & section_mutable)) return {};
  if (checksum(image.subspan(e.offset, e.bytes)) != e.checksum)
    return bad("section " + std::string(name) + ": the checksum does not match");
  return {};
}

[[nodiscard]] Result<Sections> read_sections(Bytes image, const ImageHeader &h, Check check) {
  Sections sections;
  const Bytes table = image.subspan(sizeof(ImageHeader), h.section_count * sizeof(SectionEntry));
  if (checksum(table) != h.section_checksum) return bad("the section table's checksum does not match");
  std::vector<SectionEntry> entries(h.section_count);
  std::memcpy(entries.data(), table.data(), table.size());
  std::uint64_t end = sizeof(ImageHeader) + table.size(); // sections stand in order and never overlap
  for (const SectionEntry &e : entries) {
    const auto kind = static_cast<SectionKind>(e.kind);
    std::string name(name_of(kind));
    const bool known = !name.empty();
    if (!known) name = "of kind " + number(e.kind);
    if (!known && !(e.flags & section_optional))
      return bad("section " + name + " is unknown to this program and not optional");
    TRY(check_section(image, e, check, name));
    if (e.offset < end) return bad("section " + name + " overlaps what stands before it");
    end = e.offset + e.bytes;
    if (!known) continue;
    TRY(sections.add(kind, image.subspan(e.offset, e.bytes)));
  }
  return sections;
}

// The section's header, or null when the section is absent or too small.
template <class T> [[nodiscard]] const T *header_of(Bytes section) noexcept {
  return section.size() < sizeof(T) ? nullptr : reinterpret_cast<const T *>(section.data());
}

[[nodiscard]] std::unexpected<Error> bad_section(SectionKind kind, std::string what) {
  return bad("section " + std::string(name_of(kind)) + ": " + std::move(what));
}

template <class Line>
[[nodiscard]] Result<table::TableView<Line>> read_table(Bytes section, SectionKind kind) {
  const auto *h = header_of<table::TableHeader>(section);
  if (!h) return bad_section(kind, "missing or too short");
  const std::uint64_t lines = std::uint64_t{h->lines1} + h->lines2 + h->stash_lines;
  if (h->lines1 == 0 || h->lines2 == 0) return bad_section(kind, "a table needs lines");
  if (section.size() != sizeof *h + lines * sizeof(Line))
    return bad_section(kind, "size does not match its lines");
  if (!all_zero(h->reserved)) return bad_section(kind, "reserved bytes are not zero");
  const auto *first = reinterpret_cast<const Line *>(section.data() + sizeof *h);
  return table::TableView<Line>{first,          first + h->lines1, first + h->lines1 + h->lines2,
                                &h->stash_keys, h->lines1,         h->lines2,
                                h->stash_lines};
}

template <class Line>
[[nodiscard]] Result<table::OverlayView<Line>> read_overlay(Bytes section, SectionKind kind) {
  const auto *h = header_of<table::OverlayHeader>(section);
  if (!h) return bad_section(kind, "missing or too short");
  if (h->lines == 0) return bad_section(kind, "an overlay needs lines");
  if (section.size() != sizeof *h + std::uint64_t{h->lines} * sizeof(Line))
    return bad_section(kind, "size does not match its lines");
  if (!all_zero(h->reserved)) return bad_section(kind, "reserved bytes are not zero");
  return table::OverlayView<Line>{reinterpret_cast<const Line *>(section.data() + sizeof *h), &h->keys,
                                  h->lines};
}

// Absent lines of words are an empty table of them. Their number alone says which line a reader reads, and no bit of a word
// leads anywhere but to the table, which was proven by itself.
[[nodiscard]] Result<table::WordTableView> read_words(const Sections &s, const ImageView &view) {
  using table::WordTableView;
  constexpr SectionKind kind = SectionKind::deny_v4_hosts;
  const Bytes section = s.of(kind);
  if (section.empty()) return WordTableView{};
  const auto *h = header_of<table::WordHeader>(section);
  if (!h) return bad_section(kind, "too short");
  if (h->form != table::word_form)
    return bad_section(kind, "lines of form " + number(h->form) + ", this program reads form 1");
  if (h->lines < WordTableView::lines_least || h->lines > WordTableView::lines_most)
    return bad_section(kind, number(h->lines) + " lines, it may have " + number(WordTableView::lines_least) +
                                 " to " + number(WordTableView::lines_most));
  if (section.size() != sizeof *h + std::uint64_t{h->lines} * sizeof(table::WordLine))
    return bad_section(kind, "size does not match its lines");
  if (!all_zero(h->reserved)) return bad_section(kind, "reserved bytes are not zero");
  const SideView<table::LineV4> &side = view.v4[Side::deny];
  if (view.ranges_v4[Side::deny].empty()) return bad_section(kind, "prefixes stand in the table behind it");
  if (!side.front.empty() || !view.deny_filter.empty())
    return bad_section(kind, "a filter stands in front of it, which readers do not ask there");
  if (!side.chain.empty()) return bad_section(kind, "a predictor leads to the table behind it");
  return WordTableView(reinterpret_cast<const table::WordLine *>(section.data() + sizeof *h), h->lines,
                       view.seeds_v4[address_bits(Family::ipv4)]);
}

// An absent front filter is an empty one. The kernels of a burst ask split-block Bloom filters, and take their
// hash functions to be those of layer 0.
[[nodiscard]] Result<filter::SplitBlockBloom> read_front(Bytes section, SectionKind kind) {
  if (section.empty()) return filter::SplitBlockBloom{};
  const auto filter = filter::AnyFilter::attach(section);
  if (!filter) return bad_section(kind, filter.error().message);
  const auto *blocks = filter->as<filter::SplitBlockView>();
  if (blocks == nullptr)
    return bad_section(kind, std::string("a ") + filter::name_of(filter->kind()) +
                                 " does not serve here: this program asks split-block Bloom filters");
  if (blocks->family() != filter::SplitBlockBloom::layer) return bad_section(kind, "its layer is not 0");
  return blocks->blocks();
}

// An absent chain is an empty one. Its bits can send a reader to either table, never out of one.
template <class Line>
[[nodiscard]] Result<table::ChainedPredictor>
read_chain(Bytes section, SectionKind kind, const table::TableView<Line> &table, HashFamily family) {
  using table::ChainedPredictor;
  if (section.empty()) return ChainedPredictor{};
  const auto *h = header_of<table::ChainHeader>(section);
  if (!h) return bad_section(kind, "too short");
  if (const std::string why = filter::header_objection(load_unaligned<filter::FilterHeader>(section.data()),
                                                       filter::FilterKind::chained_predictor);
      !why.empty())
    return bad_section(kind, why);
  if (h->lines1 != table.count1) return bad_section(kind, "does not belong to its table");
  if (h->groups != 2 && h->groups != 4 && h->groups != 8)
    return bad_section(kind, number(h->groups) + " groups a line, known are 2, 4 and 8");
  if (h->exact > 1 || !all_zero(h->reserved1) || h->reserved2 != 0 || !all_zero(h->reserved))
    return bad_section(kind, "reserved bytes are not zero");
  if (h->deep_layers > table::chain_deep_layers_max)
    return bad_section(kind, number(h->deep_layers) + " deeper layers, at most " +
                                 number(table::chain_deep_layers_max));
  const std::uint64_t bits = std::uint64_t{h->lines1} * h->groups;
  if (bits > std::uint64_t{1} << 32) return bad_section(kind, "more bits than 32-bit numbers can name");
  std::uint64_t at = sizeof *h + round_up((bits + 7) / 8, cache_line_bytes);
  std::array<ChainedPredictor::DeepLayer, table::chain_deep_layers_max> deep;
  for (unsigned i = 0; i < table::chain_deep_layers_max; ++i) {
    if (i < h->deep_layers && h->deep_words[i] == 0) return bad_section(kind, "a layer without words");
    if (at <= section.size())
      deep[i] = {reinterpret_cast<const std::uint64_t *>(section.data() + at), h->deep_words[i]};
    at += std::uint64_t{h->deep_words[i]} * sizeof(std::uint64_t);
  }
  if (section.size() != at) return bad_section(kind, "size does not match its layers");
  return ChainedPredictor({reinterpret_cast<const std::uint32_t *>(section.data() + sizeof *h), h->lines1,
                           static_cast<std::uint32_t>(std::countr_zero(h->groups)), h->groups - 1},
                          std::span(deep).first(h->deep_layers), &h->exact, family);
}

// No section: an empty one.
[[nodiscard]] Result<AllowFilterView> read_allow_filter(const Sections &s,
                                                        std::span<const AllowFilterOps> kinds) {
  const Bytes section = s.of(SectionKind::allow_filter);
  if (section.empty()) return AllowFilterView{};
  auto filter = AllowFilterView::attach(section, kinds);
  if (!filter) return bad_section(SectionKind::allow_filter, filter.error().message);
  return filter;
}

// No section: an empty view.
[[nodiscard]] Result<DenyFilterView> read_deny_filter(const Sections &s) {
  const Bytes front = s.of(SectionKind::deny_front), judge = s.of(SectionKind::deny_judge);
  if (front.empty() && judge.empty()) return DenyFilterView{};
  const bool fronts = !s.of(SectionKind::deny_v4_front).empty() || !s.of(SectionKind::deny_v6_front).empty();
  if (fronts || (!front.empty() && !judge.empty()))
    return bad("two filters stand in front of the deny tables, at most one may");
  const auto role = judge.empty() ? DenyFilterRole::front : DenyFilterRole::judge;
  auto filter = DenyFilterView::attach(judge.empty() ? front : judge, role);
  if (!filter) return bad_section(section_of(role), filter.error().message);
  return filter;
}

// No section: an empty view.
[[nodiscard]] Result<ClassMapView> read_class_map(const Sections &s, const ImageView &view) {
  const Bytes section = s.of(SectionKind::deny_class_map);
  if (section.empty()) return ClassMapView{};
  if (view.deny_filter.empty() || !view.deny_filter.judges())
    return bad_section(SectionKind::deny_class_map, "no judge stands beside it");
  auto map = ClassMapView::attach(section, view.lists);
  if (!map) return bad_section(SectionKind::deny_class_map, map.error().message);
  return map;
}

// No section: an empty view.
[[nodiscard]] Result<OffendersView> read_offenders(const Sections &s) {
  const Bytes section = s.of(SectionKind::offender_model);
  if (section.empty()) return OffendersView{};
  auto offenders = OffendersView::attach(section);
  if (!offenders) return bad_section(SectionKind::offender_model, offenders.error().message);
  return offenders;
}

// No section: an empty view.
[[nodiscard]] Status read_packet_rules(const Sections &s, ImageView &view) {
  const Bytes rules = s.of(SectionKind::packet_rules), flows = s.of(SectionKind::flow_table);
  if (!rules.empty()) {
    auto read = PacketRulesView::attach(rules);
    if (!read) return bad_section(SectionKind::packet_rules, read.error().message);
    view.packet_rules = *read;
  }
  if (flows.empty()) return {};
  if (rules.empty()) return bad_section(SectionKind::flow_table, "no packet rules stand beside it");
  auto read = FlowTableView::attach(flows, view.packet_rules.rules().size());
  if (!read) return bad_section(SectionKind::flow_table, read.error().message);
  view.flows = *read;
  return {};
}

// No section: an empty view.
[[nodiscard]] Result<ListActionsView> read_list_actions(const Sections &s, const ImageView &view) {
  const Bytes section = s.of(SectionKind::list_actions);
  if (section.empty()) return ListActionsView{};
  if (!view.deny_filter.empty() && view.deny_filter.judges())
    return bad_section(SectionKind::list_actions, "a judge stands beside it, which knows no lists");
  auto actions = ListActionsView::attach(section, view.lists);
  if (!actions) return bad_section(SectionKind::list_actions, actions.error().message);
  return actions;
}

[[nodiscard]] Result<table::LengthMapV4> read_lengths_v4(Bytes section, SectionKind kind) {
  const auto *h = header_of<table::LengthMapHeader>(section);
  if (!h || section.size() != table::length_map_bytes)
    return bad_section(kind, "missing or of the wrong size");
  if (!all_zero(h->reserved)) return bad_section(kind, "reserved bytes are not zero");
  const auto *cells = reinterpret_cast<const std::uint64_t *>(section.data() + sizeof *h);
  return table::LengthMapV4{cells, reinterpret_cast<const std::uint32_t *>(cells + table::length_map_cells),
                            &h->default_value, &h->in_use};
}

[[nodiscard]] Result<table::LengthsV6> read_lengths_v6(Bytes section, SectionKind kind) {
  const auto *h = header_of<table::LengthSetV6>(section);
  if (!h || section.size() != sizeof *h) return bad_section(kind, "missing or of the wrong size");
  if (!all_zero(h->reserved) || h->in_use[2] > 1) return bad_section(kind, "reserved bytes are not zero");
  return table::LengthsV6{h->in_use.data()};
}

[[nodiscard]] bool has_ranges(const Sections &s, SectionKind kind) noexcept { return !s.of(kind).empty(); }

// `lengths`: what must not stand beside them.
template <class Map>
[[nodiscard]] Result<Map> read_ranges(const Sections &s, SectionKind kind, SectionKind lengths) {
  if (!s.of(lengths).empty())
    return bad("sections " + std::string(name_of(kind)) + " and " + std::string(name_of(lengths)) +
               " say both where prefixes are");
  auto map = Map::attach(s.of(kind));
  if (!map) return bad_section(kind, map.error().message);
  return map;
}

[[nodiscard]] Result<std::span<const ListEntry>> read_lists(Bytes section) {
  const auto *h = header_of<ListsHeader>(section);
  if (!h) return bad_section(SectionKind::lists, "missing or too short");
  if (h->count > lists_max || section.size() != sizeof *h + std::uint64_t{h->count} * sizeof(ListEntry))
    return bad_section(SectionKind::lists, "size does not match its count");
  const std::span<const ListEntry> lists{reinterpret_cast<const ListEntry *>(section.data() + sizeof *h),
                                         h->count};
  std::vector<bool> seen(lists_max);
  for (const ListEntry &l : lists) {
    if (l.number.value() >= lists_max || seen[l.number.value()])
      return bad_section(SectionKind::lists, "a list number stands twice");
    if (l.name.back() != '\0' || l.name.front() == '\0' || l.side > 1 || !all_zero(l.reserved))
      return bad_section(SectionKind::lists, "malformed entry for list number " + number(l.number.value()));
    seen[l.number.value()] = true;
  }
  return lists;
}

[[nodiscard]] Result<Policy> read_policy(Bytes section) {
  const auto *p = header_of<Policy>(section);
  if (!p || section.size() != sizeof *p)
    return bad_section(SectionKind::policy, "missing or of the wrong size");
  std::array<std::uint8_t, 8> raw; // the last one is tunnels, as match of more than two values
  std::memcpy(raw.data(), p, raw.size());
  const bool two_valued = std::ranges::all_of(std::span(raw).subspan(1, 6), [](auto v) { return v <= 1; });
  if (raw[0] > 3 || !two_valued || raw[7] > 2 || !all_zero(p->reserved))
    return bad_section(SectionKind::policy, "a value that this program does not know");
  if (p->confirm == Confirm::on_conflict && p->fallthrough == Verdict::drop)
    return bad_section(SectionKind::policy, "confirm on_conflict under default drop");
  return *p;
}

template <class Line>
[[nodiscard]] Status read_side(const Sections &s, Side side, HashFamily family, SideView<Line> &out) {
  const auto at = [&](SectionKind deny_v4) { return kind_of(deny_v4, side, Line::family); };
  const SectionKind table = at(SectionKind::deny_v4_table), overlay = at(SectionKind::deny_v4_overlay);
  out.table = TRY(read_table<Line>(s.of(table), table));
  out.overlay = TRY(read_overlay<Line>(s.of(overlay), overlay));
  const SectionKind chain = at(SectionKind::deny_v4_predictor);
  out.chain = TRY(read_chain<Line>(s.of(chain), chain, out.table, family));
  if (side == Side::allow) return {}; // fronts exist on the deny side alone
  const SectionKind front = at(SectionKind::deny_v4_front);
  out.front = TRY(read_front(s.of(front), front));
  return {};
}

[[nodiscard]] Status read_lengths(const Sections &s, Side side, ImageView &view) {
  const SectionKind kind4 = kind_of(SectionKind::deny_v4_lengths, side, Family::ipv4);
  const SectionKind kind6 = kind_of(SectionKind::deny_v4_lengths, side, Family::ipv6);
  const SectionKind ranges4 = kind_of(SectionKind::deny_v4_ranges, side, Family::ipv4);
  const SectionKind ranges6 = kind_of(SectionKind::deny_v4_ranges, side, Family::ipv6);
  if (has_ranges(s, ranges4)) {
    view.ranges_v4[side] = TRY(read_ranges<table::RangeMapV4>(s, ranges4, kind4));
  } else {
    view.lengths_v4[side] = TRY(read_lengths_v4(s.of(kind4), kind4));
  }
  if (has_ranges(s, ranges6)) {
    view.ranges_v6[side] = TRY(read_ranges<table::RangeMapV6>(s, ranges6, kind6));
  } else {
    view.lengths_v6[side] = TRY(read_lengths_v6(s.of(kind6), kind6));
  }
  return {};
}

} // namespace

Result<ImageView> attach(Bytes bytes, Check check, std::span<const AllowFilterOps> allow_kinds) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % cache_line_bytes != 0)
    return bad("its memory is not aligned to 64 bytes");
  if (bytes.size() < sizeof(ImageHeader)) return bad("shorter than a header");
  const auto &header = *reinterpret_cast<const ImageHeader *>(bytes.data());
  TRY(check_header(bytes, header));
  auto sections = TRY(read_sections(bytes.first(header.total_bytes), header, check));

  ImageView view;
  view.header = &header;
  view.generation = header.generation;
  view.family = static_cast<HashFamily>(header.hash_family);
  for (unsigned l = 0; l <= 32; ++l) {
    const std::uint64_t seed = length_seed(header.build_seed, l);
    view.seeds_v4[l] = seed;
    view.flips_v4[l] = view.family == HashFamily::jhash ? seed : xxh3::flip_v4(seed);
  }
  for (unsigned l = 0; l <= 128; ++l) view.seeds_v6[l] = length_seed(header.build_seed, l);
  view.policy = TRY(read_policy(sections.of(SectionKind::policy)));
  view.lists = TRY(read_lists(sections.of(SectionKind::lists)));
  view.allow_filter = TRY(read_allow_filter(sections, allow_kinds));
  view.deny_filter = TRY(read_deny_filter(sections));
  view.class_map = TRY(read_class_map(sections, view));
  view.offenders = TRY(read_offenders(sections));
  TRY(read_packet_rules(sections, view));
  view.list_actions = TRY(read_list_actions(sections, view));
  for (const Side side : both_sides) {
    TRY(read_side(sections, side, view.family, view.v4[side]));
    TRY(read_side(sections, side, view.family, view.v6[side]));
    TRY(read_lengths(sections, side, view));
  }
  view.v4[Side::deny].words = TRY(read_words(sections, view));
  if (const char *why = family_objection(view))
    return bad(std::string("family ") + std::string(name_of(view.family)) + " does not go with " + why);
  return view;
}

MutableBytes section_of(MutableBytes image, const ImageView &view, SectionKind kind) noexcept {
  const auto *entry = reinterpret_cast<const SectionEntry *>(view.header + 1);
  for (std::uint32_t i = 0; i < view.header->section_count; ++i)
    if (entry[i].kind == static_cast<std::uint32_t>(kind))
      return image.subspan(entry[i].offset, entry[i].bytes);
  return {};
}

std::uint32_t lookup_v4(const ImageView &view, Side side, std::uint32_t wire) noexcept {
  if (const table::RangeMapV4 &ranges = view.ranges_v4[side]; !ranges.empty()) {
    std::uint32_t host = 0;
    if (ranges.has_hosts_below(wire)) host = view.find<table::LineV4>(side, wire, 32, view.hash(wire, 32));
    return host != 0 ? host : ranges.find(wire);
  }
  const table::LengthMapV4 &map = view.lengths_v4[side];
  if (map.lengths() == 0) return table::read_acquire(*map.default_value);
  const std::uint64_t cell = map.cell(wire);
  for (std::uint32_t rest = table::long_lengths(cell); rest != 0;) {
    const unsigned top = 31 - static_cast<unsigned>(std::countl_zero(rest));
    rest &= ~(1u << top);
    const unsigned length = top + table::short_length_max + 1;
    const std::uint32_t key = wire & wire_mask_v4(length);
    if (const std::uint32_t v = view.find<table::LineV4>(side, key, length, view.hash(key, length))) return v;
  }
  const std::uint32_t covering = table::short_value(cell);
  return covering != 0 ? covering : table::read_acquire(*map.default_value);
}

std::uint32_t lookup_v6(const ImageView &view, Side side, const void *address) noexcept {
  const table::KeyV6 whole = table::KeyV6::load(address);
  if (const table::RangeMapV6 &ranges = view.ranges_v6[side]; !ranges.empty()) {
    std::uint32_t host = 0;
    if (ranges.has_hosts_near(whole))
      host = view.find<table::LineV6>(side, whole, 128, view.hash(whole, 128));
    return host != 0 ? host : ranges.find(whole);
  }
  for (int length = 128; length >= 0; --length) {
    const auto l = static_cast<unsigned>(length);
    if (!view.lengths_v6[side].has(l)) continue;
    const table::KeyV6 mask = table::key_mask_v6(l);
    const table::KeyV6 key{whole.low & mask.low, whole.high & mask.high};
    if (const std::uint32_t v = view.find<table::LineV6>(side, key, l, view.hash(key, l))) return v;
  }
  return 0;
}

std::uint32_t lookup(const ImageView &view, Side side, const Address &address) noexcept {
  return address.family == Family::ipv4 ? lookup_v4(view, side, address.wire())
                                        : lookup_v6(view, side, address.bytes.data());
}

std::string_view list_name(const ImageView &view, ListId list) noexcept {
  if (list == compact_list) return compact_list_name;
  for (const ListEntry &l : view.lists)
    if (l.number == list) return l.name.data();
  return {};
}

} // namespace weir::image
