#include "weir/build/image_builder.hpp"

#include "weir/base/parallel.hpp"
#include "weir/build/chained_trainer.hpp"
#include "weir/build/image_check.hpp"
#include "weir/build/input_check.hpp"
#include "weir/build/keys.hpp"
#include "weir/build/prefix_ranges.hpp"
#include "weir/build/table_builder.hpp"
#include "weir/filter/split_block_filter.hpp"
#include "weir/image/allow_filter_writer.hpp"
#include "weir/image/layout.hpp"
#include "weir/image/reader.hpp"
#include "weir/key/address.hpp"
#include "weir/key/text.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace weir::build {
namespace {

using detail::address_of, detail::for_each_guarded_key, detail::hash_of, detail::is_host, detail::key_of;

using image::SectionEntry;
using image::SectionKind;

struct PlannedSection {
  SectionKind kind;
  std::uint32_t flags;
  std::uint64_t bytes;
};

[[nodiscard]] const SideInput &side_of(const BuildInput &in, Side side) noexcept {
  return side == Side::deny ? in.deny : in.allow;
}

// Which entries of a side and family stand in its table.
struct InTable {
  bool hosts = true, prefixes = true;
  bool hosts_in_map = false;
  bool hosts_in_words = false; // but for those that find no room there
  [[nodiscard]] bool all() const noexcept { return hosts && prefixes; }
  template <class Entry> [[nodiscard]] bool operator()(const Entry &e) const noexcept {
    return is_host(e) ? hosts : prefixes;
  }
};
template <class Entry> struct Tabled {
  std::span<const Entry> entries;
  std::vector<Entry> some; // what `entries` shows where it is not all
};
template <class Entry>
[[nodiscard]] std::uint64_t tabled_count(std::span<const Entry> all, InTable in_table) noexcept {
  if (in_table.all()) return all.size();
  return static_cast<std::uint64_t>(std::ranges::count_if(all, in_table));
}
// For how many keys it is sized.
template <class Entry>
[[nodiscard]] std::uint64_t sized_count(std::span<const Entry> all, InTable in_table) noexcept {
  if constexpr (std::is_same_v<Entry, EntryV4>)
    if (in_table.hosts_in_words) return word_size(all).keys_behind;
  const std::uint64_t keys = tabled_count(all, in_table);
  if (!in_table.hosts_in_map) return keys;
  return keys + room_beside_map(tabled_count(all, {.hosts = true, .prefixes = false}));
}
template <class Entry> [[nodiscard]] Tabled<Entry> tabled(std::span<const Entry> all, InTable in_table) {
  Tabled<Entry> out{all, {}};
  const std::uint64_t count = tabled_count(all, in_table);
  if (count == all.size()) return out;
  out.some.reserve(count);
  std::ranges::copy_if(all, std::back_inserter(out.some), in_table);
  out.entries = out.some;
  return out;
}

// An overlay has room for a share of all entries that are changed through it.
template <class Line, class Entry>
[[nodiscard]] std::uint32_t overlay_lines_of(const BuildInput &in, Side side, std::span<const Entry> all,
                                             bool has_ranges) noexcept {
  const std::uint32_t least = side == Side::deny ? in.deny_filter.overlay_lines_least : 0;
  return overlay_lines<Line>(tabled_count(all, {.hosts = true, .prefixes = !has_ranges}), in.size_rule(),
                             least);
}
[[nodiscard]] std::uint64_t overlay_bytes(std::uint32_t lines) noexcept {
  return sizeof(table::OverlayHeader) + std::uint64_t{lines} * cache_line_bytes;
}

// Of a front filter before a table of so many keys.
[[nodiscard]] filter::SplitBlockShape front_shape(std::uint64_t keys) noexcept {
  return {filter::SplitBlockBloom::blocks_for(keys, front_bits_per_key)};
}

[[nodiscard]] InTable in_table(const BuildInput &in, const PrefixRanges &ranges, Side side,
                               Family family) noexcept {
  const bool v4 = family == Family::ipv4;
  const bool has_map = v4 ? ranges.v4[side].has_value() : ranges.v6[side].has_value();
  const bool hosts_in_map = v4 ? ranges.hosts_in_v4[side] : ranges.hosts_in_v6[side];
  const bool in_words = v4 && side == Side::deny && hosts_in_words(in, ranges);
  return {.hosts = !hosts_in_map && !in_words && !without_hosts(in, side),
          .prefixes = !has_map,
          .hosts_in_map = hosts_in_map,
          .hosts_in_words = in_words};
}

// The fixed order of sections.
[[nodiscard]] std::vector<PlannedSection> plan_sections(const BuildInput &in, const PrefixRanges &ranges) {
  using image::section_mutable;
  using table::LengthSetV6, image::ListEntry, image::ListsHeader, table::OverlayHeader;
  std::vector<PlannedSection> out;
  out.push_back({SectionKind::policy, 0, sizeof(Policy)});
  out.push_back({SectionKind::lists, 0, sizeof(ListsHeader) + in.lists.size() * sizeof(ListEntry)});
  const auto per_family = [&](Side side, Family family, std::uint64_t keys, std::uint64_t table_bytes,
                              std::uint64_t overlay_bytes, bool front, std::uint64_t chain_bytes,
                              std::uint64_t range_bytes) {
    const auto kind = [&](SectionKind deny_v4) { return image::kind_of(deny_v4, side, family); };
    out.push_back({kind(SectionKind::deny_v4_table), section_mutable, table_bytes});
    const std::uint64_t lengths =
        family == Family::ipv4 ? table::length_map_bytes : sizeof(table::LengthSetV6);
    if (range_bytes != 0)
      out.push_back({kind(SectionKind::deny_v4_ranges), section_mutable, range_bytes});
    else
      out.push_back({kind(SectionKind::deny_v4_lengths), section_mutable, lengths});
    out.push_back({kind(SectionKind::deny_v4_overlay), section_mutable, overlay_bytes});
    if (front)
      out.push_back(
          {kind(SectionKind::deny_v4_front), section_mutable, filter::section_bytes(front_shape(keys))});
    if (chain_bytes != 0)
      out.push_back(
          {kind(SectionKind::deny_v4_predictor), section_mutable | image::section_optional, chain_bytes});
  };
  const SizeRule rule = in.size_rule();
  for (const Side side : {Side::deny, Side::allow}) {
    const SideInput &s = side_of(in, side);
    const bool front = s.front_filter && side == Side::deny;
    const bool chained = s.predictor == Predictor::chained;
    const auto &ranges4 = ranges.v4[side];
    const auto &ranges6 = ranges.v6[side];
    const InTable in4 = in_table(in, ranges, side, Family::ipv4),
                  in6 = in_table(in, ranges, side, Family::ipv6);
    const std::uint64_t keys4 = tabled_count(s.v4, in4), sized4 = sized_count(s.v4, in4);
    const std::uint64_t keys6 = tabled_count(s.v6, in6), sized6 = sized_count(s.v6, in6);
    per_family(side, Family::ipv4, keys4, table_size<table::LineV4>(sized4, s.predictor, rule).bytes(),
               overlay_bytes(overlay_lines_of<table::LineV4>(in, side, s.v4, ranges4.has_value())), front,
               chained ? chain_size<table::LineV4>(sized4, s.chain_words_v4, rule).bytes() : 0,
               ranges4 ? ranges4->footprint().bytes : 0);
    if (in4.hosts_in_words)
      out.push_back({SectionKind::deny_v4_hosts, section_mutable, word_bytes(word_size(s.v4).lines)});
    per_family(side, Family::ipv6, keys6, table_size<table::LineV6>(sized6, s.predictor, rule).bytes(),
               overlay_bytes(overlay_lines_of<table::LineV6>(in, side, s.v6, ranges6.has_value())), front,
               chained ? chain_size<table::LineV6>(sized6, s.chain_words_v6, rule).bytes() : 0,
               ranges6 ? ranges6->footprint().bytes : 0);
  }
  if (!in.deny_filter.section.empty())
    out.push_back({image::section_of(in.deny_filter.role),
                   section_mutable | (without_hosts(in, Side::deny) ? 0 : image::section_optional),
                   in.deny_filter.section.size()});
  if (!in.deny_filter.class_map.empty())
    out.push_back({SectionKind::deny_class_map, image::section_optional, in.deny_filter.class_map.size()});
  if (!in.offenders.empty()) out.push_back({SectionKind::offender_model, 0, in.offenders.size()});
  if (!in.packet_rules.empty()) out.push_back({SectionKind::packet_rules, 0, in.packet_rules.size()});
  if (!in.flows.empty()) out.push_back({SectionKind::flow_table, 0, in.flows.size()});
  if (!in.list_actions.empty()) out.push_back({SectionKind::list_actions, 0, in.list_actions.size()});
  if (in.allow_filter.params)
    out.push_back({SectionKind::allow_filter, section_mutable | image::section_optional,
                   in.allow_filter.params.bytes().value_or(0)}); // impossible ones are refused before
  return out;
}

[[nodiscard]] std::uint64_t total_bytes(const std::vector<PlannedSection> &sections) noexcept {
  std::uint64_t at =
      round_up(sizeof(image::ImageHeader) + sections.size() * sizeof(SectionEntry), cache_line_bytes);
  for (const PlannedSection &s : sections) at = round_up(at + s.bytes, cache_line_bytes);
  return at;
}

// Writes all sections of one image for one seed.
class ImageWriteUp {
public:
  ImageWriteUp(const BuildInput &in, const PrefixRanges &ranges, const std::vector<PlannedSection> &plan,
               std::uint64_t seed, MutableBytes out)
      : in_(in), ranges_(ranges), plan_(plan), seed_(seed), out_(out), total_(total_bytes(plan)) {
    for (unsigned l = 0; l <= 128; ++l) seeds_[l] = length_seed(seed, l);
  }

