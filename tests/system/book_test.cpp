// Every block of docs/operating.md, run as it stands there: commands beside a running pair or on a machine without one,
// configurations by `weirctl check`. What needs systemd or cards runs in the guest of the package (tests/nic/packages.py).
#include "tests/support/capture_file.hpp"
#include "tests/support/netns.hpp"
#include "tests/support/packets.hpp"
#include "tests/support/process.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

namespace weir::test::book_test {
namespace {

namespace fs = std::filesystem;

fs::path support(const char *name) { return source_tree() / "tests/support" / name; }
std::string page() { return source_tree() / "docs/operating.md"; }

class Book : public ::testing::Test {
protected:
  // Writes the blocks of a kind to files; their names.
  std::vector<std::string> blocks(const std::string &where) {
    fs::create_directories(folder_ / "scripts");
    const Outcome made = run({"python3", support("book.py"), page(), "scripts", where, folder_ / "scripts"});
    EXPECT_EQ(made.code, 0) << made.out;
    std::istringstream lines(made.out);
    std::vector<std::string> names;
    for (std::string name; std::getline(lines, name);) names.push_back(name);
    EXPECT_FALSE(names.empty()) << "no block of " << where;
    return names;
  }

  // What the page takes for granted: the files that it names, and a command that reads logs.
  void furnish() {
    const fs::path etc = folder_ / "etc", bin = folder_ / "bin";
    fs::create_directories(etc);
    fs::create_directories(bin);
    write_text(etc / "ops.txt", "192.0.2.7\n");
    write_text(etc / "drop.txt", "198.51.100.0/24\n");
    write_text(etc / "firehol_level1.netset", "224.0.0.0/3\n");
    write_text(etc / "drop_v4.json", "{\"cidr\":\"203.0.113.0/24\",\"sblid\":\"SBL256894\"}\n");
    write_text(etc / "flows.txt", "tcp 192.0.2.1:443 198.51.100.7:51000\n");
    fs::create_directories(etc / "feeds");
    fs::copy_file(etc / "drop_v4.json", etc / "feeds/drop_v4.json");
    write_text(etc / "bad.txt", "203.0.113.0/33\nfoo\n10.0.0.1\n");
    Capture capture;
    capture.frames.assign(20,
                          FrameBuilder().ethernet().ipv4({.source = "203.0.113.9"}).udp(1024, 53).frame());
    write_capture(etc / "in.pcap", capture);
    write_text(etc / "bad.yaml", "version: 1\nlists:\n- {name: bad, action: deny, file: bad.txt}\n");
    write_text(etc / "weir.yaml", config("[192.0.2.8]"));
    write_text(etc / "next.yaml", config("[192.0.2.8, 192.0.2.9]"));
    // The page speaks of generations up to 43.
    write_text(etc / "before.sh",
               "python3 -m http.server --directory feeds --bind 127.0.0.1 80 >/dev/null 2>&1 &\n"
               "echo 127.0.0.1 feeds.example.net >>/etc/hosts\n"
               "for number in $(seq 44); do\n"
               "  sed \"s/192.0.2.8/192.0.2.$((100 + number))/\" weir.yaml >one.yaml\n"
               "  weirctl apply one.yaml >/dev/null\n"
               "done\n"
               "weirctl apply >/dev/null\n");
    // Two interfaces of the kernel that stay joined while weir does not run.
    write_text(etc / "prepare-bypass.sh",
               "for end in left right; do\n"
               "  ip link add ${end}0 type veth peer name ${end}1\n"
               "  ip link set ${end}0 up\n"
               "done\n"
               "cat >weir.yaml <<'END'\n"
               "version: 1\n"
               "eal: {vdevs: [\"net_af_packet0,iface=left0\", \"net_af_packet1,iface=right0\"]}\n"
               "ports:\n"
               "- {name: wan, device: net_af_packet0, side: outside, peer: lan, on_exit: bypass}\n"
               "- {name: lan, device: net_af_packet1, side: inside, peer: wan, on_exit: bypass}\n"
               "END\n");
    command(bin / "fail-log-reader", "echo 198.51.100.77");
    // What goes on until somebody interrupts it is interrupted; who asks right after a start asks again.
    command(bin / "weirctl",
            "case \" $* \" in\n"
            "*\" drops -f \"*) exec timeout --preserve-status -s INT 2 /mnt/programs/weirctl \"$@\" ;;\n"
            "esac\n"
            "for _ in $(seq 50); do\n"
            "  /mnt/programs/weirctl \"$@\"; code=$?\n"
            "  [ $code = 3 ] || exit $code\n"
            "  sleep 0.2\n"
            "done\n"
            "exit 3");
  }

