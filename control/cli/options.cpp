#include "control/cli/options.hpp"

#include "control/cli/help.hpp"
#include "control/cli/text.hpp"
#include "weir/base/version.hpp"
#include "weir/key/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

namespace weir::cli {

namespace {

// Texts as the user wrote them, turned into Options once the line as a whole has the right form.
struct RawWords {
  std::string ttl;
  std::string confirm;
  std::string since;
  double interval_s = 0; // of top; 0: none given
  std::vector<std::string> applies;
  std::vector<std::string> compared; // of diff: a configuration, or one or two generations
};

struct CommandLine {
  CLI::App app{std::string(program_prose), "weirctl"};
  Options options;
  RawWords raw;
  std::map<const CLI::App *, Verb> verb_of;

  CommandLine();

  CLI::App *verb(CLI::App &parent, std::string_view name, Verb verb);
  void add_list_verbs();
  void add_configuration_verbs();
  void add_watching_verbs();
  void add_top();
  void add_drops();
  void add_offender_verbs();
  void add_replay();
};

// A list of verbs shows one line for each; a verb's own help shows the prose.
class SummaryFormatter : public CLI::Formatter {
public:
  std::string make_subcommand(const CLI::App *sub) const override {
    const CLI::App *parent = sub->get_parent();
    const bool nested = parent != nullptr && parent->get_parent() != nullptr;
    const std::string name = nested ? parent->get_name() + ' ' + sub->get_name() : sub->get_name();
    return fmt::format("  {:<14}{}\n", sub->get_name(), help_of(name).summary);
  }
  std::string make_description(const CLI::App *app) const override {
    return CLI::Formatter::make_description(app) + '\n';
  }
};

// Without the description that CLI11 would put into the help.
CLI::Validator count_up_to(std::uint64_t limit) {
  return CLI::Range(std::uint64_t{1}, limit).description("");
}

void describe(CLI::App &app, std::string_view name) {
  const VerbHelp &help = help_of(name);
  app.description(std::string(help.prose));
  app.footer("Example:\n  " + std::string(help.example));
}

CLI::App *CommandLine::verb(CLI::App &parent, std::string_view name, Verb verb) {
  CLI::App *sub = parent.add_subcommand(std::string(name.substr(name.rfind(' ') + 1)));
  describe(*sub, name);
  verb_of[sub] = verb;
  return sub;
}

void CommandLine::add_list_verbs() {
  CLI::App *list = app.add_subcommand("list");
  describe(*list, "list");
  list->require_subcommand(1);

  CLI::App *show = verb(*list, "list show", Verb::list_show);
  show->add_option("LIST", options.list, "name of a list");

  for (const auto &[name, which] :
       {std::pair{"list add", Verb::list_add}, std::pair{"list del", Verb::list_del}}) {
    CLI::App *change = verb(*list, name, which);
    change->add_option("LIST", options.list, "name of a list")->required();
    change->add_option("ENTRY", options.entries, "addresses or prefixes, or - for standard input")
        ->required();
    if (which == Verb::list_del) continue;
    change->add_option("--ttl", raw.ttl, "how long the entries stay, such as 90s, 10m or 1h30m")
        ->type_name("TIME");
    change->add_option("--comment", options.comment, "kept with the entries and shown by explain");
    change->add_flag("--force", options.force, "even prefixes shorter than shortest_prefix");
  }

  CLI::App *replace = verb(*list, "list replace", Verb::list_replace);
  replace->add_option("LIST", options.list, "name of a list")->required();
  replace->add_option("FILE", options.file, "the new content")->required();
  replace->add_flag("--force", options.force,
                    "even beyond what the guards let through, or with no entry at all");

  CLI::App *write = verb(*list, "list export", Verb::list_export);
  write->add_option("LIST", options.list, "name of a list")->required();
  write->add_option("FILE", options.file, "file to write")->required();
}

void CommandLine::add_configuration_verbs() {
  const auto with_config = [this](std::string_view name, Verb which, const char *meaning) {
    CLI::App *sub = verb(app, name, which);
    sub->add_option("CONFIG,-c,--config", options.config, meaning)->type_name("FILE");
    return sub;
  };
  with_config("check", Verb::check, "configuration to read (/etc/weir/weir.yaml)");
  with_config("registers", Verb::registers, "configuration to read (/etc/weir/weir.yaml)")
      ->add_option("-o,--out", options.file, "file to write the registers of the P4 program to")
      ->type_name("FILE")
      ->required();
  with_config("plan", Verb::plan, "configuration to plan for")
      ->add_flag("--apply", options.apply_plan,
                 "build the rules in force anew, by what is known of the traffic now");
  CLI::App *diff = verb(app, "diff", Verb::diff);
  diff->add_option("CONFIG|GENERATION", raw.compared,
                   "a configuration, or one or two generations that are kept")
      ->type_name("");
  diff->add_option("-c,--config", options.config, "configuration to compare with")->type_name("FILE");
  CLI::App *apply = with_config("apply", Verb::apply, "configuration to apply");
  apply->add_option("--confirm", raw.confirm, "take the change back after this time unless confirmed")
      ->type_name("TIME");
  apply->add_flag("--force", options.force,
                  "even beyond what the guards let through, or with no rule at all");

  verb(app, "confirm", Verb::confirm);
  verb(app, "rollback", Verb::rollback)->add_option("GENERATION", options.generation, "one that is kept");
  verb(app, "generations", Verb::generations);
  CLI::App *log = verb(app, "log", Verb::log);
  log->add_option("LIST", options.list, "changes of this list alone");
  log->add_option("-n,--count", options.count, "how many changes, the newest (50; with --since 10,000)")
      ->check(count_up_to(10000));
  log->add_option("--since", raw.since, "changes of this time alone, such as 2h")->type_name("TIME");
}

void CommandLine::add_watching_verbs() {
  verb(app, "status", Verb::status);
  verb(app, "health", Verb::health)->add_flag("--strict", options.strict, "warnings count as well");
  CLI::App *explain = verb(app, "explain", Verb::explain);
  CLI::Option *address = explain->add_option("ADDRESS", options.address, "an IPv4 or IPv6 address");
  CLI::Option *packet = explain
                            ->add_option("-p,--packet", options.packet,
                                         "a frame in hexadecimal digits, or the N-th of a capture")
                            ->type_name("HEX|FILE:N")
                            ->excludes(address);
  explain->add_option("--port", options.port, "the port that the packet enters")
      ->type_name("NAME")
      ->needs(packet);
  explain->add_option("--vlan", options.vlan, "the VLAN that it comes in, where the capture lost the tag")
      ->type_name("1-4094")
      ->check(CLI::Range(1u, 4094u))
      ->needs(packet);
  CLI::Option *config =
      explain->add_option("-c,--config", options.config, "by a configuration that is not in force")
          ->type_name("FILE");
  explain->add_option("-g,--generation", options.generation, "by a generation that is kept")
      ->check(count_up_to(std::numeric_limits<std::uint64_t>::max()))
      ->excludes(config);
  verb(app, "stats", Verb::stats);
  add_drops();
  add_top();
  verb(app, "doctor", Verb::doctor)
      ->add_option("-c,--config", options.config, "configuration to look at (/etc/weir/weir.yaml)")
      ->type_name("FILE");
  verb(app, "completion", Verb::completion)
      ->add_option("SHELL", options.shell, "bash or zsh (bash)")
      ->check(CLI::IsMember({"bash", "zsh"}));
}

void CommandLine::add_top() {
  TopOptions &top = options.top;
  CLI::App *sub = verb(app, "top", Verb::top);
  CLI::Option *once = sub->add_flag("--once", top.once, "one frame of text");
  sub->add_option("-n,--frames", top.frames, "so many frames of text")
      ->check(count_up_to(std::uint64_t{1} << 40))
      ->excludes(once);
  sub->add_option("-i,--interval", raw.interval_s, "seconds between looks, such as 0.5 (1)")
      ->check(CLI::Range(0.1, 3600.0).description(""))
      ->type_name("SECONDS");
  sub->add_option("--filter", top.filter, "rows with this word, or sources in this prefix")
      ->type_name("WORD");
  sub->add_option("--sources", options.count, "how many sources in text or JSON (20)")
      ->check(count_up_to(10000));
}

void CommandLine::add_drops() {
  DropsOptions &drops = options.drops;
  CLI::App *sub = verb(app, "drops", Verb::drops);
  CLI::Option *follow =
      sub->add_flag("-f,--follow", drops.follow, "packets as they are dropped, until interrupted");
  CLI::Option *write = sub->add_option("-w,--write", drops.write, "capture file to write them to (pcapng)")
                           ->type_name("FILE")
                           ->needs(follow);
  sub->add_option("-n,--count", options.count, "end after so many packets")
      ->check(count_up_to(std::uint64_t{1} << 40))
      ->needs(follow);
  sub->add_option("--filter", drops.filter, "packets that tcpdump would take, such as \"tcp port 443\"")
      ->type_name("EXPRESSION")
      ->needs(follow);
  CLI::Option *size =
      sub->add_option("--file-size", drops.file_bytes, "begin the next file at this size, such as 100M")
          ->transform(CLI::AsSizeValue(false).description(""))
          ->type_name("SIZE")
          ->needs(write);
  sub->add_option("--files", drops.files, "how many files are kept then (10)")
      ->check(CLI::Range(2u, 1000u).description(""))
      ->needs(size);
}

void CommandLine::add_offender_verbs() {
  verb(app, "offenders", Verb::offenders);
  CLI::App *offender = app.add_subcommand("offender");
  describe(*offender, "offender");
  offender->require_subcommand(1);
  for (const auto &[name, which] :
       {std::pair{"offender mark", Verb::offender_mark}, std::pair{"offender unmark", Verb::offender_unmark}})
    verb(*offender, name, which)
        ->add_option("ADDRESS", options.entries, "addresses, or - for standard input")
        ->required();
  verb(*offender, "offender train", Verb::offender_train);
  verb(*offender, "offender model", Verb::offender_model)
      ->add_option("FILE", options.file, "file to write")
      ->required();
}

void CommandLine::add_replay() {
  ReplayOptions &replay = options.replay;
  CLI::App *sub = verb(app, "replay", Verb::replay);
  sub->add_option("IN", replay.input, "capture to read, pcap or pcapng, link type Ethernet")->required();
  sub->add_option("-c,--config", replay.config, "configuration with the lists and the policy")
      ->type_name("FILE")
      ->required();
  sub->add_option("-o,--out", replay.out, "capture to write what passes to")->type_name("FILE");
  sub->add_option("-d,--denied", replay.denied, "capture to write what is dropped to")->type_name("FILE");
  sub->add_option("--verdicts", replay.verdicts, "CSV to write: index,generation,verdict,reason,list")
      ->type_name("FILE");
  sub->add_option("--loop", replay.loop, "how often the capture is sent (1)")
      ->check(count_up_to(std::uint64_t{1} << 40));
  sub->add_option("--rate", replay.rate_pps, "packets per second (as fast as they are taken)")
      ->check(count_up_to(std::uint64_t{1} << 40));
  sub->add_option("--target", replay.target, "what judges: weir's own stages, or the P4 program (cpp)")
      ->type_name("cpp|p4")
      ->check(CLI::IsMember({"cpp", "p4"}));
  sub->add_option("--apply", raw.applies,
                  "configuration of the next generation, optionally after so many packets")
      ->type_name("CONFIG[@PACKETS]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

CommandLine::CommandLine() {
  app.formatter(std::make_shared<SummaryFormatter>());
  app.get_formatter()->column_width(34);
  for (const auto &[old, label] : {std::pair{"SUBCOMMAND", "VERB"},
                                   {"Subcommands", "Verbs"},
                                   {"Positionals", "Arguments"},
                                   {"REQUIRED", ""},
                                   {"TEXT", ""},
                                   {"UINT", "N"}})
    app.get_formatter()->label(old, label);
  app.footer(std::string(program_footer));
  app.fallthrough();
  app.require_subcommand(1);
  app.set_version_flag("-V,--version", std::string("weirctl ") + version_text);
  app.add_flag("-j,--json", options.json, "print one JSON object instead of text");
  app.add_option("-s,--socket", options.socket, "control socket (/run/weir/control.sock)")
      ->type_name("SOCKET");
  add_replay();
  add_watching_verbs();
  add_offender_verbs();
  add_list_verbs();
  add_configuration_verbs();
}

// The innermost verb that was recognised, with its names joined: "weirctl list add".
const CLI::App *innermost(const CLI::App &app, std::string &path) {
  path = app.get_name();
  const CLI::App *at = &app;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    path += ' ' + at->get_name();
  }
  return at;
}

std::vector<std::string> option_names(const CLI::App *app) {
  std::vector<std::string> names;
  for (; app != nullptr; app = app->get_parent())
    for (const CLI::Option *option : app->get_options())
      for (const std::string &name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> subcommand_names(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::App *sub : app.get_subcommands([](const CLI::App *) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

std::string joined(const std::vector<std::string> &words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

Exit usage(std::string message, const std::string &path) {
  return {exit_usage, "", fmt::format("weirctl: {}\nSee `{} --help`.\n", message, path)};
}

// Words that nothing on the line takes: a verb or option misspelt, or one argument too many.
Exit unexpected_word(const CommandLine &line) {
  std::string path;
  const CLI::App *at = innermost(line.app, path);
  const std::vector<std::string> extras = line.app.remaining(true);
  const std::string word = extras.empty() ? std::string() : extras.front();
  if (word.starts_with("-")) {
    const std::string name = word.substr(0, word.find('='));
    const std::string guess = nearest(name, option_names(at));
    return usage(fmt::format("unknown option {}{}", name,
                             guess.empty() ? "." : fmt::format("; did you mean {}?", guess)),
                 path);
  }
  const std::vector<std::string> verbs = subcommand_names(*at);
  if (verbs.empty()) return usage(fmt::format("\"{}\" is one argument too many.", word), path);
  const std::string guess = nearest(word, verbs);
  return usage(fmt::format("unknown verb \"{}\"{}", word,
                           guess.empty() ? fmt::format("; there are {}.", joined(verbs))
                                         : fmt::format("; did you mean \"{}\"?", guess)),
               path);
}

Exit missing_word(const CommandLine &line, const std::string &message) {
  std::string path;
  const CLI::App *at = innermost(line.app, path);
  const std::vector<std::string> verbs = subcommand_names(*at);
  // `weirctl lst show` also misses a verb, as "lst" is none
  if (!line.app.remaining(true).empty()) return unexpected_word(line);
  if (!verbs.empty()) return usage(fmt::format("a verb is missing; there are {}.", joined(verbs)), path);
  return usage(message, path);
}

std::variant<ReplayApply, std::string> apply_from(const std::string &text) {
  const std::size_t sign = text.rfind('@');
  if (sign == std::string::npos) return ReplayApply{text, std::nullopt};
  ReplayApply apply{text.substr(0, sign), 0};
  const char *const end = text.data() + text.size();
  std::uint64_t at = 0;
  const auto [stopped, fault] = std::from_chars(text.data() + sign + 1, end, at);
  if (fault != std::errc() || stopped != end || apply.config.empty())
    return fmt::format("--apply {}: expected CONFIG or CONFIG@PACKETS, such as next.yaml@5000.", text);
  apply.at = at;
  return apply;
}

// What CLI11 cannot know: durations, addresses, rising packet numbers. Empty when all is well.
std::string finish_diff(const std::vector<std::string> &words, Options &options) {
  const auto number = [](const std::string &word) {
    std::uint64_t value = 0;
    const auto [stopped, fault] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool whole = fault == std::errc() && stopped == word.data() + word.size() && value > 0;
    return whole ? std::optional(value) : std::nullopt;
  };
  if (words.empty()) return {};
  if (words.size() > 2) return fmt::format("\"{}\" is one argument too many.", words[2]);
  if (!options.config.empty())
    return "diff compares with --config or with what stands behind it, not with both.";
  const auto from = number(words.front());
  if (!from && words.size() == 1) options.config = words.front();
  if (!from && words.size() == 2)
    return fmt::format("\"{}\" is no generation; two words are two generations.", words.front());
  if (!from) return {};
  options.from = from;
  if (words.size() == 1) return {};
  options.to = number(words.back());
  return options.to ? std::string()
                    : fmt::format("\"{}\" is no generation; two words are two generations.", words.back());
}

std::string finish(CommandLine &line) {
  Options &options = line.options;
  const auto duration = [](const char *name, const std::string &text,
                           std::optional<std::chrono::seconds> &into) {
    if (text.empty()) return std::string();
    into = parse_duration(text);
    return into ? std::string()
                : fmt::format("{} {}: not a time; write it like 90s, 10m or 1h30m.", name, text);
  };
  if (auto fault = duration("--ttl", line.raw.ttl, options.ttl); !fault.empty()) return fault;
  if (auto fault = duration("--confirm", line.raw.confirm, options.confirm); !fault.empty()) return fault;
  if (auto fault = duration("--since", line.raw.since, options.since); !fault.empty()) return fault;
  if (line.raw.interval_s > 0)
    options.top.interval = std::chrono::milliseconds(std::lround(line.raw.interval_s * 1000));
  if (auto fault = finish_diff(line.raw.compared, options); !fault.empty()) return fault;
  for (const std::string &entry : options.entries) {
    if (entry == "-") continue;
    if (const auto prefix = parse_prefix(entry); !prefix)
      return fmt::format("\"{}\": {}.", entry, prefix.error());
  }
  if (options.verb == Verb::explain && options.address.empty() && options.packet.empty())
    return "explain needs an ADDRESS or a --packet.";
  if (options.verb == Verb::explain && options.packet.empty())
    if (const auto address = parse_address(options.address); !address)
      return fmt::format("\"{}\": {}.", options.address, address.error());
  for (const std::string &text : line.raw.applies) {
    auto apply = apply_from(text);
    if (const auto *fault = std::get_if<std::string>(&apply)) return *fault;
    options.replay.applies.push_back(std::get<ReplayApply>(std::move(apply)));
  }
  std::uint64_t last = 0;
  for (const ReplayApply &apply : options.replay.applies) {
    if (!apply.at) continue;
    if (*apply.at <= last)
      return "--apply: the packet numbers must rise and be at least 1, so that each generation judges some.";
    last = *apply.at;
  }
  return {};
}

} // namespace

std::variant<Options, Exit> parse(const std::vector<std::string> &arguments) {
  CommandLine line;
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    line.app.parse(reversed);
  } catch (const CLI::CallForVersion &call) {
    return Exit{exit_done, std::string(call.what()) + '\n', ""};
  } catch (const CLI::CallForHelp &) {
    return Exit{exit_done, line.app.help(), ""};
  } catch (const CLI::ExtrasError &) {
    return unexpected_word(line);
  } catch (const CLI::RequiredError &fault) {
    return missing_word(line, fault.what() + std::string("."));
  } catch (const CLI::Error &fault) {
    std::string path;
    innermost(line.app, path);
    return usage(fault.what() + std::string("."), path);
  }
  std::string path;
  line.options.verb = line.verb_of.at(innermost(line.app, path));
  if (const std::string fault = finish(line); !fault.empty()) return usage(fault, path);
  return std::move(line.options);
}

std::vector<VerbWords> verb_words() {
  CommandLine line;
  std::vector<VerbWords> words;
  for (const auto &[sub, verb] : line.verb_of) {
    const CLI::App *parent = sub->get_parent();
    std::string name = parent == &line.app ? sub->get_name() : parent->get_name() + ' ' + sub->get_name();
    words.push_back({std::move(name), option_names(sub)});
  }
  std::sort(words.begin(), words.end(),
            [](const VerbWords &a, const VerbWords &b) { return a.verb < b.verb; });
  return words;
}

} // namespace weir::cli
