#include "weir/config/reader.hpp"

#include "weir/key/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace weir::config {
namespace {
std::vector<std::string_view> keys_of(std::span<const Reader::Field> fields) {
  std::vector<std::string_view> keys;
  for (const Reader::Field &field : fields) keys.push_back(field.key);
  return keys;
}
} // namespace

void Reader::map(const Node &node, const std::string &path, std::span<const Field> fields) {
  if (!node.is_map())
    return fault(node, path.empty() ? "the file" : path,
                 fmt::format("needs keys and values: {}", fmt::join(keys_of(fields), ", ")));
  std::set<std::string_view> seen;
  for (const Node::Pair &pair : node.pairs) {
    const std::string_view key = pair.key->is_scalar() ? std::string_view(pair.key->text) : "(not a word)";
    const std::string where = path.empty() ? shown(key) : path + "." + shown(key);
    if (!seen.insert(key).second) {
      fault(*pair.key, where, "stands here twice; keep one");
      continue;
    }
    if (const auto field = std::ranges::find(fields, key, &Field::key); field != fields.end())
      field->read(*pair.value, where);
    else
      fault(*pair.key, where,
            fmt::format("unknown key; did you mean \"{}\"?", nearest(key, keys_of(fields))));
  }
}

void Reader::sequence(const Node &node, const std::string &path, const Read &each) {
  if (node.is_nothing()) return;
  if (!node.is_list()) return fault(node, path, "needs a list: [a, b] or one \"- a\" a line");
  std::size_t index = 0;
  for (const Node *item : node.items) each(*item, fmt::format("{}[{}]", path, index++));
}

std::optional<std::string> Reader::scalar(const Node &node, const std::string &path) {
  if (node.is_scalar()) return node.text;
  fault(node, path, node.is_nothing() ? "needs a value" : "needs one value, not a list or map");
  return std::nullopt;
}

std::optional<Prefix> Reader::prefix(const Node &node, const std::string &path) {
  const auto s = scalar(node, path);
  if (!s) return std::nullopt;
  const auto p = parse_prefix(*s);
  if (p) return *p;
  fault(node, path,
        fmt::format("\"{}\": {}; write 192.0.2.1, 192.0.2.0/24 or 2001:db8::/32", shown(*s), p.error()));
  return std::nullopt;
}

std::optional<std::uint64_t> Reader::whole_number(const Node &node, const std::string &path,
                                                  std::uint64_t low, std::uint64_t high) {
  const auto s = scalar(node, path);
  if (!s) return std::nullopt;
  const auto value = parse_number(*s);
  if (value && *value >= low && *value <= high) return value;
  fault(node, path, fmt::format("\"{}\" is not a whole number from {} to {}", shown(*s), low, high));
  return std::nullopt;
}

void Reader::unknown_word(const Node &node, const std::string &path, const std::string &word,
                          std::span<const std::string_view> known) {
  fault(node, path,
        fmt::format("\"{}\" is not one of {}{}", shown(word), fmt::join(known, ", "),
                    did_you_mean(word, known)));
}

Reader::Read Reader::text(std::string &out) {
  return [&out, this](const Node &n, const std::string &path) {
    if (auto s = scalar(n, path)) out = std::move(*s);
  };
}

Reader::Read Reader::texts(std::vector<std::string> &out) {
  return [&out, this](const Node &n, const std::string &path) {
    sequence(n, path, [&](const Node &item, const std::string &where) {
      if (auto s = scalar(item, where)) out.push_back(std::move(*s));
    });
  };
}

Reader::Read Reader::prefixes(std::vector<Prefix> &out) {
  return [&out, this](const Node &n, const std::string &path) {
    sequence(n, path, [&](const Node &item, const std::string &where) {
      if (const auto p = prefix(item, where)) out.push_back(*p);
    });
  };
}

Reader::Read Reader::number(unsigned &out, unsigned low, unsigned high) { return whole(out, low, high); }

Reader::Read Reader::boolean(bool &out) {
  return word<bool>(out, {{"true", true}, {"false", false}, {"yes", true}, {"no", false}});
}

Reader::Read Reader::verdict(Verdict &out) {
  return word<Verdict>(out, {{"pass", Verdict::pass}, {"drop", Verdict::drop}});
}

Reader::Read Reader::folder(std::filesystem::path &out) {
  return [&out, this](const Node &n, const std::string &path) {
    if (const auto s = scalar(n, path)) out = folder_ / *s;
  };
}

Reader::Read Reader::file(std::filesystem::path &out) {
  return [&out, this](const Node &n, const std::string &path) {
    const auto s = scalar(n, path);
    if (s && s->empty()) fault(n, path, "needs the name of a file");
    if (s && !s->empty()) out = folder_ / *s;
  };
}

Reader::Read Reader::group(std::string &out) {
  return [&out, this](const Node &n, const std::string &path) {
    auto s = scalar(n, path);
    if (s && s->empty()) fault(n, path, "needs the name of a group; take the key out instead");
    if (s) out = std::move(*s);
  };
}

Reader::Read Reader::budget(double &out) {
  return [&out, this](const Node &n, const std::string &path) {
    const auto s = scalar(n, path);
    if (!s) return;
    const auto share = parse_share(*s);
    if (share && *share > 0 && *share <= budget_max) return out = *share, void();
    fault(n, path,
          fmt::format("\"{}\" is not a share of questions; write more than 0 and at most {:g}, such "
                      "as 1e-4 or 0.01%",
                      shown(*s), budget_max));
  };
}

Reader::Read Reader::later(std::string remedy) {
  return [remedy = std::move(remedy), this](const Node &n, const std::string &path) {
    fault(n, path, "not available in this version; " + remedy);
  };
}

} // namespace weir::config
