// Measured figures: their file, what spoils it, and that a measurement comes out.
#include "control/plan/calibration.hpp"
#include "control/plan/measure.hpp"
#include "tests/support/process.hpp"
#include "tests/support/seed.hpp"
#include "weir/filter/split_block_bloom.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace weir::plan::calibration_test {
namespace {

namespace fs = std::filesystem;

Calibration sample() {
  Calibration c = built_in_calibration();
  c.processor = this_machine().processor;
  c.pages = Pages::ordinary;
  c.touch.fill({{1024, 0}, {4096, 2}});
  c.seed = 7;
  return c;
}

void put(const fs::path &file, const std::string &text) { std::ofstream(file) << text; }
std::string get(const fs::path &file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Calibration, goes_through_its_text_unharmed) {
  const Calibration c = sample();
  const auto back = parse_calibration(to_text(c), "f");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_text(*back), to_text(c));
  EXPECT_TRUE(back->measured);
}

TEST(Calibration, a_line_costs_what_lies_between_two_measured_sizes_and_goes_on_beyond_them) {
  const Calibration c = sample();
  EXPECT_DOUBLE_EQ(c.touch_ns(Path::block, 0), 0);
  EXPECT_DOUBLE_EQ(c.touch_ns(Path::block, 2048), 1);
  EXPECT_DOUBLE_EQ(c.touch_ns(Path::block, 4096), 2);
  EXPECT_DOUBLE_EQ(c.touch_ns(Path::block, 8192), 3);
  EXPECT_DOUBLE_EQ(c.touch_ns(Path::block, 1u << 30), 20);
}

TEST(Calibration, what_lies_beyond_the_measured_sizes_goes_on_over_three_doublings_not_one) {
  Calibration c = sample();
  c.touch.fill({{1024, 0}, {2048, 1}, {4096, 4}, {8192, 7}, {16384, 7}}); // noise makes the last two equal
  EXPECT_DOUBLE_EQ(c.touch_ns(Path::line, 16384), 7);
  EXPECT_DOUBLE_EQ(c.touch_ns(Path::line, 32768), 9);
  c.touch.fill({{1024, 5}});
  EXPECT_DOUBLE_EQ(c.touch_ns(Path::line, 1u << 30), 5) << "one size says nothing of others";
}

TEST(Calibration, a_fault_names_file_line_value_and_remedy) {
  std::string text = to_text(sample());
  text.replace(text.find("touch line 4096"), 15, "touch line 12ab");
  const auto broken = parse_calibration(text, "/state/calibration.ordinary");
  ASSERT_FALSE(broken);
  const std::string &message = broken.error().message;
  EXPECT_NE(message.find("/state/calibration.ordinary:19:"), std::string::npos) << message;
  EXPECT_NE(message.find("touch line 12ab"), std::string::npos) << message;
  EXPECT_NE(message.find("delete the file"), std::string::npos) << message;
}

TEST(Calibration, figures_that_cannot_be_are_refused) {
  const std::string good = to_text(sample());
  const auto with = [&](const std::string &from, const std::string &to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return parse_calibration(text, "f").has_value();
  };
  EXPECT_TRUE(with("seed 7", "seed 8"));
  EXPECT_FALSE(with("weir-calibration 5", "weir-calibration 4"));
  EXPECT_FALSE(with("touch line 4096", "touch line 1024")) << "sizes rise";
  EXPECT_FALSE(with("touch block 1024 0", "touch block 1024 -1"));
  EXPECT_FALSE(with("touch chained 1024 0", "touch chained 1024 3")) << "more bytes are not faster";
  EXPECT_FALSE(with("pages ordinary", "pages large"));
  EXPECT_FALSE(with("work ipv4", "work ipv5"));
  EXPECT_FALSE(with("words 2.1", "words -1"));
  EXPECT_FALSE(with("map ranges 2.4", "map ranges 2.4e9"));
  EXPECT_FALSE(with("map ranges", "map lines"));
  EXPECT_FALSE(with("map points", "map ranges")) << "told twice, and the other not";
  EXPECT_FALSE(with("words ", "seed ")) << "not told at all";
  EXPECT_FALSE(parse_calibration(good.substr(0, good.size() / 2), "f")) << "cut short";
  EXPECT_FALSE(parse_calibration("", "f"));
}

