#include "p4/swx/spec.hpp"

#include "p4/swx/operands.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <sstream>

namespace weir::p4::swx {
namespace {

// The words of each line that says anything.
std::vector<Words> lines_of(std::string_view text) {
  std::vector<Words> lines;
  std::istringstream stream{std::string(text)};
  std::string line;
  for (unsigned number = 1; std::getline(stream, line); ++number) {
    Words out{{}, number};
    std::istringstream words(line);
    for (std::string word; words >> word && word[0] != ';' && word[0] != '#';) out.words.push_back(word);
    if (!out.words.empty()) lines.push_back(std::move(out));
  }
  return lines;
}

struct Remedy {
  std::string_view keyword;
  std::string_view remedy;
};

constexpr Remedy refused_declarations[] = {
    {"extobj", "extern objects are not taken: compute it with instructions"},
    {"learner", "learner tables are not taken: keep the state in a register array"},
    {"selector", "selector tables are not taken: choose with a hash and a register array"},
    {"metarray", "meters are not taken: count in a register array"},
    {"rss", "Toeplitz hashes are not taken: use jhash or crc32"},
};

class Parser {
public:
  explicit Parser(std::string file) { spec_.file = std::move(file); }

  Result<Spec> parse(std::string_view text);

private:
  // A declaration in braces whose inside needs names that may be declared further down.
  struct Later {
    Words head;
    std::vector<Words> inside;
  };

  Status take_declaration();
  Status take_struct();
  Status take_header(const Words &line);
  Status take_metadata(const Words &line);
  Status take_array(const Words &line);
  Result<std::vector<Words>> inside_of_braces();

  Status resolve();
  Status resolve_action(const Later &later);
  Status resolve_table(const Later &later);
  Status take_key(Table &table, const Words &line);
  Status take_action_of_table(Table &table, const Words &line);
  Status take_default_action(Table &table, const Words &line);

  template <class... Args>
  [[nodiscard]] std::unexpected<Error> fail_here(unsigned line, fmt::format_string<Args...> form,
                                                 Args &&...args) const {
    return fail_at(spec_, line, fmt::format(form, std::forward<Args>(args)...));
  }
  template <class List> [[nodiscard]] Status check_new(const List &list, const Words &line) const {
    const auto old = std::ranges::find_if(list, [&](const auto &item) { return item.name == line.words[1]; });
    if (old == list.end()) return {};
    return fail_here(line.line, "{} {} is declared at line {} already", line.words[0], line.words[1],
                     old->line);
  }
  [[nodiscard]] std::optional<unsigned> struct_named(std::string_view name) const {
    const auto found = std::ranges::find(spec_.structs, name, &Struct::name);
    if (found == spec_.structs.end()) return std::nullopt;
    return static_cast<unsigned>(found - spec_.structs.begin());
  }

