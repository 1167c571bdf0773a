#include "control/cli/help.hpp"

#include <algorithm>
#include <array>
#include <cassert>

namespace weir::cli {

namespace {

constexpr std::array<VerbHelp, 30> verb_helps{{
    {"replay", "send a capture file through a private weir and show what it decides",
     "Starts a private weir-dataplane and weir-control in a temporary folder, lets every packet of the\n"
     "capture pass the same worker that serves real ports, and prints the verdict table. Nothing is left\n"
     "behind, a running weir is not touched, and neither root, hugepages nor a network card are needed.\n"
     "\n"
     "The lists and the policy come from the configuration; its ports, eal and paths are ignored. Each\n"
     "packet is written to exactly one of the two output files, in order, with its bytes, lengths and\n"
     "timestamp unchanged.\n"
     "\n"
     "Each --apply names a configuration that becomes the next generation while packets flow. Without\n"
     "@PACKETS the packets are divided evenly among the generations; with it, exactly so many packets\n"
     "(counted over all loops) are judged before that configuration is in force.",
     "weirctl replay office.pcap --config weir.yaml --out passed.pcap --denied dropped.pcap\n"
     "  weirctl replay office.pcap --config today.yaml --apply tomorrow.yaml --loop 100 --rate 200000"},
    {"status", "what is in force: generation, entries, memory, last swap",
     "Prints the live generation, the policy, how many entries there are, the memory they take, the plan\n"
     "of the image, the last swap, and whether the dataplane is connected. What is wrong comes first.",
     "weirctl status"},
    {"health", "whether packets are judged by the rules, as an exit code",
     "For whatever moves traffic elsewhere, keepalived for one: exit code 0 while the dataplane judges by\n"
     "the rules that weir-control owns, 1 while it does not, with a line for each reason, and 3 when\n"
     "weir-control has not answered within three seconds. A dataplane without weir-control goes on under\n"
     "its last rules. Warnings leave the exit code as it is, unless --strict is given.",
     "weirctl health"},
    {"list", "show or change lists", "Shows the lists, or changes one of them while traffic flows.",
     "weirctl list show\n  weirctl list add bans 203.0.113.9 --ttl 10m"},
    {"list show", "the lists, or the entries of one",
     "Without a name: every list with its size, its hits and when it last changed. With a name: the first\n"
     "thousand entries of that list. `list export` writes all of them to a file.",
     "weirctl list show\n  weirctl list show bans"},
    {"list add", "add entries to a list",
     "Adds addresses or prefixes to a list. When the command returns, the entries are stored and in force "
     "on\n"
     "every worker. Adding an entry again refreshes its time to live. On a list with a file they stand\n"
     "beside the content of the file and survive its reload. `-` reads entries from standard input, one a\n"
     "line. A prefix shorter than shortest_prefix of the list is refused unless --force is given.",
     "weirctl list add bans 203.0.113.9 2001:db8:bad::/48 --ttl 10m --comment \"ssh\""},
    {"list del", "delete entries that were added",
     "Deletes addresses or prefixes that were added with `list add`. If one of them is not there, nothing "
     "is\n"
     "deleted and the exit code is 1. `-` reads entries from standard input, one a line.",
     "weirctl list del bans 203.0.113.9"},
    {"list replace", "replace the whole content of a list by a file",
     "Reads the file in any format that a list may have and puts its content in the place of the old one, "
     "as\n"
     "a new generation. What a guard objects to (shortest_prefix, max_change, max_covered,\n"
     "max_nested, max_lengths) is refused, and its lines are named, unless --force is given.",
     "weirctl list replace drop drop_v4.json"},
    {"list export", "write the content of a list to a file",
     "weir-control writes the whole list to the file, one entry a line, in a form that it reads again.",
     "weirctl list export bans /tmp/bans.txt"},
    {"check", "read a configuration and its lists and report every fault",
     "Reads the configuration and every list file that it names, without a running daemon, and reports all\n"
     "faults at once, each with file, line and remedy. Nothing is changed.",
     "weirctl check weir.yaml"},
    {"registers", "write what a configuration puts into the P4 program's registers",
     "Reads the configuration and its lists, without a running daemon, builds the image that a P4 target\n"
     "would get, and writes the registers of p4/acl.p4 to a file of text, one element a line, for targets\n"
     "that weir does not drive itself. What the program cannot do is refused.",
     "weirctl registers weir.yaml --out registers.txt"},
    {"plan", "what an apply would build, and what it would cost",
     "Lists the candidate layouts for the rules with their size, lines per lookup and predicted rate, the\n"
     "one that would be chosen and why, and the memory before, after and needed in between. Without a\n"
     "configuration, the one that weir-control was started with is read again. Nothing is changed.\n"
     "\n"
     "Of a stacked filter for denied hosts it says whether it pays, from the traffic that samples show. "
     "With\n"
     "--apply the rules in force are planned and built anew by what is known of the traffic now.",
     "weirctl plan next.yaml\n  weirctl plan --apply"},
    {"diff", "what an apply would change, or what changed between generations",
     "Compares the lists and the settings of a configuration with those in force, or those of one "
     "generation\n"
     "that is kept with those of another one (without a second number: with those in force): entries added "
     "and\n"
     "removed, with examples, and lines of the configuration. Entries that were added by hand belong to no\n"
     "generation. Nothing is changed. A configuration whose name is a number is ./41.",
     "weirctl diff next.yaml\n  weirctl diff 41 43"},
    {"apply", "make a configuration the next generation",
     "Reads the configuration and its lists, builds an image, and swaps it in while traffic flows. With\n"
     "--confirm the change is taken back after that time unless `weirctl confirm` is called before.\n"
     "What a guard objects to (shortest_prefix, max_change, max_covered, max_nested, max_lengths), and a\n"
     "change that leaves no rule, is refused unless --force is given.",
     "weirctl apply next.yaml --confirm 60s"},
    {"confirm", "keep a change that waits to be confirmed",
     "Keeps the generation that `apply --confirm` made; without this it is taken back.", "weirctl confirm"},
    {"rollback", "return to an earlier generation",
     "Puts the lists of an earlier generation in force again, as a new generation; entries that were added\n"
     "with `list add` stay. Without a number the one before the live one is taken.",
     "weirctl rollback 41"},
    {"generations", "the generations that are kept",
     "Lists the generations that are kept for a rollback with their rules, sizes and build times.",
     "weirctl generations"},
    {"log", "who changed what, and when",
     "The newest changes of rules and entries, the last one last: when, by whom, what, and which generation "
     "that\n"
     "made. It is kept with the rules: 10,000 changes of rules, 100,000 of entries.",
     "weirctl log\n  weirctl log bans --since 2h"},
    {"explain", "what happens to packets of an address, or to one packet, and why",
     "Asks the dataplane's own tables, step by step, and adds what the rules know about the entry, and "
     "every\n"
     "other entry around the address. --packet is a frame in hexadecimal digits, or the N-th of a capture: "
     "what\n"
     "it is comes before the lists, and the port that it enters says which of its addresses is judged. With\n"
     "--config or --generation it says what those rules would do, which needs no dataplane. The exit code is "
     "1\n"
     "when no list decides.",
     "weirctl explain 203.0.113.9\n  weirctl explain 203.0.113.9 --config next.yaml\n"
     "  weirctl explain --packet in.pcap:17 --port wan"},
    {"stats", "counters of ports, verdicts, lists and workers",
     "Counters since the dataplane was started: ports, verdicts by reason and family, hits by list, "
     "workers,\n"
     "packets by generation. They survive every swap.",
     "weirctl stats"},
    {"drops", "why packets are dropped, and whose",
     "Dropped packets by reason and by list, and addresses that were denied lately (a sample). With --follow "
     "the\n"
     "packets themselves as they are dropped, a line each or into a capture file: port, queue, list, entry "
     "and its\n"
     "comment, and the first 184 bytes. At most some 20,000 a second of each worker are seen; the others "
     "are\n"
     "counted. Traffic waits for none. What packets carry is shown to those who may change rules.",
     "weirctl drops\n  weirctl drops -f --filter \"tcp port 443\"\n"
     "  weirctl drops -f -w denied.pcapng --file-size 100M --files 10"},
    {"top", "a live screen: rates, verdicts, lists, sources, workers",
     "What goes on now, once a second: packets by port, verdict and list, how old each list is, the busiest\n"
     "sources (from samples), what a packet costs in each stage of each worker, the last swaps; what is "
     "wrong\n"
     "comes first. Keys sort, filter and pause, ? lists them, q ends it. While weir-control is away the "
     "screen\n"
     "says since when, and goes on when it is back.\n"
     "\n"
     "Without a terminal, with --once or with --frames the same is printed as text: one frame, or as many "
     "as\n"
     "wanted; with --interval and no number, frames until it is interrupted.",
     "weirctl top\n  weirctl top -n 10 -i 5 --filter 203.0.113.0/24"},
    {"offenders", "what misbehaved lately, and how well that is remembered",
     "The memory of offenders: its filter and size, how often it errs as wanted, predicted and measured, "
     "what\n"
     "its classifier learned and looks at, groups of scores, bans. Marks are made by `weirctl offender`.",
     "weirctl offenders"},
    {"offender", "mark and unmark offenders, train and keep the classifier",
     "Says of addresses that they are offenders or are not, lets the classifier learn now, and writes what "
     "it learned.",
     "weirctl offender mark 203.0.113.9"},
    {"offender mark", "say that addresses are offenders",
     "The memory takes packets of these addresses for an offender's until they are unmarked, over restarts\n"
     "and trainings. Lists have their word before.",
     "weirctl offender mark 203.0.113.9"},
    {"offender unmark", "say that addresses are no offenders",
     "Takes a mark back. What the memory knows of the address does not count until it is told of it again.",
     "weirctl offender unmark 203.0.113.9"},
    {"offender train", "learn from the samples now",
     "Trains the classifier with the samples that there are, and says what it learned or why it did not. "
     "The\n"
     "next image has it, and the memory begins empty.",
     "weirctl offender train"},
    {"offender model", "write what the classifier learned to a file",
     "Another gate begins with it under the key offenders.model, and needs no samples of its own.",
     "weirctl offender model offenders.model"},
    {"doctor", "look for what is wrong here and say what to do",
     "Looks at hugepages, memory, sockets, permissions, versions, kernel features and files that a killed\n"
     "process left behind, and says a remedy for whatever is wrong. Works without a daemon. The exit code\n"
     "is 1 when something is wrong that keeps weir from working.",
     "weirctl doctor"},
    {"completion", "print a completion script for bash or zsh",
     "Prints a script that completes verbs, options and files.",
     "source <(weirctl completion)\n"
     "  weirctl completion zsh > /usr/local/share/zsh/site-functions/_weirctl"},
}};

} // namespace

const VerbHelp &help_of(std::string_view name) {
  const auto found =
      std::find_if(verb_helps.begin(), verb_helps.end(), [&](const VerbHelp &v) { return v.name == name; });
  assert(found != verb_helps.end());
  return *found;
}

} // namespace weir::cli
