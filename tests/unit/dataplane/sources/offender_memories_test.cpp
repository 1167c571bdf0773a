// Memories of offenders across images and restarts: shared by shape, saved whole, loaded only when whole and of the shape.
#include "dataplane/sources/offender_memories.hpp"

#include "tests/support/offenders_case.hpp"
#include "weir/base/private_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace weir::test::offender_memories_test {
namespace {

using dataplane::Mark;
using dataplane::OffenderMemories;

constexpr KeyHash key{12345};
constexpr float score = 0;

class OffenderMemoriesTest : public testing::Test {
protected:
  OffenderMemoriesTest() {
    std::string name = (std::filesystem::temp_directory_path() / "weir-offenders-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~OffenderMemoriesTest() override { std::filesystem::remove_all(folder_); }

  static image::OffendersView view(AlignedSection &section) {
    return image::OffendersView::attach(section.bytes()).value();
  }
  static void tell(dataplane::OffenderMemory &memory) { memory.insert_batch({&key, 1}, {&score, 1}); }

  std::filesystem::path folder_;
  AlignedSection section_{OffendersCase().section()};
};

TEST_F(OffenderMemoriesTest, images_of_one_shape_have_one_memory) {
  OffenderMemories memories(folder_, 2, true);
  OffendersCase other;
  other.targets.gap = 5000;
  AlignedSection another(other.section());
  const auto first = memories.of(view(section_)).value();
  EXPECT_EQ(memories.of(view(section_)).value(), first);
  memories.in_force(first);
  tell(*first);
  const auto second = memories.of(view(another)).value();
  EXPECT_NE(second, first);
  EXPECT_EQ(memories.cleared(), 0u);
  memories.in_force(second);
  EXPECT_EQ(memories.cleared(), 1u);
  memories.in_force(second);
  EXPECT_EQ(memories.cleared(), 1u);
}

TEST_F(OffenderMemoriesTest, a_restart_begins_with_what_was_saved) {
  {
    OffenderMemories memories(folder_, 1, true);
    const auto memory = memories.of(view(section_)).value();
    EXPECT_FALSE(memory->was_restored());
    tell(*memory);
    const Status wrote = memories.write(*memory);
    ASSERT_TRUE(wrote) << wrote.error().message;
  }
  OffenderMemories memories(folder_, 1, true);
  const auto memory = memories.of(view(section_)).value();
  EXPECT_TRUE(memory->was_restored());
  EXPECT_TRUE(memory->contains(key, score));
  EXPECT_EQ(memories.warning(), "");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "offenders.part"));
}

TEST_F(OffenderMemoriesTest, a_damaged_file_is_told_and_not_taken) {
  OffenderMemories before(folder_, 1, true);
  const auto saved = before.of(view(section_)).value();
  tell(*saved);
  ASSERT_TRUE(before.write(*saved));
  const auto bytes = std::filesystem::file_size(before.file());
  for (const std::uint64_t size :
       {bytes - 1, bytes - 8, std::uint64_t{24}, std::uint64_t{3}, std::uint64_t{0}}) {
    std::filesystem::resize_file(before.file(), size);
    OffenderMemories memories(folder_, 1, true);
    EXPECT_FALSE(memories.of(view(section_)).value()->contains(key, score)) << size;
    EXPECT_NE(memories.warning().find("damaged"), std::string::npos) << size;
  }
  ASSERT_TRUE(before.write(*saved));
  {
    std::fstream file(before.file(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(bytes / 2));
    file.put('\x5A');
  }
  OffenderMemories memories(folder_, 1, true);
  EXPECT_FALSE(memories.of(view(section_)).value()->was_restored());
  EXPECT_NE(memories.warning().find("damaged"), std::string::npos);
}

TEST_F(OffenderMemoriesTest, another_shape_takes_the_marks_alone) {
  OffenderMemories before(folder_, 1, true);
  const auto saved = before.of(view(section_)).value();
  const Address marked = Address::from_wire(7);
  ASSERT_TRUE(saved->marks().set(marked, Mark::marked, 0, 1));
  tell(*saved);
  ASSERT_TRUE(before.write(*saved));
  OffendersCase other;
  other.targets.gap = 5000;
  AlignedSection another(other.section());
  OffenderMemories memories(folder_, 1, true);
  const auto memory = memories.of(view(another)).value();
  EXPECT_FALSE(memory->was_restored());
  EXPECT_EQ(memory->marks().of(marked), Mark::marked);
  EXPECT_EQ(memories.warning(), "");
}

TEST_F(OffenderMemoriesTest, a_folder_that_cannot_be_written_is_told_and_what_was_there_stays) {
  OffenderMemories memories(folder_ / "missing", 1, true);
  const auto memory = memories.of(view(section_)).value();
  EXPECT_FALSE(memories.write(*memory));
  EXPECT_NE(memories.warning().find("not saved"), std::string::npos);
  OffenderMemories replay(folder_, 1, false);
  ASSERT_TRUE(replay.write(*memory));
  EXPECT_FALSE(std::filesystem::exists(replay.file())) << "a replay writes nothing";
}

} // namespace
} // namespace weir::test::offender_memories_test