  // False: a table did not come out, or not as the family wants it; another seed will do.
  [[nodiscard]] bool write(BuildReport &report) {
    place_sections();
    std::memcpy(section(SectionKind::policy).data(), &in_.policy, sizeof(Policy));
    write_lists();
    for (const Side side : {Side::deny, Side::allow}) {
      const SideInput &s = side_of(in_, side);
      if (in_table(in_, ranges_, side, Family::ipv4).hosts_in_words) {
        if (!write_words(s.v4, report)) return false;
      } else if (!write_family<table::LineV4>(side, s.v4,
                                              side == Side::deny ? report.deny_v4 : report.allow_v4)) {
        return false;
      }
      if (!write_family<table::LineV6>(side, s.v6, side == Side::deny ? report.deny_v6 : report.allow_v6))
        return false;
      write_prefixes(side, s);
    }
    if (!write_allow_filter()) return false;
    if (!in_.deny_filter.section.empty())
      std::ranges::copy(in_.deny_filter.section, section(image::section_of(in_.deny_filter.role)).begin());
    std::ranges::copy(in_.deny_filter.class_map, section(SectionKind::deny_class_map).begin());
    std::ranges::copy(in_.offenders, section(SectionKind::offender_model).begin());
    std::ranges::copy(in_.packet_rules, section(SectionKind::packet_rules).begin());
    std::ranges::copy(in_.flows, section(SectionKind::flow_table).begin());
    std::ranges::copy(in_.list_actions, section(SectionKind::list_actions).begin());
    seal();
    return true;
  }

private:
  void place_sections() {
    std::uint64_t at =
        round_up(sizeof(image::ImageHeader) + plan_.size() * sizeof(SectionEntry), cache_line_bytes);
    for (const PlannedSection &s : plan_) {
      entries_.push_back({static_cast<std::uint32_t>(s.kind), s.flags, at, s.bytes, 0});
      at = round_up(at + s.bytes, cache_line_bytes);
    }
  }

