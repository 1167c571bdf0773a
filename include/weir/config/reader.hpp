// One reading of a configuration: values out of the tree that document.hpp makes of it. Collects every fault instead of
// stopping at the first. For the files that read a section each (sections.hpp).
#pragma once

#include "weir/config/check.hpp"
#include "weir/config/config.hpp"
#include "weir/config/document.hpp"
#include "weir/config/groups.hpp"
#include "weir/config/values.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::config {

class Reader {
public:
  // Takes what stands at a key; the text is the way to it, such as "ports[1].name".
  using Read = std::function<void(const Node &, const std::string &)>;
  struct Field {
    std::string_view key;
    Read read;
  };

  explicit Reader(const std::filesystem::path &file) : faults(file.string()), folder_(file.parent_path()) {}

  Config config;
  Groups groups;
  Places places;
  Faults faults;

  void fault(const Node &at, const std::string &key, std::string_view sentence) {
    faults.add(at.line, key, sentence);
  }

  // Calls the field of each key; unknown and repeated keys are faults.
  void map(const Node &node, const std::string &path, std::span<const Field> fields);
  void map(const Node &node, const std::string &path, std::initializer_list<Field> fields) {
    map(node, path, std::span(fields.begin(), fields.size()));
  }
  // Calls `each` for the items of a list.
  void sequence(const Node &node, const std::string &path, const Read &each);
  std::optional<std::string> scalar(const Node &node, const std::string &path);
  std::optional<Prefix> prefix(const Node &node, const std::string &path);

  // What follows makes readers of a value, which write to `out` when it is right.
  [[nodiscard]] Read text(std::string &out);
  [[nodiscard]] Read texts(std::vector<std::string> &out);
  [[nodiscard]] Read prefixes(std::vector<Prefix> &out);
  [[nodiscard]] Read number(unsigned &out, unsigned low, unsigned high);
  [[nodiscard]] Read boolean(bool &out);
  [[nodiscard]] Read verdict(Verdict &out);
  [[nodiscard]] Read folder(std::filesystem::path &out); // below the folder of the configuration
  [[nodiscard]] Read file(std::filesystem::path &out);   // likewise; needs a name
  [[nodiscard]] Read group(std::string &out);
  [[nodiscard]] Read budget(double &out); // a share of questions
  [[nodiscard]] Read later(std::string remedy);

  template <class Enum> [[nodiscard]] Read word(Enum &out, std::vector<Word<Enum>> words) {
    return [&out, words = std::move(words), this](const Node &n, const std::string &path) {
      const auto s = scalar(n, path);
      if (!s) return;
      std::vector<std::string_view> known;
      for (const Word<Enum> &w : words) {
        if (w.word == *s) return out = w.value, void();
        known.push_back(w.word);
      }
      unknown_word(n, path, *s, known);
    };
  }
  // A word that stands for `instead`, or what `read` takes.
  template <class Value>
  [[nodiscard]] Read or_word(std::string_view word, Value &out, Value instead, Read read) {
    return [&out, word, instead = std::move(instead), read = std::move(read)](const Node &n,
                                                                              const std::string &path) {
      if (n.is_scalar() && n.text == word)
        out = instead;
      else
        read(n, path);
    };
  }
  // Notes the line besides reading.
  template <class Line> [[nodiscard]] static Read noted(Line &line, Read read) {
    return [&line, read = std::move(read)](const Node &n, const std::string &path) {
      line = n.line;
      read(n, path);
    };
  }
  // What `parse` makes of the text, or the fault that it returns.
  template <class Value, class Parse> [[nodiscard]] Read parsed(Value &out, Parse parse) {
    return [&out, parse, this](const Node &n, const std::string &path) {
      const auto s = scalar(n, path);
      if (!s) return;
      const auto value = parse(*s);
      if (!value) return fault(n, path, value.error().message);
      out = *value;
    };
  }
  template <class Value> [[nodiscard]] Read duration(Value &out) { return parsed(out, parse_duration); }
  template <class Value> [[nodiscard]] Read share(Value &out) { return parsed(out, parse_share); }
  // A whole number of a type of its own.
  template <class Value> [[nodiscard]] Read whole(Value &out, std::uint64_t low, std::uint64_t high) {
    return [&out, low, high, this](const Node &n, const std::string &path) {
      if (const auto value = whole_number(n, path, low, high)) out = static_cast<Value>(*value);
    };
  }
  // {ipv4: VALUE, ipv6: VALUE}
  template <class Value> [[nodiscard]] Read lengths(Value &v4, Value &v6) {
    return families(v4, v6, parse_length);
  }
  template <class Value> [[nodiscard]] Read covered(Value &v4, Value &v6) {
    return families(v4, v6, parse_covered);
  }
  template <class Value> [[nodiscard]] Read counts(Value &v4, Value &v6) {
    return families(v4, v6, parse_count);
  }

private:
  template <class Value, class Parse> Read families(Value &v4, Value &v6, Parse parse) {
    return [&v4, &v6, parse, this](const Node &n, const std::string &path) {
      const auto of = [parse](unsigned bits) {
        return [parse, bits](const std::string &text) { return parse(text, bits); };
      };
      map(n, path, {{"ipv4", parsed(v4, of(32))}, {"ipv6", parsed(v6, of(128))}});
    };
  }
  std::optional<std::uint64_t> whole_number(const Node &node, const std::string &path, std::uint64_t low,
                                            std::uint64_t high);
  void unknown_word(const Node &node, const std::string &path, const std::string &word,
                    std::span<const std::string_view> known);

  std::filesystem::path folder_;
};

} // namespace weir::config
