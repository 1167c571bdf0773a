// The chained location predictor: what it costs, that it is right for every stored key, and that a reader
// without it, or with a wrong one, still gets the right answer.
#include "tests/support/image_memory.hpp"
#include "tests/support/seed.hpp"
#include "weir/build/chained_trainer.hpp"
#include "weir/build/keys.hpp"
#include "weir/image/writer.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace weir::chained_test {
namespace {

using build::Predictor;
using image::SectionKind;
using table::ChainHeader;
using table::Home;
using test::ImageMemory;

struct Hosts {
  std::vector<build::EntryV4> v4;
  std::vector<build::EntryV6> v6;

  Hosts(std::size_t count4, std::size_t count6, std::uint64_t seed) : v4(count4), v6(count6) {
    std::mt19937_64 random(seed);
    for (auto &e : v4) e = {static_cast<std::uint32_t>(random()), 32, 0, 1};
    for (auto &e : v6) {
      for (auto &b : e.address) b = static_cast<std::uint8_t>(random());
      e.list = 1;
    }
    test::sort_entries(v4);
    test::sort_entries(v6);
  }

  [[nodiscard]] build::BuildInput input(std::uint64_t seed, Predictor predictor = Predictor::chained) const {
    build::BuildInput in;
    in.lists = {{"a", 1}};
    in.deny = {v4, v6, false, predictor};
    in.seed = seed;
    return in;
  }
  [[nodiscard]] ImageMemory image(std::uint64_t seed, Predictor predictor = Predictor::chained) const {
    return ImageMemory::build(input(seed, predictor));
  }
};

template <class Entry> auto key_of(const Entry &e) { return build::detail::key_of(e); }

std::span<const std::uint64_t> seeds(const image::ImageView &view, const build::EntryV4 &) {
  return view.seeds_v4;
}
std::span<const std::uint64_t> seeds(const image::ImageView &view, const build::EntryV6 &) {
  return view.seeds_v6;
}

// Keys that do not stand where the chain says.
template <class Line, class Entry>
std::size_t misled(const image::ImageView &view, const image::SideView<Line> &side,
                   std::span<const Entry> entries) {
  std::size_t n = 0;
  for (const Entry &e : entries) {
    const KeyHash h = table::hash_of(key_of(e), seeds(view, e)[e.length]);
    const bool first = side.chain.predict(h) == Home::table1;
    const std::uint32_t v =
        first ? side.table.find1(key_of(e), e.length, h) : side.table.find2(key_of(e), e.length, h);
    n += v == table::value::make(e.list, e.length) ? 0 : 1;
  }
  return n;
}

template <class Line, class Entry>
std::size_t lost(const image::ImageView &view, const image::SideView<Line> &side,
                 std::span<const Entry> entries) {
  std::size_t n = 0;
  for (const Entry &e : entries) {
    const KeyHash h = table::hash_of(key_of(e), seeds(view, e)[e.length]);
    n += side.find(key_of(e), e.length, h) == table::value::make(e.list, e.length) ? 0 : 1;
  }
  return n;
}

MutableBytes section_of(const ImageMemory &m, SectionKind kind) {
  const auto &header = *reinterpret_cast<const image::ImageHeader *>(m.bytes().data());
  const auto *entries =
      reinterpret_cast<const image::SectionEntry *>(m.bytes().data() + sizeof(image::ImageHeader));
  for (std::uint32_t i = 0; i < header.section_count; ++i)
    if (entries[i].kind == static_cast<std::uint32_t>(kind))
      return m.bytes().subspan(entries[i].offset, entries[i].bytes);
  throw std::runtime_error("no such section");
}
ChainHeader &chain_header(const ImageMemory &m, SectionKind kind = SectionKind::deny_v4_predictor) {
  return *reinterpret_cast<ChainHeader *>(section_of(m, kind).data());
}

TEST(Chain, an_ipv4_key_costs_at_most_seven_tenths_of_a_bit_and_every_lookup_one_line) {
  const Hosts hosts(300'000, 0, 1);
  const build::TableReport r = hosts.image(2).report().deny_v4;
  EXPECT_TRUE(r.chain.exact());
  EXPECT_LE(r.chain.bits_per_key, 0.70);
  EXPECT_EQ(r.chain.layers, 1u) << r.chain.lines_split << " lines split";
  EXPECT_EQ(r.chain.keys_of_layer[0], r.in_table2);
  EXPECT_EQ(r.in_stash, 0u);
  EXPECT_EQ(r.lines_hit, 1.0);
  EXPECT_EQ(r.lines_absent, 1.0);
  EXPECT_LE(static_cast<double>(r.bytes) / static_cast<double>(r.keys), 10.0);
}

TEST(Chain, an_ipv6_key_costs_about_two_bits_and_few_reach_the_second_layer) {
  const Hosts hosts(0, 200'000, 3);
  const build::TableReport r = hosts.image(4).report().deny_v6;
  EXPECT_TRUE(r.chain.exact());
  EXPECT_LE(r.chain.bits_per_key, 2.2);
  EXPECT_LE(r.chain.keys_of_layer[1], r.keys / 1000);
  EXPECT_LE(static_cast<double>(r.bytes) / static_cast<double>(r.keys), 28.0);
}

TEST(Chain, leads_to_the_line_of_every_stored_key) {
  const std::uint64_t seed = test::seed_or(5);
  WEIR_TRACE_SEED(seed);
  const Hosts hosts(100'000, 50'000, seed);
  const ImageMemory m = hosts.image(seed);
  const image::ImageView view = m.view();
  ASSERT_TRUE(view.v4[Side::deny].chain.in_force());
  ASSERT_TRUE(view.v6[Side::deny].chain.in_force());
  EXPECT_EQ(misled<table::LineV4>(view, view.v4[Side::deny], std::span(hosts.v4)), 0u);
  EXPECT_EQ(misled<table::LineV6>(view, view.v6[Side::deny], std::span(hosts.v6)), 0u);
}

TEST(Chain, comes_out_exact_for_every_small_size_and_many_seeds) {
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const std::size_t n : {0, 1, 2, 7, 8, 9, 63, 64, 100, 150, 500, 1000, 3000}) {
      WEIR_TRACE_SEED(seed);
      const build::BuildReport r = Hosts(n, n, seed).image(seed * 77).report();
      EXPECT_TRUE(r.deny_v4.chain.exact()) << n;
      EXPECT_TRUE(r.deny_v6.chain.exact()) << n;
      EXPECT_EQ(r.attempts, 1u);
      EXPECT_EQ(r.deny_v4.in_stash + r.deny_v6.in_stash, 0u) << n;
    }
}

TEST(Chain, same_rules_and_seed_give_the_same_bytes) {
  const Hosts hosts(20'000, 20'000, 6);
  const ImageMemory a = hosts.image(1), b = hosts.image(1);
  EXPECT_EQ(std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()), 0);
}

TEST(Chain, the_bytes_do_not_depend_on_the_number_of_threads) {
  const Hosts hosts(60'000, 60'000, 6);
  for (const Predictor predictor : {Predictor::inline_bits, Predictor::chained}) {
    build::BuildInput in = hosts.input(1, predictor);
    in.threads = 1;
    const ImageMemory one = ImageMemory::build(in);
    in.threads = 3;
    const ImageMemory three = ImageMemory::build(in);
    EXPECT_EQ(std::memcmp(one.bytes().data(), three.bytes().data(), one.bytes().size()), 0);
  }
}

TEST(Chain, a_batch_answers_like_single_questions_for_every_size) {
  const Hosts hosts(0, 200'000, 7);
  const ImageMemory m = hosts.image(8);
  const image::ImageView view = m.view();
  const table::ChainedPredictor &chain = view.v6[Side::deny].chain;
  ASSERT_GT(chain.deep_layers(), 0u) << "the batch's way through the deeper layers was not taken";
  std::mt19937_64 random(9);
  for (std::size_t size = 0; size <= table::ChainedPredictor::batch_max; ++size) {
    std::vector<KeyHash> keys(size);
    for (KeyHash &k : keys) k = {random()};
    const std::uint64_t mask = chain.predict_batch(keys);
    for (std::size_t i = 0; i < 64; ++i)
      EXPECT_EQ((mask >> i & 1) != 0, i < size && chain.predict(keys[i]) == Home::table2);
  }
}

TEST(Chain, without_its_deeper_layers_misleads_the_keys_that_they_hold) {
  const Hosts hosts(0, 200'000, 7);
  const ImageMemory m = hosts.image(8);
  const std::uint64_t in_second = m.report().deny_v6.chain.keys_of_layer[1];
  ASSERT_GT(in_second, 0u);
  chain_header(m, SectionKind::deny_v6_predictor).deep_layers = 0;
  const auto view = image::attach(m.bytes(), image::Check::not_the_mutable_checksums).value();
  EXPECT_EQ(misled<table::LineV6>(view, view.v6[Side::deny], std::span(hosts.v6)), in_second);
}

TEST(Chain, that_is_not_exact_is_left_alone_whatever_its_bits_say) {
  const Hosts hosts(50'000, 20'000, 11);
  const ImageMemory m = hosts.image(12);
  for (const SectionKind kind : {SectionKind::deny_v4_predictor, SectionKind::deny_v6_predictor}) {
    const MutableBytes section = section_of(m, kind);
    for (std::byte &b : section.subspan(sizeof(ChainHeader))) b ^= std::byte{0xFF};
  }
  const auto attach = [&] {
    return image::attach(m.bytes(), image::Check::not_the_mutable_checksums).value();
  };
  image::ImageView view = attach();
  EXPECT_GT(lost<table::LineV4>(view, view.v4[Side::deny], std::span(hosts.v4)), hosts.v4.size() / 2)
      << "the chain was not asked";
  for (const SectionKind kind : {SectionKind::deny_v4_predictor, SectionKind::deny_v6_predictor})
    chain_header(m, kind).exact = 0;
  view = attach();
  EXPECT_EQ(lost<table::LineV4>(view, view.v4[Side::deny], std::span(hosts.v4)), 0u);
  EXPECT_EQ(lost<table::LineV6>(view, view.v6[Side::deny], std::span(hosts.v6)), 0u);
}

// The group bits of an inline_bits table are finer than a chain's, so groups are split all over: the
// deeper layers have much to hold.
class Training : public testing::Test {
public:
  build::ChainReport train(unsigned words_of_second_layer) {
    const table::TableView<table::LineV4> &table = view.v4[Side::deny].table;
    build::ChainSize size{table.count1, 2, {}};
    for (unsigned i = 0; i < size.deep_words.size(); ++i)
      size.deep_words[i] = std::max(1u, words_of_second_layer >> i);
    memory = ImageMemory(size.bytes());
    build::ChainReport report;
    build::ChainTrainer<table::LineV4>(memory.bytes(), size, table, view.seeds_v4)
        .train(hosts.v4.size(), report);
    return report;
  }
  [[nodiscard]] const ChainHeader &header() const {
    return *reinterpret_cast<const ChainHeader *>(memory.bytes().data());
  }

  Hosts hosts{20'000, 0, 13};
  ImageMemory image = hosts.image(14, Predictor::inline_bits);
  image::ImageView view = image.view();
  ImageMemory memory{64};
};

TEST_F(Training, goes_on_through_the_layers_until_no_key_is_wrong) {
  const build::ChainReport r = train(600);
  EXPECT_TRUE(r.exact());
  EXPECT_EQ(header().exact, 1u);
  EXPECT_GE(r.layers, 3u);
  for (unsigned i = 1; i < r.layers; ++i) EXPECT_GT(r.keys_of_layer[i], 0u);
  EXPECT_LT(r.keys_of_layer[r.layers - 1], r.keys_of_layer[1]);
}

TEST_F(Training, says_so_when_its_layers_are_too_small) {
  const build::ChainReport r = train(16);
  EXPECT_FALSE(r.exact());
  EXPECT_GT(r.wrong, 0u);
  EXPECT_EQ(header().exact, 0u);
}

struct Damage {
  const char *words;
  void (*apply)(ChainHeader &);
};

class DamagedChain : public testing::TestWithParam<Damage> {};

TEST_P(DamagedChain, is_refused) {
  const ImageMemory m = Hosts(1000, 1000, 15).image(16);
  GetParam().apply(chain_header(m));
  const auto view = image::attach(m.bytes(), image::Check::not_the_mutable_checksums);
  ASSERT_FALSE(view.has_value());
  EXPECT_NE(view.error().message.find("deny_v4_predictor"), std::string::npos) << view.error().message;
  EXPECT_NE(view.error().message.find(GetParam().words), std::string::npos) << view.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Chain, DamagedChain,
    testing::Values(Damage{"does not belong to its table", [](ChainHeader &h) { ++h.lines1; }},
                    Damage{"3 groups a line", [](ChainHeader &h) { h.groups = 3; }},
                    Damage{"size does not match", [](ChainHeader &h) { h.groups = 8; }},
                    Damage{"7 deeper layers", [](ChainHeader &h) { h.deep_layers = 7; }},
                    Damage{"layer without words",
                           [](ChainHeader &h) {
                             h.deep_layers = 1;
                             h.deep_words[1] += h.deep_words[0];
                             h.deep_words[0] = 0;
                           }},
                    Damage{"size does not match", [](ChainHeader &h) { ++h.deep_words[5]; }},
                    Damage{"size does not match", [](ChainHeader &h) { h.deep_words.fill(0xFFFFFFFF); }},
                    Damage{"does not begin as filters do", [](ChainHeader &h) { h.magic[7] = '2'; }},
                    Damage{"holds a Bloom filter", [](ChainHeader &h) { h.kind = 1; }},
                    Damage{"reserved", [](ChainHeader &h) { h.reserved1[1] = 1; }},
                    Damage{"reserved", [](ChainHeader &h) { h.reserved2 = 1; }},
                    Damage{"reserved", [](ChainHeader &h) { h.exact = 2; }},
                    Damage{"reserved", [](ChainHeader &h) { h.reserved[3] = 1; }}));

TEST(Chain, with_one_flipped_bit_is_refused_by_its_checksum) {
  const ImageMemory m = Hosts(1000, 0, 17).image(18);
  const MutableBytes section = section_of(m, SectionKind::deny_v4_predictor);
  for (std::size_t i = 0; i < section.size(); i += 7) {
    section[i] ^= std::byte{4};
    EXPECT_FALSE(image::attach(m.bytes()).has_value()) << "byte " << i;
    section[i] ^= std::byte{4};
  }
  EXPECT_TRUE(image::attach(m.bytes()).has_value());
}

TEST(Chain, additions_go_where_it_leads_or_to_the_overlay_and_never_move_a_key) {
  const std::uint64_t seed = test::seed_or(19);
  WEIR_TRACE_SEED(seed);
  const Hosts hosts(20'000, 0, seed);
  const ImageMemory m = hosts.image(seed);
  unsigned graces = 0;
  auto writer = image::ImageWriter::attach(m.bytes(), [&] { ++graces; }).value();
  const image::SideView<table::LineV4> &side = writer.view().v4[Side::deny];
  unsigned seen[4] = {};
  std::vector<build::EntryV4> all = hosts.v4;
  std::mt19937_64 random(seed + 1);
  for (image::Change change = image::Change::in_place; change != image::Change::needs_rebuild;) {
    const build::EntryV4 e{static_cast<std::uint32_t>(random()), 32, 0, 1};
    image::Delta d;
    d.op = image::DeltaOp::set;
    d.length = 32;
    d.list = 1;
    d.address = Address::from_host(e.host).bytes;
    change = writer.apply(d);
    ++seen[static_cast<unsigned>(change)];
    if (change == image::Change::in_place || change == image::Change::overlay) all.push_back(e);
  }
  EXPECT_GT(seen[static_cast<unsigned>(image::Change::in_place)], 100u);
  EXPECT_GT(seen[static_cast<unsigned>(image::Change::overlay)], 100u);
  EXPECT_EQ(graces, 0u);
  EXPECT_TRUE(side.chain.in_force());
  EXPECT_EQ(misled<table::LineV4>(writer.view(), side, std::span(hosts.v4)), 0u);
  EXPECT_EQ(lost<table::LineV4>(writer.view(), side, std::span<const build::EntryV4>(all)), 0u);
  writer.give_up_exactness(Side::deny); // whoever reads by group bits finds the same
  EXPECT_EQ(graces, 1u);
  EXPECT_FALSE(side.chain.in_force());
  EXPECT_EQ(lost<table::LineV4>(writer.view(), side, std::span<const build::EntryV4>(all)), 0u);
}

TEST(Chain, a_deleted_key_comes_back_in_its_own_line) {
  const Hosts hosts(20'000, 0, 21);
  const ImageMemory m = hosts.image(22);
  auto writer = image::ImageWriter::attach(m.bytes(), [] {}).value();
  for (std::size_t i = 0; i < hosts.v4.size(); i += 100) {
    image::Delta d;
    d.op = image::DeltaOp::unset;
    d.length = 32;
    d.list = 1;
    d.address = Address::from_host(hosts.v4[i].host).bytes;
    ASSERT_EQ(writer.apply(d), image::Change::in_place);
    d.op = image::DeltaOp::set;
    ASSERT_EQ(writer.apply(d), image::Change::in_place);
  }
  EXPECT_EQ(misled<table::LineV4>(writer.view(), writer.view().v4[Side::deny], std::span(hosts.v4)), 0u);
}

} // namespace
} // namespace weir::chained_test
