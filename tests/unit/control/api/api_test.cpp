// The verbs over a real socket, as weirctl asks them.
#include "control/api/api.hpp"
#include "control/api/server.hpp"
#include "control/cli/export_file.hpp"
#include "control/cli/gather.hpp"
#include "control/rules/bundle.hpp"
#include "tests/support/engine_bench.hpp"
#include "tests/support/fake_dataplane.hpp"
#include "tests/support/unix_socket.hpp"
#include "weir/wire/sockets.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

namespace weir::control::api_test {
namespace {

using test::connect_to;
using test::EngineBench;
using test::FakeDataplane;
using test::send_with_fds;

class ApiTest : public testing::Test {
protected:
  ApiTest() : bench(rules), dataplane(bench.socket()) {
    admit(Access());
    server = std::make_unique<Server>(bench.loop(), [this](Request request, const Server::Reply &reply) {
      if (pretend) request.peer = *pretend;
      api->handle(std::move(request), reply);
    });
    EXPECT_TRUE(server->listen(bench.path(wire::control_socket_name)));
    EXPECT_TRUE(bench.run_until_live());
    socket_fd = connect_to(bench.path(wire::control_socket_name));
  }
  ~ApiTest() override {
    hangs = false;
    close(socket_fd);
  }

  void admit(Access access) { api = std::make_unique<Api>(bench.engine(), std::move(access)); }

