#include "control/cli/doctor.hpp"
#include "control/cli/doctor_cards.hpp"

#include "control/cli/client.hpp"
#include "control/cli/fields.hpp"
#include "control/cli/options.hpp"
#include "control/cli/process.hpp"
#include "control/cli/text.hpp"
#include "control/plan/plan.hpp"
#include "weir/base/version.hpp"
#include "weir/config/config.hpp"
#include "weir/wire/sockets.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace weir::cli {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Findings = std::vector<Finding>;

std::string first_line(const fs::path &file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

void look_at_kernel(Findings &out) {
  utsname system{};
  uname(&system);
  unsigned major = 0;
  unsigned minor = 0;
  const bool readable = std::sscanf(system.release, "%u.%u", &major, &minor) == 2;
  if (!readable || major < 5 || (major == 5 && minor < 4))
    out.push_back({Level::wrong, "kernel", fmt::format("Linux {}", system.release),
                   "weir needs Linux 5.4 or newer (sealed memory files, pidfd); Debian 12 has 6.1."});
  else
    out.push_back({Level::good, "kernel", fmt::format("Linux {}", system.release), ""});

  const int fd = memfd_create("weir-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const bool sealed = fd >= 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0 &&
                      fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0;
  if (sealed)
    out.push_back({Level::good, "memory files", "can be made and sealed", ""});
  else
    out.push_back(
        {Level::wrong, "memory files", fmt::format("cannot be made and sealed: {}", std::strerror(errno)),
         "Images travel in sealed memfds. A sandbox or seccomp profile forbids memfd_create; allow it."});
  if (fd >= 0) close(fd);
}

void look_at_processor(Findings &out, const fs::path &root) {
  std::ifstream in(root / "proc/cpuinfo");
  unsigned processors = 0;
  std::string flags;
  for (std::string line; std::getline(in, line);) {
    processors += line.starts_with("processor");
    if (line.starts_with("flags")) flags = line + ' ';
  }
  const auto has = [&](const char *flag) {
    return flags.find(fmt::format(" {} ", flag)) != std::string::npos;
  };
  if (!has("sse4_2") || !has("popcnt")) {
    out.push_back(
        {Level::wrong, "processor", fmt::format("{} CPUs without SSE4.2 and POPCNT", processors),
         "weir is built for x86-64-v2. In a virtual machine choose a newer CPU model, such as host."});
    return;
  }
  const std::string best = has("avx512f") ? "AVX-512" : has("avx2") ? "AVX2" : "SSE4.2";
  if (!has("avx2"))
    out.push_back(
        {Level::note, "processor", fmt::format("{} CPUs, no AVX2", processors),
         "Lookups are slower without AVX2. In a virtual machine choose a newer CPU model, such as host."});
  else
    out.push_back({Level::good, "processor", fmt::format("{} CPUs, {}", processors, best), ""});
}

void look_at_hugepages(Findings &out, const fs::path &root) {
  const fs::path folder = root / "sys/kernel/mm/hugepages";
  std::error_code fault;
  std::string text;
  std::uint64_t free_pages = 0;
  for (const fs::directory_entry &size : fs::directory_iterator(folder, fault)) {
    const std::string total = first_line(size.path() / "nr_hugepages");
    const std::string unused = first_line(size.path() / "free_hugepages");
    if (total.empty() || total == "0") continue;
    std::uint64_t kib = 0;
    std::sscanf(size.path().filename().c_str(), "hugepages-%lukB", &kib);
    text += fmt::format("{}{} of {} pages of {} free", text.empty() ? "" : ", ", unused, total,
                        bytes_text(kib << 10));
    free_pages += std::strtoull(unused.c_str(), nullptr, 10);
  }
  const std::string remedy =
      "Ordinary pages work and are slower. Reserve some: sysctl vm.nr_hugepages=512 (1 GiB of 2 MiB pages), "
      "kept over a restart by a file in /etc/sysctl.d.";
  if (text.empty())
    out.push_back({Level::note, "hugepages", "none are reserved", remedy});
  else if (free_pages == 0)
    out.push_back({Level::note, "hugepages", text, "All are taken. " + remedy});
  else
    out.push_back({Level::good, "hugepages", text, ""});
}

void look_at_memory(Findings &out, const fs::path &root) {
  const auto memory = memory_free(root);
  if (!memory) {
    out.push_back({Level::note, "memory", memory.error().message, "Mount /proc."});
    return;
  }
  std::string text = fmt::format("{} available", bytes_text(memory->available_bytes));
  if (memory->cgroup_free_bytes)
    text += fmt::format(", {} within the cgroup's limit", bytes_text(*memory->cgroup_free_bytes));
  if (memory->ordinary_bytes() < (512u << 20))
    out.push_back(
        {Level::note, "memory", text,
         "weir-dataplane takes 256 MiB without hugepages, and a swap holds two images. Free memory or raise "
         "the limit; `weirctl plan` says what an image needs."});
  else
    out.push_back({Level::good, "memory", text, ""});
}

void look_at_programs(Findings &out) {
  std::string missing;
  for (const char *name : {"weir-dataplane", "weir-control"})
    if (!sibling_program(name)) missing += (missing.empty() ? "" : " and ") + std::string(name);
  if (missing.empty())
    out.push_back(
        {Level::good, "programs", fmt::format("weirctl {}, both daemons beside it", version_text), ""});
  else
    out.push_back({Level::wrong, "programs", missing + " missing beside weirctl",
                   "`make all` builds the three programs together; install them together too."});
}

std::optional<config::Config> look_at_configuration(Findings &out, const fs::path &file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) {
    out.push_back({Level::note, "configuration", fmt::format("there is no {}", file.string()),
                   "The daemons need one; name another with -c. `man weir.yaml` says what stands in it."});
    return std::nullopt;
  }
  auto config = config::load(file);
  if (!config) {
    out.push_back({Level::wrong, "configuration", config.error().message, "`weirctl check` reads it again."});
    return std::nullopt;
  }
  out.push_back(
      {Level::good, "configuration",
       fmt::format("{}: {} lists, {} ports", file.string(), config->lists.size(), config->ports.size()), ""});
  return std::move(*config);
}

// What the two processes themselves find wrong; each sentence says its remedy.
void look_at_dataplane(Findings &out, const Json &dataplane) {
  if (const auto displaced = text_in(dataplane, "displaced", ""); !displaced.empty())
    out.push_back({Level::wrong, "rules", "not those in force", displaced});
  for (const Json &port : child(dataplane, "ports"))
    if (text_in(port, "link") == "down")
      out.push_back({Level::wrong, "port " + text_in(port, "name"), "has no link",
                     "Look at its cable, its optics and the other end."});
  for (const Json &warning : child(dataplane, "warnings"))
    if (warning.is_string())
      out.push_back({Level::wrong, "dataplane", "has a warning", warning.get<std::string>()});
}

void look_at_socket(Findings &out, const std::string &who, const fs::path &socket, bool stream) {
  std::error_code ignored;
  if (!fs::exists(socket.parent_path(), ignored)) {
    out.push_back({Level::note, who,
                   fmt::format("not running; there is no folder {}", socket.parent_path().string()),
                   fmt::format("Start {}; it makes the folder.", who)});
    return;
  }
  if (!fs::exists(socket, ignored)) {
    out.push_back({Level::note, who, fmt::format("not running; there is no {}", socket.string()),
                   fmt::format("Start {}, or name its socket with -s.", who)});
    return;
  }
  if (!fs::is_socket(socket, ignored)) {
    out.push_back({Level::wrong, who, fmt::format("{} is no socket", socket.string()), "Remove it."});
    return;
  }
  if (access(socket.c_str(), W_OK) != 0) {
    out.push_back({Level::wrong, who, fmt::format("{}: {}", socket.string(), std::strerror(errno)),
                   "Run weirctl as root or as a member of the group that owns the socket."});
    return;
  }
  if (!stream) { // weir-dataplane serves one weir-control; a visitor would only be in its way
    out.push_back({Level::good, who, fmt::format("{} is there", socket.string()), ""});
    return;
  }
  auto client = Client::connect(socket);
  if (!client) {
    out.push_back({Level::wrong, who, client.error().message,
                   fmt::format("{} was left behind by a process that was killed; starting {} replaces it.",
                               socket.string(), who)});
    return;
  }
  const auto pong = client->ask(R"({"verb":"ping"})", std::chrono::seconds(3));
  if (!pong) {
    out.push_back({Level::wrong, who, pong.error().message,
                   "It is stopped or busy for long; look at its log, and at its state with ps."});
    return;
  }
  out.push_back({Level::good, who, fmt::format("answers at {}", socket.string()), ""});
  if (const auto status = client->ask(R"({"verb":"status"})", std::chrono::seconds(3)); status)
    look_at_dataplane(out, child(Json::parse(*status, nullptr, false), "dataplane"));
}

void look_at_state(Findings &out, const fs::path &folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    out.push_back({Level::note, "state", fmt::format("there is no folder {}", folder.string()),
                   "weir-control makes it at its first start."});
    return;
  }
  if (access(folder.c_str(), R_OK | W_OK | X_OK) != 0) {
    out.push_back({Level::note, "state", fmt::format("{}: {}", folder.string(), std::strerror(errno)),
                   "The daemons must be able to write there; run doctor as their user to be sure."});
    return;
  }
  struct statvfs disk{};
  const bool known = statvfs(folder.c_str(), &disk) == 0;
  const std::uint64_t room = known ? std::uint64_t{disk.f_bavail} * disk.f_frsize : 0;
  if (known && room < (256u << 10)) // as status says it
    out.push_back({Level::wrong, "state",
                   fmt::format("state folder full: changes are refused, forwarding goes on ({}: {} free)",
                               folder.string(), bytes_text(room)),
                   "Free some space; changes are taken again at once, without a restart."});
  else if (known && room < (256u << 20))
    out.push_back({Level::wrong, "state", fmt::format("{}: {} free", folder.string(), bytes_text(room)),
                   "The rule store needs room for its next write; free some."});
  else
    out.push_back({Level::good, "state", fmt::format("{}: {} free", folder.string(), bytes_text(room)), ""});
}

