// The text of weir.yaml as a tree of values, each with its line. What the keys mean is the business of the sections that
// read the tree; document.cpp is the only file that knows YAML.
#pragma once

#include "weir/base/result.hpp"

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::config {

struct Node {
  enum class Kind : std::uint8_t { nothing, scalar, list, map };
  struct Pair {
    const Node *key, *value;
  };

  Kind kind = Kind::nothing;
  int line = 1;
  std::string text;                // of a scalar
  std::vector<const Node *> items; // of a list
  std::vector<Pair> pairs;         // of a map, as they were written: a key may stand there twice

  [[nodiscard]] bool is_nothing() const noexcept { return kind == Kind::nothing; }
  [[nodiscard]] bool is_scalar() const noexcept { return kind == Kind::scalar; }
  [[nodiscard]] bool is_list() const noexcept { return kind == Kind::list; }
  [[nodiscard]] bool is_map() const noexcept { return kind == Kind::map; }
  [[nodiscard]] bool has(std::string_view key) const noexcept;
};

// Owns its nodes. An alias is a second pointer to the node of its anchor, so that a document is never larger than its
// text; where an alias stands inside its own anchor the tree has a circle.
class Document {
public:
  // An error with file and line for what is not YAML, and for a second document in the file: nobody would read it.
  [[nodiscard]] static Result<Document> parse(const std::string &text, const std::filesystem::path &name);

  [[nodiscard]] const Node &root() const noexcept { return *root_; } // kind nothing: an empty file

private:
  explicit Document(std::deque<Node> nodes, const Node *root) : nodes_(std::move(nodes)), root_(root) {}

  std::deque<Node> nodes_; // which do not move
  const Node *root_;
};

} // namespace weir::config
