// Who may ask for what, and with whose rights files are read and written: real users, real files. Needs no
// dataplane: what is asked for is stored.
#include "tests/support/process.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

namespace weir::test::rights_test {

namespace {

namespace fs = std::filesystem;
using std::chrono_literals::operator""s;
using ::testing::HasSubstr;
using ::testing::Not;

struct User {
  unsigned uid;
  const char *group; // the only one beside its own
};
constexpr User daemon_user{54320, "operator"}, reader{54321, "games"}, writer{54322, "operator"},
    stranger{54323, "users"};

class Rights : public ::testing::Test {
protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root: other users";
    // The tree may lie where other users cannot look.
    for (const char *name : {"weirctl", "weir-control"}) fs::copy_file(program(name), folder_ / name);
    chmod(folder_.path().c_str(), 0755);
    for (const char *name : {"run", "state", "daemon"}) own_folder(name, daemon_user);
    own_folder("writer", writer);
    own_folder("reader", reader);
    write_text(folder_ / "secret.txt", "top secret\n");
    chmod((folder_ / "secret.txt").c_str(), 0600);
    configure("10.0.0.0/8\n");
  }
  void TearDown() override {
    control_.stop(SIGTERM, 10s);
    if (HasFailure()) fmt::print("---- the log\n{}\n", log());
  }

  void own_folder(const std::string &name, const User &user) {
    fs::create_directories(folder_ / name);
    ASSERT_EQ(chown((folder_ / name).c_str(), user.uid, user.uid), 0);
    ASSERT_EQ(chmod((folder_ / name).c_str(), 0755), 0);
  }
  void own_file(const std::string &name, const std::string &text, const User &user) {
    write_text(folder_ / name, text);
    ASSERT_EQ(chown((folder_ / name).c_str(), user.uid, user.uid), 0);
    ASSERT_EQ(chmod((folder_ / name).c_str(), 0600), 0);
  }
  // The daemon's own configuration and list, which nobody else may read.
  void configure(const std::string &list) {
    own_file("daemon/drop.txt", list, daemon_user);
    own_file("daemon/weir.yaml",
             fmt::format(
                 "version: 1\npaths: {{run: {0}/run, state: {0}/state, read_group: {1}, write_group: {2}}}\n"
                 "lists:\n- {{name: drop, action: deny, file: drop.txt}}\n"
                 "- {{name: bans, action: deny, dynamic: true}}\n",
                 folder_.path().string(), reader.group, writer.group),
             daemon_user);
  }

  static std::vector<std::string> as(const User &user) {
    return {"setpriv", fmt::format("--reuid={}", user.uid), fmt::format("--regid={}", user.uid),
            fmt::format("--groups={}", getgrnam(user.group)->gr_gid)};
  }
  void start_control() {
    std::vector<std::string> command = as(daemon_user);
    command.insert(command.end(),
                   {folder_ / "weir-control", "-c", folder_ / "daemon/weir.yaml", "--foreground-log"});
    control_ = Child({.arguments = command, .output = folder_ / "log"});
    ASSERT_TRUE(wait_until(
        [this] {
          return !control_.running() ||
                 ctl(writer, {"-j", "status"}).out.find("\"generation\":1") != std::string::npos;
        },
        60s));
    ASSERT_TRUE(control_.running());
  }
  Outcome ctl(const User &user, const std::vector<std::string> &words) const {
    std::vector<std::string> command = as(user);
    command.insert(command.end(), {folder_ / "weirctl", "-s", folder_ / "run/control.sock"});
    command.insert(command.end(), words.begin(), words.end());
    return run(command);
  }
  [[nodiscard]] std::string log() const { return read_text(folder_ / "log"); }

  TempDir folder_;
  Child control_;
};

} // namespace

TEST_F(Rights, nobody_else_looks_into_the_state_folder) {
  own_folder("state/store", daemon_user); // as an earlier version has left it
  own_file("state/calibration.old", "1\n", daemon_user);
  ASSERT_EQ(chmod((folder_ / "state/calibration.old").c_str(), 0644), 0);
  ASSERT_NO_FATAL_FAILURE(start_control());
  const auto mode_of = [](const fs::path &path) { return fs::status(path).permissions() & fs::perms::mask; };
  EXPECT_EQ(mode_of(folder_ / "state"), fs::perms::owner_all);
  unsigned files = 0;
  for (const auto &entry : fs::recursive_directory_iterator(folder_ / "state")) {
    const bool is_folder = entry.is_directory();
    files += !is_folder;
    EXPECT_EQ(mode_of(entry.path()),
              is_folder ? fs::perms::owner_all : fs::perms::owner_read | fs::perms::owner_write)
        << entry.path();
  }
  EXPECT_GT(files, 3u);
  EXPECT_EQ(ctl(reader, {"status"}).code, 0) << "the socket's folder is as open as before";
}