  // Keys of a whole configuration, each with its value.
  static std::vector<std::pair<std::string, std::string>> keys(const std::string &few) {
    return {
        {"version", " 1\n"},
        {"eal",
         " {vdevs: [\"net_null0,no-rx=1\", \"net_null1,no-rx=1\"], hugepages: no, file_prefix: book}\n"},
        {"ports", "\n- {name: wan, device: net_null0, side: outside, peer: lan}\n"
                  "- {name: lan, device: net_null1, side: inside, peer: wan}\n"},
        {"lists", fmt::format("\n- {{name: ops, action: allow, file: ops.txt}}\n"
                              "- {{name: drop, action: deny, file: drop_v4.json, format: spamhaus_json}}\n"
                              "- {{name: few, action: deny, entries: {}}}\n"
                              "- {{name: bans, action: deny, dynamic: true, ttl: 1h}}\n",
                              few)}};
  }
  static std::string config(const std::string &few) {
    std::string text;
    for (const auto &[key, value] : keys(few)) text += key + ":" + value;
    return text + "metrics: {listen: \"127.0.0.1:9273\"}\ngenerations_kept: 100\n";
  }
  // A part of a configuration, with what it leaves out.
  static std::string completed(std::string part) {
    for (const auto &[key, value] : keys("[192.0.2.8]"))
      if (("\n" + part).find("\n" + key + ":") == std::string::npos) part += key + ":" + value;
    return part;
  }

  static void command(const fs::path &file, const std::string &text) {
    write_text(file, "#!/bin/bash\n" + text + "\n");
    fs::permissions(file, fs::perms::owner_all);
  }

  void run_on_a_machine(const char *beside, const std::vector<std::string> &scripts) {
    std::vector<std::string> words{"unshare", "--mount",      "--net",       "--pid",
                                   "--fork",  "--kill-child", "--mount-proc"};
    words.insert(words.end(),
                 {support("book_machine.sh"), folder_.path(), program("weirctl").parent_path(), beside});
    words.insert(words.end(), scripts.begin(), scripts.end());
    const Outcome outcome = run(words, {}, 300s);
    EXPECT_EQ(outcome.code, 0) << outcome.out;
  }

  TempDir folder_;
};

TEST_F(Book, says_of_every_block_what_it_is_and_who_runs_it) {
  const Outcome outcome = run({"python3", support("book.py"), page(), "faults"});
  EXPECT_EQ(outcome.code, 0) << outcome.out;
}

// The law by which the page is held, with pages that break it.
TEST_F(Book, a_block_that_nothing_runs_is_caught) {
  const std::string honest =
      "```sh pair\nweirctl status\n```\n```text\n$ weirctl status\n```\n```sh make\nmake deb\n```\n";
  struct Page {
    const char *block, *said;
  };
  for (const auto &[block, said] : {
           Page{.block = "```sh server\nsystemctl status\n```", .said = ":11: ```sh server: write sh pair"},
           Page{.block = "```sh server nobody\nsystemctl status\n```",
                .said = ":11: tests/nic/packages.py does not run nobody"},
           Page{.block = "```sh server cards\ntrue\n```\n```sh server cards\ntrue\n```",
                .said = ":14: two blocks are called cards"},
           Page{.block = "```sh alone nobody\ntrue\n```",
                .said = ":11: tests/system/book_test.cpp prepares no nobody"},
           Page{.block = "```sh later\ntrue\n```", .said = ":11: ```sh later: write"},
           Page{.block = "```\nweirctl status\n```", .said = ":11: ```: write"},
           Page{.block = "```sh make\nmake nothing\n```",
                .said = ":11: no target of the Makefile: make nothing"},
           Page{.block = "```text\nsaid\n$ weirctl doctor\n```",
                .said = ":12: no block that is run has weirctl doctor"},
       }) {
    write_text(folder_ / "page.md", honest + block + "\n");
    const Outcome outcome = run({"python3", support("book.py"), folder_ / "page.md", "faults"});
    EXPECT_EQ(outcome.code, 1) << block;
    EXPECT_NE(outcome.out.find(said), std::string::npos) << block << '\n' << outcome.out;
  }
  write_text(folder_ / "page.md", honest);
  EXPECT_EQ(run({"python3", support("book.py"), folder_ / "page.md", "faults"}).code, 0);
}

TEST_F(Book, shows_configurations_that_are_taken) {
  furnish();
  for (const std::string &name : blocks("yaml")) {
    write_text(folder_ / "etc" / name, completed(read_text(folder_ / "scripts" / name)));
    const Outcome outcome = run({program("weirctl"), "check", folder_ / "etc" / name});
    EXPECT_EQ(outcome.code, 0) << page() << ", line " << name << "\n" << outcome.out << outcome.err;
  }
}

TEST_F(Book, commands_beside_a_running_pair_end_as_it_says) {
  if (const std::string why = namespaces_missing(); !why.empty()) GTEST_SKIP() << why;
  furnish();
  run_on_a_machine("pair", blocks("pair"));
}

TEST_F(Book, commands_of_a_machine_without_daemons_end_as_it_says) {
  if (const std::string why = namespaces_missing(); !why.empty()) GTEST_SKIP() << why;
  furnish();
  for (const std::string &script : blocks("alone")) {
    SCOPED_TRACE(script);
    run_on_a_machine("alone", {script});
    for (const char *used : {"own", "run", "state", "tmp"}) fs::remove_all(folder_ / used);
  }
}

} // namespace
} // namespace weir::test::book_test
