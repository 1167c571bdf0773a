#include "control/push/channel.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace weir::push {

Channel::Channel(EventLoop &loop, std::filesystem::path socket, Events events)
    : loop_(loop), socket_path_(std::move(socket)), events_(std::move(events)),
      buffer_(wire::message_bytes_max) {}

Channel::~Channel() {
  loop_.cancel(retry_);
  loop_.cancel(age_check_);
  if (socket_ >= 0) {
    loop_.forget(socket_);
    close(socket_);
  }
  for (const Outgoing &message : outgoing_)
    if (message.fd >= 0) close(message.fd);
}

void Channel::start() { connect_now(); }

void Channel::retry_later() {
  loop_.cancel(retry_);
  retry_ = loop_.after(retry_wait, [this] {
    retry_ = 0;
    connect_now();
  });
}

void Channel::connect_now() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string &path = socket_path_.native();
  if (path.size() >= sizeof address.sun_path) return retry_later();
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return retry_later();
  if (connect(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0) {
    close(fd);
    return retry_later();
  }
  socket_ = fd;
  loop_.watch(fd, EPOLLIN, [this](std::uint32_t events) { on_ready(events); });
}

void Channel::on_ready(std::uint32_t events) {
  const int fd = socket_;
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive();
  if (socket_ == fd && (events & EPOLLOUT)) flush();
}

