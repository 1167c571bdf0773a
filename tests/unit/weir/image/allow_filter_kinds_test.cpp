// A kind of filter in front of the allow tables is its own file and a row: a new one (slot_counts.hpp) is
// built, asked and changed beside readers through the same doors as those that weir has.
#include "tests/support/image_memory.hpp"
#include "tests/support/slot_counts.hpp"
#include "weir/image/allow_filter_writer.hpp"
#include "weir/image/writer.hpp"
#include "weir/lookup/burst_lookup.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace weir::image::allow_filter_kinds_test {
namespace {

std::vector<AllowFilterOps> kinds_with_slot_counts() {
  std::vector<AllowFilterOps> kinds(allow_filter_kinds().begin(), allow_filter_kinds().end());
  kinds.push_back(allow_filter_ops<test::SlotCountsView, test::SlotCountsWriter>("slot_counts"));
  return kinds;
}

constexpr std::uint32_t allowed_first = 0x0A000000, denied_first = 0x0A800000;
constexpr std::uint32_t allowed_count = 200, denied_count = 2000;

// Some of the denied hosts are allowed as well.
struct Gate {
  std::vector<AllowFilterOps> kinds = kinds_with_slot_counts();
  std::vector<build::EntryV4> deny, allow;
  build::BuildInput input;
  std::unique_ptr<test::ImageMemory> memory;
  build::BuildReport report;