  // Sends text and turns the loop until `lines` answers have come.
  std::vector<Json> ask_raw(const std::string &text, std::size_t lines = 1) {
    EXPECT_EQ(send(socket_fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()))
        << std::strerror(errno);
    std::string received;
    EXPECT_TRUE(bench.run_until([&] {
      char buffer[4096];
      const ssize_t got = recv(socket_fd, buffer, sizeof buffer, MSG_DONTWAIT);
      if (got > 0) received.append(buffer, static_cast<std::size_t>(got));
      return static_cast<std::size_t>(std::ranges::count(received, '\n')) >= lines;
    }));
    std::vector<Json> answers;
    for (std::size_t at = 0; at < received.size(); at = received.find('\n', at) + 1)
      answers.push_back(Json::parse(received.substr(at, received.find('\n', at) - at)));
    return answers;
  }
  Json ask(const Json &request) { return ask_raw(request.dump() + "\n").at(0); }
  // The same with a descriptor that goes along.
  Json ask(const Json &request, int fd) {
    const std::string line = request.dump() + "\n";
    send_with_fds(socket_fd, line.substr(0, 1), {{fd}});
    return ask_raw(line.substr(1)).at(0);
  }
  // What weirctl does for `list export`: the text that came back.
  std::string exported(const std::string &list, std::uint64_t entries) {
    const auto file = cli::answer_file();
    EXPECT_EQ(ask({{"verb", "list_export"}, {"list", list}}, file->get())["entries"], entries);
    std::string text(static_cast<std::size_t>(lseek(file->get(), 0, SEEK_END)), '\0');
    EXPECT_EQ(pread(file->get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text;
  }

  static constexpr const char *rules = "version: 1\n"
                                       "lists:\n"
                                       "- {name: drop, action: deny, entries: [10.0.0.0/8]}\n"
                                       "- {name: bans, action: deny, dynamic: true, ttl: 1h}\n";
  EngineBench bench;
  std::atomic<bool> hangs = false; // for hooks
  FakeDataplane dataplane;
  std::unique_ptr<Api> api;
  std::unique_ptr<Server> server;
  int socket_fd = -1;
  std::optional<Peer> pretend; // who asks
};

TEST_F(ApiTest, status_says_what_is_in_force) {
  const Json status = ask({{"verb", "status"}});
  EXPECT_EQ(status["ok"], true);
  EXPECT_EQ(status["generation"], 1);
  EXPECT_EQ(status["counts"]["ipv4_prefixes"], 1);
  EXPECT_EQ(status["dataplane"]["connected"], true);
  EXPECT_EQ(status["dataplane"]["generation"], 1);
  EXPECT_EQ(status["digest"].get<std::string>().size(), 64u);
  EXPECT_EQ(status["policy"]["default"], "pass");
  EXPECT_EQ(status["policy"]["non_ip"], "pass");
  EXPECT_EQ(status["policy"]["too_many_tags"], "drop");
}

TEST_F(ApiTest, a_list_of_many_lists_is_made_beside_the_loop) {
  std::string many = "version: 1\nlists:\n";
  constexpr unsigned count = 5000;
  for (unsigned i = 0; i < count; ++i)
    many += fmt::format("- {{name: l{}, action: deny, entries: [10.0.{}.{}]}}\n", i, i / 256, i % 256);
  bench.configure(many);
  ASSERT_TRUE(bench.apply(0, true));
  const auto cpu_ns = [](clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return now.tv_sec * 1'000'000'000 + now.tv_nsec;
  };
  std::string shown;
  const auto loop_before = cpu_ns(CLOCK_THREAD_CPUTIME_ID), all_before = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < 5; ++i) {
    shown.clear();
    api->handle({.line = R"({"verb":"list_show"})", .fds = {}, .peer = {}},
                [&](std::string text) { shown = std::move(text); });
    ASSERT_TRUE(bench.run_until([&] { return !shown.empty(); }));
  }
  const auto loop_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - loop_before,
             all_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - all_before;
  EXPECT_EQ(Json::parse(shown)["lists"].size(), count);
  EXPECT_LT(loop_ns, all_ns / 2);
}

TEST_F(ApiTest, list_add_is_in_force_when_it_is_answered_and_shows_its_comment) {
  const Json added =
      ask({{"verb", "list_add"},
           {"list", "bans"},
           {"entries", {{{"prefix", "203.0.113.9"}, {"ttl", 600}, {"comment", "ssh"}}, "2001:db8::/32"}}});
  EXPECT_EQ(added["ok"], true) << added;
  EXPECT_EQ(added["added"], 2);
  EXPECT_EQ(added["in_force"], true);
  EXPECT_TRUE(added["in_force_ms"].is_number());
  EXPECT_EQ(dataplane.denies("203.0.113.9"), "bans");
  EXPECT_EQ(dataplane.denies("2001:db8::5"), "bans");
  const Json shown = ask({{"verb", "list_show"}, {"list", "bans"}});
  ASSERT_EQ(shown["entries"].size(), 2u);
  EXPECT_EQ(shown["entries"][0]["comment"], "ssh");
  EXPECT_EQ(shown["lists"][0]["v6"], 1);
  const Json explained = ask({{"verb", "explain"}, {"address", "203.0.113.9"}});
  EXPECT_EQ(explained["entry"], "203.0.113.9");
  EXPECT_EQ(explained["comment"], "ssh");
  EXPECT_TRUE(explained.contains("path"));
}

TEST_F(ApiTest, a_comment_is_cleaned_where_it_enters) {
  const auto add = [&](const std::string &comment) {
    return ask({{"verb", "list_add"},
                {"list", "bans"},
                {"entries", {{{"prefix", "203.0.113.9"}, {"comment", comment}}}}});
  };
  EXPECT_EQ(add("a\x1b[31m\n10.9.9.9 \xc2\x9b"
                "2J\x7f")["ok"],
            true);
  EXPECT_EQ(ask({{"verb", "list_show"}, {"list", "bans"}})["entries"][0]["comment"], "a [31m 10.9.9.9  2J ");
  EXPECT_EQ(add(std::string(255, 'a'))["ok"], true);
  const Json refused = add(std::string(256, 'b'));
  EXPECT_EQ(refused["code"], "usage");
  EXPECT_NE(refused["message"].get<std::string>().find("256 bytes"), std::string::npos) << refused;
  EXPECT_EQ(ask({{"verb", "list_show"}, {"list", "bans"}})["entries"][0]["comment"], std::string(255, 'a'));
}

// Stores of earlier versions hold comments as they were given.
TEST_F(ApiTest, an_export_has_one_line_for_each_entry_whatever_the_store_holds) {
  ASSERT_TRUE(bench.add("bans", "203.0.113.9", 600, "a\n198.51.100.0/24\r\x1b[2J"));
  EXPECT_EQ(exported("bans", 1), "203.0.113.9 # a 198.51.100.0/24  [2J\n");
}

TEST_F(ApiTest, refusals_carry_a_code_and_a_sentence) {
  const auto code = [&](const Json &request) { return ask(request).value("code", "none"); };
  EXPECT_EQ(code({{"verb", "list_del"}, {"list", "bans"}, {"entries", {"203.0.113.9"}}}), "not_found");
  EXPECT_EQ(code({{"verb", "list_add"}, {"list", "nobody"}, {"entries", {"203.0.113.9"}}}), "not_found");
  EXPECT_EQ(code({{"verb", "list_add"}, {"list", "bans"}, {"entries", {"10.0.0.5/8"}}}), "parse");
  EXPECT_EQ(code({{"verb", "dance"}}), "usage");
  EXPECT_EQ(code({{"verb", "list_add"}, {"list", 7}, {"entries", 3}}), "usage");
  EXPECT_EQ(code({{"verb", "rollback"}, {"generation", 77}}), "not_found");
  EXPECT_EQ(code({{"verb", "confirm"}}), "not_found");
}

TEST_F(ApiTest, fields_of_another_type_or_range_are_refused_with_their_names_and_control_goes_on) {
  const auto refusal = [&](const std::string &line) {
    const Json answer = ask_raw(line + "\n").at(0);
    EXPECT_EQ(answer.value("code", "none"), "usage") << line << answer;
    return answer.value("message", "");
  };
  // What used to end the process, since it was thrown when the dataplane's counters had come.
  EXPECT_EQ(refusal(R"({"verb":"apply","confirm_s":"60"})"),
            "confirm_s is \"60\"; it is a whole number from 0 to 3153600000");
  EXPECT_EQ(refusal(R"({"verb":"plan","config":5})"), "config is 5; it is a text");
  EXPECT_EQ(refusal(R"({"verb":"apply","force":1})"), "force is 1; it is true or false");
  EXPECT_EQ(refusal(R"({"verb":"apply","confirm":60})"),
            "apply has no field \"confirm\"; it has config, confirm_s, force");
  EXPECT_EQ(refusal(R"({"verb":"status","x":[[[]]]})"), "status has no field \"x\"; it has no fields");
  EXPECT_EQ(refusal(R"({"verb":"list_add","list":"bans"})"), "list_add needs the field entries");
  EXPECT_EQ(refusal(R"({"verb":["apply"]})"), "verb is an array; it is a text");
  EXPECT_EQ(refusal(R"({"verb":"rollback","generation":-1})"),
            "generation is -1; it is a whole number from 0 to 18446744073709551615");
  EXPECT_EQ(refusal(R"({"verb":"top","n":1.5})"), "n is 1.5; it is a whole number from 0 to 10000");
  EXPECT_EQ(refusal(R"({"verb":"list_show","list":"a\u0000b"})"),
            "list is \"a\\u0000b\"; it may not contain the character NUL");
  const std::string add = R"({"verb":"list_add","list":"bans","entries":["192.0.2.1",)";
  EXPECT_EQ(refusal(add + R"({"prefix":"192.0.2.2","ttl":-1}]})"),
            "entry 2: ttl is -1; it is a whole number from 0 to 3153600000");
  EXPECT_EQ(refusal(add + R"({"prefix":"192.0.2.2","ttl":18446744073709551615}]})"),
            "entry 2: ttl is 18446744073709551615; it is a whole number from 0 to 3153600000");
  EXPECT_EQ(refusal(add + R"({"ttl":5}]})"), "entry 2: an entry needs the field prefix");
  EXPECT_EQ(refusal(add + R"(5]})"), "entry 2: it is 5; it is a text or an object with a prefix");
  EXPECT_EQ(refusal(add + R"({"prefix":"192.0.2.2","until":5}]})"),
            "entry 2: an entry has no field \"until\"; it has prefix, ttl, comment");
  EXPECT_LT(refusal("\"" + std::string(10'000, 'x') + "\\q\"").size(), 300u);
  EXPECT_EQ(ask({{"verb", "list_show"}, {"list", "bans"}})["entries"].size(), 0u) << "nothing was added";
  EXPECT_EQ(ask({{"verb", "status"}})["generation"], 1);
}

TEST_F(ApiTest, top_says_what_a_packet_costs_in_the_stages_of_workers_that_timed_some) {
  const Json stages = ask({{"verb", "top"}})["stages"];
  ASSERT_EQ(stages.size(), 1u) << stages;
  EXPECT_EQ(stages[0]["worker"], 1);
  EXPECT_EQ(stages[0]["receive"], 5.0);
  EXPECT_EQ(stages[0]["parse"], 0.0);
  EXPECT_EQ(stages[0]["count"], 2.5);
}

TEST_F(ApiTest, top_has_the_counters_of_a_moment_with_what_rates_and_ages_need) {
  const Json first = ask({{"verb", "top"}, {"n", 3}}), second = ask({{"verb", "top"}});
  EXPECT_LT(first["at_ns"], second["at_ns"]);
  EXPECT_EQ(first["sample_one_in"], bench.engine().rules()->config.sample_one_in);
  EXPECT_TRUE(first["workers"].is_array());
  const Json stats = ask({{"verb", "stats"}});
  for (const auto &[name, value] : stats.items()) EXPECT_EQ(first[name], value) << name;
  for (const Json &list : first["lists"]) {
    EXPECT_TRUE(list["action"] == "allow" || list["action"] == "deny") << list;
    EXPECT_GE(list["updated_at"], 0) << list;
  }
}

TEST_F(ApiTest, lines_that_are_not_json_are_answered_and_the_connection_goes_on) {
  const auto answers = ask_raw("nonsense\n[]\n{\"verb\":\"ping\"}\n", 3);
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0]["code"], "usage");
  EXPECT_EQ(answers[1]["code"], "usage");
  EXPECT_EQ(answers[2]["pid"], getpid());
}

TEST_F(ApiTest, requests_sent_together_are_answered_in_order) {
  std::string text;
  for (int i = 0; i < 20; ++i)
    text += R"({"verb":"list_add","list":"bans","entries":["203.0.113.)" + std::to_string(i) + "\"]}\n";
  const auto answers = ask_raw(text, 20);
  for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i]["sequence"], i + 1);
}

TEST_F(ApiTest, apply_diff_generations_and_rollback_tell_one_story) {
  bench.configure("version: 1\nlists:\n- {name: drop, action: deny, entries: [10.0.0.0/8, 172.16.0.1]}\n");
  const Json diff = ask({{"verb", "diff"}});
  EXPECT_EQ(diff["lists"][0]["added"], 1);
  EXPECT_EQ(diff["lists"][1]["name"], "bans") << "a list that goes is a difference";
  const Json applied = ask({{"verb", "apply"}});
  EXPECT_EQ(applied["generation"], 2) << applied;
  EXPECT_EQ(applied["in_force"], true);
  EXPECT_EQ(applied["lost"], 0);
  EXPECT_EQ(dataplane.denies("172.16.0.1"), "drop");
  const Json generations = ask({{"verb", "generations"}});
  ASSERT_EQ(generations["generations"].size(), 2u);
  EXPECT_EQ(generations["generations"][1]["live"], true);
  const Json back = ask({{"verb", "rollback"}});
  EXPECT_EQ(back["from"], 2);
  EXPECT_EQ(back["to"], 1);
  EXPECT_EQ(back["generation"], 3);
  EXPECT_EQ(dataplane.denies("172.16.0.1"), "");
}

TEST_F(ApiTest, generations_are_compared_with_each_other_and_with_the_rules_in_force) {
  bench.configure("version: 1\npolicy: {default: drop}\n"
                  "lists:\n- {name: drop, action: deny, entries: [10.0.0.0/8, 172.16.0.1]}\n");
  ASSERT_EQ(ask({{"verb", "apply"}})["generation"], 2);
  ASSERT_EQ(ask({{"verb", "rollback"}})["generation"], 3);
  const Json diff = ask({{"verb", "diff"}, {"from", 1}, {"to", 2}});
  ASSERT_EQ(diff["ok"], true) << diff;
  EXPECT_EQ(diff["lists"][0]["name"], "drop");
  EXPECT_EQ(diff["lists"][0]["added"], 1);
  EXPECT_EQ(diff["lists"][0]["examples"], Json::array({"+172.16.0.1"}));
  EXPECT_EQ(diff["lists"][1]["name"], "bans");
  EXPECT_EQ(diff["settings"],
            Json::array({"+policy: {default: drop}", "-- {name: drop, action: deny, entries: [10.0.0.0/8]}",
                         "-- {name: bans, action: deny, dynamic: true, ttl: 1h}",
                         "+- {name: drop, action: deny, entries: [10.0.0.0/8, 172.16.0.1]}"}));
  const Json back = ask({{"verb", "diff"}, {"from", 2}});
  EXPECT_EQ(back["to"], 3);
  EXPECT_EQ(back["lists"][0]["removed"], 1);
  const Json same = ask({{"verb", "diff"}, {"from", 1}, {"to", 3}});
  EXPECT_EQ(same["lists"][0]["added"].get<int>() + same["lists"][0]["removed"].get<int>(), 0);
  EXPECT_EQ(same["settings"], Json::array());
  EXPECT_EQ(ask({{"verb", "diff"}, {"from", 7}})["code"], "not_found");
  EXPECT_EQ(ask({{"verb", "diff"}, {"to", 1}})["code"], "usage");
  EXPECT_EQ(ask({{"verb", "diff"}, {"from", 1}, {"config", "x"}})["code"], "usage");
}

TEST_F(ApiTest, a_diff_shows_flows_of_a_rules_file_that_come_and_go) {
  const std::string with = std::string(rules) + "rules:\n- {name: flows, action: drop, file: flows.txt}\n";
  const auto diff = [&](const Json &request) {
    const Json answer = ask(request);
    EXPECT_EQ(answer["ok"], true) << answer;
    return answer["rules"];
  };
  bench.write_list("flows.txt", "tcp 192.0.2.1:1 192.0.2.2:2\nicmp 192.0.2.1 192.0.2.2\n");
  bench.configure(with);
  const Json first = diff({{"verb", "diff"}});
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0]["name"], "flows");
  EXPECT_EQ(first[0]["added"], 2);
  ASSERT_EQ(ask({{"verb", "apply"}})["generation"], 2);
  EXPECT_EQ(diff({{"verb", "diff"}}), Json::array()) << "nothing differs";
  bench.write_list("flows.txt", "icmp 192.0.2.1 192.0.2.2\nicmp 192.0.2.1 192.0.2.3\n");
  const Json changed = diff({{"verb", "diff"}});
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_EQ(changed[0]["examples"],
            Json::array({"+icmp 192.0.2.1 192.0.2.3", "-tcp 192.0.2.1:1 192.0.2.2:2"}));
  bench.configure(rules);
  ASSERT_EQ(ask({{"verb", "apply"}})["generation"], 3);
  const Json gone = diff({{"verb", "diff"}, {"from", 2}, {"to", 3}});
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0]["removed"], 2);
}

