// A plan for people and for programs.
#include "control/plan/plan.hpp"

#include <fmt/format.h>

#include <array>

namespace weir::plan {
namespace {

const Candidate &chosen_of(const Plan &plan) {
  for (const Candidate &c : plan.candidates)
    if (c.cost.chosen) return c;
  return plan.candidates.front();
}

std::string hits_text(const Workload &workload) {
  if (!workload.measured())
    return fmt::format("{:.0f} % hits (assumed: nothing is measured yet)", workload.hit_ratio * 100);
  return fmt::format("{:.3g} % hits (measured over {} lookups)", workload.hit_ratio * 100,
                     workload.questions);
}

std::string why(const Plan &plan) {
  const std::string hosts = plan.deny_filter.compact ? "Denied hosts: a filter without tables. " : "";
  return fmt::format("a lookup takes {:.1f} ns at {}. {}Predictor {}: {}. Front filter {}: {}",
                     chosen_of(plan).cost.ns, hits_text(plan.workload), hosts, plan.predictor.chosen,
                     plan.predictor.why, plan.front_filter.chosen, plan.front_filter.why);
}

const char *kind_of_memory(const Plan &plan) {
  return plan.hugepages ? "hugepages (2 MiB)" : "ordinary pages (no hugepages free)";
}

std::string json(const Candidate &c) {
  return fmt::format(
      R"({{"predictor":"{}","front_filter":"{}","bytes":{},"predictor_bytes":{},"front_bytes":{},)"
      R"("ns_per_lookup":{:.2f},"work_ns":{:.2f},"memory_ns":{:.2f},)"
      R"("lines_hit":{:.4f},"lines_absent":{:.4f},"lines_per_lookup":{:.4f},"chosen":{},"why_not":"{}"}})",
      name_of(c.cost.option.predictor), name_of(c.cost.option.front_filter), c.image_bytes,
      c.cost.predictor_bytes, c.cost.front_bytes, c.cost.ns, c.cost.work_ns, c.cost.memory_ns,
      c.cost.lines_hit, c.cost.lines_absent, c.cost.lines, c.cost.chosen, json_text(c.cost.why_not));
}

std::string json_trained(const std::optional<Trained> &t) {
  if (!t) return "";
  return fmt::format(R"("trained":{{"train_ms":{:.2f},"bits_per_key":{:.4f},"layers":{},"exact":{}}},)",
                     t->ms, t->bits_per_key, t->layers, t->exact);
}

std::string json_allow_filter(const Plan &plan) {
  const AllowFilterPlan &f = plan.allow_filter;
  std::string text = fmt::format(R"("allow_filter":{{"chosen":"{}","why":"{}","confirm":"{}","keys":{})",
                                 f.chosen, json_text(f.why), name_of(f.confirm), f.keys);
  if (f.bytes != 0) {
    const AllowFilterPlan::Rates rates = f.predicted();
    text += fmt::format(
        R"(,"planned_keys":{},"bytes":{},"bits_per_key":{:.2f},)"
        R"("predicted":{{"weighted":{:.6g},"plain":{:.6g},"weighted_churned":{:.6g},"plain_churned":{:.6g}}})",
        f.planned_keys, f.bytes, f.bits_per_key(), rates.weighted, rates.plain, rates.weighted_churned,
        rates.plain_churned);
  }
  if (f.sized && !f.guarded_word.empty())
    text += fmt::format(R"(,"vulnerable":{},"left_out":{},"guarded":{},"guarded_cost":{:.6f})", f.vulnerable,
                        f.left_out, f.sized->guarded, f.sized->guarded_cost);
  if (f.sized && !f.sized->json.empty()) text += ',' + f.sized->json;
  std::string rivals;
  for (const AllowFilterPlan::Rival &rival : f.rivals)
    rivals += fmt::format(R"({}{{"filter":"{}","weighted_churned":{:.6g}}})", rivals.empty() ? "" : ",",
                          rival.filter, rival.weighted_churned);
  if (!rivals.empty()) text += fmt::format(R"(,"rivals":[{}])", rivals);
  if (plan.allow_filter_built)
    text += fmt::format(R"(,"built":{{"guarded_rate":{:.6g},"modulator_used":{:.4f},"cells_stuck":{:.4f}}})",
                        plan.allow_filter_built->guarded_rate, plan.allow_filter_built->modulator_share,
                        plan.allow_filter_built->stuck_share);
  return text + "},";
}

std::string json_offenders(const Plan &plan) {
  if (!plan.offenders) return {};
  const offenders::Choice &c = *plan.offenders;
  return fmt::format(
      R"("offenders":{{"filter":"{}","learned":{},"why":"{}","cell_bytes":{},"model_bytes":{},)"
      R"("groups":{},"accepted":{:.6g},"missed":{:.6g}}},)",
      name_of(c.plan.filter), c.learned, json_text(c.why), c.plan.cell_bits / 8, c.model_bytes,
      c.plan.groups.size(), c.plan.accepted, c.plan.missed);
}

std::string json_stack_and_cause(const Plan &plan) {
  std::string text =
      fmt::format(R"("target":"{}","deny_filter":{},)", name_of(plan.target), to_json(plan.deny_filter)) +
      json_offenders(plan);
  if (plan.planned_at != 0) text += fmt::format(R"("planned_at":{},)", plan.planned_at);
  return plan.built_for.empty() ? text
                                : text + fmt::format(R"("built_for":"{}",)", json_text(plan.built_for));
}

std::string allow_filter_text(const AllowFilterPlan &f) {
  std::string text = fmt::format("allow filter {}: {}\n", f.chosen, f.why);
  if (f.bytes == 0) return text;
  text += fmt::format("   {} keys, room for {}; {}, {:.1f} bits a key; ", f.keys, f.planned_keys,
                      human_bytes(f.bytes), f.bits_per_key());
  const bool any_alike = f.guarded_word.empty();
  if (!any_alike)
    text += fmt::format("{} of {} vulnerable keys {}{}; ", f.sized->guarded, f.vulnerable, f.guarded_word,
                        f.left_out == 0 ? "" : fmt::format(" ({} more left out)", f.left_out));
  const AllowFilterPlan::Rates rates = f.predicted();
  text += fmt::format("{}confirm {}\n   accepts in error, ", f.sized->text, name_of(f.confirm));
  if (any_alike)
    return text + fmt::format("any key alike, {:.3g} %, {:.3g} % with all the keys there is room for\n",
                              100 * rates.plain, 100 * rates.plain_churned);
  return text + fmt::format("by cost {:.3g} %, after churn {:.3g} %; a key nobody guards {:.3g} %, "
                            "after churn {:.3g} %\n",
                            100 * rates.weighted, 100 * rates.weighted_churned, 100 * rates.plain,
                            100 * rates.plain_churned);
}

[[nodiscard]] const char *host_home_of(const TablePlan &t) {
  return name_of(t.hosts_in_words  ? build::HostHome::words
                 : !t.hosts_in_map ? build::HostHome::table
                 : t.points        ? build::HostHome::points
                                   : build::HostHome::ranges);
}

[[nodiscard]] std::string home_text(const TablePlan &t) {
  if (t.hosts_why.empty()) return "";
  return fmt::format("{}: hosts stand in {}: {}\n", t.name,
                     t.hosts_in_words  ? "lines of words"
                     : !t.hosts_in_map ? "the table"
                     : t.points        ? "the range map, as points"
                                       : "the range map, as ranges of one address",
                     t.hosts_why);
}

std::string json(const TablePlan &t) {
  return fmt::format(
      R"({{"name":"{}","keys":{},"hosts":{},"prefixes":{},"prefix_lengths":{},"bytes":{},)"
      R"("lines_hit":{:.4f},"lines_absent":{:.4f},"probes":{:.4f},"hosts_in":"{}","hosts_why":"{}"}})",
      t.name, t.keys, t.hosts, t.prefixes, t.prefix_lengths, t.bytes, t.lines_hit, t.lines_absent, t.probes,
      host_home_of(t), json_text(t.hosts_why));
}

std::string json_memory(const Plan &p) {
  std::string cgroup;
  if (p.memory.cgroup_free_bytes)
    cgroup = fmt::format(R"("cgroup_free_bytes":{},)", *p.memory.cgroup_free_bytes);
  return fmt::format(
      R"({{"before_bytes":{},"after_bytes":{},"needed_bytes":{},"swap_bytes":{},"rules_bytes":{},"scratch_bytes":{},)"
      R"("control_bytes":{},"control_peak_bytes":{},"image_copies":{},"dataplane_bytes":{},"dataplane_peak_bytes":{},)"
      R"("free_bytes":{},"available_bytes":{},{}"hugepages_free_bytes":{},"kind":"{}","fits":{}}})",
      p.before_bytes, p.image_bytes, p.needed_bytes, p.swap_bytes, p.rules_bytes, p.scratch_bytes,
      p.control_bytes, p.control_peak_bytes, p.image_copies, p.dataplane_bytes, p.dataplane_peak_bytes,
      p.memory.ordinary_bytes(), p.memory.available_bytes, cgroup, p.memory.hugepages_free_bytes,
      kind_of_memory(p), p.fits);
}

template <class Item> std::string json_list(const std::vector<Item> &items) {
  std::string text;
  for (const Item &item : items) text += (text.empty() ? "" : ",") + json(item);
  return text;
}

} // namespace

// Notes name files, and files may be called anything.
std::string json_text(const std::string &text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out;
}

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
      R"({{"predictor":"{}","front_filter":"{}","predicted_lines":{:.4f},"predicted_ns":{:.2f},"image_bytes":{},)"
      R"("predictor_bytes":{},"front_bytes":{},"build_ms":{:.1f},"build_from":"{}","hit_ratio":{:.6f},)"
      R"("hit_ratio_measured":{},"calibration":"{}","why":"{}","chosen":{},"candidates":[{}],"tables":[{}],)"
      R"({}{}{}"memory":{}}})",
      name_of(plan.chosen.predictor), plan.front_filter.chosen, chosen.cost.lines, chosen.cost.ns,
      plan.image_bytes, chosen.cost.predictor_bytes, chosen.cost.front_bytes, plan.build_ms, plan.build_from,
      plan.workload.hit_ratio, plan.workload.measured(), json_text(plan.calibration), json_text(why(plan)),
      json(chosen), json_list(plan.candidates), json_list(plan.tables), json_trained(plan.trained),
      json_allow_filter(plan), json_stack_and_cause(plan), json_memory(plan));
}

