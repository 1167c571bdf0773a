#include "weir/config/config.hpp"

#include "weir/config/check.hpp"
#include "weir/config/sections.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

namespace weir::config {
namespace {

void read_root(Reader &r, const Node &root) {
  if (root.is_nothing())
    return r.faults.add(1, "version", "the file is empty; it starts with \"version: 1\"");
  const Reader::Read version = [&r](const Node &n, const std::string &path) {
    const auto s = r.scalar(n, path);
    if (s && *s != "1")
      r.fault(n, path, fmt::format("\"{}\" is not known; this program reads version 1", shown(*s)));
  };
  const auto section = [&r](void (*read)(Reader &, const Node &, const std::string &)) -> Reader::Read {
    return [&r, read](const Node &n, const std::string &path) { read(r, n, path); };
  };
  const Reader::Read replan = [&r](const Node &n, const std::string &path) {
    r.map(n, path, {{"interval", r.duration(r.config.replan_interval)}});
  };
  Config &c = r.config;
  r.map(root, "",
        {{"version", version},
         {"eal", section(read_eal)},
         {"ports", section(read_ports)},
         {"policy", section(read_policy)},
         {"mode", section(read_mode)},
         {"lists", section(read_lists)},
         {"allow", section(read_allow)},
         {"guard", section(read_guard)},
         {"front_filter",
          Reader::noted(
              r.places.front_filter,
              r.word<FrontFilter>(c.front_filter, {{"auto", FrontFilter::automatic},
                                                   {"none", FrontFilter::none},
                                                   {"split_block_bloom", FrontFilter::split_block_bloom},
                                                   {"stacked", FrontFilter::stacked}}))},
         {"predictor", r.word<Predictor>(c.predictor, {{"auto", Predictor::automatic},
                                                       {"inline_bits", Predictor::inline_bits},
                                                       {"chained", Predictor::chained}})},
         {"samples", section(read_samples)},
         {"replan", replan},
         {"paths", section(read_paths)},
         {"metrics", section(read_metrics)},
         {"health", section(read_health)},
         {"generations_kept", r.number(c.generations_kept, 1, 1000)},
         {"capture", r.later("take it out: `weirctl drops -f -w FILE` writes dropped packets of live ports")},
         {"rules", section(read_rules)},
         {"offenders", section(read_offenders)}});
  if (root.is_map() && !root.has("version"))
    r.faults.add(1, "version", "missing; the file starts with \"version: 1\"");
  check(c, r.places, r.faults);
}

Result<Reader> read_whole(const std::string &text, const std::filesystem::path &name) {
  const Document document = TRY(Document::parse(text, name));
  Reader reader(name);
  read_root(reader, document.root());
  if (!reader.faults.empty()) return fail(Errc::config, reader.faults.text());
  return reader;
}

} // namespace

Result<Config> parse(const std::string &text, const std::filesystem::path &name) {
  Reader reader = TRY(read_whole(text, name));
  reader.config.source = name;
  return std::move(reader.config);
}

Result<Groups> groups(const std::string &text, const std::filesystem::path &name) {
  if (text.find("_group") == std::string::npos) return Groups{}; // a large file is not read twice for nothing
  return std::move(TRY(read_whole(text, name)).groups);
}

Result<std::string> read(const std::filesystem::path &file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  const bool opened = in.is_open();
  if (opened) errno = 0; // an empty file leaves the text in the same state as one that cannot be read
  if (opened) text << in.rdbuf();
  if (!opened || (text.fail() && errno != 0))
    return fail(Errc::io, fmt::format("{}: cannot read the configuration: {}; give another with -c",
                                      file.string(), std::strerror(errno)));
  return std::move(text).str();
}

Result<Config> load(const std::filesystem::path &file) {
  const auto text = TRY(read(file));
  return parse(text, file);
}

} // namespace weir::config
