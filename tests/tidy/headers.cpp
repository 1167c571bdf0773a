// Each header, given to the compiler as if it were a program of its own, unless a source file begins with
// it: then the build has done so. Compiled for real and not only parsed, because then ccache remembers it:
// lint and check ask the same.
#include "tests/tidy/tree.hpp"

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace weir::tidy {
namespace {

std::string output_of(const std::string &command, bool &succeeded) {
  std::string text;
  FILE *pipe = popen(command.c_str(), "r");
  if (!pipe) return "cannot start a shell";
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  succeeded = pclose(pipe) == 0;
  return text;
}

// The headers with which source files begin.
std::set<std::string> compiled_by_the_build(const Tree &tree) {
  std::set<std::string> firsts;
  for (const File &file : tree.files) {
    if (!file.path.ends_with(".cpp")) continue;
    const std::vector<Include> includes = includes_of(file);
    const std::size_t code = file.code.find_first_not_of(" \t\r\n");
    if (includes.empty() || !includes.front().quoted || !file.code.substr(code).starts_with("#include"))
      continue;
    for (const char *base : {"include/", ""}) firsts.insert(base + includes.front().name);
  }
  return firsts;
}

} // namespace

Breaches headers_that_need_company(const Tree &tree) {
  const std::string flags = "-std=c++23 -march=x86-64-v2 -D_GNU_SOURCE -Iinclude -I. "
                            "$(pkg-config --cflags libdpdk | sed 's/-march=[^ ]*//; s/-I/-isystem /g')";
  std::vector<const File *> headers;
  const std::set<std::string> built = compiled_by_the_build(tree);
  for (const File &file : tree.files)
    if (file.is_header() && !built.contains(file.path)) headers.push_back(&file);

  Breaches out;
  std::mutex out_mutex;
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < headers.size();) {
      const std::string stem = "build/headers/" + headers[i]->path;
      std::filesystem::create_directories((tree.root / stem).parent_path());
      std::ofstream(tree.root / (stem + ".cpp")) << "#include \"" << headers[i]->path << "\"\n";
      const std::string command = "cd '" + tree.root.string() + "' && $(command -v ccache) g++ " + flags +
                                  " -c '" + stem + ".cpp' -o '" + stem + ".o' 2>&1";
      bool succeeded = false;
      const std::string said = output_of(command, succeeded);
      const std::lock_guard lock(out_mutex);
      if (!succeeded) out.push_back(headers[i]->path + ": does not compile alone\n" + said.substr(0, 2000));
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  threads.clear();
  return out;
}

} // namespace weir::tidy
