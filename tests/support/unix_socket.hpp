// A client of control.sock for tests: connects, and sends text with descriptors beside it.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace weir::test {

// A descriptor that the caller closes; the test fails when nobody listens there.
[[nodiscard]] int connect_to(const std::filesystem::path &socket);
// In one sendmsg(); the descriptors stay open here.
void send_with_fds(int to, const std::string &text, std::span<const int> fds);

} // namespace weir::test