  [[nodiscard]] MutableBytes section(SectionKind kind) const noexcept {
    for (const SectionEntry &e : entries_)
      if (e.kind == static_cast<std::uint32_t>(kind)) return out_.subspan(e.offset, e.bytes);
    return {};
  }

  [[nodiscard]] table::KeyHasher hasher() const noexcept { return {seeds_, in_.family}; }

  void write_lists() {
    const MutableBytes to = section(SectionKind::lists);
    auto *header = reinterpret_cast<image::ListsHeader *>(to.data());
    header->count = static_cast<std::uint32_t>(in_.lists.size());
    auto *entry = reinterpret_cast<image::ListEntry *>(to.data() + sizeof *header);
    for (const ListInput &l : in_.lists) {
      entry->number = l.number;
      entry->side = static_cast<std::uint8_t>(l.side);
      l.name.copy(entry->name.data(), image::list_name_bytes_max);
      ++entry;
    }
  }

  template <class Line, class Entry>
  [[nodiscard]] bool write_family(Side side, std::span<const Entry> all, TableReport &report) {
    const InTable there = in_table(in_, ranges_, side, Line::family);
    const Tabled<Entry> kept = tabled(all, there);
    const std::uint64_t sized = sized_count(all, there);
    const std::span<const Entry> entries = kept.entries;
    const auto kind = [&](SectionKind deny_v4) { return image::kind_of(deny_v4, side, Line::family); };
    const Predictor predictor = side_of(in_, side).predictor;
    const SizeRule rule = in_.size_rule();
    TableBuilder<Line> builder(section(kind(SectionKind::deny_v4_table)),
                               table_size<Line>(sized, predictor, rule), hasher(), predictor);
    const auto item = [&](std::uint64_t i) {
      const Entry &e = entries[i];
      return typename TableBuilder<Line>::Item{key_of(e), table::value::make(e.list, e.length)};
    };
    if (!builder.build(entries.size(), item, threads_for(in_.threads))) return false;
    report = builder.report();
    if (predictor == Predictor::chained)
      train_chain(builder.view(), side, sized, section(kind(SectionKind::deny_v4_predictor)), report);
    if (in_.family == HashFamily::jhash && (!report.chain.exact() || report.in_stash != 0)) return false;
    auto *overlay =
        reinterpret_cast<table::OverlayHeader *>(section(kind(SectionKind::deny_v4_overlay)).data());
    overlay->lines = overlay_lines_of<Line>(in_, side, all, has_ranges<Line>(side));
    if (side == Side::deny && in_.deny.front_filter) write_front(kind(SectionKind::deny_v4_front), entries);
    return true;
  }

