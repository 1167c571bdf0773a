#include "control/cli/completion.hpp"

#include "control/cli/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

namespace weir::cli {
namespace {

using Words = std::set<std::string>;

struct Grammar {
  Words verbs;
  std::map<std::string, Words> below; // list -> show, add, ...
  std::vector<VerbWords> all = verb_words();

  Grammar() {
    for (const VerbWords &words : all) {
      const std::size_t space = words.verb.find(' ');
      verbs.insert(words.verb.substr(0, space));
      if (space != std::string::npos) below[words.verb.substr(0, space)].insert(words.verb.substr(space + 1));
    }
  }
  [[nodiscard]] Words parents() const {
    Words out;
    for (const auto &[parent, children] : below) out.insert(parent);
    return out;
  }
};

std::string bash_completion() {
  const Grammar grammar;
  std::string cases, below;
  for (const VerbWords &words : grammar.all)
    cases += fmt::format("    \"{}\") options=\"{}\" ;;\n", words.verb, fmt::join(words.options, " "));
  for (const auto &[parent, children] : grammar.below)
    below += fmt::format("  elif [ \"$verb\" = {} ]; then\n"
                         "    mapfile -t COMPREPLY < <(compgen -W \"{}\" -- \"$word\")\n",
                         parent, fmt::join(children, " "));
  return fmt::format(R"bash(# bash completion for weirctl
_weirctl() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} verb="" options="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in
    -s | --socket) ((i++)) ;;
    -*) ;;
    *)
      case $verb in
      "") verb=${{COMP_WORDS[i]}} ;;
      {}) verb="$verb ${{COMP_WORDS[i]}}" ;;
      esac
      ;;
    esac
  done
  case $verb in
{}  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "${{options:---json --socket --help --version}}" -- "$word")
  elif [ -z "$verb" ]; then
    mapfile -t COMPREPLY < <(compgen -W "{}" -- "$word")
{}  elif [[ $verb == "list "* && $before == "${{verb#list }}" ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(weirctl list show 2>/dev/null | awk 'NR > 1 {{print $1}}')" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}}
complete -o filenames -F _weirctl weirctl
)bash",
                     fmt::join(grammar.parents(), " | "), cases, fmt::join(grammar.verbs, " "), below);
}

std::string zsh_completion() {
  const Grammar grammar;
  std::string cases, below;
  for (const VerbWords &words : grammar.all)
    cases += fmt::format("    \"{}\") options=({}) ;;\n", words.verb, fmt::join(words.options, " "));
  for (const auto &[parent, children] : grammar.below)
    below +=
        fmt::format("  elif [[ $verb == {} ]]; then\n    compadd -- {}\n", parent, fmt::join(children, " "));
  return fmt::format(R"zsh(#compdef weirctl
# zsh completion for weirctl
_weirctl() {{
  local verb="" i
  local -a options
  options=(--json --socket --help --version)
  for ((i = 2; i < CURRENT; i++)); do
    case ${{words[i]}} in
    -s|--socket) ((i++)) ;;
    -*) ;;
    *)
      case $verb in
      "") verb=${{words[i]}} ;;
      {}) verb="$verb ${{words[i]}}" ;;
      esac
      ;;
    esac
  done
  case $verb in
{}  esac
  if [[ ${{words[CURRENT]}} == -* ]]; then
    compadd -- $options
  elif [[ -z $verb ]]; then
    compadd -- {}
{}  elif [[ $verb == "list "* && ${{words[CURRENT - 1]}} == "${{verb#list }}" ]]; then
    compadd -- $(weirctl list show 2>/dev/null | awk 'NR > 1 {{print $1}}')
  else
    _files
  fi
}}
if [[ $funcstack[1] == _weirctl ]]; then
  _weirctl "$@"
else
  compdef _weirctl weirctl
fi
)zsh",
                     fmt::join(grammar.parents(), "|"), cases, fmt::join(grammar.verbs, " "), below);
}

} // namespace

std::string completion_for(std::string_view shell) {
  return shell == "zsh" ? zsh_completion() : bash_completion();
}

} // namespace weir::cli
