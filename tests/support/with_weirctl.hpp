// weirctl in a folder of the test, with its temporary files there too.
#pragma once

#include "tests/support/process.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::test {

class WithWeirctl : public testing::Test {
protected:
  WithWeirctl() { std::filesystem::create_directories(dir_ / "tmp"); }

  // Its exit code, or -1 after two minutes.
  int run(const std::vector<std::string> &arguments) {
    std::vector<std::string> command{program("weirctl")};
    command.insert(command.end(), arguments.begin(), arguments.end());
    Child::Setup setup{
        .arguments = command, .output = dir_ / "out", .errors = dir_ / "err", .directory = dir_.path()};
    setup.environment.emplace_back("TMPDIR", dir_ / "tmp");
    Child child(setup);
    const auto code = child.wait(std::chrono::seconds(120));
    said = read_text(dir_ / "out") + read_text(dir_ / "err");
    return code.value_or(-1);
  }

  TempDir dir_;
  std::string said;
};

} // namespace weir::test
