// Who may ask weir-control for what. The kernel says who is at the other end of a connection (SO_PEERCRED,
// SO_PEERGROUPS: the groups that the process has, not those that a directory lists for its user).
//
//   root, the daemon's own user    everything
//   members of paths.write_group   everything
//   members of paths.read_group    what reads
//   others                         nothing; without either group: everything, and the socket's mode decides
//
// Read once, from the configuration that weir-control was started with: a configuration that is applied
// cannot widen it.
#pragma once

#include "control/api/request.hpp"
#include "weir/base/result.hpp"
#include "weir/config/groups.hpp"

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace weir::control {

enum class Right : std::uint8_t { read, change };

// What a verb of api.hpp needs; `plan` with apply changes.
[[nodiscard]] Right right_for(std::string_view verb, bool applies);

// "uid 1000", for the cause of a generation.
[[nodiscard]] std::string user_text(const Peer &peer);

class Access {
public:
  // The owner and group of the socket, everything.
  Access() = default;
  // The daemon's own user and root alone.
  [[nodiscard]] static Access own();
  // An error names a group that does not exist.
  [[nodiscard]] static Result<Access> of(const config::Groups &groups);

  [[nodiscard]] Status allows(const Peer &peer, Right right) const;

  // Of the socket: with two groups anybody may connect, and is refused by name.
  [[nodiscard]] mode_t socket_mode() const;
  [[nodiscard]] std::optional<gid_t> socket_group() const;
  [[nodiscard]] const std::string &socket_group_name() const;

private:
  struct Group {
    std::string name;
    gid_t id = 0;
  };
  static Result<std::optional<Group>> group_of(const char *key, const std::string &name);
  static bool is_member(const Peer &peer, const std::optional<Group> &group);

  bool open_ = true; // to everybody who may connect
  std::optional<Group> readers_, writers_;
};

} // namespace weir::control
