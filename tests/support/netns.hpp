// Network namespaces joined by veth pairs, with names of their own and gone at the end.
#pragma once

#include "tests/support/process.hpp"

#include <memory>
#include <string>
#include <vector>

namespace weir::test {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

class Netns {
public:
  explicit Netns(const std::string &role);
  ~Netns();
  Netns(const Netns &) = delete;
  Netns &operator=(const Netns &) = delete;

  [[nodiscard]] const std::string &name() const { return name_; }
  // Runs a command inside.
  Outcome run(const std::vector<std::string> &command, std::chrono::milliseconds time_max = 30s) const;
  // The same for a command that has to work: a test failure otherwise.
  void must(const std::vector<std::string> &command) const;
  // A counter of a device, such as "rx_bytes".
  [[nodiscard]] std::uint64_t counter(const std::string &device, const std::string &name) const;

private:
  std::string name_;
};

// A veth pair between two namespaces that behaves as a wire does: checksums filled in, no frame longer
// than the MTU. Both ends are up.
void cable(const Netns &a, const std::string &device_a, const Netns &b, const std::string &device_b);

// Why namespaces cannot be used here, or an empty text.
[[nodiscard]] std::string namespaces_missing();

//   client 192.0.2.10 .. .19   c0 --- wan  [ middle ]  lan --- s0   server 192.0.2.80
//          2001:db8:2::10                                           2001:db8:2::80
//
// One subnet; whoever runs in the middle has to carry every frame. The ends in the middle have no
// addresses and say nothing by themselves.
struct GatedNetwork {
  Netns client{"client"}, middle{"middle"}, server{"server"};
  // With tags ("8100:100"), relays between the ends and the middle put them on every frame: the middle
  // sees tagged frames alone, and the ends none.
  explicit GatedNetwork(const std::vector<std::string> &tags = {});

  static constexpr const char *client4 = "192.0.2.10";
  static constexpr const char *other4 = "192.0.2.11"; // a second address of the client
  static constexpr const char *server4 = "192.0.2.80";
  static constexpr const char *client6 = "2001:db8:2::10";
  static constexpr const char *server6 = "2001:db8:2::80";

  // Does one echo request out of three come back?
  [[nodiscard]] bool ping(const std::string &to, const std::string &from = {}) const;
  // A page of the web server that `serve_web` started.
  [[nodiscard]] bool fetch(const std::string &host, const std::string &from = {}) const;
  void serve_web(const std::filesystem::path &folder);
  void serve_iperf3(const std::filesystem::path &log);

private:
  void connect(const Netns &end, const std::string &device, const std::string &trunk,
               const std::vector<std::string> &tags);
  std::vector<std::unique_ptr<Netns>> relay_namespaces_;
  std::vector<Child> relays_;
  Child web_, iperf3_;
};

} // namespace weir::test
