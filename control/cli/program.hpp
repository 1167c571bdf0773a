// weirctl as a function, so that tests can call it.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace weir::cli {

struct Streams {
  std::istream &in;
  std::ostream &out;
  std::ostream &err;
};

// Does what the arguments (without the program's name) say and gives the exit code.
[[nodiscard]] int run(const std::vector<std::string> &arguments, Streams streams);

} // namespace weir::cli