TEST(Calibration, few_keys_are_not_worth_a_measurement) {
  const test::TempDir state;
  const Calibration c = calibration_for({.state = state.path(), .keys = 1000});
  EXPECT_FALSE(c.measured);
  EXPECT_NE(c.note.find("built-in figures"), std::string::npos) << c.note;
  EXPECT_FALSE(fs::exists(calibration_file(state.path(), Pages::ordinary)));
}

TEST(Calibration, without_a_folder_to_keep_it_nothing_is_measured_or_written) {
  const Calibration c = calibration_for({.state = {}, .memory_bytes_max = 1u << 20, .keys = 1'000'000});
  EXPECT_FALSE(c.measured);
  EXPECT_FALSE(fs::exists("calibration.ordinary"));
}

TEST(Calibration, is_measured_once_and_kept) {
  const test::TempDir state;
  const Wanted wanted{.state = state.path(), .memory_bytes_max = 1u << 20, .keys = 1'000'000};
  const Calibration first = calibration_for(wanted);
  EXPECT_TRUE(first.measured);
  EXPECT_NE(first.note.find("measured just now"), std::string::npos) << first.note;
  const std::string text = get(calibration_file(state.path(), Pages::ordinary));
  EXPECT_EQ(text, to_text(first));
  const Calibration second = calibration_for(wanted);
  EXPECT_NE(second.note.find("kept in"), std::string::npos) << second.note;
  EXPECT_EQ(to_text(second), text);
}

TEST(Calibration, of_another_processor_is_measured_again) {
  const test::TempDir state;
  Calibration other = sample();
  other.processor = "something else";
  put(calibration_file(state.path(), Pages::ordinary), to_text(other));
  const Calibration c =
      calibration_for({.state = state.path(), .memory_bytes_max = 1u << 20, .keys = 1'000'000});
  EXPECT_EQ(c.processor, this_machine().processor);
  EXPECT_NE(c.note.find("was of another processor"), std::string::npos) << c.note;
}

TEST(Calibration, kept_without_sizes_of_caches_gets_those_of_the_machine) {
  const test::TempDir state;
  Calibration kept = sample();
  kept.processor = this_machine().processor;
  kept.l2_bytes = kept.l3_bytes = 0;
  put(calibration_file(state.path(), Pages::ordinary), to_text(kept));
  const Calibration c = calibration_for({.state = state.path(), .keys = 1'000'000});
  EXPECT_NE(c.note.find("kept in"), std::string::npos) << c.note;
  EXPECT_GE(c.l2_bytes, 64u << 10);
  EXPECT_GE(c.l3_bytes, 64u << 10);
}

TEST(Calibration, sizes_of_caches_that_nobody_tells_are_the_built_in_ones) {
  Calibration c = sample();
  c.l2_bytes = 0;
  c.l3_bytes = 5;
  fill_in_caches(c, {.processor = "any", .l2_bytes = 0, .l3_bytes = 7});
  EXPECT_EQ(c.l2_bytes, built_in_calibration().l2_bytes);
  EXPECT_EQ(c.l3_bytes, 5u);
  c.l3_bytes = 0;
  fill_in_caches(c, {.processor = "any", .l2_bytes = 0, .l3_bytes = 7});
  EXPECT_EQ(c.l3_bytes, 7u);
}

TEST(Calibration, a_damaged_file_is_named_and_measured_again) {
  const test::TempDir state;
  put(calibration_file(state.path(), Pages::ordinary), "nonsense\n");
  const Calibration c =
      calibration_for({.state = state.path(), .memory_bytes_max = 1u << 20, .keys = 1'000'000});
  EXPECT_TRUE(c.measured);
  EXPECT_NE(c.note.find("calibration.ordinary:1: \"nonsense\""), std::string::npos) << c.note;
  EXPECT_TRUE(parse_calibration(get(calibration_file(state.path(), Pages::ordinary)), "f"));
}

