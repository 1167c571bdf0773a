// The links of all ports, look after look: what changed, and which link is to be taken down because the peer has lost its
// own (`link: follow`). A class of values: port_links.cpp reads them from devices, and tests make them up.
//
//   port    up ----- lost -----> down      its own link; a link that is taken down says nothing of its cable
//   peer    up -- peer lost ---> held      taken down by weir, so that the other end sees the loss too
//           held - peer is up -> up        with some seconds to find its link again before it counts as lost
//
// Two ports that follow each other cannot hold each other down: one that is held has lost nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::dataplane {

enum class LinkState : std::uint8_t { unknown, up, down, held };
[[nodiscard]] constexpr std::string_view name_of(LinkState state) noexcept {
  constexpr std::string_view names[] = {"unknown", "up", "down", "held"};
  return names[static_cast<std::size_t>(state)];
}

// What a device says of its link. Its speed in megabits a second; 0: it does not say.
struct LinkSeen {
  LinkState state = LinkState::unknown; // never held
  std::uint32_t megabits = 0;
};

struct LinkReport {
  LinkState state = LinkState::unknown;
  std::uint32_t megabits = 0;
  std::uint64_t losses = 0; // of its own, since the start
};

class LinkWatch {
public:
  using Clock = std::chrono::steady_clock;
  // That a link may take to come up, at the start and after it was held.
  static constexpr std::chrono::seconds settling{6};

  struct Of {
    std::string name;
    std::size_t peer = 0; // index
    bool follows = false; // the link of its peer
  };
  LinkWatch(std::vector<Of> ports, Clock::time_point now);

  // What is to be done with a port's link, and what is to be told of it.
  struct Order {
    std::size_t port = 0;
    bool up = false;
  };
  struct News {
    std::vector<Order> orders;
    std::vector<std::string> sentences;
  };
  // One look at each port, in their order.
  [[nodiscard]] News look(const std::vector<LinkSeen> &seen, Clock::time_point now);

  [[nodiscard]] std::vector<LinkReport> reports() const;
  [[nodiscard]] std::vector<std::size_t> held() const; // to be set up at the end

private:
  struct Port {
    Of of;
    LinkReport report;
    bool held = false;
    Clock::time_point settled_at;
  };
  void note(Port &port, const LinkSeen &seen, News &news);
  [[nodiscard]] static bool lost(const Port &port, Clock::time_point now);
  void follow(std::size_t index, Clock::time_point now, News &news);

  std::vector<Port> ports_;
};

} // namespace weir::dataplane
