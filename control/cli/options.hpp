// The command line of weirctl as a value. options.cpp is the only file that knows CLI11.
//
//   weirctl [-j] [-s SOCKET] VERB ...     options may stand before or after the verb
//
// parse() never prints and never exits: it hands back either Options, or what to print and the exit
// code (0 for help and version, 2 for a line that makes no sense).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace weir::cli {

inline constexpr int exit_done = 0;
inline constexpr int exit_refused = 1; // or no match
inline constexpr int exit_usage = 2;
inline constexpr int exit_unreachable = 3;

inline constexpr const char *default_socket = "/run/weir/control.sock";
inline constexpr const char *default_config = "/etc/weir/weir.yaml";

enum class Verb : std::uint8_t {
  replay,
  status,
  health,
  list_show,
  list_add,
  list_del,
  list_replace,
  list_export,
  check,
  registers,
  plan,
  diff,
  apply,
  confirm,
  rollback,
  generations,
  log,
  explain,
  stats,
  drops,
  top,
  offenders,
  offender_mark,
  offender_unmark,
  offender_train,
  offender_model,
  doctor,
  completion,
};

// A configuration that a replay applies as its next generation. With `at`, exactly that many
// packets are judged before it; without, the packets are divided evenly among the generations.
struct ReplayApply {
  std::filesystem::path config;
  std::optional<std::uint64_t> at;
};

struct ReplayOptions {
  std::filesystem::path input;
  std::filesystem::path config;
  std::filesystem::path out;      // empty: not written
  std::filesystem::path denied;   // empty: not written
  std::filesystem::path verdicts; // empty: not written
  std::uint64_t loop = 1;
  std::uint64_t rate_pps = 0; // 0: as fast as the worker takes them
  std::vector<ReplayApply> applies;
  std::string target = "cpp"; // or p4
};

struct DropsOptions {
  bool follow = false;          // packets as they come, and no counters
  std::filesystem::path write;  // capture file; empty: a line each
  std::string filter;           // of libpcap; empty: none
  std::uint64_t file_bytes = 0; // before the next file begins; 0: one file
  unsigned files = 10;
};

struct TopOptions {
  bool once = false;                        // one frame of text
  std::optional<std::uint64_t> frames = {}; // of text; none: a screen, where there is a terminal
  std::optional<std::chrono::milliseconds> interval = {}; // between answers; none: a second
  std::string filter = {};
};

struct Options {
  Verb verb = Verb::status;
  bool json = false;
  std::filesystem::path socket = default_socket;

  std::string list;
  std::vector<std::string> entries; // checked: each is an address or a prefix; of offenders addresses
  std::optional<std::chrono::seconds> ttl;
  std::string comment;
  std::filesystem::path file;   // list replace, list export, registers
  std::filesystem::path config; // check, plan, diff, apply, explain, doctor; empty: not given
  bool force = false;
  bool apply_plan = false; // plan --apply
  bool strict = false;     // health
  std::optional<std::chrono::seconds> confirm;
  std::optional<std::uint64_t> generation;   // rollback, explain
  std::optional<std::uint64_t> from, to;     // diff: generations; without `to` the rules in force
  std::optional<std::chrono::seconds> since; // log: this long ago
  std::string address;                       // explain; empty: a packet
  unsigned vlan = 0;                         // explain: of a packet; 0: as its tags say
  std::string packet, port;           // explain: hexadecimal digits, or FILE:N; the port that it enters
  std::optional<std::uint64_t> count; // log, drops; of top its sources
  std::string shell = "bash";         // completion
  ReplayOptions replay;
  DropsOptions drops;
  TopOptions top;
};

struct Exit {
  int code = exit_done;
  std::string out; // for standard output
  std::string err; // for standard error
};

[[nodiscard]] std::variant<Options, Exit> parse(const std::vector<std::string> &arguments);

// Names for the completion script: every verb with its options (`--config`), `list` split in two words.
struct VerbWords {
  std::string verb; // "status", "list add"
  std::vector<std::string> options;
};
[[nodiscard]] std::vector<VerbWords> verb_words();

} // namespace weir::cli
