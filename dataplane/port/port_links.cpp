#include "dataplane/port/port_links.hpp"

#include "dataplane/port/kernel_link.hpp"
#include "weir/base/say.hpp"

#include <fmt/format.h>

#include <rte_errno.h>
#include <rte_ethdev.h>

#include <cerrno>

namespace weir::dataplane {
namespace {

using namespace std::chrono_literals;
constexpr auto links_every = 1s;

LinkSeen look_at(const Port &port) {
  if (port.kernel) {
    const auto link = look_at_link(port.kernel->name);
    if (!link && link.error().code != Errc::not_found) return {};
    return {link && link->has_carrier ? LinkState::up : LinkState::down, 0};
  }
  rte_eth_link link{};
  if (rte_eth_link_get_nowait(port.port_id, &link) != 0) return {};
  const bool up = link.link_status == RTE_ETH_LINK_UP;
  const bool says_speed = up && link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN;
  return {up ? LinkState::up : LinkState::down, says_speed ? link.link_speed : 0};
}

Status set_link(const Port &port, bool up) {
  if (port.kernel) return set_link_up(port.kernel->name, up);
  const int error = up ? rte_eth_dev_set_link_up(port.port_id) : rte_eth_dev_set_link_down(port.port_id);
  if (error == 0 || error == -EALREADY) return {};
  return fail(error == -ENOTSUP ? Errc::config : Errc::io, rte_strerror(-error));
}

void carry_out(const Port &port, bool up) {
  if (const Status done = set_link(port, up); !done)
    say("weir-dataplane", "port {}: its link cannot be {}: {}", port.name, up ? "set up" : "taken down",
        done.error().message);
}

LinkWatch watch_of(const Ports &ports, LinkWatch::Clock::time_point now) {
  std::vector<LinkWatch::Of> all;
  for (const Port &port : ports.all()) all.push_back({port.name, port.peer, port.link_follows});
  return {std::move(all), now};
}

} // namespace

Status check_link_follows(const Port &port, const std::string &device) {
  const Status up = set_link(port, true);
  if (up) return {};
  if (up.error().code != Errc::config)
    return fail(up.error().code, fmt::format("port {}: link: follow: {}", port.name, up.error().message));
  return fail(
      Errc::config,
      fmt::format("port {}: link: follow: the driver of {} cannot take its link down; take the key out",
                  port.name, device));
}

void PortLinks::look_if_due(const Ports &ports) {
  const auto now = LinkWatch::Clock::now();
  if (now < due_) return;
  due_ = now + links_every;
  if (!watch_) watch_ = watch_of(ports, now);
  std::vector<LinkSeen> seen;
  for (const Port &port : ports.all()) seen.push_back(look_at(port));
  const LinkWatch::News news = watch_->look(seen, now);
  for (const std::string &sentence : news.sentences) say_sentence("weir-dataplane", sentence);
  for (const LinkWatch::Order &order : news.orders) carry_out(ports.all()[order.port], order.up);
  const std::lock_guard lock(mutex_);
  reports_ = watch_->reports();
}

void PortLinks::set_free(const Ports &ports) {
  if (!watch_) return;
  for (const std::size_t held : watch_->held()) carry_out(ports.all()[held], true);
  watch_.reset();
}

std::vector<LinkReport> PortLinks::reports() const {
  const std::lock_guard lock(mutex_);
  return reports_;
}

} // namespace weir::dataplane
