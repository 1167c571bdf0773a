// Messages as either end of the control socket receives them, over a real socket. The input is
//
//   byte 0    bit 0: who reads, 0 the dataplane (with a small image in force), 1 the control plane
//   then      [size 2, little-endian][bytes] for each message
//
// Whatever comes, the reader stays alive, answers or hangs up, and stops waiting.
#include "control/push/channel.hpp"
#include "dataplane/channel.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/honest_image.hpp"

#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

using namespace weir;
using fuzz::require;

std::vector<Bytes> split(Bytes data) {
  std::vector<Bytes> messages;
  while (data.size() >= 2 && messages.size() < 16) {
    const std::size_t wanted = load_unaligned<std::uint16_t>(data.data());
    const std::size_t size = std::min(wanted, data.size() - 2);
    messages.push_back(data.subspan(2, size));
    data = data.subspan(2 + size);
  }
  return messages;
}

// A folder for sockets and the image, removed at the end of the process.
class Folder {
public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("weir-fuzz-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
    const MutableBytes image = fuzz::honest_image().all();
    std::ofstream(path_ / "last.image", std::ios::binary)
        .write(reinterpret_cast<const char *>(image.data()), static_cast<std::streamsize>(image.size()));
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path &path() const { return path_; }

private:
  std::filesystem::path path_;
};

const std::filesystem::path &folder() {
  static const Folder one;
  return one.path();
}

sockaddr_un address_of(const std::filesystem::path &socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket.native().copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

void send_all(int fd, const std::vector<Bytes> &messages, const std::function<void()> &let_it_read) {
  for (const Bytes message : messages) {
    (void)send(fd, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    let_it_read();
    std::byte sink[4096];
    while (recv(fd, sink, sizeof sink, MSG_DONTWAIT) > 0) {
    }
  }
}

void dataplane_reads(const std::vector<Bytes> &messages) {
  dataplane::Background background;
  dataplane::ListSlots lists;
  dataplane::ImageSlot slot(1);
  dataplane::Generations generations(slot, lists, background, 1, folder());
  require(generations.attach_last().has_value(), "the honest image is in force");
  dataplane::Channel channel(generations, background,
                             [](std::string_view text) -> Result<std::string> { return std::string(text); });
  const auto socket_path = folder() / "dataplane.sock";
  require(channel.listen(socket_path).has_value(), "the dataplane listens");
  const auto turn = [&] {
    std::vector<pollfd> polled;
    channel.add_to(polled);
    poll(polled.data(), polled.size(), 0);
    channel.handle(polled);
    background.wait_idle();
    background.run_completions();
    while (generations.tick()) {
    }
  };

  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(socket_path);
  require(connect(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0, "it accepts");
  turn();
  send_all(fd, messages, turn);
  close(fd);
  turn();
}

void control_reads(const std::vector<Bytes> &messages) {
  const auto socket_path = folder() / "peer.sock";
  std::filesystem::remove(socket_path);
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(socket_path);
  require(bind(listener, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0,
          "a socket is bound");
  require(listen(listener, 4) == 0, "a socket listens");
  {
    push::EventLoop loop;
    const auto turn = [&] { loop.turn(std::chrono::milliseconds(0)); };
    push::Channel channel(loop, socket_path,
                          {.hello = [](const wire::Hello &) {},
                           .lost = [](const std::string &) {},
                           .samples = [](std::span<const wire::Sample>) {}});
    channel.start();
    turn();
    const int fd = accept(listener, nullptr, nullptr);
    require(fd >= 0, "control connects");
    wire::Header header;
    header.type = wire::Type::hello;
    header.payload_bytes = sizeof(wire::Hello);
    const auto hello = push::pack(header, wire::Hello{});
    (void)send(fd, hello.data(), hello.size(), MSG_NOSIGNAL);
    turn();
    // Two requests wait for answers, so that what comes can be one.
    channel.request(wire::Type::commit, push::pack(wire::Commit{}), [](const Result<push::Message> &) {});
    channel.query("{}", [](const Result<std::string> &) {});
    turn();
    send_all(fd, messages, turn);
    close(fd);
    turn();
  }
  close(listener);
}

} // namespace

FUZZ_TARGET(wire, data) {
  if (data.empty()) return;
  const auto copy = weir::fuzz::exact_copy(data.subspan(1));
  const auto messages = split(Bytes(copy));
  if ((static_cast<unsigned>(data[0]) & 1) == 0)
    dataplane_reads(messages);
  else
    control_reads(messages);
}
