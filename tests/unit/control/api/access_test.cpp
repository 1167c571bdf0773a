#include "control/api/access.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <grp.h>
#include <unistd.h>

namespace weir::control::access_test {
namespace {

using testing::HasSubstr;

// Groups that every Debian has.
struct Groups {
  gid_t readers = getgrnam("games")->gr_gid, writers = getgrnam("operator")->gr_gid;
};

Access access(const std::string &read, const std::string &write) {
  config::Groups groups;
  groups.read = read;
  groups.write = write;
  auto made = Access::of(groups);
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

Peer peer(std::uint32_t uid, std::uint32_t gid, std::vector<std::uint32_t> groups = {}) {
  return {.pid = 7, .uid = uid, .gid = gid, .groups = std::move(groups)};
}

constexpr std::uint32_t somebody = 54321, elsewhere = 54322;

TEST(Access, without_groups_is_for_whoever_may_open_the_socket) {
  const Access all;
  EXPECT_TRUE(all.allows(peer(somebody, elsewhere), Right::change));
  EXPECT_EQ(all.socket_mode(), 0660u);
  EXPECT_EQ(access("", "").socket_group(), std::nullopt);
}

TEST(Access, of_a_reading_group_is_for_looking_and_of_a_writing_group_for_all) {
  const Groups groups;
  const Access both = access("games", "operator");
  for (const auto &reader :
       {peer(somebody, groups.readers), peer(somebody, elsewhere, {1, groups.readers})}) {
    EXPECT_TRUE(both.allows(reader, Right::read));
    EXPECT_THAT(both.allows(reader, Right::change).error().message,
                HasSubstr("user 54321 may not change anything here: members of the group \"operator\" "
                          "(paths.write_group), root and the daemon's own user may"));
  }
  for (const auto &writer : {peer(somebody, groups.writers), peer(somebody, elsewhere, {groups.writers})}) {
    EXPECT_TRUE(both.allows(writer, Right::read));
    EXPECT_TRUE(both.allows(writer, Right::change));
  }
  EXPECT_THAT(both.allows(peer(somebody, elsewhere), Right::read).error().message,
              HasSubstr("members of the group \"games\" (paths.read_group)"));
  EXPECT_EQ(both.socket_mode(), 0666u) << "a socket has one group: the others are refused by name";
}

TEST(Access, is_always_for_root_and_the_own_user) {
  for (const Access &one :
       {access("games", "operator"), access("games", ""), access("", "operator"), Access::own()})
    for (const std::uint32_t uid : {std::uint32_t{0}, static_cast<std::uint32_t>(geteuid())})
      EXPECT_TRUE(one.allows(peer(uid, elsewhere), Right::change));
}

TEST(Access, with_one_group_gives_it_the_socket) {
  const Groups groups;
  EXPECT_EQ(access("", "operator").socket_group(), groups.writers);
  EXPECT_EQ(access("", "operator").socket_mode(), 0660u);
  EXPECT_EQ(access("games", "").socket_group(), groups.readers);
  EXPECT_FALSE(access("games", "").allows(peer(somebody, groups.readers), Right::change));
  EXPECT_FALSE(access("", "operator").allows(peer(somebody, groups.readers), Right::read));
  EXPECT_EQ(access("games", "games").socket_mode(), 0660u);
  EXPECT_EQ(Access::own().socket_mode(), 0600u);
  EXPECT_FALSE(Access::own().allows(peer(somebody, groups.readers), Right::read));
}

TEST(Access, knows_a_peer_whom_the_kernel_does_not_name_as_nobody) {
  EXPECT_FALSE(access("games", "operator").allows(Peer{}, Right::read));
}

TEST(Access, of_a_group_that_is_not_there_says_so) {
  config::Groups groups;
  groups.write = "no-such-group";
  EXPECT_THAT(Access::of(groups).error().message,
              HasSubstr("paths.write_group: there is no group \"no-such-group\""));
}

TEST(Access, is_needed_for_changing_by_what_changes) {
  for (const char *verb : {"list_add", "list_del", "list_replace", "apply", "confirm", "rollback",
                           "offender_mark", "offender_unmark", "offender_train"})
    EXPECT_EQ(right_for(verb, false), Right::change) << verb;
  for (const char *verb :
       {"status", "ping", "list_show", "list_export", "check", "plan", "diff", "generations", "log",
        "progress", "explain", "stats", "drops", "drops_follow", "top", "offenders", "offender_model"})
    EXPECT_EQ(right_for(verb, false), Right::read) << verb;
  EXPECT_EQ(right_for("plan", true), Right::change);
}

} // namespace
} // namespace weir::control::access_test
