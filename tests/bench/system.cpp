// The two processes as an operator runs them, at 1.8 million entries and in a full run at ten million.
//
//   rule file     from asking control to apply a configuration that names the file until it answers that
//                 the rules are in force: read, parsed, stored (synced), built, pushed, swapped. Ports bring
//                 no packets, and control has every CPU
//   memory        hugepages that both processes map, and what data the dataplane has resident more than
//                 before the first image: the highest while a second generation of the same size replaces the
//                 first, over the image
//   restart       weir-dataplane is killed; from starting it until its workers poll with the kept image in
//                 force. Its file is in the page cache
//   list add      one client, one host a request over control's socket, until the answer that it is in force
//                 on every worker, while the worker judges at its ports' full rate on CPU 1: IPv4 packets of
//                 a capture held in memory, every tenth denied. All others share CPU 0
#include "tests/bench/gate.hpp"
#include "tests/bench/processes.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <thread>

namespace weir::bench {
namespace {

using Json = nlohmann::json;

struct SystemFigures {
  double enforced_s = 0, restart_s = 0, memory_ratio = 0;
  double image_mib = 0;
  std::vector<double> add_ms; // sorted
  double load_mpps = 0;
  [[nodiscard]] double add_p(double share) const {
    return add_ms[static_cast<std::size_t>(share * static_cast<double>(add_ms.size() - 1))];
  }
};

// What images take, in bytes: hugepages that either process maps, and data that the dataplane has resident.
// Control gives its mapping up before it sends an image, so nothing is counted twice.
std::uint64_t taken_by(Processes &weir) {
  const long dataplane = weir.dataplane().hugetlb_kib() + weir.dataplane().data_kib();
  return static_cast<std::uint64_t>(dataplane + weir.control().hugetlb_kib()) * 1024;
}

// The highest taken_by() while `what` runs, above what was taken before the first image.
std::uint64_t peak_while(Processes &weir, const std::function<void()> &what) {
  std::atomic<bool> done{false};
  std::uint64_t peak = 0;
  std::thread looking([&] {
    while (!done) {
      peak = std::max(peak, taken_by(weir));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  what();
  done = true;
  looking.join();
  return peak;
}

std::string lists_with(const std::filesystem::path &file, const std::string &more) {
  return fmt::format("- {{name: ops, action: allow, entries: [192.0.2.1]}}\n"
                     "- {{name: bans, action: deny, dynamic: true}}\n"
                     "- {{name: big, action: deny, file: {}}}\n{}",
                     file.string(), more);
}

std::uint64_t packets_judged(const Processes &weir) {
  std::uint64_t sum = 0;
  for (const Json &row : weir.ask({{"verb", "stats"}}).value("generations", Json::array()))
    sum += row.value("packets", std::uint64_t{0});
  return sum;
}

void add_entries(const Processes &weir, unsigned count, SystemFigures &figures) {
  for (unsigned i = 0; i < count; ++i) {
    const Json request{
        {"verb", "list_add"}, {"list", "bans"}, {"entries", {{{"prefix", address_text(0x80000000u + i)}}}}};
    const auto start = Clock::now();
    const Json answer = weir.ask(request);
    figures.add_ms.push_back(ns_since(start) / 1e6);
    if (!answer.value("in_force", false)) give_up("an entry was added and is not in force: " + answer.dump());
  }
  std::ranges::sort(figures.add_ms);
}

SystemFigures measure(std::uint32_t entries, unsigned adds) {
  SystemFigures figures;
  Processes weir;
  const auto file = weir.folder() / "big.txt";
  write_addresses(file, entries);
  weir.write_config(Traffic::none, "- {name: ops, action: allow, entries: [192.0.2.1]}\n");
  weir.start_dataplane();
  const std::uint64_t taken_before = taken_by(weir);
  weir.start_control();
  weir.wait_in_step();

  const Json apply{{"verb", "apply"}}; // what control was started with
  weir.write_config(Traffic::none, lists_with(file, ""));
  auto start = Clock::now();
  if (const Json answer = weir.ask(apply); !answer.value("in_force", false))
    give_up("rules were applied and are not in force: " + answer.dump());
  figures.enforced_s = ns_since(start) / 1e9;
  const Json memory = weir.ask({{"verb", "status"}}).value("memory", Json::object());
  const double image_bytes = memory.value("image_bytes", 0.0);
  figures.image_mib = image_bytes / (1 << 20);

  weir.write_config(Traffic::full_rate,
                    lists_with(file, "- {name: one, action: deny, entries: [203.0.113.1]}\n"));
  const std::uint64_t peak = peak_while(weir, [&] { weir.ask(apply); });
  figures.memory_ratio = static_cast<double>(peak - std::min(peak, taken_before)) / image_bytes;

  weir.kill_dataplane();
  figures.restart_s = weir.start_dataplane();
  weir.wait_in_step();

  run_on_cpu(0); // the worker has CPU 1; what asks must not wait for its turn there
  const std::uint64_t judged = packets_judged(weir);
  start = Clock::now();
  add_entries(weir, adds, figures);
  figures.load_mpps = static_cast<double>(packets_judged(weir) - judged) / ns_since(start) * 1e3;
  run_on_all_cpus();
  return figures;
}

void bench_system(const Options &options, std::vector<Standing> &standings) {
  const char *full_only = "full run only";
  Grid grid{{"entries", "image MiB", "rule file to enforced s", "restart to enforced s",
             "peak memory / image", "list add p50 ms", "p99 ms", "worst ms", "load Mpps"},
            {}};
  JsonLines lines(options, "system");
  run_on_all_cpus(); // children inherit it
  std::vector<std::uint32_t> sizes{1'800'000};
  if (!options.quick) sizes.push_back(10'000'000);
  for (const std::uint32_t entries : sizes) {
    const SystemFigures f = measure(entries, options.quick ? 400 : 4000);
    grid.rows.push_back({count_words(entries), short_number(f.image_mib), short_number(f.enforced_s),
                         short_number(f.restart_s), short_number(f.memory_ratio), short_number(f.add_p(0.5)),
                         short_number(f.add_p(0.99)), short_number(f.add_ms.back()),
                         short_number(f.load_mpps)});
    lines.line({{"bench", "system"},
                {"entries", std::uint64_t{entries}},
                {"enforced_s", f.enforced_s},
                {"restart_s", f.restart_s},
                {"peak_memory_ratio", f.memory_ratio},
                {"add_p50_ms", f.add_p(0.5)},
                {"add_p99_ms", f.add_p(0.99)},
                {"add_worst_ms", f.add_ms.back()},
                {"load_mpps", f.load_mpps}});
    const bool large = entries == 10'000'000;
    standings.push_back(
        {fmt::format("rule file of {} lines to enforced, store included, s", count_words(entries)),
         large ? 30.0 : 6.0, large ? 10.0 : 2.0, f.enforced_s, true});
    if (large)
      standings.push_back({"dataplane restart to enforced, 10M entries, s", 1, 0.3, f.restart_s, true});
    const std::string at = count_words(entries) + " entries";
    standings.push_back(
        {"list add to in force, p99 under full load, " + at + ", ms", 5, 1, f.add_p(0.99), true});
    standings.push_back({"peak memory during a swap / image, " + at, 2.2, 2.05, f.memory_ratio, true});
  }
  run_on_cpu(0);
  if (options.quick) {
    standings.push_back(
        not_measured("rule file of 10M lines to enforced, store included, s", 30, 10, full_only, true));
    standings.push_back(
        not_measured("dataplane restart to enforced, 10M entries, s", 1, 0.3, full_only, true));
  }
  show(options, "system", "weir-control and weir-dataplane as processes", grid);
}

const Benchmark system_benchmark{55, "system", bench_system};

} // namespace
} // namespace weir::bench
