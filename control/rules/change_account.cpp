#include "control/rules/change_account.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace weir::rules {
namespace {

constexpr std::uint64_t hour_s = 3600;
constexpr std::string_view first_line = "changes 1";

bool is_over(std::uint64_t last_s, std::uint64_t now_s) noexcept {
  return now_s > last_s && now_s - last_s >= ChangeAccount::day_s;
}

} // namespace

void ChangeAccount::add(const std::string &list, const Spent &spent, std::uint64_t now_s) {
  if (spent.nothing()) return;
  std::deque<Hour> &hours = lists_[list];
  std::erase_if(hours, [now_s](const Hour &h) { return is_over(h.last_s, now_s); });
  if (hours.empty() || hours.back().last_s / hour_s != now_s / hour_s) hours.emplace_back();
  hours.back().last_s = now_s;
  hours.back().spent += spent;
}

void ChangeAccount::clear(const std::string &list) { lists_.erase(list); }

Spent ChangeAccount::of(std::string_view list, std::uint64_t now_s) const {
  Spent sum;
  const auto at = lists_.find(list);
  if (at == lists_.end()) return sum;
  for (const Hour &hour : at->second)
    if (!is_over(hour.last_s, now_s)) sum += hour.spent;
  return sum;
}

std::string ChangeAccount::note(std::uint64_t now_s) {
  std::string text;
  for (auto &[list, hours] : lists_) {
    std::erase_if(hours, [now_s](const Hour &h) { return is_over(h.last_s, now_s); });
    for (const auto &[last_s, s] : hours) {
      text += fmt::format("{} {} {}", list, last_s, s.lines);
      for (const Moved &m : {s.v4, s.v6})
        text += fmt::format(" {} {} {} {}", m.gained, m.lost, m.gained_share, m.lost_share);
      text += '\n';
    }
  }
  std::erase_if(lists_, [](const auto &list) { return list.second.empty(); });
  return text.empty() ? text : std::string(first_line) + '\n' + text;
}

ChangeAccount ChangeAccount::resume(std::string_view note, std::uint64_t now_s) {
  ChangeAccount account;
  std::istringstream lines{std::string(note)};
  std::string line;
  if (!std::getline(lines, line) || line != first_line) return account;
  while (std::getline(lines, line)) {
    std::istringstream in(line);
    std::string list;
    Hour hour;
    in >> list >> hour.last_s >> hour.spent.lines;
    for (Moved *m : {&hour.spent.v4, &hour.spent.v6})
      in >> m->gained >> m->lost >> m->gained_share >> m->lost_share;
    if (!in) continue;
    hour.last_s = std::min(hour.last_s, now_s);
    account.lists_[list].push_back(hour);
  }
  return account;
}

} // namespace weir::rules
