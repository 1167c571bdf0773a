#include "tests/p4/model/preprocessor.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace weir::test::p4_16 {
namespace {

struct Macro {
  bool takes_arguments = false;
  std::vector<std::string> parameters;
  Tokens body;

  [[nodiscard]] std::optional<std::size_t> parameter(const Token &token) const {
    const auto found = std::ranges::find(parameters, token.text);
    if (!token.is_name() || found == parameters.end()) return std::nullopt;
    return static_cast<std::size_t>(found - parameters.begin());
  }
};

// Sets of macro names, each kept once and known by a number; 0 is the empty set.
class NameSets {
public:
  [[nodiscard]] bool contains(unsigned set, const std::string &name) const {
    return sets_[set].contains(name);
  }
  unsigned with(unsigned set, const std::string &name) {
    std::set<std::string> grown = sets_[set];
    grown.insert(name);
    return keep(std::move(grown));
  }
  unsigned both(unsigned a, unsigned b) {
    if (a == 0 || a == b) return b;
    if (b == 0) return a;
    const auto [at, fresh] = joined_.try_emplace({a, b}, 0);
    if (fresh) {
      std::set<std::string> all = sets_[a];
      all.insert(sets_[b].begin(), sets_[b].end());
      at->second = keep(std::move(all));
    }
    return at->second;
  }
  unsigned common(unsigned a, unsigned b) {
    std::set<std::string> shared;
    std::ranges::set_intersection(sets_[a], sets_[b], std::inserter(shared, shared.end()));
    return keep(std::move(shared));
  }

private:
  unsigned keep(std::set<std::string> names) {
    const auto found = std::ranges::find(sets_, names);
    if (found != sets_.end()) return static_cast<unsigned>(found - sets_.begin());
    sets_.push_back(std::move(names));
    return static_cast<unsigned>(sets_.size() - 1);
  }

  std::vector<std::set<std::string>> sets_{{}};
  std::map<std::pair<unsigned, unsigned>, unsigned> joined_;
};

class Preprocessor {
public:
  Tokens run(std::span<const Token> tokens);

private:
  using Line = std::span<const Token>; // a directive without # and its name

  void directive(Place place, const std::string &name, Line line);
  void conditional(Place place, const std::string &name, Line line);
  void define(Place place, Line line);
  static void include(Place place, Line line);
  [[nodiscard]] bool condition(Place place, Line line);
  [[nodiscard]] const std::string &only_name(Place place, Line line) const;
  [[nodiscard]] bool active() const {
    return std::ranges::all_of(branches_, [](const Branch &b) { return b.active; });
  }

  Tokens expand(std::deque<Token> in);
  std::vector<Tokens> arguments(const Token &call, const Macro &macro, std::deque<Token> &in,
                                unsigned &hidden_at_close);
  Tokens replacement(const Token &call, const Macro &macro, const std::vector<Tokens> &given,
                     unsigned hidden);
  static Token pasted(const Token &left, const Token &right);

