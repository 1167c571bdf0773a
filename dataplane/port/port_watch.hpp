// Holds what a port says it received against what workers got from it, look after look. A class of numbers:
// service.cpp reads them from ethdev once a second, and tests make them up.
//
//   card:  ipackets | missed | no buffers | errors | queues that nobody polls | other counters of loss
//   weir:  packets that workers took | handed to the port for sending | refused by its queues
//   card:  opackets | oerrors
//
// A figure is worth a word when it grew in each of several looks in a row, so that a burst, or packets that
// are on their way, are not. `ipackets` beyond what weir took and beyond what the card itself calls lost is
// the case that nothing else would show: somebody delivers where nobody reads. So is what a port took for sending
// beyond `opackets`; a driver that counts none says nothing about it. Packets that a transmit queue refuses have a
// reason of their own, and are worth a word only where the port sends nothing at all.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weir::dataplane {

struct PortLook {
  std::uint64_t device_packets = 0;                          // rte_eth_stats: ipackets
  std::uint64_t missed = 0;                                  // imissed: no room in a receive queue
  std::uint64_t no_buffers = 0;                              // rx_nombuf: no room in the packet memory
  std::uint64_t errors = 0;                                  // ierrors
  std::uint64_t unread_queues = 0;                           // q_ipackets of queues that no worker polls
  std::uint64_t weir_packets = 0;                            // taken by workers
  std::uint64_t device_sent = 0;                             // opackets
  std::uint64_t send_errors = 0;                             // oerrors
  std::uint64_t weir_sent = 0;                               // taken by transmit queues
  std::uint64_t refused = 0;                                 // not taken by them
  std::vector<std::pair<std::string, std::uint64_t>> others; // xstats that name a loss
};

class PortWatch {
public:
  static constexpr unsigned looks_in_a_row = 3; // that a figure has to grow
  static constexpr unsigned looks_silent = 60;  // that it has to stand still for the warning to end

  // `in_flight_max`: packets that may be on their way between card and workers, in either direction.
  PortWatch(std::string name, std::uint64_t in_flight_max)
      : name_(std::move(name)), in_flight_max_(in_flight_max) {}

  // True when there is something to say that was not there at the look before.
  bool look(const PortLook &now);
  // One sentence each, with its remedy.
  [[nodiscard]] std::vector<std::string> warnings() const;

private:
  // One growing figure.
  class Growth {
  public:
    void look(std::uint64_t value, std::uint64_t threshold);
    [[nodiscard]] bool warned() const noexcept { return warned_; }
    [[nodiscard]] std::uint64_t value() const noexcept { return last_ - first_; }

  private:
    std::uint64_t first_ = 0, last_ = 0;
    unsigned grown_ = 0, still_ = 0;
    bool seen_ = false, warned_ = false;
  };

  std::string name_;
  std::uint64_t in_flight_max_;
  bool begun_ = false;
  PortLook first_;
  std::uint64_t unexplained_most_ = 0, unsent_most_ = 0; // differences swing with what is on its way
  std::uint64_t stuck_packets_ = 0, refused_last_ = 0, sent_last_ = 0;
  Growth unexplained_, unsent_, stuck_, send_errors_, missed_, no_buffers_, errors_, unread_;
  std::map<std::string, Growth> others_;
};

// Whether a driver's own counter (rte_eth_xstats) counts received packets that nobody will see.
[[nodiscard]] bool names_a_loss(const std::string &counter);

} // namespace weir::dataplane
