#include "tests/attack/replays.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weir::attack {

Replays::Replays(const Policy &policy, const Lists &denied, const Lists &allowed) : oracle_(policy) {
  std::string config =
      fmt::format("version: 1\npolicy: {{match: {}, default: {}, non_ip: {}, too_many_tags: {}, link_local: "
                  "{}, malformed: {}, tunnels: {}}}\nlists:\n",
                  policy.match == Match::either ? "either" : "source", name_of(policy.fallthrough),
                  name_of(policy.non_ip), name_of(policy.too_many_tags), name_of(policy.link_local),
                  name_of(policy.malformed), name_of(policy.tunnels));
  for (const bool allow : {true, false})
    for (const auto &[name, entries] : allow ? allowed : denied) {
      std::string text;
      for (const std::string &entry : entries) {
        text += entry + '\n';
        allow ? oracle_.allow(entry, name) : oracle_.deny(entry, name);
      }
      test::write_text(run_ / (name + ".txt"), text);
      config += fmt::format("- {{name: {0}, action: {1}, file: {0}.txt}}\n", name, allow ? "allow" : "deny");
    }
  test::write_text(run_ / "weir.yaml", config);
}

std::vector<test::VerdictRow> Replays::judged_like_the_oracle(const std::vector<test::Frame> &frames) {
  test::write_capture(run_ / "in.pcap", {.frames = frames});
  run_.start();
  const int code = run_.finish();
  EXPECT_EQ(code, 0) << run_.logs();
  if (code != 0) return {};
  std::vector<test::VerdictRow> rows = run_.verdicts();
  std::map<std::string, std::uint64_t> pass, drop;
  for (const test::VerdictRow &row : rows) {
    const test::Judgement wanted = oracle_.judge(frames.at(row.index).bytes);
    ++(wanted.verdict == Verdict::pass ? pass : drop)[std::string(name_of(wanted.reason))];
    if (row.verdict == name_of(wanted.verdict) && row.reason == name_of(wanted.reason)) continue;
    ADD_FAILURE() << "packet " << row.index << ": " << row.verdict << ' ' << row.reason << " instead of "
                  << to_string(wanted);
    break; // one says enough
  }
  const test::ReplayReport report = run_.report();
  EXPECT_EQ(report.reasons_pass, pass) << "counters";
  EXPECT_EQ(report.reasons_drop, drop) << "counters";
  EXPECT_EQ(report.lost, 0u);
  return rows;
}

} // namespace weir::attack