  // Hosts of the deny side, and the table behind them.
  [[nodiscard]] bool write_words(std::span<const EntryV4> all, BuildReport &report) {
    const WordSize size = word_size(all);
    const unsigned threads = threads_for(in_.threads);
    WordBuilder words(section(SectionKind::deny_v4_hosts), size.lines, seeds_[address_bits(Family::ipv4)]);
    const std::vector<WordBuilder::Item> behind = words.build(all, threads);
    report.words = words.report();
    TableBuilder<table::LineV4> builder(section(SectionKind::deny_v4_table),
                                        table_size<table::LineV4>(size.keys_behind), hasher());
    if (!builder.build(behind.size(), [&](std::uint64_t i) { return behind[i]; }, threads)) return false;
    report.deny_v4 = builder.report();
    auto *overlay = reinterpret_cast<table::OverlayHeader *>(section(SectionKind::deny_v4_overlay).data());
    overlay->lines = overlay_lines_of<table::LineV4>(in_, Side::deny, all, true);
    return true;
  }

  template <class Line>
  void train_chain(const table::TableView<Line> &table, Side side, std::uint64_t sized, MutableBytes to,
                   TableReport &report) {
    const SideInput &in = side_of(in_, side);
    const ChainWords &words = Line::family == Family::ipv4 ? in.chain_words_v4 : in.chain_words_v6;
    ChainTrainer<Line> trainer(to, chain_size<Line>(sized, words, in_.size_rule()), table, hasher());
    trainer.train(report.keys, report.chain);
    if (report.chain.exact() && report.keys != 0) report.lines_hit = report.lines_absent = 1;
  }

  template <class Entry> void write_front(SectionKind kind, std::span<const Entry> entries) {
    const MutableBytes to = section(kind);
    const filter::SplitBlockShape shape = front_shape(entries.size());
    auto *header = reinterpret_cast<filter::FilterHeader *>(to.data());
    header->magic = filter::filter_magic;
    header->kind = static_cast<std::uint32_t>(shape.kind);
    header->shape = shape.as_words();
    header->keys = header->planned_keys = entries.size();
    auto *blocks = reinterpret_cast<filter::Block *>(header + 1);
    for (const Entry &e : entries)
      filter::SplitBlockBloom::insert(blocks, shape.blocks, hasher()(key_of(e), e.length));
  }

