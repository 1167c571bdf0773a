// What `make install` and the packages' files promise: a manifest, units that systemd reads, completion that completes.
#include "tests/support/process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace weir::test::install_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// One installation for all tests of this file: of the programs that are built, into a folder of its own.
class Install : public testing::Test {
protected:
  static void SetUpTestSuite() {
    place_ = std::make_unique<TempDir>();
    made_ = make();
  }
  static void TearDownTestSuite() { place_.reset(); }
  void SetUp() override { ASSERT_TRUE(made_.ok()) << made_.out << made_.err; }

  static Outcome make() {
    return run({"env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", "-s", "-C", source_tree().string(),
                // The programs of this build, whatever its profile is called and whether sources are newer.
                "-o", (program("weirctl")).string(), "-o", program("weir-control").string(), "-o",
                program("weir-dataplane").string(), "BIN=" + program("weirctl").parent_path().string(),
                "DESTDIR=" + place_->path().string(), "PREFIX=/usr", "install-now"});
  }
  static fs::path at(const std::string &installed) { return place_->path().string() + installed; }

  static std::unique_ptr<TempDir> place_;
  static Outcome made_;
};
std::unique_ptr<TempDir> Install::place_;
Outcome Install::made_;

TEST_F(Install, places_what_the_manifest_says_and_nothing_else) {
  const std::set<std::string> manifest{"/etc/weir/weir.yaml",
                                       "/usr/bin/weirctl",
                                       "/usr/lib/systemd/system/weir-control.service",
                                       "/usr/lib/systemd/system/weir-dataplane.service",
                                       "/usr/lib/sysusers.d/weir.conf",
                                       "/usr/lib/tmpfiles.d/weir.conf",
                                       "/usr/lib/udev/rules.d/60-weir.rules",
                                       "/usr/sbin/weir-control",
                                       "/usr/sbin/weir-dataplane",
                                       "/usr/share/bash-completion/completions/weirctl",
                                       "/usr/share/man/man1/weirctl.1",
                                       "/usr/share/man/man5/weir.yaml.5",
                                       "/usr/share/man/man8/weir-control.8",
                                       "/usr/share/man/man8/weir-dataplane.8",
                                       "/usr/share/weir/grafana/weir.json",
                                       "/usr/share/weir/prometheus/weir.rules.yml",
                                       "/usr/share/zsh/vendor-completions/_weirctl"};
  std::set<std::string> found;
  for (const auto &entry : fs::recursive_directory_iterator(place_->path()))
    if (!entry.is_directory()) found.insert(entry.path().string().substr(place_->path().string().size()));
  EXPECT_EQ(found, manifest);
}

TEST_F(Install, a_configuration_that_is_there_stays) {
  write_text(at("/etc/weir/weir.yaml"), "version: 1\n# mine\n");
  const Outcome again = make();
  ASSERT_TRUE(again.ok()) << again.err;
  EXPECT_THAT(read_text(at("/etc/weir/weir.yaml")), HasSubstr("# mine"));
  EXPECT_THAT(read_text(at("/etc/weir/weir.yaml.new")), HasSubstr("lists:"));
  fs::rename(at("/etc/weir/weir.yaml.new"), at("/etc/weir/weir.yaml"));
}

TEST_F(Install, the_configuration_passes_the_check_and_names_no_port) {
  const Outcome check = run({program("weirctl").string(), "check", at("/etc/weir/weir.yaml").string()});
  EXPECT_TRUE(check.ok()) << check.err;
  EXPECT_THAT(read_text(at("/etc/weir/weir.yaml")), Not(HasSubstr("\nports:")));
}