void Channel::receive() {
  const int fd = socket_;
  bool reset = false;
  constexpr int messages_at_once = 16; // then others have their turn
  for (int messages = 0; socket_ == fd && messages < messages_at_once; ++messages) { // a handler may drop it
    const ssize_t got = recv(fd, buffer_.data(), buffer_.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    // Told once, before what the other end sent: it left with messages unread, but its last answers are here.
    if (got < 0 && errno == ECONNRESET && !std::exchange(reset, true)) continue;
    if (got <= 0) return drop(got == 0 ? "it closed the connection" : std::strerror(errno));
    const auto bytes = std::span<const std::byte>(buffer_).first(static_cast<std::size_t>(got));
    if (bytes.size() < sizeof(wire::Header)) return drop("it sent a message without a header");
    const auto header = load_unaligned<wire::Header>(bytes.data());
    if (header.magic != wire::magic || header.version != wire::version)
      return drop(fmt::format("it speaks version {}, this is version {}: run programs of one release",
                              header.version, wire::version));
    if (header.payload_bytes != bytes.size() - sizeof header) return drop("it sent a message cut short");
    take(header, bytes.subspan(sizeof header));
  }
}

void Channel::take(const wire::Header &header, std::span<const std::byte> payload) {
  if (header.type == wire::Type::hello) {
    if (payload.size() < sizeof(wire::Hello)) return drop("it sent a short hello");
    hello_ = load_unaligned<wire::Hello>(payload.data());
    greeted_ = true;
    events_.hello(hello_);
  } else if (header.type == wire::Type::samples) {
    std::vector<wire::Sample> samples(payload.size() / sizeof(wire::Sample));
    if (samples.empty()) return;
    std::memcpy(samples.data(), payload.data(), samples.size() * sizeof(wire::Sample));
    if (events_.samples) events_.samples(samples);
  } else {
    take_answer(header, payload);
  }
}

void Channel::take_answer(const wire::Header &header, std::span<const std::byte> payload) {
  const auto found = open_.find(header.request);
  if (found == open_.end()) return; // given up already
  if (header.type == wire::Type::answer && payload.size() >= sizeof(wire::Answer)) {
    const auto answer = load_unaligned<wire::Answer>(payload.data());
    const auto text = payload.subspan(sizeof answer);
    found->second.text.append(reinterpret_cast<const char *>(text.data()), text.size());
    if (answer.more != 0) return;
  }
  Open open = std::move(found->second);
  open_.erase(found);
  if (header.type == wire::Type::refused && payload.size() >= sizeof(wire::Refused)) {
    const auto refused = load_unaligned<wire::Refused>(payload.data());
    const auto text = payload.subspan(sizeof refused);
    return open.on_answer(fail(static_cast<Errc>(refused.code),
                               std::string(reinterpret_cast<const char *>(text.data()), text.size())));
  }
  Message message{header.type, {payload.begin(), payload.end()}};
  if (header.type == wire::Type::answer) {
    const auto *text = reinterpret_cast<const std::byte *>(open.text.data());
    message.payload.assign(text, text + open.text.size());
  }
  open.on_answer(std::move(message));
}

void Channel::request(wire::Type type, std::vector<std::byte> payload, OnAnswer on_answer, int fd) {
  if (!greeted_) {
    if (fd >= 0) close(fd);
    return on_answer(fail(Errc::unreachable, "no dataplane is connected"));
  }
  wire::Header header;
  header.type = type;
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.request = next_request_++;
  if (next_request_ == 0) next_request_ = 1;
  Outgoing message{pack(header), fd};
  message.bytes.insert(message.bytes.end(), payload.begin(), payload.end());
  if (age_check_ == 0) age_check_ = loop_.after(answer_wait, [this] { check_age(); });
  // What throws, for want of memory, leaves nothing behind: the caller asks again or gives up.
  outgoing_.emplace_back();
  try {
    open_.emplace(header.request, Open{std::move(on_answer), Clock::now(), {}});
  } catch (...) {
    outgoing_.pop_back();
    throw;
  }
  outgoing_.back() = std::move(message);
  flush();
}

void Channel::query(const std::string &json, std::function<void(Result<std::string>)> on_answer) {
  const auto *text = reinterpret_cast<const std::byte *>(json.data());
  request(
      wire::Type::query, {text, text + json.size()},
      [answer = std::move(on_answer)](Result<Message> message) {
        if (!message) return answer(std::unexpected(message.error()));
        if (message->type != wire::Type::answer)
          return answer(fail(Errc::unreachable, "the dataplane answered a query with another message"));
        answer(std::string(reinterpret_cast<const char *>(message->payload.data()), message->payload.size()));
      });
}

bool Channel::send_one(const Outgoing &message) {
  iovec part{const_cast<std::byte *>(message.bytes.data()), message.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr head{};
  head.msg_iov = &part;
  head.msg_iovlen = 1;
  if (message.fd >= 0) {
    head.msg_control = control;
    head.msg_controllen = sizeof control;
    cmsghdr *rights = CMSG_FIRSTHDR(&head);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &message.fd, sizeof(int));
  }
  return sendmsg(socket_, &head, MSG_NOSIGNAL) >= 0;
}

void Channel::flush() {
  while (socket_ >= 0 && !outgoing_.empty()) {
    if (!send_one(outgoing_.front())) {
      if (errno == EAGAIN || errno == EINTR) return loop_.change(socket_, EPOLLIN | EPOLLOUT);
      // Not from inside request(): its caller must not be called back before it returns.
      const std::string why = std::strerror(errno);
      loop_.post([this, why, fd = socket_] {
        if (socket_ == fd) drop(why);
      });
      return;
    }
    if (outgoing_.front().fd >= 0) close(outgoing_.front().fd);
    outgoing_.pop_front();
  }
  if (socket_ >= 0) loop_.change(socket_, EPOLLIN);
}

void Channel::check_age() {
  age_check_ = 0;
  if (open_.empty()) return;
  if (Clock::now() - open_.begin()->second.since >= answer_wait) return drop("it does not answer");
  age_check_ = loop_.after(answer_wait / 4, [this] { check_age(); });
}

void Channel::reconnect(const std::string &why) {
  if (socket_ >= 0) drop(why);
}

void Channel::drop(const std::string &why) {
  loop_.forget(socket_);
  close(socket_);
  socket_ = -1;
  const bool was_connected = std::exchange(greeted_, false);
  hello_ = {};
  for (const Outgoing &message : outgoing_)
    if (message.fd >= 0) close(message.fd);
  outgoing_.clear();
  const auto open = std::exchange(open_, {});
  retry_later();
  if (was_connected && events_.lost) events_.lost(why);
  const std::string sentence = "the connection to the dataplane is gone: " + why;
  for (const auto &[request, waiting] : open) waiting.on_answer(fail(Errc::unreachable, sentence));
}

} // namespace weir::push