TEST_F(ApiTest, explain_asks_rules_that_are_not_in_force) {
  ASSERT_EQ(ask({{"verb", "list_add"}, {"list", "bans"}, {"entries", {"10.0.0.9"}}})["ok"], true);
  bench.write_list("next.txt", "192.0.2.0/24 # one\n");
  bench.write_list("next.yaml", "version: 1\nguard: {never_deny: [10.0.0.8/30]}\n"
                                "lists:\n- {name: drop, action: deny, file: next.txt}\n"
                                "- {name: bans, action: deny, dynamic: true, ttl: 1h}\n");
  const std::string config = bench.path("next.yaml");
  const auto files = cli::gather_configuration(config);
  ASSERT_TRUE(files) << files.error().message;
  const auto by_file = [&](const char *address) {
    return ask({{"verb", "explain"}, {"address", address}, {"config", config}}, files->get());
  };
  const Json new_entry = by_file("192.0.2.7");
  EXPECT_EQ(new_entry["verdict"], "drop");
  EXPECT_EQ(new_entry["entry"], "192.0.2.0/24");
  EXPECT_EQ(new_entry["comment"], "one") << "which is in no store yet: " << new_entry;
  EXPECT_EQ(new_entry["by"], config);
  EXPECT_EQ(by_file("10.1.1.1")["reason"], "default") << "what that list held is gone";
  const Json both = by_file("10.0.0.9");
  EXPECT_EQ(both["verdict"], "pass");
  EXPECT_EQ(both["list"], "never_deny");
  ASSERT_EQ(both["held_by"].size(), 2u);
  EXPECT_EQ(both["held_by"][1]["list"], "bans") << "what was added by hand belongs to no generation";
  EXPECT_EQ(both["held_by"][1]["dynamic"], true);
  EXPECT_EQ(ask({{"verb", "generations"}})["generations"].size(), 1u);

  bench.configure("version: 1\nlists:\n- {name: other, action: deny, entries: [172.16.0.1]}\n");
  ASSERT_EQ(ask({{"verb", "apply"}})["generation"], 2);
  const Json before = ask({{"verb", "explain"}, {"address", "10.1.1.1"}, {"generation", 1}});
  EXPECT_EQ(before["list"], "drop") << before;
  EXPECT_EQ(before["by"], "generation 1");
  EXPECT_EQ(ask({{"verb", "explain"}, {"address", "10.1.1.1"}, {"generation", 9}})["code"], "not_found");
  EXPECT_EQ(ask({{"verb", "explain"}, {"address", "10.1.1.1"}, {"generation", 1}, {"config", "x"}})["code"],
            "usage");
}