  explicit Gate(Confirm confirm = Confirm::exact, std::uint32_t slots = 4096) {
    for (std::uint32_t i = 0; i < allowed_count; ++i) allow.push_back({allowed_first + i, 32, 0, 1});
    deny = {{allowed_first, 32, 0, 0}, {allowed_first + 7, 32, 0, 0}};
    for (std::uint32_t i = 0; i < denied_count; ++i) deny.push_back({denied_first + i, 32, 0, 0});
    input.lists = {{"drop", 0, Side::deny}, {"ops", 1, Side::allow}};
    input.deny.v4 = deny;
    input.allow.v4 = allow;
    input.policy.confirm = confirm;
    input.seed = 7;
    input.allow_filter.params = test::SlotCountsParams{allowed_count + 1, {slots}};
  }
  [[nodiscard]] Status build() {
    memory = std::make_unique<test::ImageMemory>(build::image_bytes(input));
    report = TRY(build::build_image(input, memory->bytes(), kinds));
    return {};
  }
  [[nodiscard]] ImageView view() const {
    return attach(memory->bytes(), Check::not_the_mutable_checksums, kinds).value();
  }
};

KeyHash key_of(const ImageView &view, std::uint32_t host) { return view.hash(byteswap32(host), 32); }

Delta allow_delta(DeltaOp op, std::uint32_t host) {
  Delta delta{.op = op, .side = Side::allow, .length = 32, .list = 1};
  delta.address = Address::from_host(host).bytes;
  return delta;
}

TEST(AllowFilterKinds, have_names_and_numbers_of_their_own) {
  std::set<std::string_view> names{"none", "auto"};
  std::set<filter::FilterKind> kinds;
  for (const AllowFilterOps &row : allow_filter_kinds()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(kinds.insert(row.kind).second) << row.name;
    EXPECT_EQ(allow_filter_named(row.name), &row);
  }
  EXPECT_EQ(allow_filter_named("none"), nullptr);
}

TEST(AllowFilterKinds, a_new_one_is_built_checked_and_read) {
  for (const Confirm confirm : {Confirm::exact, Confirm::on_conflict}) {
    Gate gate(confirm);
    const Status built = gate.build();
    ASSERT_TRUE(built) << built.error().message;
    ASSERT_TRUE(gate.report.allow_filter);
    EXPECT_EQ(gate.report.allow_filter->keys, allowed_count);
    EXPECT_EQ(gate.report.allow_filter->planned_keys, allowed_count + 1);
    EXPECT_FALSE(gate.report.allow_filter->wear);

    const ImageView view = gate.view();
    EXPECT_EQ(view.allow_filter.name(), "slot_counts");
    EXPECT_NE(view.allow_filter.as<test::SlotCountsView>(), nullptr);
    EXPECT_TRUE(view.allow_filter.contains(key_of(view, allowed_first + 3)));
    EXPECT_FALSE(view.allow_filter.contains(key_of(view, denied_first + 3)) &&
                 view.allow_filter.contains(key_of(view, denied_first + 4)) &&
                 view.allow_filter.contains(key_of(view, denied_first + 5)));

    const auto burst = std::make_unique<lookup::BurstLookup>();
    burst->begin(view);
    for (unsigned slot = 0; slot < 64; ++slot)
      burst->ask_v4(slot, byteswap32((slot % 2 != 0 ? allowed_first : denied_first) + slot));
    burst->send();
    burst->probe_first();
    burst->finish();
    for (unsigned slot = 0; slot < 64; ++slot) {
      const std::uint32_t wire = byteswap32((slot % 2 != 0 ? allowed_first : denied_first) + slot);
      EXPECT_EQ(burst->deny(slot), lookup_v4(view, Side::deny, wire));
      const bool asked = confirm == Confirm::exact || burst->deny(slot) != 0;
      EXPECT_EQ(burst->allow(slot), asked ? lookup_v4(view, Side::allow, wire) : 0) << slot;
    }
  }
}

TEST(AllowFilterKinds, a_new_one_is_changed_beside_readers) {
  Gate gate;
  ASSERT_TRUE(gate.build());
  auto writer = ImageWriter::attach(gate.memory->bytes(), [] {}, Check::everything, gate.kinds).value();
  const AllowFilterWriter &filter = writer.allow_filter();
  const auto filter_has = [&](std::uint32_t host) {
    return writer.view().allow_filter.contains(key_of(writer.view(), host));
  };
  std::uint32_t added = 0x0B000000;
  while (filter_has(added)) ++added;
  EXPECT_EQ(writer.apply(allow_delta(DeltaOp::set, added)), Change::in_place);
  EXPECT_TRUE(filter_has(added));
  EXPECT_EQ(filter.load()->keys, allowed_count + 1);
  EXPECT_FALSE(filter.is_saturated());

  EXPECT_EQ(writer.apply(allow_delta(DeltaOp::unset, added)), Change::in_place);
  EXPECT_TRUE(filter_has(added)) << "readers may still be on their way to the table";
  EXPECT_TRUE(writer.waits_for_grace());
  writer.grace_passed();
  EXPECT_FALSE(filter_has(added));
  EXPECT_FALSE(writer.waits_for_grace());
  EXPECT_EQ(filter.load()->keys, allowed_count);

  for (std::uint32_t i = 0; i < 2; ++i) (void)writer.apply(allow_delta(DeltaOp::set, added + i));
  EXPECT_TRUE(filter.is_saturated()) << "more keys than planned";
  ASSERT_EQ(filter.counts().size(), 1u);
  EXPECT_EQ(filter.counts()[0].name, "slots");
  EXPECT_EQ(filter.counts()[0].count, 4096u);
  EXPECT_EQ(writer.learn(Address::from_host(allowed_first + 5000)).refused, 1u) << "it cannot learn";
}

TEST(AllowFilterKinds, that_have_no_row_are_refused_by_all_doors) {
  Gate gate;
  ASSERT_TRUE(gate.build());
  const char *words = "allow_filter: filter: kind 78 (unknown filter) does not serve here";
  const auto view = attach(gate.memory->bytes());
  ASSERT_FALSE(view);
  EXPECT_NE(view.error().message.find(words), std::string::npos) << view.error().message;
  EXPECT_FALSE(ImageWriter::attach(gate.memory->bytes(), [] {}));
  gate.kinds.pop_back();
  const Status built = gate.build();
  ASSERT_FALSE(built);
  EXPECT_NE(built.error().message.find(words), std::string::npos) << built.error().message;
}

TEST(AllowFilterKinds, a_new_one_says_itself_what_cannot_be_built) {
  Gate gate(Confirm::exact, 33);
  const Status built = gate.build();
  ASSERT_FALSE(built);
  EXPECT_NE(built.error().message.find("multiple of 32"), std::string::npos) << built.error().message;
  Gate other;
  other.input.family = HashFamily::jhash;
  const Status family = other.build();
  ASSERT_FALSE(family);
  EXPECT_NE(family.error().message.find("another hash family"), std::string::npos) << family.error().message;
}

} // namespace
} // namespace weir::image::allow_filter_kinds_test
