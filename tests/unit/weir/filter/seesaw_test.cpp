// The Seesaw counting filter as a section: layout, borders, single and batch answers, guarding.
#include "tests/support/seed.hpp"
#include "tests/support/seesaw_section.hpp"

#include <gtest/gtest.h>

#include <random>

namespace weir::filter::seesaw_test {
namespace {

using test::SeesawSection;

build::SeesawParams params_for(std::uint64_t keys, double bits_per_key = 24) {
  build::SeesawParams p;
  p.planned_keys = keys;
  return build::seesaw_split(p, static_cast<std::uint64_t>(static_cast<double>(keys) * bits_per_key), 0.1);
}

unsigned accepted(const SeesawView &view, std::span<const KeyHash> keys) {
  unsigned n = 0;
  for (const KeyHash key : keys) n += view.contains(key);
  return n;
}

TEST(Seesaw, every_key_inserted_is_found) {
  const std::uint64_t seed = test::seed_or(1);
  WEIR_TRACE_SEED(seed);
  const auto keys = test::numbered_keys(seed, 0, 20'000);
  const auto guarded = test::numbered_keys(seed, 1, 4'000);
  SeesawSection section(params_for(keys.size()), keys, guarded);
  EXPECT_EQ(accepted(section.view(), keys), keys.size());
  EXPECT_EQ(section.load().keys, keys.size());
  EXPECT_EQ(section.load().guarded, guarded.size());
}

// The shapes with code of their own must be read as the general code reads them.
template <class Lean> void expect_like_any(const SeesawShape &shape, std::mt19937_64 &random) {
  const Lean lean(shape);
  const AnyLayout any(shape);
  for (unsigned n = 0; n < 500; ++n) {
    const KeyHash key{random()};
    SeesawWalk a(key), b(key);
    typename Lean::Seen seen(shape);
    AnySeen expected(shape);
    for (unsigned i = 0; i < shape.hashes; ++i) {
      const CellPlace place = a.function(lean, i);
      ASSERT_EQ(place, b.function(any, i));
      ASSERT_LT(place.word, shape.cells.words);
      ASSERT_LE(place.shift + shape.cells.width, 64u);
      const auto cell = static_cast<std::uint32_t>(random());
      seen.look(i, cell), expected.look(i, cell);
    }
    for (unsigned i = 0; i < shape.hashes; ++i) {
      ASSERT_EQ((seen.sealed() & Lean::Seen::bit(i)) != 0, (expected.sealed() & AnySeen::bit(i)) != 0);
      ASSERT_EQ((seen.vacant() & Lean::Seen::bit(i)) != 0, (expected.vacant() & AnySeen::bit(i)) != 0);
    }
    ASSERT_EQ(std::popcount(seen.sealed()), std::popcount(expected.sealed()));
    ASSERT_EQ(std::popcount(seen.vacant()), std::popcount(expected.vacant()));
    ASSERT_EQ(a.modulator(lean), b.modulator(any));
    ASSERT_EQ(a.backup(lean, 0), b.backup(any, 0));
    const auto stored = static_cast<std::uint32_t>(random()), backup = static_cast<std::uint32_t>(random());
    ASSERT_EQ(lean.missing(stored, backup), any.missing(stored, backup));
  }
}

TEST(Seesaw, shapes_with_code_of_their_own_are_read_as_any_other) {
  const std::uint64_t seed = test::seed_or(19);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  unsigned lean = 0;
  for (const bool adaptive : {false, true})
    for (unsigned hashes = 1; hashes <= 8; ++hashes) {
      build::SeesawParams p;
      p.cell_words = 8 * (1 + random() % 1000);
      p.modulator_words = 1 + random() % 500;
      p.hashes = hashes;
      p.backups = 1, p.index_bits = 0, p.count_bits = 2;
      p.adaptive = adaptive;
      const SeesawShape shape = seesaw_shape(build::seesaw_header(p).value());
      with_layout(shape, [&](const auto &layout) {
        using Layout = std::remove_cvref_t<decltype(layout)>;
        if constexpr (!std::is_same_v<Layout, AnyLayout>) {
          expect_like_any<Layout>(shape, random);
          lean += layout.hashes == hashes;
        }
      });
    }
  EXPECT_EQ(lean, 10u); // 2 to 6 functions
}

TEST(Seesaw, a_budget_is_divided_into_whole_lines_of_cells) {
  for (const std::uint64_t words : {100u, 1'003u, 77'777u}) {
    const build::SeesawParams p = build::seesaw_split({}, words * 64 + 5, 0.1);
    EXPECT_EQ(p.cell_words % 8, 0u);
    EXPECT_EQ(p.cell_words + p.modulator_words, words);
    EXPECT_NEAR(static_cast<double>(p.modulator_words), 0.1 * static_cast<double>(words), 8);
  }
}

TEST(Seesaw, a_key_takes_two_functions_or_three_to_a_line_and_its_backups_to_the_first) {
  std::mt19937_64 random(7);
  for (const unsigned hashes : {3u, 5u, 8u}) {
    build::SeesawParams p;
    p.cell_words = 8 * 100'000;
    p.hashes = hashes;
    p.backups = 4, p.index_bits = 2;
    const SeesawShape shape = seesaw_shape(build::seesaw_header(p).value());
    const AnyLayout layout(shape);
    for (unsigned n = 0; n < 200; ++n) {
      SeesawWalk walk(KeyHash{random()});
      std::vector<std::uint64_t> lines;
      for (unsigned i = 0; i < hashes; ++i) lines.push_back(walk.function(layout, i).word / 8);
      (void)walk.modulator(layout);
      for (std::uint32_t b = 0; b < 4; ++b) EXPECT_EQ(walk.backup(layout, b).word / 8, lines[0]);
      std::ranges::sort(lines);
      const auto different = static_cast<std::size_t>(std::ranges::unique(lines).begin() - lines.begin());
      EXPECT_LE(different, (hashes + functions_a_line(hashes) - 1) / functions_a_line(hashes));
    }
  }
}

TEST(Seesaw, guarded_negatives_are_accepted_far_less_often_than_others) {
  const std::uint64_t seed = test::seed_or(2);
  WEIR_TRACE_SEED(seed);
  const auto keys = test::numbered_keys(seed, 0, 50'000);
  const auto guarded = test::numbered_keys(seed, 1, 10'000);
  const auto others = test::numbered_keys(seed, 2, 50'000);
  SeesawSection section(params_for(keys.size(), 20), keys, guarded);
  const double rate_guarded = accepted(section.view(), guarded) / 10'000.0;
  const double rate_others = accepted(section.view(), others) / 50'000.0;
  EXPECT_GT(rate_others, 0.01);
  EXPECT_LT(rate_guarded, rate_others / 20);
}

TEST(Seesaw, a_deleted_key_leaves_no_trace) {
  const std::uint64_t seed = test::seed_or(3);
  WEIR_TRACE_SEED(seed);
  auto params = params_for(2'000);
  params.positive_bits = 7; // nothing reaches its maximum
  params.count_bits = 10;
  const auto guarded = test::numbered_keys(seed, 1, 400);
  SeesawSection section(params, {}, guarded);
  const std::vector<std::byte> before(section.bytes().begin(), section.bytes().end());
  auto writer = section.writer();
  const auto keys = test::numbered_keys(seed, 0, 2'000);
  for (const KeyHash key : keys) writer.insert(key);
  EXPECT_FALSE(std::ranges::equal(before, section.bytes()));
  std::vector<KeyHash> order = keys;
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  for (const KeyHash key : order) EXPECT_TRUE(writer.erase(key));
  // Indices without a count may stay; everything else is as before.
  const std::size_t cells = sizeof(filter::SeesawHeader) + 8 * seesaw_words_aligned(params.cell_words);
  EXPECT_TRUE(std::ranges::equal(std::span(before).first(cells), section.bytes().first(cells)));
  EXPECT_EQ(writer.load().modulator_used, 0u);
}

TEST(Seesaw, a_batch_answers_like_single_queries) {
  const std::uint64_t seed = test::seed_or(4);
  WEIR_TRACE_SEED(seed);
  const auto keys = test::numbered_keys(seed, 0, 3'000);
  const auto guarded = test::numbered_keys(seed, 1, 3'000);
  for (unsigned hashes = 1; hashes <= seesaw_hashes_max; ++hashes) {
    auto params = params_for(keys.size(), 12);
    params.hashes = hashes;
    SeesawSection section(params, keys, guarded);
    const auto compare = [&](const auto &view) {
      for (std::size_t size = 0; size <= batch_max; ++size) {
        std::vector<KeyHash> asked;
        for (std::size_t i = 0; i < size; ++i) asked.push_back(test::numbered_key(seed, i % 3, 7 * size + i));
        const HitMask mask = view.contains_batch(asked);
        for (std::size_t i = 0; i < batch_max; ++i)
          ASSERT_EQ((mask >> i) & 1, i < size && view.contains(asked[i]))
              << hashes << ' ' << size << ' ' << i;
      }
    };
    compare(section.view());
    compare(section.view<VacanciesOnly>());
    compare(section.view<AsPrinted>());
  }
}

TEST(Seesaw, the_same_input_gives_the_same_bytes) {
  const auto keys = test::numbered_keys(5, 0, 1'000);
  const auto guarded = test::numbered_keys(5, 1, 200);
  SeesawSection first(params_for(1'000), keys, guarded), second(params_for(1'000), keys, guarded);
  EXPECT_TRUE(std::ranges::equal(first.bytes(), second.bytes()));
}

TEST(Seesaw, cells_use_every_bit_they_are_charged) {
  for (unsigned width = 1; width <= cell_bits_max; ++width) {
    const CellArray cells = CellArray::of(1'000, width);
    EXPECT_EQ(cells.cells(), 1'000u * (64 / width));
    EXPECT_EQ(CellArray::words_for(cells.cells(), width), 1'000u);
    EXPECT_EQ(CellArray::words_for(cells.cells() + 1, width), 1'001u);
  }
}

TEST(Seesaw, places_are_uniform_and_inside) {
  for (const unsigned width : {1u, 3u, 5u, 7u, 16u}) {
    const CellArray cells = CellArray::of(3, width);
    std::vector<unsigned> hits(cells.cells());
    const unsigned rounds = 4'000;
    for (std::uint64_t n = 0; n < rounds * cells.cells(); ++n) {
      const CellPlace place = cells.place(remix({n}, 99));
      ASSERT_LT(place.word, 3u);
      ASSERT_LE(place.shift + width, 64u);
      ASSERT_EQ(place.shift % width, 0u);
      ++hits[place.word * cells.per_word + place.shift / width];
    }
    for (const unsigned n : hits) EXPECT_NEAR(n, rounds, 6 * std::sqrt(rounds));
  }
}

TEST(Seesaw, impossible_parameters_are_refused) {
  const auto good = params_for(100);
  ASSERT_TRUE(build::seesaw_bytes(good));
  const auto refused = [&](auto change) {
    auto bad = good;
    change(bad);
    const auto bytes = build::seesaw_bytes(bad);
    return !bytes && bytes.error().code == Errc::usage;
  };
  EXPECT_TRUE(refused([](auto &p) { p.hashes = 0; }));
  EXPECT_TRUE(refused([](auto &p) { p.hashes = 17; }));
  EXPECT_TRUE(refused([](auto &p) { p.hashes = 257; }));
  EXPECT_TRUE(refused([](auto &p) { p.backups = 3; })); // one bit of index
  EXPECT_TRUE(refused([](auto &p) { p.backups = 0; }));
  EXPECT_TRUE(refused([](auto &p) { p.negative_bits = 0; }));
  EXPECT_TRUE(refused([](auto &p) { p.positive_bits = 9; }));
  EXPECT_TRUE(refused([](auto &p) { p.positive_bits = p.negative_bits = 8, p.adaptive = true; }));
  EXPECT_TRUE(refused([](auto &p) { p.count_bits = 0; }));
  EXPECT_TRUE(refused([](auto &p) { p.index_bits = 5; }));
  EXPECT_TRUE(refused([](auto &p) { p.cell_words = 0; }));
  EXPECT_TRUE(refused([](auto &p) { p.modulator_words = std::uint64_t{1} << 32; }));
}

TEST(Seesaw, a_section_that_lies_about_itself_is_refused) {
  SeesawSection section(params_for(100));
  auto *header = reinterpret_cast<filter::SeesawHeader *>(section.bytes().data());
  const filter::SeesawHeader good = *header;
  const auto refused = [&] {
    const auto view = SeesawView::attach(section.bytes());
    *header = good;
    return !view && view.error().code == Errc::bad_image;
  };
  EXPECT_FALSE(refused());
  header->cell_words += 8;
  EXPECT_TRUE(refused());
  header->modulator_words = 0;
  EXPECT_TRUE(refused());
  header->hashes = 200;
  EXPECT_TRUE(refused());
  header->index_bits = 0; // two backups
  EXPECT_TRUE(refused());
  header->reserved[3] = 1;
  EXPECT_TRUE(refused());
  header->hash_family = 1; // known, but never written
  EXPECT_TRUE(refused());
  EXPECT_FALSE(SeesawView::attach(section.bytes().first(63)));
  EXPECT_FALSE(SeesawView::attach(section.bytes().first(section.bytes().size() - 64)));
  EXPECT_FALSE(SeesawView::attach(section.bytes().subspan(4)));
}

TEST(Seesaw, no_content_leads_a_reader_out_of_its_section) {
  const std::uint64_t seed = test::seed_or(6);
  WEIR_TRACE_SEED(seed);
  auto params = params_for(50);
  params.backups = 9, params.index_bits = 4; // indices 9 to 15 name no backup
  SeesawSection section(params);
  const SeesawView view = section.view();
  std::mt19937_64 random(seed);
  for (std::byte &b : section.bytes().subspan(sizeof(filter::SeesawHeader))) b = std::byte(random());
  for (unsigned i = 0; i < 10'000; ++i) (void)view.contains({random()});
  EXPECT_FALSE(view.empty());
  EXPECT_TRUE(SeesawView{}.empty());
}

TEST(Seesaw, a_writer_attached_later_goes_on_where_the_first_one_stopped) {
  const auto keys = test::numbered_keys(7, 0, 1'000);
  SeesawSection section(params_for(1'000), std::span(keys).first(500), test::numbered_keys(7, 1, 200));
  auto later = section.writer();
  for (const KeyHash key : std::span(keys).last(500)) later.insert(key);
  EXPECT_EQ(section.writer().load().keys, 1'000u);
  for (const KeyHash key : std::span(keys).first(500)) EXPECT_TRUE(later.erase(key));
  EXPECT_EQ(accepted(section.view(), std::span(keys).last(500)), 500u);
}

TEST(Seesaw, erasing_what_the_filter_knows_to_be_absent_is_refused) {
  const auto keys = test::numbered_keys(8, 0, 1'000);
  SeesawSection section(params_for(1'000), keys, test::numbered_keys(8, 1, 200));
  auto writer = section.writer();
  const SeesawView view = section.view();
  const std::vector<std::byte> before(section.bytes().begin(), section.bytes().end());
  unsigned refused = 0;
  for (const KeyHash absent : test::numbered_keys(8, 2, 1'000)) {
    if (view.contains(absent)) continue;
    EXPECT_FALSE(writer.erase(absent));
    ++refused;
  }
  EXPECT_GT(refused, 900u);
  EXPECT_TRUE(std::ranges::equal(before, section.bytes()));
}

} // namespace
} // namespace weir::filter::seesaw_test
