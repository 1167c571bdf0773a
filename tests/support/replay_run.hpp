// One replay through the real programs: a private weir-dataplane in replay mode and, beside it, a
// private weir-control, in a folder of their own:
//
//   weir.yaml  in.pcap  pass.pcap  denied.pcap  verdicts.csv  report.json  run/  state/  *.log
#pragma once

#include "tests/support/capture_file.hpp"
#include "tests/support/process.hpp"
#include "weir/key/verdict.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weir::test {

struct VerdictRow {
  std::uint64_t index = 0, generation = 0;
  std::string verdict, reason, list;
};
// The table that --verdicts writes; throws when a line is not one.
[[nodiscard]] std::vector<VerdictRow> read_verdicts(const std::filesystem::path &file);

struct ReplayReport {
  std::uint64_t packets = 0, pass = 0, drop = 0, lost = 0, read = 0, written = 0, swap_count = 0;
  bool truncated = false, eof = false;
  std::map<std::string, std::uint64_t> reasons_pass, reasons_drop, lists, generations;
  std::map<std::string, std::uint64_t> reasons; // of weirctl alone
};
[[nodiscard]] ReplayReport parse_report(const std::string &json);

struct ControlAnswer {
  bool ok = false;
  std::string text; // as it came
  std::uint64_t generation = 0;
};

class ReplayRun {
public:
  ReplayRun() = default;

  [[nodiscard]] const std::filesystem::path &path() const { return dir_.path(); }
  [[nodiscard]] std::filesystem::path operator/(const std::string &name) const { return dir_ / name; }

  // Starts both. `weir.yaml` and the capture (`in.pcap` unless named) must stand in the folder.
  void start(const std::vector<std::string> &dataplane_options = {}, const std::string &capture = "in.pcap");
  void start_dataplane(const std::vector<std::string> &options, const std::string &capture);
  void start_control();

  // Sends one request line to weir-control.
  [[nodiscard]] ControlAnswer ask(const std::string &json);
  [[nodiscard]] ControlAnswer replace_list(const std::string &list, const std::filesystem::path &file);
  // Packets that the workers have judged so far.
  [[nodiscard]] std::uint64_t packets_judged();
  [[nodiscard]] bool wait_for_judged(std::uint64_t packets);

  // Waits for the end of the dataplane; then ends control. The dataplane's exit code.
  [[nodiscard]] int finish(std::chrono::seconds limit = std::chrono::seconds(60));

  [[nodiscard]] ReplayReport report() const { return parse_report(read_text(dir_ / "report.json")); }
  [[nodiscard]] std::vector<VerdictRow> verdicts() const { return read_verdicts(dir_ / "verdicts.csv"); }
  [[nodiscard]] std::string logs() const; // what both programs said, for failure messages

  Child dataplane, control;
  bool images_for_p4 = false; // set before start_control()

private:
  TempDir dir_;
};

} // namespace weir::test
