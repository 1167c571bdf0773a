#include "tests/support/unix_socket.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <vector>

namespace weir::test {

int connect_to(const std::filesystem::path &path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address), 0) << path;
  return fd;
}

void send_with_fds(int to, const std::string &text, std::span<const int> fds) {
  iovec part{const_cast<char *>(text.data()), text.size()};
  std::vector<char> control(CMSG_SPACE(fds.size_bytes()));
  msghdr head{};
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  head.msg_control = control.data();
  head.msg_controllen = control.size();
  cmsghdr *rights = CMSG_FIRSTHDR(&head);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  EXPECT_EQ(sendmsg(to, &head, MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

} // namespace weir::test
