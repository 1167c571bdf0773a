#include "dataplane/report/telemetry.hpp"

#include "dataplane/report/snapshot.hpp"
#include "weir/key/text.hpp"
#include "weir/lookup/explain.hpp"

#include <fmt/format.h>

#include <rte_telemetry.h>

#include <cerrno>
#include <cstdlib>
#include <mutex>

namespace weir::dataplane {
namespace {

// EAL keeps callbacks for ever; what they answer about comes and goes under this lock.
std::mutex published_lock;
const Dataplane *published = nullptr;

constexpr std::size_t page_lists = 64; // an answer stays under 16 KiB

// Runs `answer` with the published dataplane; names in a dictionary are [A-Za-z0-9_/] only.
template <class Answer> int with_dataplane(rte_tel_data *data, Answer answer) {
  const std::lock_guard lock(published_lock);
  if (published == nullptr) return -ENODEV;
  rte_tel_data_start_dict(data);
  return answer(*published);
}

void add_text(rte_tel_data *data, const char *key, const std::string &text) {
  rte_tel_data_add_dict_string(data, key, text.c_str());
}

void add_number(rte_tel_data *data, const std::string &key, std::uint64_t value) {
  rte_tel_data_add_dict_u64(data, key.c_str(), value);
}

void add_counters(rte_tel_data *data, wire::CounterGroup group, const wire::CounterValues &values) {
  for (const wire::CounterInfo &one : wire::counters)
    if (one.group == group) add_number(data, std::string(one.name), values[one.id]);
}

int info(const char *, const char *, rte_tel_data *data) {
  return with_dataplane(data, [&](const Dataplane &d) {
    const Snapshot s = take_snapshot(d);
    add_text(data, "memory", s.memory);
    add_number(data, "packets", s.packets);
    add_number(data, "pass", s.pass);
    add_number(data, "drop", s.drop);
    add_number(data, "lost", s.lost);
    add_number(data, "workers", d.setup.workers);
    return 0;
  });
}

int generation(const char *, const char *, rte_tel_data *data) {
  return with_dataplane(data, [&](const Dataplane &d) {
    const auto lock = d.generations.lock();
    const AttachedImage *live = d.slot.current();
    add_number(data, "generation", live != nullptr ? live->generation.value() : 0);
    add_number(data, "sequence", live != nullptr ? live->sequence.load() : 0);
    add_number(data, "image_bytes", live != nullptr ? live->image_bytes : 0);
    add_number(data, "packets", live != nullptr ? live->packets() : 0);
    return 0;
  });
}

int workers(const char *, const char *, rte_tel_data *data) {
  return with_dataplane(data, [&](const Dataplane &d) {
    for (const WorkerSnapshot &w : take_snapshot(d).workers) {
      rte_tel_data *one = rte_tel_data_alloc();
      rte_tel_data_start_dict(one);
      add_number(one, "lcore", w.lcore);
      add_counters(one, wire::CounterGroup::worker, w.counters);
      rte_tel_data_add_dict_container(data, std::to_string(w.id).c_str(), one, 0);
    }
    return 0;
  });
}

int lists(const char *, const char *parameters, rte_tel_data *data) {
  return with_dataplane(data, [&](const Dataplane &d) {
    const auto all = take_snapshot(d).lists;
    const std::size_t first = parameters != nullptr ? std::strtoul(parameters, nullptr, 10) : 0;
    add_number(data, "total", all.size());
    for (std::size_t i = first; i < all.size() && i < first + page_lists; ++i) {
      rte_tel_data *one = rte_tel_data_alloc();
      rte_tel_data_start_dict(one);
      add_text(one, "name", all[i].first);
      add_number(one, "hits", all[i].second);
      rte_tel_data_add_dict_container(data, std::to_string(i).c_str(), one, 0);
    }
    return 0;
  });
}

int drops(const char *, const char *, rte_tel_data *data) {
  return with_dataplane(data, [&](const Dataplane &d) {
    const Snapshot s = take_snapshot(d);
    for (const ReasonInfo &reason : reasons)
      add_number(data, std::string(reason.name), s.of(reason.reason, Verdict::drop));
    return 0;
  });
}

int allow_filter(const char *, const char *, rte_tel_data *data) {
  return with_dataplane(data, [&](const Dataplane &d) {
    add_counters(data, wire::CounterGroup::allow_filter, take_snapshot(d).total);
    return 0;
  });
}

int deny_filter(const char *, const char *, rte_tel_data *data) {
  return with_dataplane(data, [&](const Dataplane &d) {
    add_counters(data, wire::CounterGroup::deny_filter, take_snapshot(d).total);
    return 0;
  });
}

int offenders(const char *, const char *, rte_tel_data *data) {
  return with_dataplane(data, [&](const Dataplane &d) {
    add_counters(data, wire::CounterGroup::offenders, take_snapshot(d).total);
    return 0;
  });
}

int packet_rules(const char *, const char *, rte_tel_data *data) {
  return with_dataplane(data, [&](const Dataplane &d) {
    add_counters(data, wire::CounterGroup::packet_rules, take_snapshot(d).total);
    return 0;
  });
}

int list_actions(const char *, const char *, rte_tel_data *data) {
  return with_dataplane(data, [&](const Dataplane &d) {
    add_counters(data, wire::CounterGroup::list_actions, take_snapshot(d).total);
    return 0;
  });
}

int swap(const char *, const char *, rte_tel_data *data) {
  return with_dataplane(data, [&](const Dataplane &d) {
    const auto swaps = d.generations.swaps();
    add_number(data, "count", d.generations.swap_count());
    if (!swaps.empty()) {
      add_number(data, "last_generation", swaps.back().generation.value());
      add_number(data, "last_ns", swaps.back().swap_ns);
    }
    return 0;
  });
}

int explain_address(const char *, const char *parameters, rte_tel_data *data) {
  return with_dataplane(data, [&](const Dataplane &d) {
    const auto address = parse_address(parameters != nullptr ? parameters : "");
    if (!address) return -EINVAL;
    const auto lock = d.generations.lock();
    const AttachedImage *live = d.slot.current();
    if (live == nullptr) {
      add_text(data, "reason", std::string(name_of(Reason::no_image)));
      return 0;
    }
    const lookup::Explanation why = lookup::explain(live->view, *address);
    add_text(data, "verdict", std::string(name_of(why.verdict)));
    add_text(data, "reason", std::string(name_of(why.reason)));
    add_text(data, "list", why.list);
    add_text(data, "entry", why.entry);
    return 0;
  });
}

void register_commands() {
  rte_telemetry_register_cmd("/weir/info", info, "Totals and memory");
  rte_telemetry_register_cmd("/weir/generation", generation, "The generation in force");
  rte_telemetry_register_cmd("/weir/workers", workers, "Packets and cycles of each worker");
  rte_telemetry_register_cmd("/weir/lists", lists, "Hits of each list. Parameter: first list (64 a page)");
  rte_telemetry_register_cmd("/weir/drops", drops, "Dropped packets by reason");
  rte_telemetry_register_cmd("/weir/allow_filter", allow_filter,
                             "What the filter in front of the allow tables did");
  rte_telemetry_register_cmd("/weir/offenders", offenders, "What the memory of offenders did");
  rte_telemetry_register_cmd("/weir/deny_filter", deny_filter, "What the stacked filter of denied hosts did");
  rte_telemetry_register_cmd("/weir/packet_rules", packet_rules, "What packet rules did");
  rte_telemetry_register_cmd("/weir/list_actions", list_actions, "What deny lists did besides dropping");
  rte_telemetry_register_cmd("/weir/swap", swap, "Number of swaps and the latest");
  rte_telemetry_register_cmd("/weir/explain", explain_address, "Verdict for an address. Parameter: address");
}

} // namespace

Telemetry::Telemetry(const Dataplane &dataplane) {
  static std::once_flag registered;
  std::call_once(registered, register_commands);
  const std::lock_guard lock(published_lock);
  published = &dataplane;
}

Telemetry::~Telemetry() {
  const std::lock_guard lock(published_lock);
  published = nullptr;
}

} // namespace weir::dataplane
