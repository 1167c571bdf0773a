// Sections of words that are damaged: refused with a sentence, or harmless.
#include "tests/support/hosts_in_words.hpp"

#include <functional>
#include <string>

namespace weir::words_damage_test {
namespace {

using test::HostsInWords;

struct Forgery {
  const char *name, *words;
  std::function<void(image::ImageHeader &, image::SectionEntry &, table::WordHeader &)> forge;
};
void PrintTo(const Forgery &f, std::ostream *out) { *out << f.name; }

class DamagedWords : public HostsInWords {};

class ForgedWords : public HostsInWords, public testing::WithParamInterface<Forgery> {
protected:
  static image::SectionEntry *entries_of(const test::ImageMemory &m) {
    return reinterpret_cast<image::SectionEntry *>(m.bytes().data() + sizeof(image::ImageHeader));
  }
  static image::ImageHeader &header_of(const test::ImageMemory &m) {
    return *reinterpret_cast<image::ImageHeader *>(m.bytes().data());
  }
  static void reseal(const test::ImageMemory &m) {
    image::ImageHeader &h = header_of(m);
    for (std::uint32_t i = 0; i < h.section_count; ++i) {
      image::SectionEntry &e = entries_of(m)[i];
      e.checksum = checksum(m.bytes().subspan(e.offset, e.bytes));
    }
    h.section_checksum = checksum(m.bytes().subspan(sizeof h, h.section_count * sizeof(image::SectionEntry)));
    h.header_checksum = checksum(m.bytes().first(offsetof(image::ImageHeader, header_checksum)));
  }
};

TEST_P(ForgedWords, are_refused_although_their_checksums_are_right) {
  draw_hosts(300, 3);
  const test::ImageMemory m = test::ImageMemory::build(input());
  for (std::uint32_t i = 0; i < header_of(m).section_count; ++i)
    if (image::SectionEntry &e = entries_of(m)[i]; e.kind == 52)
      GetParam().forge(header_of(m), e, *reinterpret_cast<table::WordHeader *>(m.bytes().data() + e.offset));
  reseal(m);
  const auto view = image::attach(m.bytes());
  ASSERT_FALSE(view.has_value());
  EXPECT_NE(view.error().message.find(GetParam().words), std::string::npos) << view.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Words, ForgedWords,
    testing::Values(
        Forgery{"form", "deny_v4_hosts: lines of form 2", [](auto &, auto &, auto &h) { h.form = 2; }},
        Forgery{"more_lines", "size does not match its lines", [](auto &, auto &, auto &h) { ++h.lines; }},
        Forgery{"fewer_lines", "size does not match its lines", [](auto &, auto &, auto &h) { --h.lines; }},
        Forgery{"no_lines", "0 lines, it may have", [](auto &, auto &, auto &h) { h.lines = 0; }},
        Forgery{"too_many_lines", "lines, it may have", [](auto &, auto &, auto &h) { h.lines = ~0u; }},
        Forgery{"reserved", "reserved bytes", [](auto &, auto &, auto &h) { h.reserved[40] = 1; }},
        Forgery{"short", "too short", [](auto &, auto &e, auto &) { e.bytes = 32; }},
        Forgery{"of_another_side", "of kind 54 is unknown", [](auto &, auto &e, auto &) { e.kind = 54; }},
        Forgery{"of_a_family_without_them", "family jhash does not go with",
                [](auto &h, auto &, auto &) { h.hash_family = 2; }}),
    [](const auto &forgery) { return std::string(forgery.param.name); });

// No content of a line leads a reader anywhere: every bit of it may be anything.
TEST_F(DamagedWords, of_random_bits_are_harmless_and_read_alike_by_all_kernels) {
  WEIR_TRACE_SEED(seed);
  draw_hosts(3000, 3);
  const test::ImageMemory memory = test::ImageMemory::build(input());
  const image::ImageView view = memory.view();
  const table::WordTableView &words = view.v4[Side::deny].words;
  auto *lines = const_cast<table::WordLine *>(words.lines);
  for (std::uint32_t n = 0; n < words.count; ++n)
    for (std::uint32_t &word : lines[n].word) word = static_cast<std::uint32_t>(random());
  std::vector<std::uint32_t> wires(burst_keys * 500), first;
  for (std::uint32_t i = 0; i < wires.size(); ++i) { // half of them stand there, some twice
    const auto line = static_cast<std::uint32_t>(random() % words.count);
    const unsigned slot = static_cast<unsigned>(random() % 16);
    wires[i] =
        i % 2 != 0 ? static_cast<std::uint32_t>(random()) : words.wire_of(line, lines[line].word[slot]);
    if (random() % 8 == 0) lines[line].word[(slot + 8 * (i % 3)) % 16] = lines[line].word[slot] ^ 4;
  }
  lookup::BurstStream stream;
  for (const lookup::Kernels *kernels : lookup::available_kernels()) {
    std::vector<std::uint32_t> said;
    stream.run(
        view, *kernels, wires.size() / burst_keys,
        [&](lookup::BurstLookup &burst, std::size_t i) {
          burst.ask_all_v4(&wires[i * burst_keys], burst_keys);
        },
        [&](const lookup::BurstLookup &burst, std::size_t) {
          said.insert(said.end(), burst.deny_v4(), burst.deny_v4() + burst_keys);
        });
    if (first.empty()) first = said;
    EXPECT_EQ(said, first) << kernels->name;
  }
}

} // namespace
} // namespace weir::words_damage_test