bool dataplane_runs(const fs::path &root) {
  std::error_code fault;
  for (const fs::directory_entry &process : fs::directory_iterator(root / "proc", fault))
    if (first_line(process.path() / "comm") == "weir-dataplane") return true;
  return false;
}

// What was killed with SIGKILL cannot remove its folder. A replay's is stale when nobody holds its
// socket; EAL's runtime folder does not tell whose it is, so it is only named while no dataplane runs.
void look_at_stale_files(Findings &out, const fs::path &root) {
  std::error_code fault;
  std::vector<std::string> stale;
  const bool running = dataplane_runs(root);
  for (const fs::directory_entry &entry : fs::directory_iterator(root / "tmp", fault)) {
    const std::string name = entry.path().filename();
    const bool replay =
        name.starts_with("weir-replay-") && !Client::connect(entry.path() / wire::control_socket_name);
    const bool eal = name.starts_with("weir-eal-") && !running;
    if (!replay && !eal) continue;
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(entry.path(), fault);
    if (age > std::chrono::minutes(1)) stale.push_back(entry.path().string());
  }
  if (stale.empty())
    out.push_back({Level::good, "stale files", "none", ""});
  else
    out.push_back(
        {Level::note, "stale files",
         fmt::format("{} folder{} of processes that were killed", stale.size(), stale.size() == 1 ? "" : "s"),
         fmt::format("rm -r {}", fmt::join(stale, " "))});
}

} // namespace

std::vector<Finding> examine(const Patient &patient) {
  Findings out;
  look_at_programs(out);
  look_at_kernel(out);
  look_at_processor(out, patient.root);
  look_at_hugepages(out, patient.root);
  look_at_memory(out, patient.root);
  const auto config = look_at_configuration(out, patient.config);
  if (config) look_at_cards(out, *config, patient);
  look_at_socket(out, "weir-control", patient.socket, true);
  look_at_socket(out, "weir-dataplane", patient.socket.parent_path() / wire::dataplane_socket_name, false);
  look_at_state(out, config ? config->paths.state : config::Paths{}.state);
  look_at_stale_files(out, patient.root);
  return out;
}

} // namespace weir::cli