TEST_F(Rights, files_are_read_with_those_of_the_caller) {
  ASSERT_NO_FATAL_FAILURE(start_control());
  own_file("writer/list.txt", "10.0.0.1\n10.0.0.2 # mine\n", writer);
  own_file("writer/next.yaml",
           "version: 1\nlists:\n- {name: drop, action: deny, file: list.txt}\n- {name: bans, action: deny, "
           "dynamic: true}\n",
           writer);
  const std::string list = folder_ / "writer/list.txt", next = folder_ / "writer/next.yaml";
  for (const std::vector<std::string> &words : {std::vector<std::string>{"list", "replace", "drop", list},
                                                {"diff", next},
                                                {"plan", next},
                                                {"apply", next}}) {
    const Outcome done = ctl(writer, words);
    EXPECT_TRUE(done.ok()) << words.front() << ": " << done.out << done.err;
  }
  EXPECT_THAT(ctl(reader, {"list", "show", "drop"}).out, HasSubstr("mine"));
  // Of what the caller may not read nothing is said, whoever the daemon is.
  const std::string secret = folder_ / "secret.txt", own = folder_ / "daemon/drop.txt";
  for (const std::string &file : {secret, own}) {
    own_file("writer/evil.yaml", "version: 1\nlists:\n- {name: drop, action: deny, file: " + file + "}\n",
             writer);
    for (const std::vector<std::string> &words : {std::vector<std::string>{"list", "replace", "drop", file},
                                                  {"apply", folder_ / "writer/evil.yaml"},
                                                  {"check", folder_ / "writer/evil.yaml"},
                                                  {"diff", folder_ / "writer/evil.yaml"},
                                                  {"apply", file}}) {
      const Outcome refused = ctl(writer, words);
      EXPECT_EQ(refused.code, 1) << words.front();
      EXPECT_THAT(refused.err, HasSubstr(file + ": cannot read")) << words.front();
      EXPECT_THAT(refused.err, HasSubstr("Permission denied")) << words.front();
      EXPECT_THAT(refused.out + refused.err, Not(HasSubstr("top secret"))) << words.front();
    }
  }
}

TEST_F(Rights, exports_are_written_with_those_of_the_caller) {
  ASSERT_NO_FATAL_FAILURE(start_control());
  const std::string mine = folder_ / "reader/out.txt";
  EXPECT_TRUE(ctl(reader, {"list", "export", "drop", mine}).ok());
  EXPECT_EQ(read_text(mine), "10.0.0.0/8\n");
  struct stat status{};
  ASSERT_EQ(stat(mine.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, reader.uid);
  for (const std::filesystem::path &theirs :
       {folder_ / "daemon/drop.txt", folder_ / "run/new.txt", folder_ / "secret.txt"}) {
    const std::string before = read_text(theirs);
    const Outcome refused = ctl(reader, {"list", "export", "drop", theirs});
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr("Permission denied"));
    EXPECT_EQ(read_text(theirs), before);
  }
}

TEST_F(Rights, groups_say_who_may_look_and_who_may_change_and_the_log_says_who_did) {
  ASSERT_NO_FATAL_FAILURE(start_control());
  EXPECT_TRUE(ctl(reader, {"status"}).ok());
  const Outcome looking = ctl(reader, {"list", "add", "bans", "203.0.113.9"});
  EXPECT_EQ(looking.code, 1);
  EXPECT_THAT(looking.err, HasSubstr("may not change anything here: members of the group \"operator\""));
  EXPECT_TRUE(ctl(writer, {"list", "add", "bans", "203.0.113.10"}).ok());
  const Outcome other = ctl(stranger, {"status"});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr("members of the group \"games\" (paths.read_group)"));
  EXPECT_TRUE(ctl(daemon_user, {"list", "del", "bans", "203.0.113.10"}).ok());
  EXPECT_TRUE(run({folder_ / "weirctl", "-s", folder_ / "run/control.sock", "apply"}).ok()) << "root may";
  EXPECT_THAT(ctl(reader, {"generations"}).out, HasSubstr("apply by uid 0"));
  EXPECT_THAT(log(), HasSubstr("list_add bans, 1 entry by uid 54321"));
  EXPECT_THAT(log(),
              ::testing::ContainsRegex("list_add bans, 1 entry by uid 54322, gid 54322, pid [0-9]+: done"));
}

