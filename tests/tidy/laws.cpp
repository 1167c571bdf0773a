// What may stand where. Each law comes with a small tree that breaks it, so that the test can show
// that it is able to fail.
#include "tests/tidy/tree.hpp"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>

namespace weir::tidy {

Breaches includes_that_go_up(const Tree &tree);           // floors.cpp
Breaches files_that_see_too_much(const Tree &tree);       // floors.cpp
Breaches tests_that_mirror_nothing(const Tree &tree);     // floors.cpp
Breaches headers_that_need_company(const Tree &tree);     // headers.cpp
Breaches generated_from_something_else(const Tree &tree); // manifest.cpp

namespace {

std::string place(const File &file, unsigned line, const std::string &what) {
  return file.path + ":" + std::to_string(line) + ": " + what;
}

// Every line of `text` that matches, as a breach.
void match_lines(const File &file, const std::string &text, const std::regex &pattern,
                 const std::string &what, Breaches &out) {
  std::istringstream lines(text);
  std::string line;
  std::smatch found;
  for (unsigned number = 1; std::getline(lines, line); ++number)
    if (std::regex_search(line, found, pattern))
      out.push_back(place(file, number, what + ": " + found.str()));
}

Breaches dataplane_reaches_builders(const Tree &tree) {
  Breaches out;
  for (const File &file : tree.files)
    if (file.in("dataplane"))
      walk_includes(tree, file, [&](const File &at, const Include &include) {
        if (include.name.starts_with("weir/build/"))
          out.push_back(place(at, include.line, file.path + " reaches " + include.name));
      });
  return out;
}

Breaches control_knows_dpdk(const Tree &tree) {
  static const std::regex names(R"(\brte_[a-z0-9_]+)");
  Breaches out;
  for (const File &file : tree.files) {
    if (!file.in("control") || !file.is_source()) continue;
    match_lines(file, file.code, names, "DPDK in control", out);
    walk_includes(tree, file, [&](const File &at, const Include &include) {
      if (include.name.starts_with("rte_") || include.name.starts_with("dataplane/"))
        out.push_back(place(at, include.line, file.path + " reaches " + include.name));
    });
  }
  return out;
}

Breaches nlopt_outside_the_planner(const Tree &tree) {
  Breaches out;
  for (const File &file : tree.files)
    if (file.is_source() && !file.in("control/plan"))
      for (const Include &include : includes_of(file))
        if (!include.quoted && include.name.starts_with("nlopt"))
          out.push_back(place(file, include.line, "NLopt belongs to control/plan"));
  return out;
}

// Tests of a folder are compiled together.
Breaches tests_without_a_namespace_of_their_own(const Tree &tree) {
  static const std::regex name(R"((?:^|\n)namespace ([a-z0-9_:]+) \{)");
  constexpr std::string_view end = "_test.cpp";
  Breaches out;
  for (const File &file : tree.files) {
    if (!file.in("tests") || !file.path.ends_with(end)) continue;
    const std::size_t from = file.path.rfind('/') + 1;
    const std::string own =
        "::" + file.path.substr(from, file.path.size() - from - std::string_view(".cpp").size());
    std::smatch found;
    if (!std::regex_search(file.code, found, name) || !found.str(1).ends_with(own))
      out.push_back(file.path + ": what it declares belongs into namespace ..." + own);
  }
  return out;
}

struct Library {
  std::string name;
  std::regex include;
  bool one_file; // in each program; otherwise only kept out of headers
};

const std::vector<Library> &heavy_libraries() {
  static const std::vector<Library> list{
      {"RocksDB", std::regex("^rocksdb/"), true},
      {"yaml-cpp", std::regex("^yaml-cpp/"), true},
      {"CLI11", std::regex("^CLI/"), true},
      {"libpcap", std::regex("^pcap(/|\\.h)"), true},
      {"XGBoost", std::regex("^xgboost/"), true},
      {"ncurses", std::regex("^(n?curses|term)\\.h"), true},
      {"NLopt", std::regex("^nlopt"), false},
      {"nlohmann json", std::regex("^nlohmann/json\\.hpp"), false}, // json_fwd.hpp is what headers take
  };
  return list;
}

// The library is part of every program, so it counts on its own.
std::string program_of(const File &file) {
  for (const char *folder : {"include", "dataplane", "control/cli", "control"})
    if (file.in(folder)) return folder;
  return "";
}

Breaches heavy_libraries_spread(const Tree &tree) {
  Breaches out;
  for (const Library &library : heavy_libraries()) {
    std::map<std::string, std::string> first; // program -> file
    for (const File &file : tree.files) {
      if (!file.is_source()) continue;
      for (const Include &include : includes_of(file)) {
        if (include.quoted || !std::regex_search(include.name, library.include)) continue;
        const std::string program = program_of(file);
        if (file.is_header())
          out.push_back(place(file, include.line, library.name + " in a header"));
        else if (library.one_file && !program.empty()) {
          const auto [it, inserted] = first.emplace(program, file.path);
          if (!inserted && it->second != file.path)
            out.push_back(
                place(file, include.line, library.name + " stands behind " + it->second + " already"));
        }
      }
    }
  }
  return out;
}

// fmt::print() throws where its file takes nothing: a full disk would end a program.
Breaches prints_that_throw(const Tree &tree) {
  static const std::regex words(R"(\bfmt::print\b)");
  Breaches out;
  for (const File &file : tree.files)
    if (file.in("include") || file.in("dataplane") || file.in("control"))
      match_lines(file, file.code, words, "throws when a disk is full; see weir/base/say.hpp", out);
  return out;
}

Breaches virtual_where_it_is_hot(const Tree &tree) {
  static const std::regex word(R"(\bvirtual\b)");
  Breaches out;
  for (const File &file : tree.files)
    if (file.in("include/weir/filter") || file.in("include/weir/table"))
      match_lines(file, file.code, word, "filters and tables are concepts, not classes with vtables", out);
  return out;
}

Breaches using_namespace_in_headers(const Tree &tree) {
  static const std::regex words(R"(\busing\s+namespace\b)");
  Breaches out;
  for (const File &file : tree.files)
    if (file.is_header()) match_lines(file, file.code, words, "leaks into every includer", out);
  return out;
}

Breaches headers_without_guard(const Tree &tree) {
  Breaches out;
  for (const File &file : tree.files)
    if (file.is_header() && file.code.find("#pragma once") == std::string::npos)
      out.push_back(place(file, 1, "no #pragma once"));
  return out;
}

Breaches strangers_at_the_top(const Tree &tree) {
  static const std::set<std::string> known{
      "Makefile",   "README.md", "CHANGELOG.md", "LICENSE",   ".clang-format", ".clang-tidy", ".editorconfig",
      ".gitignore", ".ci",       "include",      "dataplane", "control",       "p4",          "tests",
      "pcaps",      "docs",      "packaging"};
  Breaches out;
  for (const std::string &name : tree.top)
    if (!known.contains(name)) out.push_back(name + ": not listed for the top level");
  return out;
}

// A lock that is let go in the statement that takes it; of other types clang-tidy finds it in programs.
Breaches locks_without_names(const Tree &tree) {
  static const std::regex words(
      R"(^\s*std::(lock_guard|scoped_lock|unique_lock|shared_lock)\b(<[^;]*>)?\s*[({])");
  Breaches out;
  for (const File &file : tree.files)
    if (file.is_source()) match_lines(file, file.code, words, "holds nothing: give it a name", out);
  return out;
}

// Spelled in halves, so that this file does not break its own law.
Breaches unfinished_business(const Tree &tree) {
  static const std::regex words("\\b(TO"
                                "DO|FIX"
                                "ME|XX"
                                "X)\\b");
  Breaches out;
  for (const File &file : tree.files) match_lines(file, file.text, words, "finish it or leave it out", out);
  return out;
}

Breaches paths_of_one_machine(const Tree &tree) {
  static const std::regex paths("(^|[^A-Za-z0-9_.])(/ho"
                                "me/[a-z]|/Us"
                                "ers/|/ro"
                                "ot/|/wo"
                                "rk/)");
  Breaches out;
  for (const File &file : tree.files) match_lines(file, file.text, paths, "a path of one machine", out);
  return out;
}

} // namespace

const std::vector<Law> &laws() {
  static const std::vector<Law> all{
      {"the_dataplane_reaches_no_builder",
       dataplane_reaches_builders,
       {{"dataplane/packet/worker.cpp", "#include \"weir/table/table.hpp\"\n"},
        {"include/weir/table/table.hpp", "#pragma once\n#include \"weir/build/table_builder.hpp\"\n"},
        {"include/weir/build/table_builder.hpp", "#pragma once\n"}},
       "include/weir/table/table.hpp:2"},
      {"includes_go_down",
       includes_that_go_up,
       {{"include/weir/table/line.hpp", "#pragma once\n#include \"weir/key/side.hpp\"\n"},
        {"include/weir/key/side.hpp", "#pragma once\n\n#include \"weir/table/line.hpp\"\n"}},
       "include/weir/key/side.hpp:3"},
      {"neither_wing_sees_the_other",
       includes_that_go_up,
       {{"control/cli/main.cpp", "#include \"dataplane/port/port.hpp\"\n"},
        {"dataplane/port/port.hpp", "#pragma once\n"}},
       "control/cli/main.cpp:1"},
      {"every_folder_has_its_floor",
       includes_that_go_up,
       {{"control/attic/chest.hpp", "#pragma once\n"}},
       "control/attic"},
      {"files_that_are_read_often_see_little",
       files_that_see_too_much,
       {{"control/rules/feed_plain.cpp", "#include \"a.hpp\"\n#include \"b.hpp\"\n#include "
                                         "\"c.hpp\"\n#include \"d.hpp\"\n#include \"e.hpp\"\n"
                                         "#include \"f.hpp\"\n"},
        {"control/rules/a.hpp", "#include \"g.hpp\"\n"},
        {"control/rules/b.hpp", "#include \"h.hpp\"\n"},
        {"control/rules/c.hpp", "#include \"i.hpp\"\n"},
        {"control/rules/d.hpp", "#include \"j.hpp\"\n"},
        {"control/rules/e.hpp", "#include \"k.hpp\"\n"},
        {"control/rules/f.hpp", ""},
        {"control/rules/g.hpp", ""},
        {"control/rules/h.hpp", ""},
        {"control/rules/i.hpp", ""},
        {"control/rules/j.hpp", ""},
        {"control/rules/k.hpp", ""}},
       "control/rules/feed_plain.cpp: 11"},
      {"unit_and_property_tests_mirror_the_tree",
       tests_that_mirror_nothing,
       {{"control/push/push.cpp", ""},
        {"tests/unit/control/push/push_test.cpp", ""},
        {"tests/unit/control/pull/push_test.cpp", ""}},
       "tests/unit/control/pull/push_test.cpp"},
      {"a_test_has_a_namespace_of_its_own_name",
       tests_without_a_namespace_of_their_own,
       {{"tests/unit/control/push/push_test.cpp", "namespace weir::push::push_test {\n"},
        {"tests/unit/control/push/pull_test.cpp", "\nnamespace weir::push {\n"}},
       "tests/unit/control/push/pull_test.cpp"},
      {"control_knows_no_dpdk",
       control_knows_dpdk,
       {{"control/push/push.cpp", "// rte_ring is fine in a comment\nint n = rte_lcore_count();\n"}},
       "control/push/push.cpp:2"},
      {"only_the_planner_knows_nlopt",
       nlopt_outside_the_planner,
       {{"control/plan/plan.cpp", "#include <nlopt.hpp>\n"},
        {"control/daemon/main.cpp", "#include <nlopt.hpp>\n"}},
       "control/daemon/main.cpp:1"},
      {"a_heavy_library_stands_behind_one_file",
       heavy_libraries_spread,
       {{"control/store/store.cpp", "#include <rocksdb/db.h>\n"},
        {"control/store/trim.cpp", "#include <rocksdb/options.h>\n"}},
       "control/store/trim.cpp:1"},
      {"a_heavy_library_stays_out_of_headers",
       heavy_libraries_spread,
       {{"control/rules/list.hpp", "#pragma once\n#include <nlohmann/json.hpp>\n"}},
       "control/rules/list.hpp:2"},
      {"what_a_program_says_never_throws",
       prints_that_throw,
       {{"dataplane/port/port.cpp", "// fmt::print\nvoid f() { fmt::print(stderr, \"down\"); }\n"}},
       "dataplane/port/port.cpp:2"},
      {"filters_and_tables_have_no_virtual_functions",
       virtual_where_it_is_hot,
       {{"include/weir/filter/any.hpp",
         "#pragma once\n// virtual\nstruct A {\n  virtual bool contains();\n};\n"}},
       "include/weir/filter/any.hpp:4"},
      {"headers_use_no_namespace_directive",
       using_namespace_in_headers,
       {{"dataplane/port/port.hpp", "#pragma once\nusing namespace std;\n"}},
       "dataplane/port/port.hpp:2"},
      {"headers_are_read_once",
       headers_without_guard,
       {{"include/weir/key/a.hpp", "// #pragma once\nint f();\n"}},
       "include/weir/key/a.hpp:1"},
      {"each_header_compiles_alone",
       headers_that_need_company,
       {{"include/weir/key/b.hpp", "#pragma once\nstd::string f();\n"}},
       "include/weir/key/b.hpp"},
      {"locks_have_names",
       locks_without_names,
       {{"tests/unit/c.cpp",
         "void f() {\n  const std::lock_guard lock(m);\n  std::lock_guard<std::mutex>{m};\n}\n"}},
       "tests/unit/c.cpp:3"},
      {"the_top_level_is_as_listed", strangers_at_the_top, {{"scratch/a.cpp", "int a;\n"}}, "scratch"},
      {"nothing_is_left_to_do",
       unfinished_business,
       {{"docs/plan.md", std::string("later\n") + "TO" + "DO: more\n"}},
       "docs/plan.md:2"},
      {"generated_files_are_those_of_acl_p4",
       generated_from_something_else,
       {{"p4/acl.p4", "header changed_since {}\n"},
        {"p4/generated/MANIFEST",
         "# made from an empty file\n"
         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  acl.p4\n"}},
       "p4/acl.p4"},
      {"no_path_of_one_machine",
       paths_of_one_machine,
       {{"tests/unit/a.cpp", std::string("const char *f = \"/ho") + "me/me/a.pcap\";\n"}},
       "tests/unit/a.cpp:1"},
  };
  return all;
}

} // namespace weir::tidy
