#include "dataplane/port/bypass.hpp"

#include "dataplane/port/kernel_link.hpp"
#include "dataplane/port/rtnetlink.hpp"
#include "weir/base/say.hpp"
#include "weir/config/kernel_interface.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_mirred.h>

#include <algorithm>
#include <utility>

namespace weir::dataplane {
namespace {

constexpr std::uint32_t priority = 0x5745; // of our filters
constexpr std::uint32_t at_ingress = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS);

// What all messages about filters of an interface begin with.
tcmsg &about_filters(RtnetlinkMessage &message, int interface) {
  auto &about = message.header<tcmsg>();
  about.tcm_family = AF_UNSPEC;
  about.tcm_ifindex = interface;
  about.tcm_parent = at_ingress;
  about.tcm_info = TC_H_MAKE(priority << 16, htons(ETH_P_ALL));
  return about;
}

// The place that filters stand at; somebody else may have made it.
Status make_place(int interface) {
  RtnetlinkMessage message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL);
  auto &about = message.header<tcmsg>();
  about.tcm_family = AF_UNSPEC;
  about.tcm_ifindex = interface;
  about.tcm_parent = TC_H_CLSACT;
  about.tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0);
  mnl_attr_put_strz(message.get(), TCA_KIND, "clsact");
  const Status made = message.send();
  return made || made.error().code == Errc::refused ? Status() : made;
}

Status redirect(int from, int to) {
  RtnetlinkMessage message(RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL);
  about_filters(message, from);
  nlmsghdr *const m = message.get();
  mnl_attr_put_strz(m, TCA_KIND, "u32");
  nlattr *const options = mnl_attr_nest_start(m, TCA_OPTIONS);
  tc_u32_sel any{}; // no key: every frame
  any.flags = TC_U32_TERMINAL;
  mnl_attr_put(m, TCA_U32_SEL, sizeof any, &any);
  nlattr *const actions = mnl_attr_nest_start(m, TCA_U32_ACT);
  nlattr *const first = mnl_attr_nest_start(m, 1);
  mnl_attr_put_strz(m, TCA_ACT_KIND, "mirred");
  nlattr *const about_action = mnl_attr_nest_start(m, TCA_ACT_OPTIONS);
  tc_mirred mirred{};
  mirred.action = TC_ACT_STOLEN;
  mirred.eaction = TCA_EGRESS_REDIR;
  mirred.ifindex = static_cast<std::uint32_t>(to);
  mnl_attr_put(m, TCA_MIRRED_PARMS, sizeof mirred, &mirred);
  for (nlattr *nest : {about_action, first, actions, options}) mnl_attr_nest_end(m, nest);
  return message.send();
}

Result<bool> has_redirect(int interface) {
  RtnetlinkMessage message(RTM_GETTFILTER, NLM_F_DUMP);
  about_filters(message, interface).tcm_info = 0;
  bool found = false;
  const Status seen = message.send([&found](const nlmsghdr *answer) {
    if (answer->nlmsg_type != RTM_NEWTFILTER) return;
    found |= TC_H_MAJ(static_cast<const tcmsg *>(mnl_nlmsg_get_payload(answer))->tcm_info) >> 16 == priority;
  });
  if (!seen) return std::unexpected(seen.error());
  return found;
}

Status take_redirect_away(int interface) {
  if (!TRY(has_redirect(interface))) return {};
  RtnetlinkMessage message(RTM_DELTFILTER, 0);
  about_filters(message, interface);
  return message.send();
}

Status named(const std::string &interface, const char *what, const Status &done) {
  if (done) return {};
  return fail(done.error().code, fmt::format("interface {}: {}: {}", interface, what, done.error().message));
}

Status set_way(const std::string &from, const std::string &to, bool on) {
  const KernelLink source = TRY(look_at_link(from));
  TRY(named(from, "the bypass cannot be taken away", take_redirect_away(source.index)));
  if (!on) return {};
  const KernelLink target = TRY(look_at_link(to));
  TRY(set_link_up(from, true));
  TRY(set_link_promiscuous(from));
  TRY(named(from, "no place for the bypass (clsact)", make_place(source.index)));
  return named(from, "the bypass cannot be made (cls_u32, act_mirred)", redirect(source.index, target.index));
}

} // namespace

std::vector<BypassPair> bypass_pairs(const config::Config &config) {
  std::vector<BypassPair> pairs;
  for (const config::Port &port : config.ports) {
    if (port.on_exit != config::OnExit::bypass) continue;
    const auto peer = std::ranges::find(config.ports, port.peer, &config::Port::name);
    if (peer == config.ports.end()) continue;
    const auto one = kernel_interface_of(config.eal, port), other = kernel_interface_of(config.eal, *peer);
    if (!one || !other || std::ranges::find(pairs, BypassPair{other->name, one->name}) != pairs.end())
      continue;
    pairs.push_back({one->name, other->name});
  }
  return pairs;
}

Status set_bypass(const std::vector<BypassPair> &pairs, bool on) {
  Status all;
  for (const auto &[one, other] : pairs)
    for (const auto &[from, to] : {std::pair(one, other), std::pair(other, one)})
      if (Status done = set_way(from, to, on); !done && all) all = std::move(done);
  return all;
}

Status Bypass::take_away() {
  if (pairs_.empty()) return {};
  away_ = true;
  return set_bypass(pairs_, false);
}

void Bypass::put_back() {
  if (!std::exchange(away_, false)) return;
  const Status done = set_bypass(pairs_, true);
  if (!done)
    say_sentence("weir-dataplane", done.error().message);
  else
    say("weir-dataplane", "the kernel carries packets from here on, and judges none (on_exit: bypass)");
}

} // namespace weir::dataplane