// IPv4 from 10.1.1.1 to 192.0.2.7, without a checksum that anybody looks at.
constexpr const char *frame = "020000000001 020000000002 0800 450000140000000040010000 0a010101 c0000207";

TEST_F(ApiTest, explain_takes_a_packet_and_the_port_that_it_enters) {
  bench.write_list("next.yaml",
                   "version: 1\nports:\n- {name: wan, device: net_null0, side: outside, peer: lan}\n"
                   "- {name: lan, device: net_null1, side: inside, peer: wan}\n"
                   "policy: {non_ip: drop}\n"
                   "lists:\n- {name: drop, action: deny, entries: [10.1.1.0/24]}\n");
  const std::string config = bench.path("next.yaml");
  const auto files = cli::gather_configuration(config);
  ASSERT_TRUE(files) << files.error().message;
  const auto explain = [&](const char *packet, const char *port) {
    Json request{{"verb", "explain"}, {"packet", packet}, {"config", config}};
    if (*port != '\0') request["port"] = port;
    return ask(request, files->get());
  };
  const Json in = explain(frame, "wan"), out = explain(frame, "lan");
  EXPECT_EQ(in["verdict"], "drop") << in;
  EXPECT_EQ(in["entry"], "10.1.1.0/24");
  EXPECT_EQ(in["address"], "10.1.1.1");
  EXPECT_EQ(in["held_by_total"], 1);
  EXPECT_EQ(out["reason"], "default") << out;
  EXPECT_EQ(out["address"], "192.0.2.7");
  EXPECT_EQ(explain("020000000001020000000002 0806", "wan")["reason"], "non_ip");
  EXPECT_EQ(explain("020000000001020000000002 0806", "wan")["verdict"], "drop");
  EXPECT_EQ(explain("0200", "wan")["reason"], "malformed");
  EXPECT_EQ(explain(frame, "dmz")["code"], "not_found");
  EXPECT_EQ(explain(frame, "")["code"], "usage");
  EXPECT_EQ(explain("02000x", "wan")["code"], "parse");
  EXPECT_EQ(ask({{"verb", "explain"}})["code"], "usage");
  EXPECT_EQ(ask({{"verb", "explain"}, {"address", "10.0.0.1"}, {"packet", "00"}})["code"], "usage");
  EXPECT_EQ(ask({{"verb", "explain"}, {"address", "10.0.0.1"}, {"port", "wan"}})["code"], "usage");
}

