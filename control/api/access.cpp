#include "control/api/access.hpp"

#include <fmt/format.h>

#include <grp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace weir::control {

Right right_for(std::string_view verb, bool applies) {
  constexpr std::array<std::string_view, 9> changing{"list_add",      "list_del",        "list_replace",
                                                     "apply",         "confirm",         "rollback",
                                                     "offender_mark", "offender_unmark", "offender_train"};
  const bool changes = std::ranges::find(changing, verb) != changing.end() || (verb == "plan" && applies);
  return changes ? Right::change : Right::read;
}

std::string user_text(const Peer &peer) {
  return peer.uid == Peer::nobody_known ? std::string() : fmt::format("uid {}", peer.uid);
}

Access Access::own() {
  Access access;
  access.open_ = false;
  return access;
}

Result<std::optional<Access::Group>> Access::group_of(const char *key, const std::string &name) {
  if (name.empty()) return std::nullopt;
  std::vector<char> buffer(4096);
  group entry{};
  group *found = nullptr;
  int fault = 0;
  while ((fault = getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found)) == ERANGE)
    buffer.resize(buffer.size() * 2);
  if (found == nullptr)
    return fail(Errc::config,
                fmt::format("paths.{}: there is no group \"{}\"{}; `groupadd --system {}` makes it", key,
                            name, fault == 0 ? "" : fmt::format(" ({})", std::strerror(fault)), name));
  return Group{name, entry.gr_gid};
}

Result<Access> Access::of(const config::Groups &groups) {
  Access access;
  auto readers = group_of("read_group", groups.read);
  if (!readers) return std::unexpected(std::move(readers.error()));
  auto writers = group_of("write_group", groups.write);
  if (!writers) return std::unexpected(std::move(writers.error()));
  access.readers_ = std::move(*readers);
  access.writers_ = std::move(*writers);
  access.open_ = !access.readers_ && !access.writers_;
  return access;
}

bool Access::is_member(const Peer &peer, const std::optional<Group> &group) {
  return group && (peer.gid == group->id || std::ranges::find(peer.groups, group->id) != peer.groups.end());
}

Status Access::allows(const Peer &peer, Right right) const {
  if (open_ || peer.uid == 0 || peer.uid == geteuid() || is_member(peer, writers_)) return {};
  if (right == Right::read && is_member(peer, readers_)) return {};
  std::string who = "root and the daemon's own user";
  const auto named = [&who](const std::optional<Group> &group, const char *key) {
    if (group) who = fmt::format("members of the group \"{}\" (paths.{}), ", group->name, key) + who;
  };
  named(writers_, "write_group");
  if (right == Right::read) named(readers_, "read_group");
  return fail(Errc::refused,
              fmt::format("the user {} may not {} here: {} may",
                          peer.uid == Peer::nobody_known ? "nobody knows" : std::to_string(peer.uid),
                          right == Right::read ? "look" : "change anything", who));
}

mode_t Access::socket_mode() const {
  if (!open_ && !readers_ && !writers_) return 0600;
  return readers_ && writers_ && readers_->id != writers_->id ? 0666 : 0660;
}

std::optional<gid_t> Access::socket_group() const {
  if (writers_) return writers_->id;
  return readers_ ? std::optional(readers_->id) : std::nullopt;
}

const std::string &Access::socket_group_name() const {
  static const std::string none;
  return writers_ ? writers_->name : readers_ ? readers_->name : none;
}

} // namespace weir::control
