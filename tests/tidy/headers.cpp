// Each header, given to the compiler as if it were a program of its own. Compiled for real and not
// only parsed, because then ccache remembers it: lint and check ask the same.
#include "tests/tidy/tree.hpp"

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
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

} // namespace

Breaches headers_that_need_company(const Tree &tree) {
  const std::string flags = "-std=c++23 -march=x86-64-v2 -D_GNU_SOURCE -Iinclude -I. "
                            "$(pkg-config --cflags libdpdk | sed 's/-march=[^ ]*//; s/-I/-isystem /g')";
  std::vector<const File *> headers;
  for (const File &file : tree.files)
    if (file.is_header()) headers.push_back(&file);

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