TEST_F(ApiTest, explain_names_every_list_that_holds_the_address) {
  ASSERT_EQ(ask({{"verb", "list_add"}, {"list", "bans"}, {"entries", {"10.0.0.0/16"}}})["ok"], true);
  const Json why = ask({{"verb", "explain"}, {"address", "10.0.0.1"}});
  EXPECT_EQ(why["list"], "bans");
  EXPECT_EQ(why["entry"], "10.0.0.0/16");
  ASSERT_EQ(why["held_by"].size(), 2u) << why;
  EXPECT_EQ(why["held_by"][0]["list"], "bans");
  EXPECT_EQ(why["held_by"][1]["entry"], "10.0.0.0/8");
  EXPECT_EQ(why["held_by_total"], 2);
}

TEST_F(ApiTest, dropped_packets_come_with_their_entry) {
  ASSERT_EQ(ask({{"verb", "list_add"}, {"list", "bans"}, {"entries", {"10.0.0.1"}}})["ok"], true);
  const Json seen = ask({{"verb", "drops_follow"}, {"from", 1}});
  ASSERT_EQ(seen["packets"].size(), 2u) << seen;
  EXPECT_EQ(seen["next"], 3);
  EXPECT_EQ(seen["packets"][0]["entry"], "10.0.0.0/8")
      << "of the list that dropped it, and not of bans: " << seen;
  EXPECT_EQ(seen["packets"][0]["bytes"], "00");
  EXPECT_FALSE(seen["packets"][1].contains("entry"));
  config::Groups groups;
  groups.read = "games";
  admit(std::move(*Access::of(groups)));
  pretend = Peer{.pid = 1, .uid = 54321, .gid = getgrnam("games")->gr_gid, .groups = {}};
  const Json looked = ask({{"verb", "drops_follow"}});
  EXPECT_EQ(looked["packets"][0]["entry"], "10.0.0.0/8") << looked;
  EXPECT_FALSE(looked["packets"][0].contains("bytes")) << "what packets carry is not for everybody";
}

TEST_F(ApiTest, the_log_says_who_changed_what_over_a_rollback) {
  const std::string me = "uid " + std::to_string(geteuid());
  ASSERT_EQ(ask({{"verb", "list_add"},
                 {"list", "bans"},
                 {"entries", {{{"prefix", "203.0.113.9"}, {"comment", "ssh"}}, "203.0.113.10"}}})["ok"],
            true);
  ASSERT_EQ(ask({{"verb", "list_del"}, {"list", "bans"}, {"entries", {"203.0.113.10"}}})["ok"], true);
  ASSERT_EQ(ask({{"verb", "list_del"}, {"list", "bans"}, {"entries", {"203.0.113.11"}}})["ok"], false);
  bench.configure("version: 1\nlists:\n- {name: drop, action: deny, entries: [10.0.0.0/8, 172.16.0.1]}\n");
  ASSERT_EQ(ask({{"verb", "apply"}})["generation"], 2);
  ASSERT_EQ(ask({{"verb", "rollback"}})["generation"], 3);
  const Json log = ask({{"verb", "log"}})["changes"];
  ASSERT_EQ(log.size(), 5u) << "the first load, and no word of what was refused: " << log;
  EXPECT_EQ(log[0]["what"], "first load");
  EXPECT_EQ(log[0]["by"], "weir-control");
  std::vector<std::string> said; // of one second, rules before entries
  for (const Json &change : log) {
    said.push_back(change["what"].get<std::string>() + " | " + change["detail"].get<std::string>());
    EXPECT_EQ(change["by"], change["what"] == "first load" ? "weir-control" : me);
  }
  const auto has = [&](const std::string &text) {
    return std::ranges::any_of(said, [&](const std::string &s) { return s.find(text) != std::string::npos; });
  };
  EXPECT_TRUE(has("list add bans | +2: 203.0.113.9 203.0.113.10 \"ssh\"")) << log;
  EXPECT_TRUE(has("list del bans | -1: 203.0.113.10")) << log;
  EXPECT_TRUE(has("drop +1 -0")) << log;
  EXPECT_TRUE(has("rollback to 1")) << log;
  EXPECT_EQ(ask({{"verb", "log"}, {"list", "bans"}})["changes"].size(), 2u);
  EXPECT_EQ(ask({{"verb", "log"}, {"n", 1}})["changes"].size(), 1u);
  EXPECT_EQ(ask({{"verb", "log"}, {"since", now_s() + 1000}})["changes"].size(), 0u);
}