TEST(Measurement, gives_every_figure_and_costs_that_rise_with_the_bytes) {
  const auto c =
      measure({.memory_bytes_max = 11u << 20, .rounds = 1}); // for 8 MiB and what stands beside them
  ASSERT_TRUE(c) << c.error().message;
  for (const Family family : {Family::ipv4, Family::ipv6})
    for (const Option &option : all_options) {
      EXPECT_GT(c->work_of(family, option).absent, 0);
      EXPECT_GT(c->work_of(family, option).few, 0);
      EXPECT_GT(c->work_of(family, option).even, 0);
      EXPECT_GT(c->work_of(family, option).hit, 0);
    }
  for (const double ns : {c->in_words.absent, c->in_words.few, c->in_words.even, c->in_words.hit,
                          c->in_ranges.near, c->in_ranges.far, c->in_points.near, c->in_points.far})
    EXPECT_GT(ns, 0);
  for (const std::vector<TouchPoint> &touch : c->touch) {
    ASSERT_GE(touch.size(), 9u);
    EXPECT_EQ(touch.front().ns, 0) << "the smallest, which others are beyond";
    EXPECT_EQ(touch.back().bytes, 8u << 20);
    for (std::size_t i = 1; i < touch.size(); ++i) EXPECT_GE(touch[i].ns, touch[i - 1].ns);
  }
  EXPECT_GT(c->build_ns, 1);
}

TEST(Measurement, sieves_let_through_what_the_model_takes_them_to) {
  EXPECT_NEAR(sieve_share(Calibration::few_set), Work::few_hits, 0.02 * Work::few_hits);
  EXPECT_NEAR(64 * Calibration::several_share, 9, 0.2);
  const std::uint64_t seed = test::seed_or(31);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  for (const unsigned set : {Calibration::few_set, Calibration::several_set}) {
    std::vector<filter::Block> blocks(4096);
    make_sieve({reinterpret_cast<std::byte *>(blocks.data()), blocks.size() * sizeof(filter::Block)}, set,
               random);
    const filter::SplitBlockBloom sieve{blocks.data(), static_cast<std::uint32_t>(blocks.size())};
    constexpr unsigned questions = 1'000'000;
    unsigned accepted = 0;
    for (unsigned i = 0; i < questions; ++i) accepted += sieve.contains_mixed(random()) ? 1 : 0;
    EXPECT_NEAR(accepted, sieve_share(set) * questions, 0.05 * sieve_share(set) * questions) << set;
  }
}

TEST(Measurement, takes_no_more_memory_than_it_may) {
  for (const std::uint64_t most : {std::uint64_t{1} << 20, (std::uint64_t{1} << 20) * 172 / 128}) {
    const auto c = measure({.memory_bytes_max = most, .rounds = 1});
    ASSERT_TRUE(c) << c.error().message;
    const std::uint64_t table = c->touch.front().back().bytes;
    EXPECT_LE(table + 2 * (table / Calibration::few_filter_part) + table / 128, most);
    EXPECT_GT(4 * table, most) << "a good part of it";
  }
}

TEST(Machine, is_read_from_what_the_kernel_says) {
  const test::TempDir root;
  fs::create_directories(root / "proc");
  put(root / "proc/cpuinfo",
      "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: Some CPU @ 2 GHz\n"
      "stepping\t: 1\n");
  const fs::path cache = root / "sys/devices/system/cpu/cpu0/cache";
  for (const auto &[index, level, type, size] :
       {std::tuple{"index0", "2", "Unified", "1024K"}, {"index1", "3", "Unified", "32M"}}) {
    fs::create_directories(cache / index);
    put(cache / index / "level", level);
    put(cache / index / "type", type);
    put(cache / index / "size", size);
  }
  const Machine machine = this_machine(root.path());
  EXPECT_EQ(machine.processor, "Some CPU @ 2 GHz, family 25, model 17, stepping 1");
  EXPECT_EQ(machine.l2_bytes, 1u << 20);
  EXPECT_EQ(machine.l3_bytes, 32u << 20);
}

} // namespace
} // namespace weir::plan::calibration_test
