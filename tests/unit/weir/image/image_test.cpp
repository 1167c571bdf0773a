// The trust border: what attach() takes, and what it refuses with which words.
#include "tests/support/image_memory.hpp"
#include "weir/image/allow_filter_writer.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

namespace weir::image_test {
namespace {

using image::ImageHeader;
using image::SectionEntry;
using image::SectionKind;
using test::ImageMemory;

struct Rules {
  std::vector<build::EntryV4> deny4, allow4;
  std::vector<build::EntryV6> deny6, allow6;
};

build::BuildInput input_of(const Rules &rules, bool front = false) {
  build::BuildInput in;
  in.lists = {{"drop", 0, Side::deny}, {"bans", 3, Side::deny}, {"ops", 7, Side::allow}};
  in.deny = {rules.deny4, rules.deny6, front};
  in.allow = {rules.allow4, rules.allow6, false};
  if (front)
    in.allow_filter.params = build::SeesawParams{.planned_keys = 8, .cell_words = 64, .modulator_words = 9};
  in.identity.generation = 42;
  in.identity.sequence = 1234;
  in.seed = 0xC0FFEE;
  in.identity.store_id[0] = 9;
  return in;
}

Rules small_rules() {
  using test::entry_v4, test::entry_v6;
  return {{entry_v4("0.0.0.0", 0), entry_v4("10.0.0.0/8", 0), entry_v4("10.0.0.0/24", 3),
           entry_v4("255.255.255.255", 3)},
          {entry_v4("10.0.0.7", 7)},
          {entry_v6("::", 0), entry_v6("2001:db8::/32", 3)},
          {entry_v6("2001:db8::1", 7)}};
}

// What reports show of the filter in front of the allow tables.
std::uint64_t allow_filter_count(const ImageMemory &m, std::string_view name) {
  for (const filter::NamedCount &c : image::open_allow_filter(m.bytes(), m.view()).value().counts())
    if (c.name == name) return c.count;
  throw std::runtime_error("no such count");
}

ImageHeader &header(const ImageMemory &m) { return *reinterpret_cast<ImageHeader *>(m.bytes().data()); }
SectionEntry *sections(const ImageMemory &m) {
  return reinterpret_cast<SectionEntry *>(m.bytes().data() + sizeof(ImageHeader));
}
SectionEntry &section(const ImageMemory &m, SectionKind kind) {
  for (std::uint32_t i = 0; i < header(m).section_count; ++i)
    if (sections(m)[i].kind == static_cast<std::uint32_t>(kind)) return sections(m)[i];
  throw std::runtime_error("no such section");
}

// Makes all checksums right again, so that a test reaches the check it is named for.
void reseal(const ImageMemory &m) {
  ImageHeader &h = header(m);
  for (std::uint32_t i = 0; i < h.section_count; ++i) {
    SectionEntry &e = sections(m)[i];
    if (e.offset <= m.bytes().size() && e.bytes <= m.bytes().size() - e.offset)
      e.checksum = checksum(m.bytes().subspan(e.offset, e.bytes));
  }
  h.section_checksum = checksum(m.bytes().subspan(sizeof h, h.section_count * sizeof(SectionEntry)));
  h.header_checksum = checksum(m.bytes().first(offsetof(ImageHeader, header_checksum)));
}

void expect_refused(const ImageMemory &m, std::string_view words) {
  const auto view = image::attach(m.bytes());
  ASSERT_FALSE(view.has_value()) << "accepted; expected: " << words;
  EXPECT_EQ(view.error().code, Errc::bad_image);
  EXPECT_NE(view.error().message.find(words), std::string::npos) << view.error().message;
}

TEST(Image, answers_for_what_it_was_built_from) {
  const Rules rules = small_rules();
  const ImageMemory m = ImageMemory::build(input_of(rules));
  const image::ImageView v = m.view();
  const auto list = [&](Side side, const char *address) {
    const std::uint32_t value = image::lookup(v, side, parse_address(address).value());
    return value == 0 ? std::string("-") : std::string(image::list_name(v, table::value::list_of(value)));
  };
  EXPECT_EQ(v.generation, 42u);
  EXPECT_EQ(list(Side::deny, "0.0.0.0"), "drop");
  EXPECT_EQ(list(Side::deny, "0.0.0.1"), "-");
  EXPECT_EQ(list(Side::deny, "10.200.0.1"), "drop");
  EXPECT_EQ(list(Side::deny, "10.0.0.7"), "bans");
  EXPECT_EQ(list(Side::allow, "10.0.0.7"), "ops");
  EXPECT_EQ(list(Side::deny, "255.255.255.255"), "bans");
  EXPECT_EQ(list(Side::deny, "::"), "drop");
  EXPECT_EQ(list(Side::deny, "::1"), "-");
  EXPECT_EQ(list(Side::deny, "2001:db8:ffff::1"), "bans");
  EXPECT_EQ(list(Side::allow, "2001:db8::1"), "ops");
}

TEST(Image, same_rules_and_seed_give_the_same_bytes) {
  const Rules rules = small_rules();
  const ImageMemory a = ImageMemory::build(input_of(rules, true)),
                    b = ImageMemory::build(input_of(rules, true));
  EXPECT_EQ(std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()), 0);
  build::BuildInput other = input_of(rules, true);
  other.seed = 1;
  const ImageMemory c = ImageMemory::build(other);
  EXPECT_NE(std::memcmp(a.bytes().data(), c.bytes().data(), a.bytes().size()), 0);
}

TEST(Image, every_single_flipped_bit_of_header_and_section_table_is_refused) {
  const Rules rules = small_rules();
  const ImageMemory m = ImageMemory::build(input_of(rules));
  const std::size_t end = sizeof(ImageHeader) + header(m).section_count * sizeof(SectionEntry);
  for (std::size_t byte = 0; byte < end; ++byte)
    for (unsigned bit = 0; bit < 8; ++bit) {
      m.bytes()[byte] ^= std::byte{1} << bit;
      EXPECT_FALSE(image::attach(m.bytes()).has_value()) << "byte " << byte << " bit " << bit;
      m.bytes()[byte] ^= std::byte{1} << bit;
    }
  EXPECT_TRUE(image::attach(m.bytes()).has_value());
}

TEST(Image, one_flipped_bit_in_any_section_is_refused_with_its_name) {
  const Rules rules = small_rules();
  const ImageMemory m = ImageMemory::build(input_of(rules, true));
  for (std::uint32_t i = 0; i < header(m).section_count; ++i) {
    const SectionEntry &e = sections(m)[i];
    m.bytes()[e.offset + e.bytes / 2] ^= std::byte{16};
    expect_refused(m, std::string(image::name_of(static_cast<SectionKind>(e.kind))) +
                          ": the checksum does not match");
    m.bytes()[e.offset + e.bytes / 2] ^= std::byte{16};
  }
}

TEST(Image, an_image_cut_short_is_refused_at_every_length) {
  const Rules rules = small_rules();
  const ImageMemory m = ImageMemory::build(input_of(rules));
  for (std::size_t bytes = 0; bytes < header(m).total_bytes; bytes += bytes < 1024 ? 1 : 4099)
    EXPECT_FALSE(image::attach(m.bytes().first(bytes)).has_value()) << bytes;
}

struct Forgery {
  const char *name;
  const char *words;
  std::function<void(const ImageMemory &)> forge;
};

void PrintTo(const Forgery &f, std::ostream *out) { *out << f.name; }

class ForgedImage : public testing::TestWithParam<Forgery> {};

TEST_P(ForgedImage, is_refused_although_its_checksums_are_right) {
  const Rules rules = small_rules();
  const ImageMemory m = ImageMemory::build(input_of(rules, true));
  GetParam().forge(m);
  reseal(m);
  expect_refused(m, GetParam().words);
}

template <class T> T &at(const ImageMemory &m, SectionKind kind) {
  return *reinterpret_cast<T *>(m.bytes().data() + section(m, kind).offset);
}
filter::FilterHeader &filter_at(const ImageMemory &m, SectionKind kind) {
  return at<filter::FilterHeader>(m, kind);
}

INSTANTIATE_TEST_SUITE_P(
    Image, ForgedImage,
    testing::Values(
        Forgery{"magic", "first bytes", [](const ImageMemory &m) { header(m).magic[0] = 'X'; }},
        Forgery{"version", "format version 1", [](const ImageMemory &m) { header(m).format_version = 1; }},
        Forgery{"hash_family", "hash family 3", [](const ImageMemory &m) { header(m).hash_family = 3; }},
        Forgery{"total_bytes", "cut short", [](const ImageMemory &m) { header(m).total_bytes += 64; }},
        Forgery{"reserved", "reserved header bytes", [](const ImageMemory &m) { header(m).reserved[5] = 1; }},
        Forgery{"foreign_kind", "of kind 999 is unknown",
                [](const ImageMemory &m) { section(m, SectionKind::deny_v4_front).kind = 999; }},
        Forgery{"reserved_kind", "of kind 53 is unknown",
                [](const ImageMemory &m) { section(m, SectionKind::deny_v4_front).kind = 53; }},
        Forgery{"twice", "stands twice",
                [](const ImageMemory &m) { section(m, SectionKind::deny_v4_front).kind = 29; }},
        Forgery{"outside", "points outside the image",
                [](const ImageMemory &m) { section(m, SectionKind::allow_v6_table).offset = 1ull << 40; }},
        Forgery{"too_long", "points outside the image",
                [](const ImageMemory &m) { section(m, SectionKind::allow_v6_overlay).bytes = ~0ull - 63; }},
        Forgery{"misaligned", "not aligned",
                [](const ImageMemory &m) { section(m, SectionKind::allow_v6_table).offset += 8; }},
        Forgery{"overlap", "overlaps",
                [](const ImageMemory &m) {
                  section(m, SectionKind::deny_v6_table).offset =
                      section(m, SectionKind::deny_v4_table).offset;
                }},
        Forgery{"flags", "unknown flags",
                [](const ImageMemory &m) { section(m, SectionKind::policy).flags = 8; }},
        Forgery{"missing", "allow_v6_table: missing",
                [](const ImageMemory &m) {
                  section(m, SectionKind::allow_v6_table).flags = image::section_optional;
                  section(m, SectionKind::allow_v6_table).kind = 999;
                }},
        Forgery{
            "no_lines", "a table needs lines",
            [](const ImageMemory &m) { at<table::TableHeader>(m, SectionKind::deny_v4_table).lines2 = 0; }},
        Forgery{
            "more_lines", "size does not match its lines",
            [](const ImageMemory &m) { at<table::TableHeader>(m, SectionKind::deny_v4_table).lines1 += 1; }},
        Forgery{
            "huge_lines", "size does not match its lines",
            [](const ImageMemory &m) { at<table::TableHeader>(m, SectionKind::deny_v6_table).lines1 = ~0u; }},
        Forgery{"overlay_lines", "size does not match its lines",
                [](const ImageMemory &m) {
                  at<table::OverlayHeader>(m, SectionKind::deny_v4_overlay).lines += 1;
                }},
        Forgery{"no_overlay_lines", "an overlay needs lines",
                [](const ImageMemory &m) {
                  at<table::OverlayHeader>(m, SectionKind::deny_v4_overlay).lines = 0;
                }},
        Forgery{"front_blocks", "deny_v4_front: split-block Bloom filter: ",
                [](const ImageMemory &m) { filter_at(m, SectionKind::deny_v4_front).shape[0] += 1; }},
        Forgery{"front_of_another_kind", "deny_v4_front: Bloom filter: ",
                [](const ImageMemory &m) { filter_at(m, SectionKind::deny_v4_front).kind = 1; }},
        Forgery{"front_of_an_unknown_kind",
                "deny_v4_front: filter: kind 99 (unknown filter) does not serve here",
                [](const ImageMemory &m) { filter_at(m, SectionKind::deny_v4_front).kind = 99; }},
        Forgery{"front_of_another_layer", "deny_v4_front: its layer is not 0",
                [](const ImageMemory &m) { filter_at(m, SectionKind::deny_v4_front).layer = 1; }},
        Forgery{"two_allow_filters", "allow_filter stands twice",
                [](const ImageMemory &m) {
                  section(m, SectionKind::deny_v4_front).kind =
                      static_cast<std::uint32_t>(SectionKind::allow_filter);
                }},
        Forgery{"front_and_judge", "two filters stand in front of the deny tables",
                [](const ImageMemory &m) {
                  section(m, SectionKind::deny_v4_front).kind =
                      static_cast<std::uint32_t>(SectionKind::deny_front);
                  section(m, SectionKind::deny_v6_front).kind =
                      static_cast<std::uint32_t>(SectionKind::deny_judge);
                }},
        Forgery{"judge_beside_fronts", "two filters stand in front of the deny tables",
                [](const ImageMemory &m) {
                  section(m, SectionKind::allow_filter).kind =
                      static_cast<std::uint32_t>(SectionKind::deny_judge);
                }},
        Forgery{"allow_filter_that_never_changes",
                "allow_filter: filter: kind 2 (split-block Bloom filter) does not serve here",
                [](const ImageMemory &m) { filter_at(m, SectionKind::allow_filter).kind = 2; }},
        Forgery{"allow_filter_of_another_kind", "allow_filter: cuckoo filter: ",
                [](const ImageMemory &m) { filter_at(m, SectionKind::allow_filter).kind = 4; }},
        Forgery{"guard_without_cells", "allow_filter: ",
                [](const ImageMemory &m) {
                  at<filter::SeesawHeader>(m, SectionKind::allow_filter).cell_words = 0;
                }},
        Forgery{"guard_without_modulator", "allow_filter: ",
                [](const ImageMemory &m) {
                  at<filter::SeesawHeader>(m, SectionKind::allow_filter).modulator_words = 0;
                }},
        Forgery{"guard_of_no_parameters", "allow_filter: ",
                [](const ImageMemory &m) {
                  at<filter::SeesawHeader>(m, SectionKind::allow_filter) = filter::SeesawHeader{};
                }},
        Forgery{"guard_larger_than_its_section", "allow_filter: ",
                [](const ImageMemory &m) {
                  at<filter::SeesawHeader>(m, SectionKind::allow_filter).cell_words += 8;
                }},
        Forgery{"guard_smaller_than_its_section", "allow_filter: ",
                [](const ImageMemory &m) {
                  at<filter::SeesawHeader>(m, SectionKind::allow_filter).modulator_words -= 8;
                }},
        Forgery{"guard_cut_short", "allow_filter: ",
                [](const ImageMemory &m) { section(m, SectionKind::allow_filter).bytes = 32; }},
        Forgery{
            "guard_of_too_many_hashes", "allow_filter: ",
            [](const ImageMemory &m) { at<filter::SeesawHeader>(m, SectionKind::allow_filter).hashes = 17; }},
        Forgery{"guard_of_wide_cells", "allow_filter: ",
                [](const ImageMemory &m) {
                  at<filter::SeesawHeader>(m, SectionKind::allow_filter).positive_bits = 200;
                }},
        Forgery{"guard_reserved", "allow_filter: ",
                [](const ImageMemory &m) {
                  at<filter::SeesawHeader>(m, SectionKind::allow_filter).reserved[3] = 1;
                }},
        Forgery{"ranges", "deny_v6_ranges: range map refused: reserved bytes",
                [](const ImageMemory &m) {
                  at<table::RangeHeaderV6>(m, SectionKind::deny_v6_ranges).reserved.back() = 1;
                }},
        Forgery{"lengths_beside_ranges", "say both where prefixes are",
                [](const ImageMemory &m) {
                  section(m, SectionKind::allow_v6_ranges).kind =
                      static_cast<std::uint32_t>(SectionKind::deny_v6_lengths);
                }},
        Forgery{"policy", "does not know",
                [](const ImageMemory &m) { at<std::uint8_t>(m, SectionKind::policy) = 4; }},
        Forgery{"confirm", "does not know",
                [](const ImageMemory &m) { at<std::uint8_t[6]>(m, SectionKind::policy)[5] = 2; }},
        Forgery{"too_many_tags", "does not know",
                [](const ImageMemory &m) { at<std::uint8_t[7]>(m, SectionKind::policy)[6] = 2; }},
        Forgery{"tunnels", "does not know",
                [](const ImageMemory &m) { at<std::uint8_t[8]>(m, SectionKind::policy)[7] = 3; }},
        Forgery{"policy_reserved", "does not know",
                [](const ImageMemory &m) { at<std::uint8_t[9]>(m, SectionKind::policy)[8] = 1; }},
        Forgery{"confirm_under_default_drop", "confirm on_conflict under default drop",
                [](const ImageMemory &m) {
                  at<Policy>(m, SectionKind::policy).confirm = Confirm::on_conflict;
                  at<Policy>(m, SectionKind::policy).fallthrough = Verdict::drop;
                }},
        Forgery{"lists_count", "does not match its count",
                [](const ImageMemory &m) { at<image::ListsHeader>(m, SectionKind::lists).count += 1; }},
        Forgery{"list_twice", "list number stands twice",
                [](const ImageMemory &m) {
                  auto *first = reinterpret_cast<image::ListEntry *>(
                      &at<image::ListsHeader>(m, SectionKind::lists) + 1);
                  first[1].number = first[0].number;
                }}),
    [](const auto &forgery) { return std::string(forgery.param.name); });

TEST(Image, an_optional_section_of_unknown_kind_is_skipped) {
  const Rules rules = small_rules();
  const ImageMemory m = ImageMemory::build(input_of(rules, true));
  section(m, SectionKind::deny_v4_front).flags |= image::section_optional;
  section(m, SectionKind::deny_v4_front).kind = 999;
  reseal(m);
  EXPECT_TRUE(image::attach(m.bytes()).has_value());
}

TEST(Image, checksums_of_mutable_sections_are_asked_for_only_as_built) {
  const Rules rules = small_rules();
  const ImageMemory m = ImageMemory::build(input_of(rules));
  at<table::RangeHeaderV4>(m, SectionKind::deny_v4_ranges).in_use ^= table::range_prefixes;
  EXPECT_FALSE(image::attach(m.bytes()).has_value());
  EXPECT_TRUE(image::attach(m.bytes(), image::Check::not_the_mutable_checksums).has_value());
}

TEST(ImageBuilder, puts_every_allow_key_that_tables_are_asked_for_into_the_filter_and_says_so) {
  using test::entry_v4, test::entry_v6;
  const std::vector<build::EntryV4> allow4{entry_v4("0.0.0.0/0", 7), entry_v4("10.0.0.0/16", 7),
                                           entry_v4("10.0.0.0/17", 7), entry_v4("10.0.0.7", 7)};
  const std::vector<build::EntryV6> allow6{entry_v6("::/0", 7), entry_v6("2001:db8::1", 7)};
  const std::vector<build::VulnerableKey> guarded{{parse_prefix("10.0.0.8").value()},
                                                  {parse_prefix("2001:db8::2").value()}};
  build::BuildInput in;
  in.lists = {{"ops", 7, Side::allow}};
  in.allow = {allow4, allow6};
  in.allow_filter.params = build::SeesawParams{.planned_keys = 8, .cell_words = 64, .modulator_words = 9};
  in.allow_filter.guarded = guarded;
  const ImageMemory m = ImageMemory::build(in);
  const image::ImageView v = m.view();
  EXPECT_EQ(m.report().allow_filter->keys, 2u) << "prefixes stand in range maps";
  EXPECT_EQ(allow_filter_count(m, "guarded"), 2u);
  EXPECT_EQ(m.report().guard_accepts, 0.0);
  EXPECT_TRUE(v.allow_filter.contains(hash_v4(parse_address("10.0.0.7")->wire(), v.seeds_v4[32])));
  EXPECT_FALSE(v.allow_filter.contains(hash_v4(parse_address("10.0.0.8")->wire(), v.seeds_v4[32])));
  EXPECT_FALSE(v.allow_filter.contains(hash_v4(parse_address("10.0.0.0")->wire(), v.seeds_v4[16])));
  EXPECT_TRUE(ImageMemory::build({}).view().allow_filter.empty());
}

struct WithCuckoo {
  Rules rules = small_rules();
  build::BuildInput input = input_of(rules);
  WithCuckoo() { input.allow_filter.params = build::CuckooParams{8, {4, 18}}; }
};

TEST(ImageBuilder, puts_all_that_tables_are_asked_for_into_a_cuckoo_filter) {
  const WithCuckoo with;
  const ImageMemory m = ImageMemory::build(with.input);
  const image::ImageView v = m.view();
  EXPECT_EQ(v.allow_filter.name(), "cuckoo");
  EXPECT_EQ(m.report().allow_filter->keys, 2u);
  EXPECT_EQ(m.report().allow_filter->planned_keys, 8u);
  EXPECT_TRUE(v.allow_filter.contains(hash_v4(parse_address("10.0.0.7")->wire(), v.seeds_v4[32])));
  EXPECT_TRUE(v.allow_filter.contains(hash_v6(parse_address("2001:db8::1")->bytes.data(), v.seeds_v6[128])));
  EXPECT_FALSE(v.allow_filter.contains(hash_v4(parse_address("10.0.0.8")->wire(), v.seeds_v4[32])));
}

struct WithStack {
  Rules rules = small_rules();
  build::BuildInput input = input_of(rules);
  std::vector<build::VulnerableKey> known{{parse_prefix("10.0.0.8").value()},
                                          {parse_prefix("2001:db8::2").value()}};
  WithStack() {
    input.allow_filter.params = build::StackedCountingParams{8, {{16, 3, 4}, {4, 1, 4}, {4, 3, 4}}};
    input.allow_filter.guarded = known;
  }
};

TEST(ImageBuilder, puts_all_that_tables_are_asked_for_into_a_stack_and_the_vulnerable_into_its_second_layer) {
  const WithStack with;
  const ImageMemory m = ImageMemory::build(with.input);
  const image::ImageView v = m.view();
  EXPECT_EQ(v.allow_filter.name(), "stacked");
  EXPECT_EQ(m.report().allow_filter->keys, 2u);
  EXPECT_EQ(m.report().allow_filter->planned_keys, 8u);
  EXPECT_EQ(allow_filter_count(m, "guarded"), 2u);
  EXPECT_EQ(m.report().guard_accepts, 0.0);
  EXPECT_TRUE(v.allow_filter.contains(hash_v4(parse_address("10.0.0.7")->wire(), v.seeds_v4[32])));
  EXPECT_TRUE(v.allow_filter.contains(hash_v6(parse_address("2001:db8::1")->bytes.data(), v.seeds_v6[128])));
  EXPECT_FALSE(v.allow_filter.contains(hash_v4(parse_address("10.0.0.8")->wire(), v.seeds_v4[32])));
}

TEST(Image, a_stack_that_cannot_be_is_refused) {
  using filter::FilterHeader, filter::StackHeader;
  const WithStack with;
  const auto refused = [&](const char *words, const std::function<void(std::byte *)> &forge) {
    const ImageMemory m = ImageMemory::build(with.input);
    forge(reinterpret_cast<std::byte *>(&at<StackHeader>(m, SectionKind::allow_filter)));
    reseal(m);
    expect_refused(m, words);
  };
  const auto stack = [](std::byte *s) -> StackHeader & { return *reinterpret_cast<StackHeader *>(s); };
  const auto first = [](std::byte *s) -> FilterHeader & {
    return *reinterpret_cast<FilterHeader *>(s + filter::stack_layers_offset(3));
  };
  refused("allow_filter: stacked filter: ", [&](auto *s) { stack(s).depth = 1; });
  refused("allow_filter: stacked filter: ", [&](auto *s) { stack(s).depth = 5; });
  refused("reserved bytes", [&](auto *s) { stack(s).reserved[1] = 1; });
  refused("layer 1: counting Bloom filter: the section holds a Bloom filter",
          [&](auto *s) { first(s).kind = static_cast<std::uint32_t>(filter::FilterKind::bloom); });
  refused("where the header asks for", [&](auto *s) { first(s).shape[0] += 1; });
  refused("cells are not of", [&](auto *s) { first(s).shape[1] = 17; });
  refused("hash functions are not", [&](auto *s) { first(s).shape[2] = 0; });
}

TEST(ImageBuilder, refuses_a_filter_that_cannot_be_or_cannot_hold_the_keys) {
  const auto error_of = [](const WithCuckoo &with) {
    ImageMemory m(1 << 22);
    const auto built = build::build_image(with.input, m.bytes());
    return built ? std::string("accepted") : built.error().message;
  };
  WithCuckoo with;
  EXPECT_EQ(error_of(with), "accepted");
  with.input.allow_filter.params = build::CuckooParams{8, {4, 21}};
  EXPECT_NE(error_of(with).find("1 to 20 bits"), std::string::npos) << error_of(with);
  std::vector<build::EntryV4> many;
  for (std::uint32_t h = 0; h < 40; ++h) many.push_back({h, 32, 0, 7});
  with.input.allow.v4 = many;
  with.input.allow_filter.params = build::CuckooParams{8, {4, 18}};
  EXPECT_NE(error_of(with).find("no table came out"), std::string::npos) << "40 keys, 16 slots";
  with.input.allow_filter.params = build::StackedCountingParams{8, {{1}, {1}, {1, 4, 99}}};
  EXPECT_NE(error_of(with).find("hash functions are not"), std::string::npos) << error_of(with);
}

TEST(Image, a_cuckoo_section_that_cannot_be_is_refused) {
  const WithCuckoo with;
  const auto refused = [&](const char *words, const std::function<void(filter::FilterHeader &)> &forge) {
    const ImageMemory m = ImageMemory::build(with.input);
    forge(filter_at(m, SectionKind::allow_filter));
    reseal(m);
    expect_refused(m, words);
  };
  refused("allow_filter: cuckoo filter: there is no bucket", [](auto &h) { h.shape[0] = 0; });
  refused("allow_filter: ", [](auto &h) { h.shape[0] = 0xFFFFFFFF; });
  refused("fingerprints are not of 1 to 20 bits", [](auto &h) { h.shape[1] = 0; });
  refused("fingerprints are not of 1 to 20 bits", [](auto &h) { h.shape[1] = 21; });
  refused("where the header asks for", [](auto &h) { h.shape[0] += 16; });
  refused("reserved bytes", [](auto &h) { h.shape[2] = 1; });
  refused("reserved bytes", [](auto &h) { h.reserved0 = 1; });
}

TEST(ImageBuilder, refuses_a_filter_of_impossible_parameters) {
  build::BuildInput in;
  in.allow_filter.params = build::SeesawParams{.hashes = 99};
  ImageMemory m(1 << 20);
  const auto built = build::build_image(in, m.bytes());
  ASSERT_FALSE(built);
  EXPECT_NE(built.error().message.find("hashes"), std::string::npos) << built.error().message;
}

TEST(ImageBuilder, refuses_input_that_is_unsorted_duplicate_or_out_of_range) {
  using test::entry_v4;
  const auto error_of = [](std::vector<build::EntryV4> entries) {
    build::BuildInput in;
    in.lists = {{"a", 0}};
    in.deny.v4 = entries;
    ImageMemory m(build::image_bytes(in));
    const auto r = build::build_image(in, m.bytes());
    return r ? std::string("accepted") : r.error().message;
  };
  EXPECT_EQ(error_of({entry_v4("1.0.0.0", 0), entry_v4("2.0.0.0", 0)}), "accepted");
  EXPECT_EQ(error_of({entry_v4("2.0.0.0", 0), entry_v4("1.0.0.0", 0)}),
            "deny entry 1.0.0.0/32 is out of order or stands twice");
  EXPECT_EQ(error_of({entry_v4("1.0.0.0", 0), entry_v4("1.0.0.0", 1)}),
            "deny entry 1.0.0.0/32 is out of order or stands twice");
  EXPECT_EQ(error_of({{0x01020304, 24, 0, 0}}), "deny entry 1.2.3.4/24 has bits beyond its length");
  EXPECT_EQ(error_of({{0x01020304, 33, 0, 0}}), "deny entry 1.2.3.4/33 has an impossible length");
  EXPECT_EQ(error_of({{0x01020304, 32, 0, 0xFFFF}}), "deny entry 1.2.3.4/32 names no list");
}

} // namespace
} // namespace weir::image_test
