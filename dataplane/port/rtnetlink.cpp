#include "dataplane/port/rtnetlink.hpp"

#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

namespace weir::dataplane {
namespace {

struct Close {
  void operator()(mnl_socket *socket) const noexcept { mnl_socket_close(socket); }
};
using Socket = std::unique_ptr<mnl_socket, Close>;

std::unexpected<Error> failed() {
  const Errc code = errno == ENOENT || errno == ENODEV ? Errc::not_found
                    : errno == EEXIST                  ? Errc::refused
                                                       : Errc::io;
  return fail(code,
              errno == EPERM ? "Operation not permitted: CAP_NET_ADMIN is needed" : std::strerror(errno));
}

Result<Socket> open_socket() {
  Socket socket(mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC));
  if (!socket || mnl_socket_bind(socket.get(), 0, MNL_SOCKET_AUTOPID) < 0) return failed();
  const timeval patience{2, 0};
  setsockopt(mnl_socket_get_fd(socket.get()), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return socket;
}

int shown(const nlmsghdr *message, void *see) {
  const auto &to = *static_cast<const std::function<void(const nlmsghdr *)> *>(see);
  if (to) to(message);
  return MNL_CB_OK;
}

} // namespace

RtnetlinkMessage::RtnetlinkMessage(std::uint16_t type, std::uint16_t flags)
    : message_(mnl_nlmsg_put_header(bytes_.data())) {
  message_->nlmsg_type = type;
  message_->nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
  message_->nlmsg_seq = 1;
}

void *RtnetlinkMessage::extra(std::size_t bytes) { return mnl_nlmsg_put_extra_header(message_, bytes); }

Status RtnetlinkMessage::send(const std::function<void(const nlmsghdr *)> &see) {
  const Socket socket = TRY(open_socket());
  if (mnl_socket_sendto(socket.get(), message_, message_->nlmsg_len) < 0) return failed();
  std::vector<char> answer(32'768);
  auto to = see;
  for (int more = MNL_CB_OK; more > MNL_CB_STOP;) {
    const ssize_t got = mnl_socket_recvfrom(socket.get(), answer.data(), answer.size());
    if (got < 0) return failed();
    more = mnl_cb_run(answer.data(), static_cast<std::size_t>(got), 1, mnl_socket_get_portid(socket.get()),
                      shown, &to);
    if (more < 0) return failed();
  }
  return {};
}

} // namespace weir::dataplane
