#include "control/cli/completion.hpp"

#include "control/cli/options.hpp"

#include <fmt/format.h>

#include <set>

namespace weir::cli {

std::string bash_completion() {
  std::set<std::string> verbs;
  std::set<std::string> list_verbs;
  std::string cases;
  for (const VerbWords &words : verb_words()) {
    const std::size_t space = words.verb.find(' ');
    verbs.insert(words.verb.substr(0, space));
    if (space != std::string::npos) list_verbs.insert(words.verb.substr(space + 1));
    cases += fmt::format("    \"{}\") options=\"{}\" ;;\n", words.verb, fmt::join(words.options, " "));
  }
  return fmt::format(R"bash(# bash completion for weirctl
_weirctl() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} verb="" options="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in
    -s | --socket) ((i++)) ;;
    -*) ;;
    *) if [ -z "$verb" ]; then verb=${{COMP_WORDS[i]}}; elif [ "$verb" = list ]; then verb="list ${{COMP_WORDS[i]}}"; fi ;;
    esac
  done
  case $verb in
{}  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "${{options:---json --socket --help --version}}" -- "$word")
  elif [ -z "$verb" ]; then
    mapfile -t COMPREPLY < <(compgen -W "{}" -- "$word")
  elif [ "$verb" = list ]; then
    mapfile -t COMPREPLY < <(compgen -W "{}" -- "$word")
  elif [[ $verb == "list "* && $before == "${{verb#list }}" ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(weirctl list show 2>/dev/null | awk 'NR > 1 {{print $1}}')" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}}
complete -o filenames -F _weirctl weirctl
)bash",
                     cases, fmt::join(verbs, " "), fmt::join(list_verbs, " "));
}

} // namespace weir::cli