  [[nodiscard]] bool write_allow_filter() {
    if (!in_.allow_filter.params) return true;
    std::vector<KeyHash> keys, guarded;
    const detail::HostsAlone hosts_alone{ranges_.v4[Side::allow].has_value(),
                                         ranges_.v6[Side::allow].has_value()};
    for_each_guarded_key(in_.allow, hosts_alone, hasher(), [&](KeyHash key) { keys.push_back(key); });
    for (const VulnerableKey &v : in_.allow_filter.guarded) guarded.push_back(hash_of(v.key, hasher()));
    return in_.allow_filter.params.build(keys, guarded, section(SectionKind::allow_filter)).has_value();
  }

  template <class Line> [[nodiscard]] bool has_ranges(Side side) const noexcept {
    if constexpr (Line::family == Family::ipv4)
      return ranges_.v4[side].has_value();
    else
      return ranges_.v6[side].has_value();
  }

  // As ranges, or else the lengths at which tables are asked for them.
  void write_prefixes(Side side, const SideInput &s) {
    const auto at = [&](Family family) {
      return section(image::kind_of(SectionKind::deny_v4_ranges, side, family));
    };
    if (const auto &v4 = ranges_.v4[side]) {
      v4->write(at(Family::ipv4));
      if (!ranges_.hosts_in_v4[side]) mark_hosts(at(Family::ipv4), s.v4);
    } else {
      write_lengths_v4(side, s.v4);
    }
    if (const auto &v6 = ranges_.v6[side]) {
      v6->write(at(Family::ipv6));
      if (!ranges_.hosts_in_v6[side]) mark_hosts(at(Family::ipv6), s.v6);
    } else {
      write_lengths_v6(side, s.v6);
    }
  }

  // Entries are sorted by (address, length), so a longer short prefix overwrites what covers it.
  void write_lengths_v4(Side side, std::span<const EntryV4> entries) {
    const MutableBytes to = section(image::kind_of(SectionKind::deny_v4_lengths, side, Family::ipv4));
    auto *header = reinterpret_cast<table::LengthMapHeader *>(to.data());
    auto *cells = reinterpret_cast<std::uint64_t *>(to.data() + sizeof *header);
    for (const EntryV4 &e : entries) {
      if (e.length != 0) header->in_use |= table::in_use_bit(e.length);
      const std::uint32_t first = e.host >> 16;
      if (e.length > table::short_length_max) {
        cells[first] |= table::length_bit(e.length);
      } else if (const std::uint32_t value = table::value::make(e.list, e.length); e.length == 0) {
        header->default_value = value;
      } else {
        for (std::uint32_t c = first; c < first + (1u << (table::short_length_max - e.length)); ++c)
          cells[c] = (cells[c] & ~std::uint64_t{0xFFFFFFFF}) | value;
      }
    }
    write_lone_v4(entries, cells);
    auto *signs = reinterpret_cast<std::uint32_t *>(cells + table::length_map_cells);
    for (std::uint32_t c = 0; c < table::length_map_cells; ++c)
      signs[c / table::signs_a_word] |= table::sign_of(cells[c]) << 2 * (c % table::signs_a_word);
  }

  // Prefixes of 17 to 31 bits that are alone below their /16 and that no short one covers.
  static void write_lone_v4(std::span<const EntryV4> entries, std::uint64_t *cells) {
    std::vector<std::uint8_t> several(table::length_map_cells);
    for (const EntryV4 &e : entries) {
      if (e.length <= table::short_length_max || e.length == 32) continue;
      const std::uint32_t c = e.host >> 16;
      if (table::has_lone(cells[c])) several[c] = 1; // of one length
      if (table::lone_length(cells[c]) == e.length)
        cells[c] = table::with_lone(cells[c], e.host, table::value::make(e.list, e.length));
    }
    for (std::uint32_t c = 0; c < table::length_map_cells; ++c)
      if (several[c] != 0) cells[c] = table::without_lone(cells[c]);
  }