// A dataplane and a control of two users, with one group in common, which the run folder belongs to.
TEST_F(Rights, dataplane_sock_is_shared_with_the_group_of_the_run_folder_and_with_nobody_else) {
  const gid_t shared = getgrnam(writer.group)->gr_gid;
  const User packets{54330, writer.group};
  fs::copy_file(program("weir-dataplane"), folder_ / "weir-dataplane");
  own_folder("packets", packets);
  const fs::path socket = folder_ / "run/dataplane.sock";
  write_text(folder_ / "packets.yaml",
             fmt::format(
                 "version: 1\neal: {{hugepages: no, vdevs: [\"net_null0,no-rx=1\", \"net_null1,no-rx=1\"]}}\n"
                 "ports:\n- {{name: wan, device: net_null0, peer: lan}}\n- {{name: lan, device: net_null1, "
                 "peer: wan}}\npaths: {{run: {0}/run, state: {0}/packets}}\n",
                 folder_.path().string()));
  chmod((folder_ / "packets.yaml").c_str(), 0644);
  const auto connects = [&](const User &user) {
    std::vector<std::string> command = as(user);
    command.insert(command.end(), {"/usr/bin/python3", "-c",
                                   "import socket, sys; socket.socket(socket.AF_UNIX, "
                                   "socket.SOCK_SEQPACKET).connect(sys.argv[1])",
                                   socket});
    return run(command).ok();
  };
  for (const bool of_the_folder : {true, false}) { // is the dataplane's group that of the run folder?
    const gid_t folders = of_the_folder ? shared : getgrnam(reader.group)->gr_gid;
    ASSERT_EQ(chown((folder_ / "run").c_str(), daemon_user.uid, folders), 0);
    ASSERT_EQ(chmod((folder_ / "run").c_str(), of_the_folder ? 0775 : 0777), 0);
    std::vector<std::string> command{"setpriv",
                                     fmt::format("--reuid={}", packets.uid),
                                     fmt::format("--regid={}", shared),
                                     "--clear-groups",
                                     folder_ / "weir-dataplane",
                                     "-c",
                                     folder_ / "packets.yaml"};
    Child dataplane({.arguments = command, .output = folder_ / "dataplane.log"});
    ASSERT_TRUE(wait_until([&] { return !dataplane.running() || fs::exists(socket); }, 60s));
    ASSERT_TRUE(wait_until([&] { return !dataplane.running() || connects(packets); }, 20s));
    ASSERT_TRUE(dataplane.running()) << read_text(folder_ / "dataplane.log");
    struct stat about{};
    ASSERT_EQ(stat(socket.c_str(), &about), 0);
    EXPECT_EQ(about.st_uid, packets.uid);
    EXPECT_EQ(about.st_gid, shared);
    EXPECT_EQ(about.st_mode & 0777, of_the_folder ? 0660u : 0600u);
    EXPECT_EQ(connects(writer), of_the_folder) << "of the group";
    EXPECT_FALSE(connects(reader));
    EXPECT_FALSE(connects(stranger));
    EXPECT_TRUE(dataplane.stop(SIGTERM, 20s));
  }
}

TEST_F(Rights, a_fault_in_the_daemons_own_files_is_told_to_who_may_change_them) {
  ASSERT_NO_FATAL_FAILURE(start_control());
  configure("10.0.0.0/8\nnot for everybody\n");
  const Outcome looking = ctl(reader, {"diff"});
  EXPECT_EQ(looking.code, 1);
  EXPECT_THAT(looking.err, Not(HasSubstr("not for everybody")));
  EXPECT_THAT(looking.err, HasSubstr("its log says why"));
  EXPECT_THAT(ctl(writer, {"diff"}).err, HasSubstr("drop.txt:2: \"not for everybody\""));
}

} // namespace weir::test::rights_test
