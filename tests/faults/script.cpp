// The steps of a life.
#include "tests/faults/life.hpp"

#include "tests/support/weir_pair.hpp"

namespace weir::fault {

namespace {

constexpr unsigned list_entries = 40, overlay_entries = 400;

std::function<void(Rules &)> add(std::string list, std::set<std::string> entries) {
  return [list = std::move(list), entries = std::move(entries)](Rules &rules) {
    rules[list].insert(entries.begin(), entries.end());
  };
}

std::function<void(Rules &)> remove(std::string list, std::set<std::string> entries) {
  return [list = std::move(list), entries = std::move(entries)](Rules &rules) {
    for (const std::string &entry : entries) rules[list].erase(entry);
  };
}

std::set<std::string> content(unsigned version) {
  std::set<std::string> entries;
  for (unsigned i = 0; i < list_entries; ++i) entries.insert(test::numbered_address(version * 1000 + i));
  return entries;
}

std::function<void(Rules &)> load(unsigned version) {
  return [version](Rules &rules) { rules["drop"] = content(version); };
}

std::vector<Step> steps() {
  std::vector<Step> all;
  all.push_back({.name = "first start", .restart = Restart::first, .prepare = {}, .requests = {}});
  all.push_back(
      {.name = "add",
       .prepare = {},
       .requests = {{.words = {"list", "add", "bans", "198.51.100.1", "198.51.100.2", "2001:db8::1"},
                     .effect = add("bans", {"198.51.100.1", "198.51.100.2", "2001:db8::1"})}}});
  all.push_back({.name = "delete",
                 .prepare = {},
                 .requests = {{.words = {"list", "del", "bans", "198.51.100.1"},
                               .effect = remove("bans", {"198.51.100.1"})}}});
  all.push_back({.name = "replace",
                 .prepare = {},
                 .requests = {{.words = {"list", "replace", "drop", "@2"}, .effect = load(2)}}});
  all.push_back({.name = "apply",
                 .prepare =
                     [](const Life &life) {
                       life.write_config(3, "- {name: more, action: deny, entries: [203.0.113.9]}\n");
                     },
                 .requests = {{.words = {"apply", "@config"}, .effect = [](Rules &rules) {
                                 load(3)(rules);
                                 rules["more"] = {"203.0.113.9"};
                               }}}});
  all.push_back({.name = "apply and confirm",
                 .prepare = [](const Life &life) { life.write_config(4); },
                 .requests = {{.words = {"apply", "@config", "--confirm", "60s"},
                               .effect =
                                   [](Rules &rules) {
                                     load(4)(rules);
                                     rules.erase("more");
                                   }},
                              {.words = {"confirm"}, .effect = {}}}});
  all.push_back({.name = "apply and revert",
                 .prepare = [](const Life &life) { life.write_config(5); },
                 .requests = {{.words = {"apply", "@config", "--confirm", "1s"},
                               .effect = load(5),
                               .settled = [](Life &life) { return !life.pending(); },
                               .settled_effect = load(4)}}});
  all.push_back({.name = "rollback",
                 .prepare = [](const Life &life) { life.write_config(4); },
                 .requests = {{.words = {"list", "replace", "drop", "@6"}, .effect = load(6)},
                              {.words = {"rollback"}, .effect = load(4)}}});
  std::set<std::string> many;
  for (unsigned i = 0; i < overlay_entries; ++i) many.insert(test::numbered_address(500'000 + i));
  std::vector<std::string> words{"list", "add", "bans"};
  words.insert(words.end(), many.begin(), many.end());
  all.push_back(
      {.name = "overlay full",
       .prepare = {},
       .requests = {{.words = words,
                     .effect = add("bans", many),
                     .settled = [](Life &life) { return life.generation() > life.generation_before(); },
                     .settled_effect = {}}}});
  all.push_back({.name = "time to live",
                 .prepare = {},
                 .requests = {{.words = {"list", "add", "short", "198.51.100.77", "--ttl", "1s"},
                               .effect = add("short", {"198.51.100.77"}),
                               .settled =
                                   [](Life &life) {
                                     const auto rules = life.exported();
                                     return rules && rules->contains("short") && rules->at("short").empty();
                                   },
                               .settled_effect = remove("short", {"198.51.100.77"})}}});
  all.push_back({.name = "restart control", .restart = Restart::control, .prepare = {}, .requests = {}});
  all.push_back({.name = "restart dataplane", .restart = Restart::dataplane, .prepare = {}, .requests = {}});
  all.push_back(
      {.name = "plan again", .prepare = {}, .requests = {{.words = {"plan", "--apply"}, .effect = {}}}});
  return all;
}

} // namespace

const std::vector<Step> &script() {
  static const std::vector<Step> all = steps();
  return all;
}

} // namespace weir::fault
