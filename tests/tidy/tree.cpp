#include "tests/tidy/tree.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace weir::tidy {
namespace {

bool is_text(const std::filesystem::path &path) {
  static const std::vector<std::string> endings{".hpp", ".cpp",    ".py",   ".sh", ".md",   ".yaml",
                                                ".yml", ".txt",    ".json", ".p4", ".1",    ".awk",
                                                ".gp",  ".netset", ".mk",   ".in", ".list", ".spec"};
  const std::string ending = path.extension();
  return ending.empty() || std::ranges::find(endings, ending) != endings.end();
}

std::string read_file(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

const File *Tree::find(const std::string &path) const {
  const auto it = std::ranges::find(files, path, &File::path);
  return it == files.end() ? nullptr : &*it;
}

Tree read_tree(const std::filesystem::path &root) {
  namespace fs = std::filesystem;
  Tree tree{.root = root, .files = {}, .top = {}};
  for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator(); ++it) {
    const std::string path = fs::relative(it->path(), root).generic_string();
    if (it.depth() == 0) {
      if (path == "build" || path == ".git") {
        if (it->is_directory()) it.disable_recursion_pending();
        continue;
      }
      tree.top.push_back(path);
    }
    if (!it->is_regular_file() || !is_text(it->path())) continue;
    std::string text = read_file(it->path());
    if (text.find('\0') != std::string::npos) continue;
    const bool source = path.ends_with(".hpp") || path.ends_with(".cpp");
    tree.files.push_back({path, text, source ? without_comments(text) : std::string()});
  }
  std::ranges::sort(tree.files, {}, &File::path);
  return tree;
}

std::string without_comments(const std::string &text) {
  enum { code, line_comment, block_comment, literal } state = code;
  std::string out = text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : '\0';
    switch (state) {
    case code:
      if (c == '/' && next == '/')
        state = line_comment;
      else if (c == '/' && next == '*')
        state = block_comment;
      else if (c == '"')
        state = literal;
      if (state == line_comment || state == block_comment) out[i] = ' ';
      break;
    case line_comment:
      if (c == '\n')
        state = code;
      else
        out[i] = ' ';
      break;
    case block_comment:
      if (c != '\n') out[i] = ' ';
      if (c == '*' && next == '/') {
        out[++i] = ' ';
        state = code;
      }
      break;
    case literal:
      if (c == '\\') {
        out[i] = ' ';
        if (next != '\n') out[++i] = ' ';
      } else if (c == '"' || c == '\n') { // a raw string may run on: blanking what follows is harmless
        state = code;
      } else {
        out[i] = ' ';
      }
      break;
    }
  }
  return out;
}

std::vector<Include> includes_of(const File &file) {
  std::vector<Include> found;
  std::istringstream lines(file.text);
  std::string line;
  for (unsigned number = 1; std::getline(lines, line); ++number) {
    const std::size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line.compare(hash, 1, "#") != 0) continue;
    const std::size_t word = line.find("include", hash);
    if (word == std::string::npos) continue;
    const std::size_t open = line.find_first_of("<\"", word);
    if (open == std::string::npos) continue;
    const std::size_t close = line.find(line[open] == '<' ? '>' : '"', open + 1);
    if (close == std::string::npos) continue;
    found.push_back({line.substr(open + 1, close - open - 1), line[open] == '"', number});
  }
  return found;
}

const File *resolve(const Tree &tree, const File &from, const Include &include) {
  for (const std::string &base : {std::string("include/"), std::string(),
                                  std::filesystem::path(from.path).parent_path().generic_string() + "/"})
    if (const File *file = tree.find(base + include.name)) return file;
  return nullptr;
}

void walk_includes(const Tree &tree, const File &from,
                   const std::function<void(const File &, const Include &)> &visit) {
  std::set<const File *> seen{&from};
  std::vector<const File *> open{&from};
  while (!open.empty()) {
    const File *file = open.back();
    open.pop_back();
    for (const Include &include : includes_of(*file)) {
      visit(*file, include);
      const File *next = resolve(tree, *file, include);
      if (next && seen.insert(next).second) open.push_back(next);
    }
  }
}

} // namespace weir::tidy
