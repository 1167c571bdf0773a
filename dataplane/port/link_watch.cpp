#include "dataplane/port/link_watch.hpp"

#include <fmt/format.h>

#include <utility>

namespace weir::dataplane {
namespace {

std::string speed_of(std::uint32_t megabits) {
  if (megabits == 0) return {};
  if (megabits % 1000 == 0) return fmt::format(", {} Gbit/s", megabits / 1000);
  return fmt::format(", {} Mbit/s", megabits);
}

} // namespace

LinkWatch::LinkWatch(std::vector<Of> ports, Clock::time_point now) {
  for (Of &of : ports) ports_.push_back({std::move(of), {}, false, now + settling});
}

void LinkWatch::note(Port &port, const LinkSeen &seen, News &news) {
  if (port.held) return; // it is down because weir took it down
  const LinkState before = std::exchange(port.report.state, seen.state);
  port.report.megabits = seen.state == LinkState::up ? seen.megabits : 0;
  if (seen.state == before || seen.state == LinkState::unknown) return;
  if (seen.state == LinkState::up) {
    news.sentences.push_back(fmt::format("port {}: link is up{}", port.of.name, speed_of(seen.megabits)));
    return;
  }
  if (before != LinkState::unknown) ++port.report.losses;
  news.sentences.push_back(fmt::format("port {}: {}", port.of.name,
                                       before == LinkState::up ? "link is lost" : "there is no link"));
}

bool LinkWatch::lost(const Port &port, Clock::time_point now) {
  return port.report.state == LinkState::down && now >= port.settled_at;
}

void LinkWatch::follow(std::size_t index, Clock::time_point now, News &news) {
  Port &port = ports_[index];
  if (!port.of.follows) return;
  const Port &peer = ports_[port.of.peer];
  if (!port.held && lost(peer, now)) {
    port.held = true;
    port.report = {LinkState::held, 0, port.report.losses};
    news.orders.push_back({index, false});
    news.sentences.push_back(
        fmt::format("port {}: link is taken down, as long as {} has none", port.of.name, peer.of.name));
  } else if (port.held && peer.report.state == LinkState::up) {
    port.held = false;
    port.report.state = LinkState::unknown;
    port.settled_at = now + settling;
    news.orders.push_back({index, true});
    news.sentences.push_back(
        fmt::format("port {}: link is set up again, since {} has one", port.of.name, peer.of.name));
  }
}

LinkWatch::News LinkWatch::look(const std::vector<LinkSeen> &seen, Clock::time_point now) {
  News news;
  for (std::size_t i = 0; i < ports_.size() && i < seen.size(); ++i) note(ports_[i], seen[i], news);
  for (std::size_t i = 0; i < ports_.size(); ++i) follow(i, now, news);
  return news;
}

std::vector<LinkReport> LinkWatch::reports() const {
  std::vector<LinkReport> all;
  for (const Port &port : ports_) all.push_back(port.report);
  return all;
}

std::vector<std::size_t> LinkWatch::held() const {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < ports_.size(); ++i)
    if (ports_[i].held) all.push_back(i);
  return all;
}

} // namespace weir::dataplane
