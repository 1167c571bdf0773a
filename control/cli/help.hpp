// What each verb says about itself: the text of `weirctl VERB --help`.
#pragma once

#include <string_view>

namespace weir::cli {

struct VerbHelp {
  std::string_view name;    // "list add"
  std::string_view summary; // one line, for the list of verbs
  std::string_view prose;   // a paragraph or two
  std::string_view example;
};

// The entry of `name`; every verb has one.
[[nodiscard]] const VerbHelp &help_of(std::string_view name);

inline constexpr std::string_view program_prose =
    "weirctl talks to weir-control, the process that keeps the rules of a weir.\n"
    "\n"
    "It shows what is in force, changes lists while traffic flows, tries a configuration out before it\n"
    "counts, and replays a capture file through a private pair of processes that needs neither root nor\n"
    "a network card. Every verb has its own --help with an example; -j gives JSON instead of text.";

inline constexpr std::string_view program_footer =
    "Exit codes: 0 done; 1 refused, failed or no match; 2 the command line makes no sense;\n"
    "3 weir-control does not answer.\n"
    "\n"
    "Example:\n"
    "  weirctl replay office.pcap --config weir.yaml --denied dropped.pcap\n"
    "  weirctl list add bans 203.0.113.9 --ttl 10m --comment \"ssh\"";

} // namespace weir::cli