  Spec spec_;
  std::vector<Words> lines_;
  std::size_t at_ = 0;
  std::vector<Later> actions_, tables_;
  std::optional<Later> apply_;
};

// From the line with the opening brace, which is the current one, to the one before its closing brace.
Result<std::vector<Words>> Parser::inside_of_braces() {
  const unsigned opened = lines_[at_].line;
  std::vector<Words> inside;
  unsigned depth = 1;
  for (++at_; at_ < lines_.size(); ++at_) {
    const std::vector<std::string> &words = lines_[at_].words;
    if (words.back() == "{") ++depth;
    if (words.back() == "}" && --depth == 0) {
      ++at_;
      return inside;
    }
    inside.push_back(lines_[at_]);
  }
  return fail_here(opened, "the brace opened here is not closed: end the block with a line '}}'");
}

Status Parser::take_struct() {
  const Words head = lines_[at_];
  TRY(check_new(spec_.structs, head));
  auto inside = TRY(inside_of_braces());
  Struct type{head.words[1], {}, 0, head.line};
  for (const Words &line : inside) {
    const std::string &width = line.words[0];
    if (width.starts_with("varbit"))
      return fail_here(line.line, "'{}': varbit fields are not taken: extract pieces of fixed size", width);
    const auto bits = width.starts_with("bit<") && width.back() == '>'
                          ? number_of(width.substr(4, width.size() - 5), 16)
                          : std::nullopt;
    if (line.words.size() != 2 || !bits)
      return fail_here(line.line, "'{}' is no field: write bit<N> NAME", fmt::join(line.words, " "));
    if (*bits == 0 || *bits % 8 != 0)
      return fail_here(line.line, "{} has {} bits: DPDK takes multiples of 8", line.words[1], *bits);
    if (std::ranges::find(type.fields, line.words[1], &Field::name) != type.fields.end())
      return fail_here(line.line, "{} has a field {} already", type.name, line.words[1]);
    type.fields.push_back({line.words[1], static_cast<unsigned>(*bits), type.bytes, line.line});
    type.bytes += static_cast<unsigned>(*bits) / 8;
  }
  spec_.structs.push_back(std::move(type));
  return {};
}

Status Parser::take_header(const Words &line) {
  TRY(check_new(spec_.headers, line));
  const auto type = struct_named(line.words.back());
  if (line.words.size() != 4 || line.words[2] != "instanceof" || !type)
    return fail_here(line.line, "'{}': write header NAME instanceof STRUCT, the struct before",
                     fmt::join(line.words, " "));
  if (spec_.structs[*type].fields.empty())
    return fail_here(line.line, "header {} has no fields", line.words[1]);
  spec_.headers.push_back({line.words[1], *type, line.line});
  return {};
}

Status Parser::take_metadata(const Words &line) {
  const auto type = struct_named(line.words.back());
  if (line.words.size() != 3 || line.words[1] != "instanceof" || !type)
    return fail_here(line.line, "'{}': write metadata instanceof STRUCT, the struct before",
                     fmt::join(line.words, " "));
  if (spec_.metadata) return fail_here(line.line, "a program has one metadata struct: leave one line");
  spec_.metadata = type;
  return {};
}

Status Parser::take_array(const Words &line) {
  TRY(check_new(spec_.arrays, line));
  const std::vector<std::string> &words = line.words;
  const bool shaped = words.size() == 6 && words[2] == "size" && words[4] == "initval";
  const auto size = shaped ? number_of(words[3], 32) : std::nullopt;
  const auto initial = shaped ? number_of(words[5]) : std::nullopt;
  if (!size || !initial || *size == 0)
    return fail_here(line.line, "'{}': write regarray NAME size N initval N", fmt::join(words, " "));
  spec_.arrays.push_back({words[1], static_cast<std::uint32_t>(*size), *initial, line.line});
  return {};
}

Status Parser::take_declaration() {
  const Words line = lines_[at_];
  const std::vector<std::string> &words = line.words;
  for (const Remedy &refused : refused_declarations)
    if (words[0] == refused.keyword)
      return fail_here(line.line, "'{}': {}", fmt::join(words, " "), refused.remedy);

  const bool braces = words.back() == "{";
  if (words[0] == "struct" && words.size() == 3 && braces) return take_struct();
  const bool block = (words[0] == "action" && words.size() >= 3) ||
                     (words[0] == "table" && words.size() == 3) || (words[0] == "apply" && words.size() == 2);
  if (block && braces) {
    if (words[0] == "apply" && apply_)
      return fail_here(line.line, "there is an apply block at line {} already", apply_->head.line);
    auto inside = TRY(inside_of_braces());
    if (words[0] == "apply")
      apply_ = Later{line, std::move(inside)};
    else
      (words[0] == "action" ? actions_ : tables_).push_back({line, std::move(inside)});
    return {};
  }
  ++at_;
  if (words.size() >= 2 && words[0] == "header") return take_header(line);
  if (words.size() >= 2 && words[0] == "metadata") return take_metadata(line);
  if (words.size() >= 2 && words[0] == "regarray") return take_array(line);
  return fail_here(line.line,
                   "'{}' is no declaration: struct, header, metadata, regarray, action, table and apply are",
                   fmt::join(words, " "));
}

Status Parser::resolve_action(const Later &later) {
  const std::vector<std::string> &words = later.head.words;
  TRY(check_new(spec_.actions, later.head));
  Action action{words[1], std::nullopt, {}, later.head.line};
  const bool none = words.size() == 5 && words[2] == "args" && words[3] == "none";
  if (words.size() == 6 && words[2] == "args" && words[3] == "instanceof")
    action.arguments = struct_named(words[4]);
  if (!none && !action.arguments)
    return fail_here(later.head.line, "'{}': write action NAME args none {{ or args instanceof STRUCT {{",
                     fmt::join(words, " "));
  auto block = TRY(read_block(spec_, action.arguments, true, later.inside));
  action.block = std::move(block);
  if (action.block.empty())
    return fail_here(later.head.line, "action {} has no instruction: end it with return", action.name);
  spec_.actions.push_back(std::move(action));
  return {};
}

Status Parser::take_key(Table &table, const Words &line) {
  const std::vector<std::string> &words = line.words;
  const auto field = find_field(spec_, std::nullopt, words[0]);
  KeyField key{words[0], field.value_or(FieldRef{}), MatchKind::exact};
  const bool known =
      words.size() == 2 && (words[1] == "exact" || words[1] == "lpm" || words[1] == "wildcard");
  if (!known || !field || field->space == Space::argument)
    return fail_here(line.line, "'{}' is no key: write a field and exact, lpm or wildcard",
                     fmt::join(words, " "));
  if (words[1] != "exact") key.kind = words[1] == "lpm" ? MatchKind::lpm : MatchKind::wildcard;
  table.key.push_back(std::move(key));
  return {};
}

Status Parser::take_action_of_table(Table &table, const Words &line) {
  const std::vector<std::string> &words = line.words;
  const auto action = std::ranges::find(spec_.actions, words[0], &Action::name);
  if (action == spec_.actions.end())
    return fail_here(line.line, "table {} names action '{}', which is not declared", table.name, words[0]);
  TableAction out{static_cast<unsigned>(action - spec_.actions.begin()), true, true};
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "@tableonly")
      out.by_default = false;
    else if (words[i] == "@defaultonly")
      out.entries = false;
    else
      return fail_here(line.line, "'{}' is no mark of an action: @tableonly and @defaultonly are", words[i]);
  }
  table.actions.push_back(out);
  return {};
}