TEST_F(ApiTest, an_export_can_be_read_back_by_replace) {
  ASSERT_EQ(ask({{"verb", "list_add"},
                 {"list", "drop"},
                 {"entries", {{{"prefix", "172.16.0.1"}, {"comment", "by hand"}}}}})["ok"],
            true);
  const std::string text = exported("drop", 2);
  EXPECT_EQ(text, "172.16.0.1 # by hand\n10.0.0.0/8\n");
  bench.write_list("out.txt", text);
  const std::string file = bench.path("out.txt");
  const auto files = cli::gather_list(file);
  ASSERT_TRUE(files);
  const Json replaced = ask({{"verb", "list_replace"}, {"list", "drop"}, {"file", file}}, files->get());
  EXPECT_EQ(replaced["ok"], true) << replaced;
  EXPECT_EQ(replaced["added"], 1);
  EXPECT_EQ(replaced["removed"], 0);
}

TEST_F(ApiTest, no_file_that_a_request_names_is_opened) {
  bench.write_list("mine.txt", "10.0.0.1\n");
  bench.write_list("other.yaml", "version: 1\nlists:\n- {name: drop, action: deny, file: mine.txt}\n");
  const std::string list = bench.path("mine.txt"), config = bench.path("other.yaml");
  for (const Json &request :
       std::initializer_list<Json>{{{"verb", "list_replace"}, {"list", "drop"}, {"file", list}},
                                   {{"verb", "apply"}, {"config", config}},
                                   {{"verb", "plan"}, {"config", config}},
                                   {{"verb", "diff"}, {"config", config}},
                                   {{"verb", "check"}, {"config", config}},
                                   {{"verb", "list_export"}, {"list", "drop"}}}) {
    const Json answer = ask(request);
    EXPECT_EQ(answer["code"], "usage") << request;
    EXPECT_NE(answer["message"].get<std::string>().find("weir-control opens no file that a request names"),
              std::string::npos)
        << answer;
  }
  // A bundle with the configuration alone: the list is not looked for elsewhere.
  auto writer = rules::BundleWriter::make();
  ASSERT_TRUE(writer->add(config, test::read_text(config)));
  const auto alone = std::move(*writer).seal();
  const Json answer = ask({{"verb", "apply"}, {"config", config}}, alone->get());
  EXPECT_EQ(answer["ok"], false);
  EXPECT_NE(answer["message"].get<std::string>().find("mine.txt: cannot read the list: it did not come"),
            std::string::npos)
      << answer;
  EXPECT_EQ(ask({{"verb", "generations"}})["generations"].size(), 1u);
}

TEST_F(ApiTest, a_configuration_that_comes_with_its_lists_is_applied_and_says_whose_it_was) {
  bench.write_list("mine.txt", "10.0.0.1 # one\n");
  bench.write_list("other.yaml", "version: 1\nlists:\n- {name: drop, action: deny, file: mine.txt}\n");
  const std::string config = bench.path("other.yaml");
  const auto files = cli::gather_configuration(config);
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(ask({{"verb", "diff"}, {"config", config}}, files->get())["lists"][0]["added"], 1);
  EXPECT_EQ(ask({{"verb", "plan"}, {"config", config}}, files->get())["ok"], true);
  EXPECT_EQ(ask({{"verb", "check"}, {"config", config}}, files->get())["lists"][0]["v4_hosts"], 1);
  const Json applied = ask({{"verb", "apply"}, {"config", config}}, files->get());
  EXPECT_EQ(applied["ok"], true) << applied;
  EXPECT_EQ(dataplane.denies("10.0.0.1"), "drop");
  EXPECT_EQ(ask({{"verb", "generations"}})["generations"][1]["cause"],
            "apply by uid " + std::to_string(geteuid()));
}

TEST_F(ApiTest, an_export_goes_into_memory_alone) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const OwnedFd pipe_in(ends[0]), pipe_out(ends[1]), null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  for (const int fd : {pipe_out.get(), null.get()})
    EXPECT_EQ(ask({{"verb", "list_export"}, {"list", "drop"}}, fd)["code"], "usage");
}

