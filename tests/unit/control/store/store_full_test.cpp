// A store on a file system of its own that is filled to the last block, and made room on again.
#include "control/store/store.hpp"

#include "tests/support/process.hpp"
#include "weir/key/text.hpp"

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace weir::store::store_full_test {
namespace {

namespace fs = std::filesystem;

class StoreOnASmallDisk : public ::testing::Test {
protected:
  void SetUp() override {
    fs::create_directory(disk());
    if (::mount("none", disk().c_str(), "tmpfs", 0, "size=2m") != 0)
      GTEST_SKIP() << "no file system can be mounted here: " << std::strerror(errno);
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) ::umount2(disk().c_str(), MNT_DETACH);
  }

  [[nodiscard]] fs::path disk() const { return folder_ / "disk"; }
  [[nodiscard]] fs::path store() const { return disk() / "store"; }
  void fill() const {
    std::ofstream file(disk() / "filler", std::ios::app | std::ios::binary);
    const std::array<char, 4096> block{};
    while (file.write(block.data(), block.size()).flush()) {
    }
  }
  void make_room() const { fs::remove(disk() / "filler"); }

private:
  test::TempDir folder_;
  bool mounted_ = false;
};

DynamicChange adding(unsigned number) {
  const Prefix prefix =
      parse_prefix("10.1." + std::to_string(number / 256) + "." + std::to_string(number % 256)).value();
  DynamicChange change;
  change.put.push_back({{3, prefix}, std::string(200, 'c'), 100, 0});
  change.touched.push_back({Side::deny, prefix});
  return change;
}

std::size_t entries_of(const Store &store) {
  std::size_t entries = 0;
  EXPECT_TRUE(store.read_dynamic([&](const DynamicEntry &) { ++entries; }));
  return entries;
}

TEST_F(StoreOnASmallDisk, refuses_while_it_is_full_and_takes_changes_again_as_soon_as_there_is_room) {
  std::size_t acknowledged = 0;
  for (unsigned round = 0; round < 3;
       ++round) { // the second and third begin with a store that holds nothing new
    auto opened = Store::open(store());
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(entries_of(*opened), acknowledged);
    for (unsigned time = 0; time < 2; ++time) {
      EXPECT_FALSE(opened->space().full);
      fill();
      Result<std::uint64_t> written = 0;
      for (unsigned tries = 0; tries < 100 && written; ++tries) // what is left of the last block
        if ((written = opened->write(adding(static_cast<unsigned>(acknowledged))))) ++acknowledged;
      ASSERT_FALSE(written);
      EXPECT_NE(written.error().message.find("state folder is full"), std::string::npos)
          << written.error().message;
      EXPECT_TRUE(opened->space().full);
      EXPECT_FALSE(opened->take_generation_number());
      EXPECT_EQ(entries_of(*opened), acknowledged);
      make_room();
      for (unsigned i = 0; i < 3; ++i) {
        written = opened->write(adding(static_cast<unsigned>(acknowledged)));
        ASSERT_TRUE(written) << written.error().message;
        ++acknowledged;
      }
      EXPECT_EQ(*written, acknowledged);
      EXPECT_FALSE(opened->space().full);
    }
  }
  const auto opened = Store::open(store());
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(entries_of(*opened), acknowledged);
  EXPECT_EQ(opened->sequence(), acknowledged);
}

TEST_F(StoreOnASmallDisk, says_that_the_folder_is_full_when_it_cannot_be_opened) {
  {
    ASSERT_TRUE(Store::open(store()));
  }
  fill();
  const auto opened = Store::open(store());
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("state folder is full"), std::string::npos) << opened.error().message;
  make_room();
  EXPECT_TRUE(Store::open(store()));
}

TEST_F(StoreOnASmallDisk, a_content_that_finds_no_room_is_an_error_and_leaves_no_file) {
  auto opened = Store::open(store());
  ASSERT_TRUE(opened);
  {
    auto writer = opened->begin_contents();
    ASSERT_TRUE(writer);
    writer->begin_version();
    fill();
    Status added{};
    for (unsigned i = 0; i < 100'000 && added; ++i)
      added = writer->add({Address::from_wire(byteswap32(0x0b000000 + i)), 32},
                          "not to be made smaller " + std::to_string(i * 2654435761u));
    EXPECT_FALSE(added && writer->finish());
  }
  EXPECT_TRUE(fs::is_empty(store() / "ingest"));
  make_room();
  EXPECT_TRUE(opened->write(adding(1)));
  auto again = opened->begin_contents();
  ASSERT_TRUE(again);
  again->begin_version();
  ASSERT_TRUE(again->add(parse_prefix("11.0.0.1").value(), "x"));
  EXPECT_TRUE(again->finish());
}

TEST(StoreFiles, no_log_files_stay_and_the_size_is_what_the_disk_has_given) {
  const test::TempDir folder;
  for (unsigned i = 0; i < 3; ++i) {
    const auto opened = Store::open(folder.path());
    ASSERT_TRUE(opened);
    EXPECT_LT(opened->bytes(), 1u << 20);
  }
  std::uint64_t logs = 0;
  for (const auto &file : fs::directory_iterator(folder.path()))
    logs += file.path().filename().string().starts_with("LOG") && file.path().filename() != "LOCK";
  EXPECT_EQ(logs, 0u);
}

} // namespace
} // namespace weir::store::store_full_test
