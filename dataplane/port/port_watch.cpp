#include "dataplane/port/port_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace weir::dataplane {
namespace {

// Since the first look; what was set back meanwhile counts as nothing.
std::uint64_t since(std::uint64_t first, std::uint64_t now) { return now > first ? now - first : 0; }

} // namespace

bool names_a_loss(const std::string &counter) {
  constexpr std::string_view words[] = {"drop",   "discard", "miss",    "out_of_buffer",
                                        "no_buf", "nobuf",   "overflow"};
  if (counter.find("tx") != std::string::npos) return false;
  // What rte_eth_stats has already.
  if (counter == "rx_missed_errors" || counter == "rx_mbuf_allocation_errors") return false;
  return std::ranges::any_of(words,
                             [&](std::string_view word) { return counter.find(word) != std::string::npos; });
}

void PortWatch::Growth::look(std::uint64_t value, std::uint64_t threshold) {
  if (!seen_ || value < last_) { // the first look, or the card began anew
    first_ = value;
    seen_ = true;
    grown_ = 0;
  } else if (value > last_) {
    ++grown_;
    still_ = 0;
    warned_ = warned_ || (grown_ >= looks_in_a_row && value - first_ > threshold);
  } else {
    grown_ = 0;
    if (++still_ >= looks_silent) warned_ = false;
  }
  last_ = value;
}

bool PortWatch::look(const PortLook &now) {
  const auto before = warnings().size();
  if (!begun_) first_ = now;
  begun_ = true;
  const std::uint64_t device = since(first_.device_packets, now.device_packets);
  const std::uint64_t explained = since(first_.weir_packets, now.weir_packets) +
                                  since(first_.missed, now.missed) +
                                  since(first_.no_buffers, now.no_buffers) + since(first_.errors, now.errors);
  unexplained_most_ = std::max(unexplained_most_, since(explained, device));
  unexplained_.look(unexplained_most_, in_flight_max_);
  const std::uint64_t left =
      since(first_.device_sent, now.device_sent) + since(first_.send_errors, now.send_errors);
  if (now.device_sent > 0)
    unsent_most_ = std::max(unsent_most_, since(left, since(first_.weir_sent, now.weir_sent)));
  unsent_.look(unsent_most_, in_flight_max_);
  if (now.device_sent == sent_last_) stuck_packets_ += since(refused_last_, now.refused);
  refused_last_ = now.refused;
  sent_last_ = now.device_sent;
  stuck_.look(stuck_packets_, 0);
  send_errors_.look(now.send_errors, 0);
  missed_.look(now.missed, 0);
  no_buffers_.look(now.no_buffers, 0);
  errors_.look(now.errors, 0);
  unread_.look(now.unread_queues, 0);
  for (const auto &[counter, value] : now.others) others_[counter].look(value, 0);
  return warnings().size() > before;
}

std::vector<std::string> PortWatch::warnings() const {
  std::vector<std::string> all;
  const auto say = [&](const Growth &growth, std::string_view what) {
    if (growth.warned()) all.push_back(fmt::format("port {}: {} {}", name_, growth.value(), what));
  };
  say(unexplained_, "packets that the card counts as received did not reach weir, and the number grows: a "
                    "receive queue that nobody reads? Set rx_queues to the number of queues of the card");
  say(unread_, "packets went to receive queues of the card that no worker reads, and the number grows: raise "
               "rx_queues to the number of queues of the card");
  say(missed_, "packets found no room in a receive queue, and the number grows: the workers are too slow, or "
               "share their CPUs: more rx_queues and eal.lcores");
  say(no_buffers_, "packets found no packet memory, and the number grows: raise eal.memory_mib");
  say(errors_, "packets were received with errors, and the number grows: look at cable, optics and MTU");
  say(unsent_,
      "packets that the card took for sending did not leave by its own count, and the number grows: does "
      "each of its transmit queues send? Try fewer eal.lcores");
  say(stuck_,
      "packets found no room in a transmit queue while the port sent nothing, and the number grows: is its "
      "link down?");
  say(send_errors_,
      "packets could not be sent by the card's own count, and the number grows: look at the MTU of its "
      "link");
  for (const auto &[counter, growth] : others_)
    say(growth, fmt::format("packets lost by the card's own count {}, and the number grows", counter));
  return all;
}

} // namespace weir::dataplane
