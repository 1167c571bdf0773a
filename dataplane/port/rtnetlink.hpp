// Questions and orders to the kernel about network interfaces: one message there, its answer back. By libmnl.
#pragma once

#include "weir/base/result.hpp"

#include <array>
#include <cstdint>
#include <functional>

struct nlmsghdr;

namespace weir::dataplane {

// A message to the kernel, made of a header of rtnetlink's and attributes.
class RtnetlinkMessage {
public:
  RtnetlinkMessage(std::uint16_t type, std::uint16_t flags);
  // The header behind that of netlink, all zeros at first: ifinfomsg, tcmsg.
  template <class Header> [[nodiscard]] Header &header() {
    return *static_cast<Header *>(extra(sizeof(Header)));
  }
  [[nodiscard]] nlmsghdr *get() noexcept { return message_; }

  // Sends it and waits for the answer, at most two seconds. `see` is shown what the kernel tells. Errors: io, with the
  // kernel's reason alone; not_found for what is not there, refused for what is there already, both as errno has them.
  [[nodiscard]] Status send(const std::function<void(const nlmsghdr *)> &see = {});

private:
  [[nodiscard]] void *extra(std::size_t bytes);
  alignas(8) std::array<char, 4096> bytes_{};
  nlmsghdr *message_;
};

} // namespace weir::dataplane
