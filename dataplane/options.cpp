#include "dataplane/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

namespace weir::dataplane {
namespace {

using Text = std::string;

template <class T> Status read_number(const Text &flag, const Text &text, T &out) {
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  if (error == std::errc{} && stop == end) return {};
  return fail(Errc::usage, fmt::format("{} {}: a number is wanted", flag, text));
}

// What is left of the command line.
class Arguments {
public:
  explicit Arguments(std::vector<Text> all) : all_(std::move(all)) {}
  [[nodiscard]] bool empty() const { return next_ == all_.size(); }
  Text take() { return all_[next_++]; }
  Result<Text> value_of(const Text &flag) {
    if (empty()) return fail(Errc::usage, flag + ": a value is missing");
    return take();
  }

private:
  std::vector<Text> all_;
  std::size_t next_ = 0;
};

// What to do with the value of each flag.
class Flags {
public:
  explicit Flags(Options &options) : options_(options) {
    const auto path = [](std::filesystem::path &to) {
      return [&to](const Text &, const Text &v) -> Status {
        to = v;
        return {};
      };
    };
    ReplayOptions &capture = run_.capture;
    takers_["-c"] = takers_["--config"] = path(options.config);
    takers_["--run-dir"] = [this](const Text &, const Text &v) -> Status {
      return options_.run_dir = v, Status();
    };
    takers_["--state-dir"] = [this](const Text &, const Text &v) -> Status {
      return options_.state_dir = v, Status();
    };
    takers_["--target"] = [this](const Text &f, const Text &v) -> Status {
      if (v != "cpp" && v != "p4") return fail(Errc::usage, fmt::format("{} {}: cpp or p4 is wanted", f, v));
      return options_.p4 = v == "p4", Status();
    };
    takers_["--bypass"] = [this](const Text &f, const Text &v) -> Status {
      if (v != "on" && v != "off") return fail(Errc::usage, fmt::format("{} {}: on or off is wanted", f, v));
      return options_.bypass = v == "on", Status();
    };
    takers_["--replay"] = path(capture.in);
    takers_["--out"] = path(capture.out);
    takers_["--denied"] = path(capture.denied);
    takers_["--verdicts"] = path(capture.verdicts);
    takers_["--report"] = path(run_.report);
    takers_["--loop"] = [&](const Text &f, const Text &v) { return read_number(f, v, capture.loops); };
    takers_["--rate"] = [&](const Text &f, const Text &v) { return read_number(f, v, capture.rate_pps); };
    takers_["--gate"] = [&](const Text &, const Text &v) -> Status {
      const auto gate = TRY(parse_gate(v));
      return capture.gates.push_back(gate), Status();
    };
  }

  Status take(const Text &flag, Arguments &arguments) {
    if (flag == "--print-totals") return options_.print_totals = true, Status();
    if (flag == "-h" || flag == "--help") return options_.help = true, Status();
    const auto taker = takers_.find(flag);
    if (taker == takers_.end()) return fail(Errc::usage, flag + ": unknown option; --help lists them");
    const auto value = TRY(arguments.value_of(flag));
    return taker->second(flag, value);
  }

  Status finish() {
    if (options_.help) return {};
    if (options_.config.empty()) return fail(Errc::usage, "-c FILE is missing: which weir.yaml?");
    const ReplayOptions &c = run_.capture;
    if (!c.in.empty()) {
      if (run_.report.empty()) return fail(Errc::usage, "--replay needs --report FILE");
      options_.replay = run_;
    } else if (!run_.report.empty() || !c.out.empty() || !c.denied.empty() || !c.verdicts.empty() ||
               !c.gates.empty() || c.loops != 1 || c.rate_pps != 0) {
      return fail(Errc::usage,
                  "--out, --denied, --verdicts, --report, --loop, --rate and --gate go with --replay");
    }
    return {};
  }

private:
  Options &options_;
  ReplayRun run_;
  std::map<Text, std::function<Status(const Text &, const Text &)>> takers_;
};

} // namespace

Result<Options> parse_options(const std::vector<std::string> &arguments) {
  Options options;
  if (arguments.empty()) return fail(Errc::usage, "a program name is missing");
  options.program = arguments.front();
  auto own_begin = arguments.begin() + 1;
  if (const auto border = std::find(own_begin, arguments.end(), "--"); border != arguments.end()) {
    options.eal_arguments.emplace(own_begin, border);
    own_begin = border + 1;
  }

  std::vector<Text> own;
  for (auto at = own_begin; at != arguments.end(); ++at) {
    const auto equals = at->starts_with("--") ? at->find('=') : Text::npos;
    own.push_back(at->substr(0, equals));
    if (equals != Text::npos) own.push_back(at->substr(equals + 1));
  }
  Flags flags(options);
  Arguments left(std::move(own));
  while (!left.empty()) TRY(flags.take(left.take(), left));
  TRY(flags.finish());
  return options;
}

std::string usage_text() {
  return R"(usage: weir-dataplane [EAL arguments --] -c FILE [options]

  -c, --config FILE   weir.yaml
  --run-dir D         folder of the control socket, instead of paths.run
  --state-dir D       folder of the last accepted image, instead of paths.state
  --print-totals      print the verdict table at the end
  --target cpp|p4     what judges packets: weir's own stages (default) or p4/acl.p4 on DPDK's SWX, with one worker;
                      p4 wants images from weir-control --target p4

  --bypass on|off     let the kernel carry packets between ports with on_exit: bypass, or no longer, and end

  --replay IN         judge a capture file instead of the ports of the configuration
  --report FILE       where the JSON report goes at the end (needed with --replay)
  --out PASS          capture file for what passed
  --denied DROP       capture file for what was dropped
  --verdicts CSV      index,generation,verdict,reason,list of each packet
  --loop N            play the capture N times
  --rate PPS          packets a second
  --gate INDEX:GEN    hold packet INDEX back until generation GEN is live; may be repeated

Without `--` the EAL arguments are made from weir.yaml.
)";
}

} // namespace weir::dataplane
