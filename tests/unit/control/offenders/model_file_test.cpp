// A model of offenders in a file: whole, of the element asked for, and taken up once.
#include "control/offenders/model_file.hpp"

#include "tests/support/offenders_case.hpp"
#include "tests/support/process.hpp"
#include "weir/base/hash.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace weir::test::model_file_test {
namespace {

using namespace offenders;
using testing::HasSubstr;

Model model(std::uint64_t number = 3) {
  const auto trees = one_split(image::offender_features(OffenderElement::source), 1, 128, -1, 1);
  Model m{.number = number,
          .trained_at = 1'700'000'000,
          .element = OffenderElement::source,
          .told = 600,
          .others = 700,
          .auc = 0.9,
          .thresholds = {0},
          .groups = {{0.25, 0.75}, {0.75, 0.25}},
          .gains = std::vector<double>(image::offender_features(OffenderElement::source), 0.1),
          .neighbours = std::vector<std::byte>(image::offender_neighbours, std::byte{0}),
          .trees = {}};
  m.neighbours[0] = m.neighbours[0xC612] = m.neighbours[0xFFFF] = std::byte{48};
  m.trees.assign(trees->section().begin(), trees->section().end());
  return m;
}

TEST(OffenderModelFile, says_what_was_learned) {
  const Model out = model();
  const auto in = parse_model_file(model_file_of(out), "x.model");
  ASSERT_TRUE(in) << in.error().message;
  EXPECT_EQ(encode(*in->model), encode(out));
  EXPECT_EQ(in->model->neighbours, out.neighbours);
  EXPECT_EQ(in->model->trees, out.trees);
  EXPECT_NE(in->digest, parse_model_file(model_file_of(model(4)), "x.model")->digest);
}

TEST(OffenderModelFile, is_refused_damaged_cut_or_of_another_kind) {
  const std::string whole = model_file_of(model());
  const auto why = [](const std::string &text) { return parse_model_file(text, "x.model").error().message; };
  EXPECT_THAT(why(""), HasSubstr("x.model: no model of offenders"));
  EXPECT_THAT(why("10.0.0.1\n10.0.0.2\n"), HasSubstr("weirctl offender model writes one"));
  EXPECT_THAT(why(whole.substr(0, 12)), HasSubstr("no model"));
  EXPECT_THAT(why(whole.substr(0, whole.size() - 1)), HasSubstr("damaged"));
  for (const std::size_t at : {std::size_t{8}, std::size_t{16}, whole.size() / 2, whole.size() - 1}) {
    std::string hurt = whole;
    hurt[at] = static_cast<char>(hurt[at] ^ 1);
    EXPECT_THAT(why(hurt), HasSubstr("damaged")) << at;
  }
  Model bad = model();
  bad.thresholds = {0, 1};
  EXPECT_THAT(why(model_file_of(bad)), HasSubstr("groups and thresholds do not go together"));
}

std::string file_of(const std::string &body) {
  const std::uint64_t checksum = XXH3_64bits(body.data(), body.size());
  std::string file = "WEIROML1";
  file.append(reinterpret_cast<const char *>(&checksum), sizeof checksum);
  return file + body;
}

// Whoever writes a file can have its checksum right.
TEST(OffenderModelFile, is_refused_however_deep_it_is_nested) {
  constexpr std::size_t many = 3'000'000;
  std::string pairs; // {"": {"": ...
  for (std::size_t i = 0; i < many; ++i) pairs += "\xA1\x60";
  for (const std::string &body :
       {std::string(many, '\x81'), std::string(many, '\x9F'), std::string(many, '\x7F'),
        std::string(many, '\x5F'), std::string(many, '\xC1'), std::string(many, '\xD8'), pairs,
        std::string("\x9B\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"),
        std::string("\x5B\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), std::string("\x1B"), std::string("\x01\x01")})
    EXPECT_THAT(parse_model_file(file_of(body), "x.model").error().message,
                HasSubstr("x.model: the model of offenders is cut, or no such thing"))
        << static_cast<unsigned>(static_cast<unsigned char>(body[0]));
  EXPECT_THAT(parse_model_file(file_of(std::string(std::size_t{17} << 20, 'x')), "x.model").error().message,
              HasSubstr("17825808 bytes, and a model of offenders has at most 16777216"));
}

TEST(OffenderModelFile, is_refused_with_shares_that_are_none) {
  for (const double share : {-0.1, 1.5, std::nan("")}) {
    Model bad = model();
    bad.groups[0].told = share;
    EXPECT_THAT(parse_model_file(model_file_of(bad), "x.model").error().message,
                HasSubstr("shares of groups do not lie between 0 and 1"))
        << share;
  }
}

TEST(OffenderModelFile, is_read_for_the_configuration_that_names_it) {
  const TempDir dir;
  write_text(dir / "a.model", model_file_of(model()));
  const auto load = [&](const std::string &offenders) -> Result<std::shared_ptr<const ModelFile>> {
    const auto config = TRY(config::parse("version: 1\n" + offenders, dir / "weir.yaml"));
    return load_model_file(config, nullptr);
  };
  EXPECT_EQ(load("").value(), nullptr);
  EXPECT_EQ(load("offenders: {}\n").value(), nullptr);
  const auto read = load("offenders: {model: a.model}\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ((*read)->model->number, 3u);
  EXPECT_THAT(load("offenders: {element: header, model: a.model}\n").error().message,
              HasSubstr("weir.yaml:2: offenders.model: " + (dir / "a.model").string() +
                        " is of element source; write element: source"));
  EXPECT_THAT(load("offenders: {model: b.model}\n").error().message, HasSubstr("b.model"));
}

TEST(OffenderModelFile, counts_once_and_what_is_learned_later_stays) {
  const auto file = parse_model_file(model_file_of(model()), "x").value();
  const auto learned = std::make_shared<const Model>(model(9));
  EXPECT_EQ(ModelAtHand{}.with(nullptr), nullptr);
  EXPECT_EQ(ModelAtHand{}.with(&file), file.model);
  EXPECT_EQ((ModelAtHand{learned, "another"}.with(&file)), file.model);
  EXPECT_EQ((ModelAtHand{learned, file.digest}.with(&file)), learned);
  EXPECT_EQ((ModelAtHand{learned, file.digest}.with(nullptr)), learned);
}

} // namespace
} // namespace weir::test::model_file_test
