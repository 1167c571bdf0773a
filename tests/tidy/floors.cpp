// The floors of the tree, in the order of the staircase: a file includes what stands on its own floor and on
// those below, never above. Left out on purpose: tests, which may look into every room. Those of one part
// stand in a folder of the same name as that part's.
#include "tests/tidy/tree.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace weir::tidy {
namespace {

// The lowest first.
constexpr std::array floors{
    std::string_view("include/weir/base"), // what no standard library has: results, hashes, descriptors
    std::string_view("include/weir/key"),  // addresses, headers of packets, verdicts, sides
    std::string_view("include/weir/filter"),
    std::string_view("include/weir/learn"), // classifiers, which filters stand behind
    std::string_view("include/weir/table"),
    std::string_view("include/weir/image"),          // filters and tables as one file
    std::string_view("include/weir/lookup"),         // what workers ask an image
    std::string_view("include/weir/lookup/kernels"), // the inner loops of that
    std::string_view("include/weir/build"),          // of images
    std::string_view("include/weir/wire"),           // between the two programs
    std::string_view("include/weir/config"),         // weir.yaml
    std::string_view("p4/export"),
    std::string_view("p4/swx"),

    std::string_view("dataplane/count"),
    std::string_view("dataplane/port"),
    std::string_view("dataplane/sources"), // what is remembered of them
    std::string_view("dataplane/image"),
    std::string_view("dataplane/packet"), // from rx to tx
    std::string_view("dataplane/replay"),
    std::string_view("dataplane/gate"), // all parts as one
    std::string_view("dataplane/report"),
    std::string_view("dataplane"), // the program

    std::string_view("control/base"),
    std::string_view("control/rules"),
    std::string_view("control/store"),
    std::string_view("control/workload"),
    std::string_view("control/learn"), // trains the library's classifiers
    std::string_view("control/offenders"),
    std::string_view("control/plan"),
    std::string_view("control/watch"), // holds images in force against their plans
    std::string_view("control/build"),
    std::string_view("control/push"),
    std::string_view("control/engine"),
    std::string_view("control/api"),
    std::string_view("control/metrics"), // for Prometheus
    std::string_view("control/daemon"),  // weir-control
    std::string_view("control/cli"),     // weirctl
};

constexpr std::array wings{std::string_view("dataplane"), std::string_view("control")};

std::string folder_of(const File &file) {
  return std::filesystem::path(file.path).parent_path().generic_string();
}

[[nodiscard]] bool has_a_floor(const File &file) {
  return file.is_source() &&
         (file.in("include") || file.in("p4") || file.in("dataplane") || file.in("control"));
}

// Past the end: none.
[[nodiscard]] std::size_t floor_of(const File &file) {
  return static_cast<std::size_t>(std::ranges::find(floors, folder_of(file)) - floors.begin());
}

// Empty: the library and p4, which both wings stand on.
[[nodiscard]] std::string_view wing_of(const File &file) {
  for (const std::string_view wing : wings)
    if (file.in(std::string(wing))) return wing;
  return {};
}

// What is compiled for every packet, and what is changed for every new format: a header that they see is
// read again by everybody who works there.
struct Sight {
  std::string_view file;
  std::size_t headers_most; // of this tree, itself left out
};
constexpr std::array sights{
    Sight{"dataplane/packet/stage_parse.cpp", 15},
    Sight{"control/rules/feed_plain.cpp", 10},
    Sight{"control/rules/feed_ipset.cpp", 10},
    Sight{"control/rules/feed_json.cpp", 10},
};

} // namespace

Breaches includes_that_go_up(const Tree &tree) {
  Breaches out;
  for (const File &file : tree.files) {
    if (!has_a_floor(file)) continue;
    const std::size_t from = floor_of(file);
    if (from == floors.size()) {
      out.push_back(file.path + ": " + folder_of(file) +
                    " stands on no floor; tests/tidy/floors.cpp lists them");
      continue;
    }
    for (const Include &include : includes_of(file)) {
      const File *to = resolve(tree, file, include);
      if (to == nullptr) continue;
      const std::string place = file.path + ":" + std::to_string(include.line) + ": ";
      if (!has_a_floor(*to))
        out.push_back(place + "a program includes " + to->path);
      else if (!wing_of(*to).empty() && wing_of(*to) != wing_of(file))
        out.push_back(place + "the other wing: " + to->path);
      else if (floor_of(*to) != floors.size() && floor_of(*to) > from)
        out.push_back(place + "goes up: " + to->path);
    }
  }
  return out;
}

Breaches files_that_see_too_much(const Tree &tree) {
  Breaches out;
  for (const Sight &sight : sights) {
    const File *file = tree.find(std::string(sight.file));
    if (file == nullptr) { // counterexamples have one of these files, and no Makefile
      if (tree.find("Makefile") != nullptr)
        out.push_back(std::string(sight.file) + ": gone; name it anew here");
      continue;
    }
    std::set<const File *> seen;
    walk_includes(tree, *file, [&](const File &at, const Include &include) {
      if (const File *header = resolve(tree, at, include)) seen.insert(header);
    });
    if (seen.size() > sight.headers_most)
      out.push_back(file->path + ": " + std::to_string(seen.size()) + " headers of weir, " +
                    std::to_string(sight.headers_most) + " at most");
  }
  return out;
}

Breaches tests_that_mirror_nothing(const Tree &tree) {
  std::set<std::string> folders;
  for (const File &file : tree.files) folders.insert(folder_of(file));
  Breaches out;
  for (const File &file : tree.files)
    for (const std::string kind : {"tests/unit", "tests/property"}) {
      if (!file.in(kind) || !file.is_source()) continue;
      const std::string folder = folder_of(file).substr(kind.size()); // "/control/push"
      if (folder.empty() || !(folders.contains(folder.substr(1)) || folders.contains("include" + folder) ||
                              folders.contains("tests" + folder)))
        out.push_back(file.path + ": no folder of the tree is named like " + kind + folder);
    }
  return out;
}

} // namespace weir::tidy
