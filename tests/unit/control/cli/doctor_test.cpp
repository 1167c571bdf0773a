#include "control/cli/doctor.hpp"
#include "control/cli/process.hpp"
#include "tests/support/stand_in_control.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>

namespace weir::cli::doctor_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A machine made of files.
class CliDoctor : public testing::Test {
protected:
  CliDoctor() {
    write("proc/cpuinfo", "processor : 0\nflags : fpu sse4_2 popcnt avx2\n");
    write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n");
    hugepages("512", "100");
    write("weir.yaml", "version: 1\nlists:\n- {name: a, action: deny, entries: [10.0.0.1]}\npaths: {run: "
                       "run, state: state}\n");
    fs::create_directories(root() / "tmp");
    fs::create_directories(root() / "run");
    fs::create_directories(root() / "state");
  }
  [[nodiscard]] fs::path root() const { return folder_.path(); }
  void write(const fs::path &file, const std::string &text) {
    fs::create_directories((root() / file).parent_path());
    std::ofstream(root() / file) << text;
  }
  void hugepages(const std::string &all, const std::string &free) {
    write("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", all + "\n");
    write("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", free + "\n");
  }
  Finding about(const std::string &topic) {
    const auto findings =
        examine({root() / "weir.yaml", socket_.empty() ? root() / "run/control.sock" : socket_, root()});
    const auto found =
        std::find_if(findings.begin(), findings.end(), [&](const Finding &f) { return f.topic == topic; });
    if (found != findings.end()) return *found;
    ADD_FAILURE() << "nothing is said about " << topic;
    return {};
  }
  fs::path socket_;

private:
  PrivateFolder folder_ = std::move(*PrivateFolder::make());
};

TEST_F(CliDoctor, free_hugepages_are_good_and_none_is_a_note_with_a_remedy) {
  EXPECT_EQ(about("hugepages").level, Level::good);
  EXPECT_THAT(about("hugepages").finding, HasSubstr("100 of 512 pages of 2 MiB free"));
  hugepages("512", "0");
  EXPECT_EQ(about("hugepages").level, Level::note);
  hugepages("0", "0");
  EXPECT_THAT(about("hugepages").remedy, HasSubstr("vm.nr_hugepages"));
}

TEST_F(CliDoctor, a_processor_that_is_too_old_is_wrong) {
  EXPECT_EQ(about("processor").level, Level::good);
  write("proc/cpuinfo", "processor : 0\nflags : fpu sse4_2 popcnt\n");
  EXPECT_EQ(about("processor").level, Level::note);
  write("proc/cpuinfo", "processor : 0\nflags : fpu\n");
  EXPECT_EQ(about("processor").level, Level::wrong);
}

TEST_F(CliDoctor, little_memory_is_a_note) {
  EXPECT_EQ(about("memory").level, Level::good);
  write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 100000 kB\n");
  EXPECT_EQ(about("memory").level, Level::note);
}

TEST_F(CliDoctor, a_configuration_with_a_fault_is_wrong_and_the_fault_is_told) {
  EXPECT_EQ(about("configuration").level, Level::good);
  write("weir.yaml", "version: 1\nlsits: []\n");
  EXPECT_EQ(about("configuration").level, Level::wrong);
  EXPECT_THAT(about("configuration").finding, HasSubstr("lsits"));
}

TEST_F(CliDoctor, a_control_that_answers_is_good_and_a_socket_that_nobody_holds_is_wrong) {
  EXPECT_EQ(about("weir-control").level, Level::note); // not running
  {
    test::StandInControl control({R"({"ok":true,"pid":1,"generation":1})"});
    socket_ = control.socket();
    EXPECT_EQ(about("weir-control").level, Level::good);
  }
  write("run/control.sock", "");
  socket_ = root() / "run/control.sock";
  EXPECT_EQ(about("weir-control").level, Level::wrong);
}

TEST_F(CliDoctor, what_the_dataplane_warns_of_is_wrong_and_told_with_its_remedy) {
  test::StandInControl control(
      {R"({"ok":true})", R"({"ok":true,"dataplane":{"warnings":["port wan: raise rx_queues"]}})"});
  socket_ = control.socket();
  const Finding finding = about("dataplane");
  EXPECT_EQ(finding.level, Level::wrong);
  EXPECT_THAT(finding.remedy, HasSubstr("raise rx_queues"));
}

TEST_F(CliDoctor, folders_of_killed_processes_are_named_when_they_are_old_enough) {
  fs::create_directories(root() / "tmp/weir-replay-abc");
  EXPECT_EQ(about("stale files").level, Level::good); // may be starting
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(root() / "tmp/weir-replay-abc", old);
  EXPECT_EQ(about("stale files").level, Level::note);
  EXPECT_THAT(about("stale files").remedy, HasSubstr("tmp/weir-replay-abc"));
  fs::create_directories(root() / "tmp/weir-eal-abc");
  fs::last_write_time(root() / "tmp/weir-eal-abc", old);
  EXPECT_THAT(about("stale files").remedy, HasSubstr("weir-eal-abc"));
  write("proc/77/comm", "weir-dataplane\n");
  EXPECT_THAT(about("stale files").remedy, testing::Not(HasSubstr("weir-eal-abc")));
}

} // namespace
} // namespace weir::cli::doctor_test
