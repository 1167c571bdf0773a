// Files of exact flows: what a line may be, and what is said of one that is none.
#include "control/rules/flows.hpp"

#include <gtest/gtest.h>

namespace weir::rules::flows_test {
namespace {

TEST(Flows, are_read_of_both_families_with_and_without_ports) {
  const auto body = parse_flows("# scanners\n"
                                "tcp 192.0.2.1:443 198.51.100.7:51000   ; seen on Monday\n"
                                "\r\n"
                                "udp\t[2001:db8::1]:53 [2001:db8::2]:4000\r\n"
                                "icmp 192.0.2.1 198.51.100.7\n"
                                "47 192.0.2.1 198.51.100.7\n"
                                "tcp 192.0.2.1:443 198.51.100.7:51000\n",
                                "flows.txt");
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(body->v4.size(), 3u);
  EXPECT_EQ(body->v6.size(), 1u);
  EXPECT_EQ(body->duplicates, 1u);
}

TEST(Flows, a_change_names_those_that_come_and_go_as_lines) {
  const auto body = [](const char *text) { return parse_flows(text, "flows.txt").value(); };
  const FlowBody before = body("tcp 192.0.2.1:443 198.51.100.7:51000\nicmp 192.0.2.1 198.51.100.7\n"
                               "udp [2001:db8::1]:53 [2001:db8::2]:4000\n"),
                 after = body("icmp 192.0.2.1 198.51.100.7\n99 192.0.2.1 198.51.100.8\n"
                              "udp [2001:db8::1]:53 [2001:db8::2]:4001\n");
  const FlowChange change = flow_change(before, after);
  EXPECT_EQ(change.before, 3u);
  EXPECT_EQ(change.after, 3u);
  EXPECT_EQ(change.added, 2u);
  EXPECT_EQ(change.removed, 2u);
  EXPECT_EQ(change.added_examples, (std::vector<std::string>{"99 192.0.2.1 198.51.100.8",
                                                             "udp [2001:db8::1]:53 [2001:db8::2]:4001"}));
  EXPECT_EQ(change.removed_examples, (std::vector<std::string>{"tcp 192.0.2.1:443 198.51.100.7:51000",
                                                               "udp [2001:db8::1]:53 [2001:db8::2]:4000"}));
  EXPECT_EQ(flow_change(after, after).added + flow_change(after, after).removed, 0u);
  std::string many;
  for (int i = 0; i < 100; ++i) many += "tcp 192.0.2.1:443 198.51.100.7:" + std::to_string(1000 + i) + '\n';
  const FlowChange all = flow_change({}, body(many.c_str()));
  EXPECT_EQ(all.added, 100u);
  EXPECT_EQ(all.added_examples.size(), 3u);
}

struct Fault {
  const char *line, *said;
};

TEST(Flows, a_line_that_is_none_is_named_with_file_number_and_value) {
  for (const Fault &fault :
       {Fault{"tpc 192.0.2.1:443 198.51.100.7:1", "\"tpc\": is not a protocol"},
        Fault{"tcp 192.0.2.1:443", "needs from and to"},
        Fault{"tcp 192.0.2.1 198.51.100.7:1", "\"192.0.2.1\": needs an address and a port"},
        Fault{"tcp 192.0.2.1:443 198.51.100.7:99999", "the port is not a number"},
        Fault{"tcp 192.0.2.256:443 198.51.100.7:1", "not an IPv4 or IPv6 address"},
        Fault{"tcp 2001:db8::1:443 [2001:db8::2]:1", "[2001:db8::1]:443"},
        Fault{"tcp [192.0.2.1]:443 198.51.100.7:1", "brackets are for IPv6"},
        Fault{"tcp 192.0.2.1:443 [2001:db8::2]:1", "another family"},
        Fault{"icmp 192.0.2.1:0 198.51.100.7:0", "\"192.0.2.1:0\""},
        Fault{"tcp 192.0.2.1:443 198.51.100.7:1 established", "\"established\": is one word too many"},
        Fault{"300 192.0.2.1 198.51.100.7", "\"300\": is not a protocol"}}) {
    const auto body =
        parse_flows(std::string("\ntcp 192.0.2.1:1 192.0.2.2:2\n") + fault.line + '\n', "flows.txt");
    ASSERT_FALSE(body) << fault.line;
    EXPECT_NE(body.error().message.find("flows.txt:3: "), std::string::npos) << body.error().message;
    EXPECT_NE(body.error().message.find(fault.said), std::string::npos) << fault.line << "\n"
                                                                        << body.error().message;
  }
}

TEST(Flows, all_bad_lines_are_told_at_once_up_to_twenty) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "nonsense\n";
  const auto body = parse_flows(text, "flows.txt");
  ASSERT_FALSE(body);
  EXPECT_NE(body.error().message.find("flows.txt:20: "), std::string::npos);
  EXPECT_EQ(body.error().message.find("flows.txt:21: "), std::string::npos);
  EXPECT_NE(body.error().message.find("10 more lines"), std::string::npos) << body.error().message;
}

TEST(Flows, come_back_from_the_bytes_that_the_store_keeps) {
  const auto body =
      parse_flows("tcp 192.0.2.1:443 198.51.100.7:51000\nudp [2001:db8::1]:53 [2001:db8::2]:4000\n"
                  "esp 192.0.2.1 198.51.100.7\n",
                  "flows.txt");
  ASSERT_TRUE(body) << body.error().message;
  FlowBody again;
  std::string before;
  for (const auto &flow : body->v4) {
    const std::string bytes = flow_bytes(flow);
    EXPECT_LT(before, bytes) << "in the order of their bytes";
    before = bytes;
    EXPECT_TRUE(add_flow(again, bytes));
  }
  for (const auto &flow : body->v6) EXPECT_TRUE(add_flow(again, flow_bytes(flow)));
  EXPECT_EQ(again.v4, body->v4);
  EXPECT_EQ(again.v6, body->v6);
  EXPECT_EQ(again.fingerprint(), body->fingerprint());
  EXPECT_FALSE(add_flow(again, "")) << "no flow";
  EXPECT_FALSE(add_flow(again, flow_bytes(body->v4[0]).substr(1)));
}

} // namespace
} // namespace weir::rules::flows_test
