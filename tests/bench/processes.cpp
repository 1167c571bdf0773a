#include "tests/bench/processes.hpp"

#include "control/cli/client.hpp"
#include "tests/bench/gate.hpp"
#include "weir/key/text.hpp"
#include "weir/wire/sockets.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>
#include <unistd.h>

namespace weir::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using namespace std::chrono_literals;

fs::path built(const char *program) { return fs::read_symlink("/proc/self/exe").parent_path() / program; }

// A thousand 60-byte frames whose sources stand on no list, each tenth one of the first `listed`.
void write_capture(const fs::path &file) {
  std::ofstream out(file, std::ios::binary);
  const auto put = [&](const auto &value) {
    out.write(reinterpret_cast<const char *>(&value), sizeof value);
  };
  struct {
    std::uint32_t magic = 0xA1B2C3D4;
    std::uint16_t major = 2, minor = 4;
    std::uint32_t zone = 0, precision = 0, snaplen = 65535, ethernet = 1;
  } const header;
  put(header);
  constexpr std::uint32_t frame_bytes = 60;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    for (const std::uint32_t field : {0u, i, frame_bytes, frame_bytes}) put(field);
    std::uint8_t frame[frame_bytes] = {2, 0, 0,    0, 0, 1,  2, 0, 0, 0, 0,  2,
                                       8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17};
    const std::uint32_t source = scrambled_address(i % 10 == 0 ? i : ~i);
    std::memcpy(frame + 26, &source, sizeof source);
    put(frame);
  }
}

} // namespace

Processes::Processes() {
  for (const char *name : {"run", "state"}) fs::create_directories(folder() / name);
  write_capture(folder() / "load.pcap");
}

Processes::~Processes() {
  for (test::Child *child : {&control_, &dataplane_})
    if (!child->stop(SIGTERM, 10s)) child->stop(SIGKILL, 5s);
}

fs::path Processes::log_of(const char *program) const {
  return folder() / fmt::format("{}.{}.log", program, starts_);
}

void Processes::complain(const std::string &what) const {
  give_up(fmt::format("{}\n{}\n{}", what, test::last_lines(log_of("weir-dataplane"), 10),
                      test::last_lines(log_of("weir-control"), 10)));
}

void Processes::write_config(Traffic traffic, const std::string &lists) const {
  const bool full = traffic == Traffic::full_rate;
  test::write_text(
      config(),
      fmt::format("version: 1\n"
                  "eal: {{file_prefix: weirbench{}, vdevs: [\"{}\", \"net_null1,no-rx=1\"]{}}}\n"
                  "ports:\n- {{name: wan, device: {}, side: outside, peer: lan}}\n"
                  "- {{name: lan, device: net_null1, side: inside, peer: wan}}\n"
                  "paths: {{run: {}/run, state: {}/state}}\nlists:\n{}",
                  getpid(),
                  full ? fmt::format("net_pcap0,rx_pcap={}/load.pcap,infinite_rx=1", folder().string())
                       : "net_null0,no-rx=1",
                  full ? ", lcores: \"1\"" : "", full ? "net_pcap0" : "net_null0", folder().string(),
                  folder().string(), lists));
}

void Processes::start_control() {
  control_ = test::Child({.arguments = {built("weir-control"), "-c", config(), "--foreground-log"},
                          .output = log_of("weir-control")});
}

double Processes::start_dataplane() {
  ++starts_;
  const auto start = Clock::now();
  dataplane_ = test::Child(
      {.arguments = {built("weir-dataplane"), "-c", config()}, .output = log_of("weir-dataplane")});
  // Its last word before it serves; the image kept, if any, is in force and workers run.
  while (test::read_text(log_of("weir-dataplane")).find("listening on") == std::string::npos) {
    if (!dataplane_.running() || ns_since(start) > 60e9) complain("weir-dataplane does not start");
    std::this_thread::sleep_for(1ms);
  }
  return ns_since(start) / 1e9;
}

void Processes::kill_dataplane() { dataplane_.stop(SIGKILL, 10s); }

Json Processes::ask(const Json &request) const {
  auto client = cli::Client::connect(folder() / "run" / wire::control_socket_name);
  if (!client) complain(client.error().message);
  const auto answer = client->ask(request.dump(), std::chrono::minutes(5));
  if (!answer) complain(answer.error().message);
  Json json = Json::parse(*answer, nullptr, false);
  if (!json.is_object() || !json.value("ok", false)) complain("control answers " + *answer);
  return json;
}

void Processes::wait_in_step() const {
  const auto start = Clock::now();
  for (;; std::this_thread::sleep_for(5ms)) {
    auto client = cli::Client::connect(folder() / "run" / wire::control_socket_name);
    if (client) {
      const auto answer = client->ask(R"({"verb":"status"})", 10s);
      const Json json = answer ? Json::parse(*answer, nullptr, false) : Json();
      if (json.is_object() && json.value("generation", 0) > 0 &&
          json.value("dataplane", Json::object()).value("in_sync", false))
        return;
    }
    if (ns_since(start) > 60e9) complain("control and dataplane do not come into step");
  }
}

std::string address_text(std::uint32_t index) {
  return to_string(Address::from_wire(scrambled_address(index)));
}

std::uint64_t write_addresses(const fs::path &file, std::uint32_t count) {
  std::string text;
  text.reserve(std::size_t{count} * 16);
  char line[20];
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t host = byteswap32(scrambled_address(i));
    const auto end =
        fmt::format_to(line, "{}.{}.{}.{}\n", host >> 24, host >> 16 & 255, host >> 8 & 255, host & 255);
    text.append(line, end);
  }
  test::write_text(file, text);
  return text.size();
}

} // namespace weir::bench