  struct Branch {
    Place place;
    bool active, taken, last; // last: after #else
  };
  std::map<std::string, Macro> macros_;
  std::vector<Branch> branches_;
  NameSets hidden_;
};

Tokens Preprocessor::run(std::span<const Token> tokens) {
  Tokens out;
  std::deque<Token> text; // since the last directive
  const auto flush = [&] {
    const Tokens expanded = expand(std::exchange(text, {}));
    out.insert(out.end(), expanded.begin(), expanded.end());
  };
  while (tokens.front().kind != Token::Kind::end) {
    if (!tokens.front().is("#") || !tokens.front().opens_line) {
      if (active()) text.push_back(tokens.front());
      tokens = tokens.subspan(1);
      continue;
    }
    flush();
    std::size_t count = 1;
    while (tokens[count].kind != Token::Kind::end && !tokens[count].opens_line) ++count;
    const Place place = tokens.front().place;
    if (count == 1 || !tokens[1].is_name()) refuse(place, "a directive without a name");
    directive(place, tokens[1].text, tokens.subspan(2, count - 2));
    tokens = tokens.subspan(count);
  }
  flush();
  if (!branches_.empty()) wrong(branches_.back().place, "an #if without its #endif");
  out.push_back(tokens.front());
  return out;
}

void Preprocessor::directive(Place place, const std::string &name, Line line) {
  static const std::set<std::string> conditionals{"if", "ifdef", "ifndef", "elif", "else", "endif"};
  if (conditionals.contains(name)) return conditional(place, name, line);
  if (!active()) return;
  if (name == "define") return define(place, line);
  if (name == "include") return include(place, line);
  if (name == "undef") {
    macros_.erase(only_name(place, line));
    return;
  }
  if (name == "error") {
    std::string text;
    for (const Token &token : line) text += (text.empty() ? "" : " ") + token.text;
    wrong(place, "#error " + text);
  }
  refuse(place, "#" + name);
}

const std::string &Preprocessor::only_name(Place place, Line line) const {
  if (line.size() != 1 || !line[0].is_name()) wrong(place, "one name is needed here");
  return line[0].text;
}

bool Preprocessor::condition(Place place, Line line) {
  std::deque<Token> rest;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i].text != "defined") {
      rest.push_back(line[i]);
      continue;
    }
    const bool open = i + 1 < line.size() && line[i + 1].is("(");
    const std::size_t name = i + (open ? 2 : 1);
    if (name >= line.size() || (open && (name + 1 >= line.size() || !line[name + 1].is(")"))))
      wrong(place, "#if: defined needs a name");
    rest.push_back({Token::Kind::number, false, false, place, macros_.contains(line[name].text) ? "1" : "0"});
    i = name + (open ? 1 : 0);
  }
  const Tokens expanded = expand(std::move(rest));
  return condition_holds(expanded, place);
}

void Preprocessor::conditional(Place place, const std::string &name, Line line) {
  if (name.starts_with("if")) {
    bool holds = false;
    if (active())
      holds = name == "if" ? condition(place, line)
                           : macros_.contains(only_name(place, line)) == (name == "ifdef");
    branches_.push_back({place, holds, holds, false});
    return;
  }
  if (branches_.empty()) wrong(place, "#" + name + " without an #if");
  Branch &branch = branches_.back();
  if (name == "endif") {
    branches_.pop_back();
    return;
  }
  if (branch.last) wrong(place, "#" + name + " after #else");
  branch.active = false; // while the condition is looked at
  const bool outer =
      std::all_of(branches_.begin(), branches_.end() - 1, [](const Branch &b) { return b.active; });
  branch.active = !branch.taken && outer && (name == "else" || condition(place, line));
  branch.taken |= branch.active;
  branch.last = name == "else";
}

void Preprocessor::include(Place place, Line line) {
  std::string name;
  for (const Token &token : line)
    name += token.kind == Token::Kind::text ? '"' + token.text + '"' : token.text;
  if (name != "<core.p4>" && name != "<pna.p4>" && name != "<dpdk/pna.p4>" && name != "\"dpdk/pna.p4\"")
    refuse(place, "#include " + name);
}

void Preprocessor::define(Place place, Line line) {
  if (line.empty() || !line[0].is_name()) wrong(place, "#define needs a name");
  const std::string &name = line[0].text;
  if (macros_.contains(name)) wrong(place, name + " is defined already: #undef it first");
  Macro macro;
  std::size_t at = 1;
  if (at < line.size() && line[at].is("(") && line[at].glued) {
    macro.takes_arguments = true;
    for (++at; at < line.size() && !line[at].is(")"); ++at) {
      if (!macro.parameters.empty() && line[at].is(",")) ++at;
      if (at == line.size() || !line[at].is_name()) wrong(place, name + ": cannot read the parameters");
      macro.parameters.push_back(line[at].text);
    }
    if (at == line.size()) wrong(place, name + ": the parameters are not closed");
    ++at;
  }
  macro.body.assign(line.begin() + static_cast<std::ptrdiff_t>(at), line.end());
  for (const Token &token : macro.body)
    if (token.is("#")) refuse(token.place, "# before a macro's parameter");
  if (!macro.body.empty() && (macro.body.front().is("##") || macro.body.back().is("##")))
    wrong(place, name + ": ## needs something on both sides");
  macros_.emplace(name, std::move(macro));
}

