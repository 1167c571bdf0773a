// Bytes as a client of control.sock sends them, to a real server with a live engine and a dataplane behind
// it.
//
// Whatever comes, each line is answered with one JSON object that says whether it is ok, in order, the rules
// stay in force, and the next client is served. The engine lives on from one input to the next unless one of
// them has changed what it holds: starting one takes a hundred times as long as refusing a request.
#include "control/api/api.hpp"
#include "control/api/server.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/fake_dataplane.hpp"
#include "tests/support/process.hpp"
#include "weir/wire/sockets.hpp"

#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

namespace {

using namespace weir;
using fuzz::require;
using Json = nlohmann::json;

constexpr const char *rules = "version: 1\n"
                              "lists:\n"
                              "- {name: ops, action: allow, entries: [192.0.2.1]}\n"
                              "- {name: drop, action: deny, entries: [10.0.0.0/8]}\n"
                              "- {name: bans, action: deny, dynamic: true, ttl: 1h}\n";

class Gate {
public:
  Gate() : dataplane_(folder_ / wire::dataplane_socket_name) {
    std::ofstream(folder_ / "weir.yaml") << rules;
    std::ofstream(folder_ / "list") << "10.0.0.0/8\n172.16.0.1\n";
    auto store = store::Store::open(folder_ / "store");
    require(store.has_value(), "a store opens");
    control::EngineOptions options;
    options.config_file = folder_ / "weir.yaml";
    options.run = options.state = folder_.path();
    options.retry_wait = std::chrono::milliseconds(5);
    engine_.emplace(loop_, std::move(*store), std::move(options));
    api_.emplace(*engine_);
    server_.emplace(loop_, [this](control::Request request, const control::Server::Reply &reply) {
      api_->handle(std::move(request), reply);
    });
    require(engine_->start().has_value(), "the engine starts");
    require(server_->listen(socket()).has_value(), "the server listens");
    require(run_until([this] { return live(); }), "the rules come into force");
  }

  [[nodiscard]] bool as_at_first() const {
    return engine_->live_record().id == 1 && engine_->doing().empty() && dataplane_.sequence() == 0;
  }
  [[nodiscard]] bool live() {
    return engine_->pusher().state() == push::Pusher::State::live && engine_->doing().empty();
  }

  // Every answer to `text`, which ends in a newline.
  std::string ask(const std::string &text) {
    const auto lines = std::ranges::count(text, '\n');
    const OwnedFd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket().native().copy(address.sun_path, sizeof address.sun_path - 1);
    require(connect(client.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0,
            "a client connects");
    std::string answers;
    std::size_t sent = 0;
    const bool answered = run_until([&] {
      const ssize_t some = send(client.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (some > 0) sent += static_cast<std::size_t>(some);
      char buffer[4096];
      for (ssize_t got = 0; (got = recv(client.get(), buffer, sizeof buffer, 0)) > 0;)
        answers.append(buffer, static_cast<std::size_t>(got));
      return std::ranges::count(answers, '\n') >= lines;
    });
    require(answered, "every line is answered");
    require(std::ranges::count(answers, '\n') == lines, "every line is answered once");
    return answers;
  }

  // Requests name files only in the folder of this gate.
  [[nodiscard]] std::string kept_here(const std::string &line) const {
    Json request = Json::parse(line, nullptr, false);
    if (!request.is_object()) return line;
    for (const char *field : {"file", "config"})
      if (const auto at = request.find(field); at != request.end() && at->is_string()) {
        std::string name = at->get<std::string>().substr(0, 40);
        std::ranges::replace_if(name, [](unsigned char c) { return !std::isalnum(c) && c != '.'; }, '_');
        if (!name.empty()) *at = (folder_ / name).string();
      }
    return request.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

private:
  [[nodiscard]] std::filesystem::path socket() const { return folder_ / wire::control_socket_name; }

  template <class Done> bool run_until(Done done) {
    const auto end = push::Clock::now() + std::chrono::seconds(60);
    while (!done()) {
      if (push::Clock::now() > end) return false;
      loop_.turn(std::chrono::milliseconds(1));
    }
    return true;
  }

  test::TempDir folder_;
  test::FakeDataplane dataplane_;
  push::EventLoop loop_;
  std::optional<control::Engine> engine_;
  std::optional<control::Api> api_;
  std::optional<control::Server> server_;
};

std::vector<std::string> lines_of(Bytes data) {
  std::vector<std::string> lines(1);
  for (const std::byte byte : data.first(std::min<std::size_t>(data.size(), 4096)))
    if (byte == std::byte{'\n'})
      lines.emplace_back();
    else
      lines.back() += static_cast<char>(byte);
  lines.resize(std::min<std::size_t>(lines.size(), 8));
  return lines;
}

} // namespace

FUZZ_TARGET(api, data) {
  static std::unique_ptr<Gate> gate;
  if (!gate || !gate->as_at_first()) {
    gate.reset();
    gate = std::make_unique<Gate>();
  }
  // RocksDB's own statics were made after `gate`, and would be gone before it.
  [[maybe_unused]] static const bool ends_in_time = std::atexit([] { gate.reset(); }) == 0;
  std::string text;
  for (const std::string &line : lines_of(data)) text += gate->kept_here(line) + '\n';
  const std::string answers = gate->ask(text);
  for (std::size_t at = 0; at < answers.size(); at = answers.find('\n', at) + 1) {
    const Json answer = Json::parse(answers.substr(at, answers.find('\n', at) - at), nullptr, false);
    require(answer.is_object() && answer.contains("ok") && answer["ok"].is_boolean(),
            "an answer says whether it is ok");
    require(answer["ok"] == true ||
                (answer.contains("message") && answer["message"].is_string() && !answer["message"].empty()),
            "what is not ok says why");
  }
  require(gate->ask("{\"verb\":\"status\"}\n").starts_with("{"), "the next client is served");
}
