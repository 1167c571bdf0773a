#include "tests/support/dataplane_client.hpp"

#include "weir/image/layout.hpp"
#include "weir/key/text.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace weir::test {

int usual_seals() { return F_SEAL_SHRINK | F_SEAL_GROW; }

int make_memfd(Bytes bytes, int seals) {
  const int fd = memfd_create("weir-test-image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = write(fd, bytes.data() + done, bytes.size() - done);
    if (put <= 0) return -1;
    done += static_cast<std::size_t>(put);
  }
  if (seals != 0) fcntl(fd, F_ADD_SEALS, seals);
  return fd;
}

// One message of these parts, with a descriptor unless it is negative.
static bool send_with(int socket, std::span<iovec> parts, int fd) {
  alignas(cmsghdr) char ancillary[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  if (fd >= 0) {
    message.msg_control = ancillary;
    message.msg_controllen = sizeof ancillary;
    cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) >= 0;
}

std::string WireMessage::text_after(std::size_t bytes) const {
  if (payload.size() <= bytes) return {};
  return {reinterpret_cast<const char *>(payload.data()) + bytes, payload.size() - bytes};
}

DataplaneClient::DataplaneClient(const std::filesystem::path &socket_path) {
  fd_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_path.c_str(), sizeof address.sun_path - 1);
  const int room = 4 * static_cast<int>(wire::message_bytes_max);
  setsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  if (connect(fd_, reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0) {
    close(fd_);
    fd_ = -1;
    return;
  }
  hello_ = receive().as<wire::Hello>();
  store_id = hello_.live.store_id;
}

DataplaneClient::~DataplaneClient() {
  if (fd_ >= 0) close(fd_);
}

void DataplaneClient::send_empty(int fd) { (void)send_with(fd_, {}, fd); }

void DataplaneClient::send_raw(Bytes message) { send(fd_, message.data(), message.size(), MSG_NOSIGNAL); }

bool DataplaneClient::try_send_raw(Bytes message) {
  return send(fd_, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

WireMessage DataplaneClient::receive(int patience_ms) {
  pollfd p{fd_, POLLIN, 0};
  if (poll(&p, 1, patience_ms) != 1) return {};
  std::vector<std::byte> buffer(wire::message_bytes_max);
  const ssize_t got = recv(fd_, buffer.data(), buffer.size(), 0);
  if (got < static_cast<ssize_t>(sizeof(wire::Header))) return {};
  WireMessage message;
  message.header = load_unaligned<wire::Header>(buffer.data());
  message.payload.assign(buffer.begin() + sizeof(wire::Header), buffer.begin() + got);
  return message;
}

WireMessage DataplaneClient::ask(wire::Type type, Bytes payload, int fd, int patience_ms) {
  wire::Header header;
  header.type = type;
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.request = ++last_request_;
  iovec parts[2] = {{&header, sizeof header}, {const_cast<std::byte *>(payload.data()), payload.size()}};
  if (!send_with(fd_, parts, fd)) return {};
  for (;;) {
    WireMessage answer = receive(patience_ms);
    if (answer.header.type == wire::Type{} || answer.header.request == header.request) return answer;
  }
}

WireMessage DataplaneClient::stage(Bytes image, int seals) {
  wire::Stage stage;
  if (image.size() >= sizeof(image::ImageHeader)) {
    const auto header = load_unaligned<image::ImageHeader>(image.data());
    stage = {header.store_id, header.generation, header.sequence, image.size()};
    store_id = header.store_id;
  }
  const int fd = make_memfd(image, seals);
  WireMessage answer = ask(wire::Type::stage, std::as_bytes(std::span(&stage, 1)), fd, 60'000);
  close(fd);
  return answer;
}

WireMessage DataplaneClient::commit(std::uint64_t generation, std::uint64_t sequence) {
  const wire::Commit commit{Generation(generation), sequence};
  return ask(wire::Type::commit, std::as_bytes(std::span(&commit, 1)));
}

WireMessage DataplaneClient::deltas(wire::Target target, std::uint64_t first_sequence,
                                    const std::vector<image::Delta> &list) {
  const wire::Deltas about{store_id, first_sequence, target, static_cast<std::uint32_t>(list.size())};
  std::vector<std::byte> payload(sizeof about + list.size() * sizeof(image::Delta));
  std::memcpy(payload.data(), &about, sizeof about);
  if (!list.empty())
    std::memcpy(payload.data() + sizeof about, list.data(), list.size() * sizeof(image::Delta));
  return ask(wire::Type::deltas, payload);
}

std::string DataplaneClient::query(const std::string &json) {
  WireMessage answer = ask(wire::Type::query, std::as_bytes(std::span(json)));
  std::string text;
  while (answer.is(wire::Type::answer)) {
    text += answer.text_after(sizeof(wire::Answer));
    if (answer.as<wire::Answer>().more == 0) break;
    answer = receive();
  }
  return text;
}

image::Delta make_delta(image::DeltaOp op, const std::string &text, ListId list, Side side) {
  const Prefix prefix = parse_prefix(text).value();
  image::Delta delta;
  delta.op = op;
  delta.side = side;
  delta.family = prefix.family();
  delta.length = prefix.length;
  delta.list = list;
  delta.address = prefix.address.bytes;
  return delta;
}

} // namespace weir::test
