#include "control/api/export.hpp"

#include "control/rules/comment.hpp"
#include "weir/base/owned_fd.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace weir::control {

using Json = nlohmann::json;

namespace {

Json entry_json(const Prefix &prefix, const std::string &comment, std::uint64_t added_at,
                std::uint64_t expires_at) {
  Json entry{{"prefix", to_string(prefix)}, {"comment", comment}, {"added_at", added_at}};
  entry["expires_at"] = expires_at == 0 ? Json() : Json(expires_at);
  return entry;
}

std::string dynamic_comment(const store::Store &store, const RuleList &list, const Prefix &prefix) {
  const auto entry = store.dynamic_entry({list.number, prefix});
  return entry && *entry ? (*entry)->comment : std::string();
}

std::string file_comment(const store::Store &store, const RuleList &list, const Prefix &prefix) {
  const auto comment = store.content_comment(list.content_version, prefix);
  return comment && *comment ? **comment : std::string();
}

bool in_file(const RuleList &list, const Prefix &prefix) {
  if (prefix.family() == Family::ipv4)
    return rules::contains(std::span<const rules::EntryV4>(list.body->v4), rules::to_entry_v4(prefix));
  return rules::contains(std::span<const rules::EntryV6>(list.body->v6), rules::to_entry_v6(prefix));
}

} // namespace

Json first_entries(Engine &engine, const RuleList &list, std::size_t most) {
  Json entries = Json::array();
  const RuleClock &clock = engine.clock();
  engine.dynamic().visit(list.number, [&](const Prefix &prefix, const EntryTimes &times) {
    entries.push_back(entry_json(prefix, dynamic_comment(engine.store(), list, prefix),
                                 clock.to_wall(times.added_at), clock.to_wall(times.expires_at)));
    return entries.size() < most;
  });
  const auto show = [&](const auto &of_family) {
    for (const auto &entry : of_family) {
      if (entries.size() >= most) return;
      const Prefix prefix = rules::to_prefix(entry);
      if (engine.dynamic().contains(list.number, prefix)) continue;
      entries.push_back(entry_json(prefix, file_comment(engine.store(), list, prefix), list.updated_at, 0));
    }
  };
  show(list.body->v4);
  show(list.body->v6);
  return entries;
}

Status check_export_target(int fd) {
  struct statfs system{};
  const int flags = fcntl(fd, F_GETFL);
  const bool memory =
      fcntl(fd, F_GET_SEALS) >= 0 && fstatfs(fd, &system) == 0 && system.f_type == TMPFS_MAGIC;
  if (memory && flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) return {};
  return fail(Errc::usage, "an export goes into a memory file that is open for writing; weirctl passes one");
}

Result<std::uint64_t> export_list(const RuleList &list, const store::Store &store, int memory_file) {
  const auto failed = [&] {
    return fail(Errc::io, fmt::format("list {}: the export cannot be written: {}", list.definition.name,
                                      std::strerror(errno)));
  };
  OwnedFd own(fcntl(memory_file, F_DUPFD_CLOEXEC, 0));
  if (own.get() < 0) return failed();
  std::FILE *out = fdopen(own.get(), "w");
  if (out == nullptr) return failed();
  (void)own.release(); // fclose() closes it
  std::uint64_t entries = 0;
  const auto write = [&](const Prefix &prefix, std::string_view comment) {
    ++entries;
    std::string line = to_string(prefix);
    if (!comment.empty()) line += " # " + rules::clean_comment(comment);
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), out); // what fails is asked for below
  };
  Status read = store.read_dynamic([&](const store::DynamicEntry &entry) {
    if (entry.key.list == list.number && !in_file(list, entry.key.prefix))
      write(entry.key.prefix, entry.comment);
  });
  if (read && list.content_version != 0) read = store.read_content(list.content_version, write);
  const bool flushed = std::fflush(out) == 0 && std::ferror(out) == 0;
  const bool closed = std::fclose(out) == 0;
  if (!read) return std::unexpected(read.error());
  if (!flushed || !closed) return failed();
  return entries;
}

} // namespace weir::control