TEST_F(Install, units_are_read_by_systemd_and_little_is_exposed) {
  if (!run({"sh", "-c", "command -v systemd-analyze"}).ok())
    GTEST_SKIP() << "systemd-analyze is not installed";
  for (const auto &[unit, exposure_most] : {std::pair{"weir-control", "30"}, {"weir-dataplane", "30"}}) {
    const std::string name = std::string(unit) + ".service";
    std::string text = read_text(at("/usr/lib/systemd/system/" + name));
    EXPECT_THAT(text, Not(HasSubstr("@sbindir@")));
    EXPECT_THAT(text, HasSubstr("ExecStart=/usr/sbin/" + std::string(unit) + " "));
    // Where weir is not installed: the programs that it names have to be there.
    const std::string installed = "/usr/sbin/", built = program("weirctl").parent_path().string() + "/";
    for (auto place = text.find(installed); place != std::string::npos;
         place = text.find(installed, place + built.size()))
      text.replace(place, installed.size(), built);
    EXPECT_EQ(text.find("ExecStopPost=" + built + unit + " --bypass on -c ") != std::string::npos,
              std::string(unit) == "weir-dataplane");
    const TempDir units;
    write_text(units / name, text);
    const Outcome verify =
        run({"systemd-analyze", "verify", "--man=no", "--recursive-errors=no", (units / name).string()});
    EXPECT_TRUE(verify.ok()) << verify.err;
    EXPECT_THAT(verify.err, Not(HasSubstr(name + ":"))) << "a line that systemd does not know";
    const Outcome security = run({"systemd-analyze", "security", "--offline=true",
                                  std::string("--threshold=") + exposure_most, (units / name).string()});
    EXPECT_TRUE(security.ok()) << security.out;
  }
}

// Neither unit names the other but in words, so that nothing that happens to one stops the other.
TEST_F(Install, neither_unit_depends_on_the_other) {
  for (const std::string unit : {"weir-control", "weir-dataplane"}) {
    std::istringstream lines(read_text(at("/usr/lib/systemd/system/" + unit + ".service")));
    for (std::string line; std::getline(lines, line);)
      for (const char *word : {"Requires=", "BindsTo=", "PartOf=", "Requisite=", "Upholds="})
        EXPECT_FALSE(line.starts_with(word)) << unit << ": " << line;
  }
}

// What package weir-dev has: a program of somebody else, by what pkg-config says.
TEST(InstallDev, a_program_is_built_with_the_library_as_pkg_config_says) {
  const fs::path library = program("weirctl").parent_path() / "../release/libweir.a";
  if (!fs::exists(library)) GTEST_SKIP() << "the library stands elsewhere in this profile";
  const TempDir place;
  const Outcome made = run({"env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "make", "-s", "-C",
                            source_tree().string(), "-o", "build/release/libweir.a",
                            "DESTDIR=" + place.path().string(), "PREFIX=/opt/weir", "install-dev-now"});
  ASSERT_TRUE(made.ok()) << made.out << made.err;
  write_text(
      place / "theirs.cpp",
      "#include <weir/config/config.hpp>\n"
      "#include <weir/filter/any.hpp>\n"
      "int main() { return weir::config::parse(\"version: 1\\nlists: []\\n\", \"weir.yaml\") ? 0 : 3; }\n");
  const Outcome built = run({"env", "PKG_CONFIG_PATH=" + (place / "opt/weir/lib/pkgconfig").string(),
                             "PKG_CONFIG_SYSROOT_DIR=" + place.path().string(), "sh", "-ec",
                             "cd " + place.path().string() +
                                 "; ${CXX:-g++} $(pkg-config --variable=cxxflags weir) theirs.cpp "
                                 "$(pkg-config --cflags --libs weir) -o theirs; ./theirs"},
                            {}, std::chrono::minutes(5));
  EXPECT_TRUE(built.ok()) << built.out << built.err;
  EXPECT_TRUE(fs::exists(place / "theirs"));
}

TEST_F(Install, bash_completes_every_verb_that_the_help_lists) {
  const Outcome help = run({program("weirctl").string(), "--help"});
  const std::size_t begin = help.out.find("\nSubcommands:");
  ASSERT_NE(begin, std::string::npos) << help.out;
  std::istringstream lines(help.out.substr(begin, help.out.find("\n\n", begin) - begin));
  std::set<std::string> verbs;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  ") && line.size() > 2 && line[2] != ' ')
      verbs.insert(line.substr(2, line.find(' ', 2) - 2));
  ASSERT_GT(verbs.size(), 15u) << help.out;
  const std::string script =
      "source '" + at("/usr/share/bash-completion/completions/weirctl").string() +
      "'; COMP_WORDS=(weirctl ''); COMP_CWORD=1; _weirctl; printf '%s\\n' \"${COMPREPLY[@]}\"";
  const Outcome completed = run({"bash", "-c", script});
  std::istringstream words(completed.out);
  std::set<std::string> offered;
  for (std::string word; words >> word;) offered.insert(word);
  EXPECT_EQ(offered, verbs) << completed.err;
}

} // namespace
} // namespace weir::test::install_test
