#include "dataplane/port/kernel_link.hpp"

#include "dataplane/port/rtnetlink.hpp"

#include <fmt/format.h>

#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

namespace weir::dataplane {
namespace {

std::unexpected<Error> named(const std::string &name, const char *what, const Error &error) {
  return fail(error.code, fmt::format("interface {}: {}: {}", name, what, error.message));
}

int read_attribute(const nlattr *attribute, void *into) {
  KernelLink &link = *static_cast<KernelLink *>(into);
  switch (mnl_attr_get_type(attribute)) {
  case IFLA_MTU: link.mtu = mnl_attr_get_u32(attribute); break;
  case IFLA_MIN_MTU: link.mtu_min = mnl_attr_get_u32(attribute); break;
  case IFLA_MAX_MTU: link.mtu_max = mnl_attr_get_u32(attribute); break;
  default: break;
  }
  return MNL_CB_OK;
}

void read_attributes(const nlmsghdr *message, KernelLink &link) {
  const auto *about = static_cast<const ifinfomsg *>(mnl_nlmsg_get_payload(message));
  link.index = about->ifi_index;
  link.is_up = (about->ifi_flags & IFF_UP) != 0;
  link.has_carrier = link.is_up && (about->ifi_flags & IFF_RUNNING) != 0;
  mnl_attr_parse(message, sizeof(ifinfomsg), read_attribute, &link);
}

Status set_flag(const std::string &name, unsigned flag, bool on, const char *what) {
  const KernelLink link = TRY(look_at_link(name));
  RtnetlinkMessage message(RTM_NEWLINK, 0);
  auto &about = message.header<ifinfomsg>();
  about.ifi_index = link.index;
  about.ifi_flags = on ? flag : 0;
  about.ifi_change = flag;
  if (const Status set = message.send(); !set) return named(name, what, set.error());
  return {};
}

} // namespace

Result<KernelLink> look_at_link(const std::string &name) {
  RtnetlinkMessage message(RTM_GETLINK, 0);
  message.header<ifinfomsg>().ifi_family = AF_UNSPEC;
  mnl_attr_put_strz(message.get(), IFLA_IFNAME, name.c_str());
  KernelLink link;
  const Status seen = message.send([&link](const nlmsghdr *answer) {
    if (answer->nlmsg_type == RTM_NEWLINK) read_attributes(answer, link);
  });
  if (!seen) return named(name, "cannot be looked at", seen.error());
  return link;
}

Status set_link_mtu(const std::string &name, unsigned mtu) {
  const KernelLink link = TRY(look_at_link(name));
  if (link.mtu == mtu) return {};
  if (mtu < link.mtu_min || (link.mtu_max != 0 && mtu > link.mtu_max))
    return fail(Errc::config,
                fmt::format("mtu: {}: interface {} takes {} to {}", mtu, name, link.mtu_min, link.mtu_max));
  RtnetlinkMessage message(RTM_NEWLINK, 0);
  message.header<ifinfomsg>().ifi_index = link.index;
  mnl_attr_put_u32(message.get(), IFLA_MTU, mtu);
  if (const Status set = message.send(); !set)
    return named(name, fmt::format("mtu {} cannot be set", mtu).c_str(), set.error());
  return {};
}

Status set_link_up(const std::string &name, bool up) {
  return set_flag(name, IFF_UP, up, up ? "cannot be set up" : "cannot be set down");
}

Status set_link_promiscuous(const std::string &name) {
  return set_flag(name, IFF_PROMISC, true, "cannot be made promiscuous");
}

} // namespace weir::dataplane