// Prosser's algorithm: what a macro wrote is put back before the rest and read again, each token with
// the names that must stay as they are.
Tokens Preprocessor::expand(std::deque<Token> in) {
  Tokens out;
  while (!in.empty()) {
    Token token = std::move(in.front());
    in.pop_front();
    const auto found = token.is_name() ? macros_.find(token.text) : macros_.end();
    const bool plain = found == macros_.end() || hidden_.contains(token.hidden, token.text) ||
                       (found->second.takes_arguments && (in.empty() || !in.front().is("(")));
    if (plain) {
      out.push_back(std::move(token));
      continue;
    }
    unsigned hidden = token.hidden;
    std::vector<Tokens> given;
    if (found->second.takes_arguments) {
      unsigned at_close = 0;
      given = arguments(token, found->second, in, at_close);
      hidden = hidden_.common(hidden, at_close);
    }
    hidden = hidden_.with(hidden, token.text);
    const Tokens written = replacement(token, found->second, given, hidden);
    in.insert(in.begin(), written.begin(), written.end());
  }
  return out;
}

std::vector<Tokens> Preprocessor::arguments(const Token &call, const Macro &macro, std::deque<Token> &in,
                                            unsigned &hidden_at_close) {
  in.pop_front(); // (
  std::vector<Tokens> given(1);
  for (unsigned depth = 0;; in.pop_front()) {
    if (in.empty()) wrong(call.place, call.text + ": the arguments are not closed");
    const Token &token = in.front();
    if (depth == 0 && token.is(")")) break;
    if (depth == 0 && token.is(",")) {
      given.emplace_back();
      continue;
    }
    if (token.is("(")) ++depth;
    if (token.is(")")) --depth;
    given.back().push_back(token);
  }
  hidden_at_close = in.front().hidden;
  in.pop_front();
  if (macro.parameters.empty() && given.size() == 1 && given[0].empty()) given.clear();
  if (given.size() != macro.parameters.size())
    wrong(call.place, call.text + " takes " + std::to_string(macro.parameters.size()) + " arguments, not " +
                          std::to_string(given.size()));
  return given;
}

Tokens Preprocessor::replacement(const Token &call, const Macro &macro, const std::vector<Tokens> &given,
                                 unsigned hidden) {
  Tokens out;
  const Tokens &body = macro.body;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const bool paste = body[i].is("##");
    if (paste) ++i;
    const bool beside_paste = paste || (i + 1 < body.size() && body[i + 1].is("##"));
    const std::size_t begin = out.size();
    if (const auto parameter = macro.parameter(body[i])) {
      const Tokens &argument = given[*parameter];
      const Tokens put = beside_paste ? argument : expand({argument.begin(), argument.end()});
      if (beside_paste && put.empty()) refuse(call.place, "an empty argument beside ##");
      out.insert(out.end(), put.begin(), put.end());
    } else {
      out.push_back(body[i]);
      out.back().place = {call.place.line, body[i].place.line};
    }
    if (paste) {
      out[begin - 1] = pasted(out[begin - 1], out[begin]);
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(begin));
    }
  }
  for (Token &token : out) {
    token.hidden = hidden_.both(token.hidden, hidden);
    token.opens_line = false;
  }
  return out;
}

Token Preprocessor::pasted(const Token &left, const Token &right) {
  const Tokens joined = lex(left.text + right.text, left.place.line);
  if (joined.size() != 2) wrong(left.place, left.text + " ## " + right.text + " is not one token");
  Token token = joined[0];
  token.place = left.place;
  return token;
}

} // namespace

Tokens preprocess(const Tokens &tokens) { return Preprocessor().run(tokens); }

} // namespace weir::test::p4_16