  void write_lengths_v6(Side side, std::span<const EntryV6> entries) {
    const MutableBytes to = section(image::kind_of(SectionKind::deny_v4_lengths, side, Family::ipv6));
    auto *set = reinterpret_cast<table::LengthSetV6 *>(to.data());
    for (const EntryV6 &e : entries) set->in_use[e.length / 64] |= std::uint64_t{1} << (e.length % 64);
  }

  void seal() {
    for (SectionEntry &e : entries_) e.checksum = checksum(out_.subspan(e.offset, e.bytes));
    std::memcpy(out_.data() + sizeof(image::ImageHeader), entries_.data(),
                entries_.size() * sizeof(SectionEntry));
    image::ImageHeader h{};
    h.magic = image::magic;
    h.format_version = image::format_version;
    h.header_bytes = sizeof h;
    h.total_bytes = total_;
    h.generation = in_.identity.generation;
    h.store_id = in_.identity.store_id;
    h.sequence = in_.identity.sequence;
    h.build_seed = seed_;
    h.hash_family = static_cast<std::uint32_t>(in_.family);
    h.section_count = static_cast<std::uint32_t>(entries_.size());
    h.rules_digest = in_.rules_digest;
    h.section_checksum = checksum(out_.subspan(sizeof h, entries_.size() * sizeof(SectionEntry)));
    std::memcpy(out_.data(), &h, sizeof h);
    h.header_checksum = checksum(out_.first(offsetof(image::ImageHeader, header_checksum)));
    std::memcpy(out_.data(), &h, sizeof h);
  }

  const BuildInput &in_;
  const PrefixRanges &ranges_;
  const std::vector<PlannedSection> &plan_;
  std::uint64_t seed_;
  MutableBytes out_;
  std::uint64_t total_;
  std::array<std::uint64_t, 129> seeds_;
  std::vector<SectionEntry> entries_;
};

[[nodiscard]] double ms_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

std::uint64_t image_bytes(const BuildInput &input) {
  return total_bytes(plan_sections(input, *(input.ranges ? input.ranges : prefix_ranges(input))));
}

Result<BuildReport> build_image(const BuildInput &input, MutableBytes out,
                                std::span<const image::AllowFilterOps> allow_kinds) {
  constexpr unsigned attempts_max = 8;
  TRY(check_input(input));
  const auto start = std::chrono::steady_clock::now();
  const auto ranges = input.ranges ? input.ranges : prefix_ranges(input);
  const auto plan = plan_sections(input, *ranges);
  BuildReport report;
  report.image_bytes = total_bytes(plan);
  if (out.size() < report.image_bytes)
    return fail(Errc::no_memory, "an image of " + std::to_string(report.image_bytes) +
                                     " bytes does not fit into " + std::to_string(out.size()));
  const unsigned threads = threads_for(input.threads);
  std::uint64_t seed = input.seed;
  for (;;) {
    if (ImageWriteUp(input, *ranges, plan, seed, out).write(report)) break;
    // Larger tables will do where a size may be doubled.
    const Errc none = input.family == HashFamily::jhash ? Errc::needs_rebuild : Errc::bad_image;
    if (!input.deny_filter.section.empty())
      return fail(none,
                  "no table came out of this seed, and the stack belongs to it: build both with another");
    if (++report.attempts > attempts_max)
      return fail(none, "no table came out of " + std::to_string(attempts_max) + " seeds");
    seed = remix({seed}, report.attempts);
    std::memset(out.data(), 0, report.image_bytes);
  }
  report.build_ms = ms_since(start);

  const auto verify_start = std::chrono::steady_clock::now();
  auto view = TRY(image::attach(out.first(report.image_bytes), image::Check::everything, allow_kinds));
  for (const Side side : {Side::deny, Side::allow}) {
    const SideInput &s = side_of(input, side);
    TRY(detail::verify_side(view, side, s, threads));
    report.keys_verified += s.v4.size() + s.v6.size();
  }
  TRY(detail::verify_allow_filter(view, input, report.guard_accepts));
  const auto allow_filter = TRY(image::open_allow_filter(out, view));
  report.allow_filter = allow_filter.load();
  report.stack_accepts = detail::stack_accepts(view, input.deny_filter.known);
  report.verify_ms = ms_since(verify_start);
  return report;
}

} // namespace weir::build
