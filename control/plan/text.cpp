// A plan for people and for programs.
#include "control/plan/plan.hpp"

#include <fmt/format.h>

#include <array>

namespace weir::plan {
namespace {

const Candidate &chosen_of(const Plan &plan) {
  for (const Candidate &c : plan.candidates)
    if (c.chosen) return c;
  return plan.candidates.front();
}

std::string why(const Plan &plan) {
  return fmt::format("predictor {}: {}. Front filter {}: {}", plan.predictor.chosen, plan.predictor.why,
                     plan.front_filter.chosen, plan.front_filter.why);
}

const char *kind_of_memory(const Plan &plan) {
  return plan.hugepages ? "hugepages (2 MiB)" : "ordinary pages (no hugepages free)";
}

std::string json(const Candidate &c) {
  return fmt::format(
      R"({{"predictor":"{}","front_filter":"{}","bytes":{},"lines_hit":{:.4f},"lines_absent":{:.4f},)"
      R"("lines_per_lookup":{:.4f},"chosen":{}}})",
      c.predictor, c.front_filter, c.image_bytes, c.lines_hit, c.lines_absent, c.lines_absent, c.chosen);
}

std::string json(const TablePlan &t) {
  return fmt::format(R"({{"name":"{}","keys":{},"hosts":{},"prefixes":{},"prefix_lengths":{},"bytes":{},)"
                     R"("lines_hit":{:.4f},"lines_absent":{:.4f},"probes":{:.4f}}})",
                     t.name, t.keys, t.hosts, t.prefixes, t.prefix_lengths, t.bytes, t.lines_hit,
                     t.lines_absent, t.probes);
}

std::string json_memory(const Plan &p) {
  std::string cgroup;
  if (p.memory.cgroup_free_bytes)
    cgroup = fmt::format(R"("cgroup_free_bytes":{},)", *p.memory.cgroup_free_bytes);
  return fmt::format(
      R"({{"before_bytes":{},"after_bytes":{},"needed_bytes":{},"swap_bytes":{},"rules_bytes":{},"scratch_bytes":{},)"
      R"("free_bytes":{},"available_bytes":{},{}"hugepages_free_bytes":{},"kind":"{}","fits":{}}})",
      p.before_bytes, p.image_bytes, p.needed_bytes, p.swap_bytes, p.rules_bytes, p.scratch_bytes,
      p.memory.ordinary_bytes(), p.memory.available_bytes, cgroup, p.memory.hugepages_free_bytes,
      kind_of_memory(p), p.fits);
}

template <class Item> std::string json_list(const std::vector<Item> &items) {
  std::string text;
  for (const Item &item : items) text += (text.empty() ? "" : ",") + json(item);
  return text;
}

} // namespace

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array units{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) value /= 1024, ++unit;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string to_json(const Plan &plan) {
  const Candidate &chosen = chosen_of(plan);
  return fmt::format(
      R"({{"predictor":"{}","front_filter":"{}","predicted_lines":{:.4f},"image_bytes":{},"build_ms":{:.1f},)"
      R"("why":"{}","chosen":{},"candidates":[{}],"tables":[{}],"memory":{}}})",
      chosen.predictor, chosen.front_filter, chosen.lines_absent, plan.image_bytes, plan.build_ms, why(plan),
      json(chosen), json_list(plan.candidates), json_list(plan.tables), json_memory(plan));
}

std::string to_text(const Plan &plan) {
  std::string text = fmt::format("{:<11} {:>11} {:>11} {:>9} {:>8} {:>10} {:>7} {:>7}\n", "TABLE", "KEYS",
                                 "HOSTS", "PREFIXES", "LENGTHS", "SIZE", "HIT", "ABSENT");
  for (const TablePlan &t : plan.tables)
    text +=
        fmt::format("{:<11} {:>11} {:>11} {:>9} {:>8} {:>10} {:>7.2f} {:>7.2f}\n", t.name, t.keys, t.hosts,
                    t.prefixes, t.prefix_lengths, human_bytes(t.bytes), t.lines_hit, t.lines_absent);
  for (const Candidate &c : plan.candidates)
    text += fmt::format(
        "{} predictor {}, front filter {}: {}, {:.2f} lines for a hit, {:.2f} for an absent key\n",
        c.chosen ? "->" : "  ", c.predictor, c.front_filter, human_bytes(c.image_bytes), c.lines_hit,
        c.lines_absent);
  text += fmt::format("why: {}\n", why(plan));
  text += fmt::format(
      "memory: image {} now, {} after, both during the swap: {}; needs {} in {}, {} free{}\n",
      human_bytes(plan.before_bytes), human_bytes(plan.image_bytes), human_bytes(plan.swap_bytes),
      human_bytes(plan.needed_bytes), kind_of_memory(plan),
      human_bytes(plan.memory.ordinary_bytes() + (plan.hugepages ? plan.memory.hugepages_free_bytes : 0)),
      plan.fits ? "" : ": too little");
  text += fmt::format("build: about {:.0f} ms\n", plan.build_ms);
  return text;
}

} // namespace weir::plan