TEST_F(ApiTest, an_export_that_its_memory_does_not_take_is_refused) {
  std::string entries; // more than a buffer of stdio holds
  for (unsigned i = 0; i < 1000; ++i)
    entries += "172.16." + std::to_string(i / 250) + "." + std::to_string(i % 250) + "\n";
  bench.write_list("many.txt", entries);
  const std::string file = bench.path("many.txt");
  const auto files = cli::gather_list(file);
  ASSERT_TRUE(files) << files.error().message;
  ASSERT_EQ(ask({{"verb", "list_replace"}, {"list", "drop"}, {"file", file}}, files->get())["ok"], true);
  const OwnedFd sealed(memfd_create("answer", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(fcntl(sealed.get(), F_ADD_SEALS, F_SEAL_GROW), 0);
  const Json answer = ask({{"verb", "list_export"}, {"list", "drop"}}, sealed.get());
  EXPECT_EQ(answer["code"], "io") << answer;
  EXPECT_NE(answer["message"].get<std::string>().find("list drop: the export cannot be written"),
            std::string::npos);
}

// Another user than the one that runs this.
TEST_F(ApiTest, who_may_only_look_changes_nothing_and_sees_no_line_of_the_daemons_files) {
  config::Groups groups;
  groups.read = "games";
  admit(std::move(*Access::of(groups)));
  pretend = Peer{.pid = 1, .uid = 54321, .gid = getgrnam("games")->gr_gid, .groups = {}};
  EXPECT_EQ(ask({{"verb", "status"}})["ok"], true);
  EXPECT_EQ(ask({{"verb", "diff"}})["ok"], true);
  const Json why = ask({{"verb", "explain"}, {"address", "10.0.0.1"}});
  EXPECT_EQ(why["verdict"], "drop") << why;
  EXPECT_EQ(why["list"], "bans") << why;
  EXPECT_FALSE(why.contains("path")) << "which line of a table an address belongs in follows from the seed";
  for (const Json &request :
       std::initializer_list<Json>{{{"verb", "apply"}},
                                   {{"verb", "rollback"}},
                                   {{"verb", "confirm"}},
                                   {{"verb", "plan"}, {"apply", true}},
                                   {{"verb", "list_add"}, {"list", "bans"}, {"entries", {"10.0.0.1"}}},
                                   {{"verb", "list_del"}, {"list", "bans"}, {"entries", {"10.0.0.1"}}}}) {
    const Json answer = ask(request);
    EXPECT_EQ(answer["code"], "refused") << request << answer;
    EXPECT_NE(answer["message"].get<std::string>().find("may not change anything"), std::string::npos)
        << answer;
  }
  bench.write_list("secret.txt", "0.0.0.0/1\n"); // a guard objects, and names the line
  bench.configure("version: 1\nlists:\n- {name: drop, action: deny, file: secret.txt}\n");
  for (const char *verb : {"diff", "plan"}) {
    const std::string told = ask({{"verb", verb}})["warnings"].dump();
    EXPECT_NE(told.find("apply will refuse this"), std::string::npos) << told;
    EXPECT_EQ(told.find("secret.txt"), std::string::npos) << told;
  }
  bench.write_list("secret.txt", "top secret\n");
  bench.configure("version: 1\nlists:\n- {name: drop, action: deny, file: secret.txt}\n");
  for (const char *verb : {"diff", "plan", "check"}) {
    const Json answer = ask({{"verb", verb}});
    EXPECT_EQ(answer["ok"], false) << answer;
    EXPECT_EQ(answer["message"].get<std::string>().find("secret\""), std::string::npos) << answer;
  }
  pretend.reset();
  EXPECT_NE(ask({{"verb", "diff"}})["message"].get<std::string>().find("top secret"), std::string::npos);
  EXPECT_EQ(ask({{"verb", "apply"}})["ok"], false);
  EXPECT_NE(ask({{"verb", "status"}})["error"].get<std::string>().find("top secret"), std::string::npos);
  pretend = Peer{.pid = 1, .uid = 54321, .gid = getgrnam("games")->gr_gid, .groups = {}};
  const std::string error = ask({{"verb", "status"}})["error"];
  EXPECT_EQ(error.find("secret"), std::string::npos) << error;
  EXPECT_NE(error.find("apply: refused"), std::string::npos) << error;
  pretend = Peer{.pid = 1, .uid = 54321, .gid = 54322, .groups = {}};
  EXPECT_EQ(ask({{"verb", "status"}})["code"], "refused");
}

TEST_F(ApiTest, while_the_dataplane_hangs_what_control_knows_is_answered_and_that_it_hangs) {
  api->dataplane_wait = std::chrono::milliseconds(20);
  hangs = true;
  dataplane.set_hook([&](const FakeDataplane::Seen &seen) {
    while (seen.type == wire::Type::query && hangs) std::this_thread::yield();
    return FakeDataplane::Reaction();
  });
  const Json status = ask({{"verb", "status"}});
  EXPECT_EQ(status["generation"], 1);
  EXPECT_EQ(status["dataplane"]["connected"], true);
  EXPECT_EQ(status["dataplane"]["answers"], false);
  EXPECT_NE(status["dataplane"]["silence"].get<std::string>().find("does not answer"), std::string::npos);
  EXPECT_EQ(ask({{"verb", "list_show"}})["lists"].size(), 2u);
  for (const char *verb : {"stats", "drops"}) {
    const Json answer = ask({{"verb", verb}});
    EXPECT_EQ(answer["code"], "unreachable");
    EXPECT_NE(answer["message"].get<std::string>().find("does not answer"), std::string::npos) << answer;
  }
  EXPECT_EQ(ask({{"verb", "explain"}, {"address", "10.0.0.1"}})["code"], "unreachable");
  hangs = false;
  api->dataplane_wait = std::chrono::seconds(20);
  ASSERT_TRUE(bench.run_until([&] { return ask({{"verb", "status"}})["dataplane"]["answers"] == true; }));
  EXPECT_FALSE(ask({{"verb", "status"}})["dataplane"].contains("silence"));
  EXPECT_EQ(ask({{"verb", "stats"}})["ok"], true);
}

TEST_F(ApiTest, progress_says_how_far_the_change_at_hand_is_and_holds_nothing_up) {
  EXPECT_EQ(ask({{"verb", "progress"}})["doing"], "");
  EXPECT_EQ(ask({{"verb", "progress"}})["phase"], "");
  hangs = true;
  dataplane.set_hook([&](const FakeDataplane::Seen &seen) {
    while (seen.type == wire::Type::stage && hangs) std::this_thread::yield();
    return FakeDataplane::Reaction();
  });
  std::string list;
  for (unsigned i = 0; i < 100'000; ++i) list += fmt::format("10.{}.{}.{}\n", i >> 16, i >> 8 & 255, i & 255);
  bench.write_list("drop.txt", list);
  bench.configure("version: 1\nlists:\n- {name: drop, action: deny, file: drop.txt}\n");
  unsigned done = 0;
  for (int i = 0; i < 2; ++i)
    bench.engine().apply({}, 0, true, [&](const Result<ChangeDone> &change) { done += change ? 1 : 100; });
  std::vector<std::string> phases;
  ASSERT_TRUE(bench.run_until([&] {
    const Json progress = ask({{"verb", "progress"}});
    EXPECT_EQ(progress["doing"], "apply");
    EXPECT_EQ(progress["in_line"], 1);
    if (progress["unit"] == "bytes") {
      EXPECT_EQ(progress["total"], list.size());
      EXPECT_LE(progress["done"], progress["total"]);
    }
    if (progress["unit"] == "entries") {
      EXPECT_EQ(progress["total"], 100'000);
    }
    const auto phase = progress["phase"].get<std::string>();
    if (phases.empty() || phases.back() != phase) phases.push_back(phase);
    return phases.back() == Progress::name_of(Progress::Phase::pushing);
  }));
  EXPECT_EQ(std::ranges::count(phases, phases.back()), 1);
  EXPECT_EQ(ask({{"verb", "status"}})["progress"]["phase"], phases.back());
  hangs = false;
  ASSERT_TRUE(bench.run_until([&] { return done >= 2; }));
  EXPECT_EQ(done, 2u);
  EXPECT_EQ(ask({{"verb", "progress"}})["doing"], "");
}

TEST_F(ApiTest, without_a_descriptor_for_the_dataplane_status_says_so_and_it_is_connected_later) {
  ask({{"verb", "ping"}}); // so that this connection has its descriptor
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = 256, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<OwnedFd> all;
  bench.engine().pusher().channel().retry_wait =
      std::chrono::milliseconds(200); // to take every one meanwhile
  dataplane.hang_up();
  EXPECT_TRUE(bench.run_until([&] {
    for (int fd = 0; (fd = dup(socket_fd)) >= 0;) all.emplace_back(fd);
    const Json answer = ask({{"verb", "status"}})["dataplane"];
    return answer.contains("trouble") &&
           answer["trouble"].get<std::string>().find("LimitNOFILE") != std::string::npos;
  }));
  all.clear();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(bench.run_until_live());
  EXPECT_FALSE(ask({{"verb", "status"}})["dataplane"].contains("trouble"));
}

TEST_F(ApiTest, an_entry_is_stored_and_answered_while_the_dataplane_hangs) {
  api->dataplane_wait = api->entries_wait = std::chrono::milliseconds(20);
  hangs = true;
  dataplane.set_hook([&](const FakeDataplane::Seen &) {
    while (hangs) std::this_thread::yield();
    return FakeDataplane::Reaction();
  });
  const Json added = ask({{"verb", "list_add"}, {"list", "bans"}, {"entries", {"203.0.113.9"}}});
  EXPECT_EQ(added["ok"], true) << added;
  EXPECT_EQ(added["in_force"], false);
  EXPECT_NE(added["note"].get<std::string>().find("does not answer"), std::string::npos) << added;
  hangs = false;
  ASSERT_TRUE(bench.run_until([&] { return dataplane.denies("203.0.113.9") == "bans"; }));
}

TEST_F(ApiTest, check_and_plan_change_nothing) {
  const Json checked = ask({{"verb", "check"}});
  EXPECT_EQ(checked["ok"], true) << checked;
  EXPECT_EQ(checked["lists"].size(), 2u);
  const Json plan = ask({{"verb", "plan"}});
  EXPECT_EQ(plan["ok"], true) << plan;
  EXPECT_TRUE(plan["candidates"].is_array());
  EXPECT_EQ(dataplane.stages(), 1u);
}

TEST_F(ApiTest, diff_shows_a_list_that_turns_and_the_bans_that_go_with_it_and_uses_no_number_up) {
  ASSERT_EQ(ask({{"verb", "list_add"}, {"list", "bans"}, {"entries", {"203.0.113.1"}}})["ok"], true);
  bench.configure("version: 1\n"
                  "lists:\n"
                  "- {name: more, action: deny, entries: [10.0.0.0/8]}\n"
                  "- {name: bans, action: allow, dynamic: true}\n");
  const auto free = bench.engine().store().free_numbers(1).value();
  const Json lists = ask({{"verb", "diff"}})["lists"];
  EXPECT_EQ(bench.engine().store().free_numbers(1).value(), free);
  Json bans, drop;
  for (const Json &list : lists) {
    if (list["name"] == "bans") bans = list;
    if (list["name"] == "drop") drop = list;
  }
  EXPECT_EQ(bans["action_before"], "deny");
  EXPECT_EQ(bans["action"], "allow");
  EXPECT_EQ(bans["dynamic_left"], 1);
  EXPECT_EQ(bans["examples"][0], "turns from deny to allow");
  EXPECT_EQ(drop["examples"][0], "the list itself is gone");
}

} // namespace
} // namespace weir::control::api_test