Status Parser::take_default_action(Table &table, const Words &line) {
  std::vector<std::string> words = line.words;
  table.default_is_const = words.back() == "const";
  if (table.default_is_const) words.pop_back();
  if (words.size() < 4 || words[2] != "args")
    return fail_here(line.line, "'{}': write default_action NAME args none", fmt::join(line.words, " "));
  table.default_action = words[1];
  if (words[3] != "none")
    table.default_arguments = fmt::format("{}", fmt::join(words.begin() + 3, words.end(), " "));
  return {};
}

Status Parser::resolve_table(const Later &later) {
  TRY(check_new(spec_.tables, later.head));
  Table table;
  table.name = later.head.words[1];
  table.line = later.head.line;
  std::string section; // key or actions, while inside
  for (const Words &line : later.inside) {
    const std::vector<std::string> &words = line.words;
    Status taken;
    if (!section.empty() && words[0] == "}")
      section.clear();
    else if (section == "key")
      taken = take_key(table, line);
    else if (section == "actions")
      taken = take_action_of_table(table, line);
    else if (words.size() == 2 && words[1] == "{" && (words[0] == "key" || words[0] == "actions"))
      section = words[0];
    else if (words[0] == "default_action")
      taken = take_default_action(table, line);
    else if (const auto size = number_of(words.back(), 32); words[0] == "size" && words.size() == 2 && size)
      table.size = static_cast<std::uint32_t>(*size);
    else
      taken = fail_here(line.line, "'{}' is no part of a table: key, actions, default_action and size are",
                        fmt::join(words, " "));
    if (!taken) return taken;
  }
  const bool has_default = std::ranges::any_of(table.actions, [&](const TableAction &a) {
    return spec_.actions[a.action].name == table.default_action;
  });
  if (!has_default || table.size == 0)
    return fail_here(table.line, "table {} needs a size and a default_action out of its actions", table.name);
  spec_.tables.push_back(std::move(table));
  return {};
}

Status Parser::resolve() {
  const unsigned last = lines_.empty() ? 1 : lines_.back().line;
  if (!spec_.metadata) return fail_here(last, "the program has no metadata: add metadata instanceof STRUCT");
  if (!apply_) return fail_here(last, "the program has no apply block: add apply {{ rx ... tx ... }}");
  for (const Later &action : actions_) TRY(resolve_action(action));
  for (const Later &table : tables_) TRY(resolve_table(table));
  auto apply = TRY(read_block(spec_, std::nullopt, false, apply_->inside));
  spec_.apply = std::move(apply);
  if (spec_.apply.empty() || spec_.apply.front().op != Op::rx)
    return fail_here(apply_->head.line, "apply must begin with rx m.FIELD");
  for (std::size_t i = 1; i < spec_.apply.size(); ++i) {
    const Instruction &instruction = spec_.apply[i];
    if (instruction.op == Op::rx || (instruction.jumps() && instruction.operands[0].number == 0))
      return fail_here(instruction.line, "'{}' takes another packet before this one has left: end with tx",
                       instruction.text);
  }
  return {};
}

Result<Spec> Parser::parse(std::string_view text) {
  lines_ = lines_of(text);
  while (at_ < lines_.size()) TRY(take_declaration());
  TRY(resolve());
  return std::move(spec_);
}

} // namespace

std::optional<unsigned> Spec::header_named(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &Header::name);
  if (found == headers.end()) return std::nullopt;
  return static_cast<unsigned>(found - headers.begin());
}

Result<Spec> parse_spec(std::string_view text, std::string file) {
  return Parser(std::move(file)).parse(text);
}

Result<Spec> read_spec(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Errc::io, fmt::format("{}: cannot be read: check the path", path.string()));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return parse_spec(text, path.string());
}

} // namespace weir::p4::swx
