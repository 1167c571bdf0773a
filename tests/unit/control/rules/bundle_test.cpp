#include "control/cli/gather.hpp"
#include "control/rules/bundled_feed.hpp"
#include "tests/support/process.hpp"
#include "tests/support/seed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>

namespace weir::rules::bundle_test {
namespace {

using testing::HasSubstr;

OwnedFd sealed(std::initializer_list<std::pair<const char *, std::string>> files) {
  auto writer = BundleWriter::make();
  EXPECT_TRUE(writer);
  for (const auto &[name, text] : files) EXPECT_TRUE(writer->add(name, text));
  auto fd = std::move(*writer).seal();
  EXPECT_TRUE(fd);
  return std::move(*fd);
}

std::string refusal(int fd) {
  const auto bundle = Bundle::open(fd);
  return bundle ? std::string("taken") : bundle.error().message;
}

OwnedFd memory_file(const std::string &bytes, int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) {
  OwnedFd fd(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  return fd;
}

std::string bytes_of(const OwnedFd &fd) {
  std::string bytes(static_cast<std::size_t>(lseek(fd.get(), 0, SEEK_END)), '\0');
  EXPECT_EQ(pread(fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  return bytes;
}

TEST(Bundle, gives_back_what_was_put_in_by_name) {
  const OwnedFd fd =
      sealed({{"/a/weir.yaml", "version: 1\n"}, {"/a/empty", ""}, {"/b", std::string(3'000'000, 'x')}});
  auto bundle = Bundle::open(fd.get());
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_EQ(bundle->find("/a/weir.yaml"), "version: 1\n");
  EXPECT_EQ(bundle->find("/a/empty"), "");
  EXPECT_EQ(bundle->find("/b")->size(), 3'000'000u);
  EXPECT_EQ(bundle->find("/etc/shadow"), std::nullopt);
  const Bundle moved = std::move(*bundle);
  EXPECT_EQ(moved.find("/a/weir.yaml"), "version: 1\n");
}

TEST(Bundle, keeps_a_name_once) {
  const OwnedFd fd = sealed({{"/a", "first"}, {"/a", "second"}});
  EXPECT_EQ(Bundle::open(fd.get())->find("/a"), "first");
}

TEST(Bundle, of_what_may_still_change_is_refused) {
  const std::string bytes = bytes_of(sealed({{"/a", "text"}}));
  EXPECT_EQ(refusal(memory_file(bytes).get()), "taken");
  EXPECT_THAT(refusal(memory_file(bytes, F_SEAL_SHRINK | F_SEAL_GROW).get()), HasSubstr("sealed"));
  EXPECT_THAT(refusal(memory_file(bytes, F_SEAL_WRITE | F_SEAL_GROW).get()), HasSubstr("sealed"));
  const OwnedFd device(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  EXPECT_THAT(refusal(device.get()), HasSubstr("sealed"));
  EXPECT_THAT(refusal(-1), HasSubstr("sealed"));
}

// Reading a hole takes memory of the reader.
TEST(Bundle, with_holes_is_refused) {
  OwnedFd fd(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const std::string bytes = bytes_of(sealed({{"/a", "text"}}));
  ASSERT_EQ(write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ASSERT_EQ(ftruncate(fd.get(), 1 << 30), 0);
  ASSERT_EQ(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
  EXPECT_THAT(refusal(fd.get()), HasSubstr("holes"));
}

TEST(Bundle, takes_any_bytes_without_harm) {
  const std::string good = bytes_of(sealed({{"/a/weir.yaml", "version: 1\n"}, {"/b", "10.0.0.1\n"}}));
  const std::uint64_t seed = test::seed_or(7);
  WEIR_TRACE_SEED(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = good.substr(0, random() % (good.size() + 1));
    if (round % 2 == 0) bytes = good;
    for (std::uint64_t flips = random() % 4; flips > 0 && !bytes.empty(); --flips) {
      if (random() % 2 == 0) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      } else if (bytes.size() >= 8) {
        const std::uint64_t huge = random() >> random() % 64;
        std::memcpy(bytes.data() + random() % (bytes.size() - 7), &huge, sizeof huge);
      }
    }
    const OwnedFd fd = memory_file(bytes);
    const auto bundle = Bundle::open(fd.get());
    if (!bundle) continue;
    std::size_t sum = 0;
    for (const char *name : {"/a/weir.yaml", "/b"})
      if (const auto text = bundle->find(name))
        for (const char c : *text) sum += static_cast<unsigned char>(c);
    EXPECT_LE(sum, 255 * bytes.size());
  }
}

TEST(Bundle, is_read_by_the_feed_parsers_and_nothing_else_is_opened) {
  const test::TempDir folder;
  test::write_text(folder / "there.txt", "10.0.0.9\n");
  const OwnedFd fd = sealed({{"/lists/a.txt", "10.0.0.1\nbad\n"}, {"/lists/b.txt", "10.0.0.2 # b\n"}});
  const auto bundle = Bundle::open(fd.get());
  ASSERT_TRUE(bundle);
  EXPECT_EQ(load_feed("/lists/b.txt", {}, &*bundle)->size(), 1u);
  EXPECT_THAT(load_feed("/lists/a.txt", {}, &*bundle).error().message, HasSubstr("/lists/a.txt:2: \"bad\""));
  EXPECT_THAT(load_feed(folder / "there.txt", {}, &*bundle).error().message,
              HasSubstr("did not come with the request"));
}

TEST(Gather, takes_a_configuration_and_every_file_that_it_names) {
  const test::TempDir folder;
  test::write_text(folder / "weir.yaml", "version: 1\nlists:\n"
                                         "- {name: a, action: deny, file: a.txt}\n"
                                         "- {name: b, action: deny, file: a.txt}\n"
                                         "- {name: c, action: allow, file: " +
                                             (folder / "c.txt").string() + "}\n");
  test::write_text(folder / "a.txt", "10.0.0.1\n");
  test::write_text(folder / "c.txt", "10.0.0.3\n");
  const auto fd = cli::gather_configuration(folder / "weir.yaml");
  ASSERT_TRUE(fd) << fd.error().message;
  const auto bundle = Bundle::open(fd->get());
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_EQ(bundle->find(folder / "weir.yaml"), test::read_text(folder / "weir.yaml"));
  EXPECT_EQ(bundle->find(folder / "a.txt"), "10.0.0.1\n");
  EXPECT_EQ(bundle->find(folder / "c.txt"), "10.0.0.3\n");
}

TEST(Gather, names_every_file_that_cannot_be_read) {
  const test::TempDir folder;
  test::write_text(folder / "weir.yaml", "version: 1\nlists:\n"
                                         "- {name: a, action: deny, file: gone.txt}\n"
                                         "- {name: b, action: deny, file: .}\n");
  const auto fd = cli::gather_configuration(folder / "weir.yaml");
  ASSERT_FALSE(fd);
  EXPECT_THAT(fd.error().message, HasSubstr("gone.txt: cannot read the list: No such file"));
  EXPECT_THAT(fd.error().message, HasSubstr("it is a folder"));
  EXPECT_THAT(cli::gather_configuration(folder / "no.yaml").error().message, HasSubstr("no.yaml"));
  EXPECT_THAT(cli::gather_list("/dev/zero").error().message, HasSubstr("not a regular file"));
}

} // namespace
} // namespace weir::rules::bundle_test