std::string to_text(const Plan &plan) {
  std::string text;
  if (plan.target == build::Target::p4)
    text = "target p4: hash family jhash, sizes are powers of two; times are those of the dataplane in C++\n";
  text += fmt::format("{:<11} {:>11} {:>11} {:>9} {:>8} {:>10} {:>7} {:>7}\n", "TABLE", "KEYS", "HOSTS",
                      "PREFIXES", "LENGTHS", "SIZE", "HIT", "ABSENT");
  for (const TablePlan &t : plan.tables)
    text +=
        fmt::format("{:<11} {:>11} {:>11} {:>9} {:>8} {:>10} {:>7.2f} {:>7.2f}\n", t.name, t.keys, t.hosts,
                    t.prefixes, t.prefix_lengths, human_bytes(t.bytes), t.lines_hit, t.lines_absent);
  for (const TablePlan &t : plan.tables) text += home_text(t);
  for (const Candidate &c : plan.candidates)
    text += fmt::format("{} predictor {}, front filter {}: {}, {:.2f} lines and {:.1f} ns a lookup{}\n",
                        c.cost.chosen ? "->" : "  ", name_of(c.cost.option.predictor),
                        name_of(c.cost.option.front_filter), human_bytes(c.image_bytes), c.cost.lines,
                        c.cost.ns, c.cost.chosen ? "" : ": " + c.cost.why_not);
  text += fmt::format("why: {}\nfigures: {}\n", why(plan), plan.calibration);
  text += allow_filter_text(plan.allow_filter);
  if (const DenyFilterPlan &deny = plan.deny_filter; !deny.why.empty())
    text += fmt::format("filter of denied hosts: {}: {}\n", deny.chosen, deny.why);
  text += fmt::format(
      "memory: image {} now, {} after, both during the swap: {}; needs {} in {}, {} free{}\n",
      human_bytes(plan.before_bytes), human_bytes(plan.image_bytes), human_bytes(plan.swap_bytes),
      human_bytes(plan.needed_bytes), kind_of_memory(plan),
      human_bytes(plan.memory.ordinary_bytes() + (plan.hugepages ? plan.memory.hugepages_free_bytes : 0)),
      plan.fits ? "" : ": too little");
  text += fmt::format("build: about {:.0f} ms, {}\n", plan.build_ms, plan.build_from);
  return text;
}

} // namespace weir::plan
