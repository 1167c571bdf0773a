// A checkout as the laws see it: every text file with its lines, without build/ and .git/.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace weir::tidy {

struct File {
  std::string path; // from the top, with slashes
  std::string text;
  std::string code; // the text with comments and string literals blanked; lines keep their numbers

  [[nodiscard]] bool is_header() const { return path.ends_with(".hpp"); }
  [[nodiscard]] bool is_source() const { return is_header() || path.ends_with(".cpp"); }
  [[nodiscard]] bool in(const std::string &folder) const { return path.starts_with(folder + "/"); }
};

struct Tree {
  std::filesystem::path root;
  std::vector<File> files;
  std::vector<std::string> top; // names at the top level

  [[nodiscard]] const File *find(const std::string &path) const;
};

[[nodiscard]] Tree read_tree(const std::filesystem::path &root);

[[nodiscard]] std::string without_comments(const std::string &text);

struct Include {
  std::string name;
  bool quoted = false;
  unsigned line = 0;
};
[[nodiscard]] std::vector<Include> includes_of(const File &file);

// The file of this tree that is included there; null for one from elsewhere.
[[nodiscard]] const File *resolve(const Tree &tree, const File &from, const Include &include);

// Walks from `from` through the tree's own headers; calls `visit(file, include)` for every include directive
// on the way.
void walk_includes(const Tree &tree, const File &from,
                   const std::function<void(const File &, const Include &)> &visit);

// "path:line: what" for each place where a law is broken.
using Breaches = std::vector<std::string>;

struct Law {
  std::string name; // as a test name
  std::function<Breaches(const Tree &)> breaches;
  // A small tree that breaks the law: (path, text), and the path the breach must name.
  std::vector<std::pair<std::string, std::string>> counterexample;
  std::string offender;
};

[[nodiscard]] const std::vector<Law> &laws();

} // namespace weir::tidy
