#include "tests/support/image_pusher.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace weir::test {
namespace {

using namespace std::chrono_literals;

[[noreturn]] void broken(const std::string &what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

bool connects(int fd, const std::filesystem::path &socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket.c_str(), sizeof address.sun_path - 1);
  return connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof address) == 0;
}

int sealed_copy(MutableBytes image) {
  const int fd = memfd_create("weir-test-image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) broken("memfd_create");
  for (std::size_t done = 0; done < image.size();) {
    const ssize_t n = write(fd, image.data() + done, image.size() - done);
    if (n <= 0) broken("cannot write the image");
    done += static_cast<std::size_t>(n);
  }
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) broken("cannot seal the image");
  return fd;
}

} // namespace

ImagePusher::ImagePusher(const std::filesystem::path &path) {
  fd_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const timeval limit{20, 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (!wait_until([&] { return connects(fd_, path); }, 20s)) broken("nobody listens on " + path.string());
  (void)receive(wire::Type::hello);
}

ImagePusher::~ImagePusher() { close(fd_); }

void ImagePusher::push(const RuleSet &rules, const ImageOptions &options) {
  const TestImage image(rules, options);
  const int fd = sealed_copy(image.bytes());
  wire::Stage stage;
  stage.generation = Generation(options.generation);
  stage.bytes = image.bytes().size();
  stage.store_id = image.view().header->store_id;
  stage.sequence = image.view().header->sequence;
  send(wire::Type::stage, &stage, sizeof stage, fd);
  close(fd);
  (void)receive(wire::Type::staged);
  const wire::Commit commit{.generation = stage.generation, .sequence = stage.sequence};
  send(wire::Type::commit, &commit, sizeof commit);
  (void)receive(wire::Type::committed);
}

std::string ImagePusher::query(const std::string &json) {
  send(wire::Type::query, json.data(), json.size());
  std::string text;
  for (;;) {
    const std::string part = receive(wire::Type::answer);
    const auto head = load_unaligned<wire::Answer>(part.data());
    text += part.substr(sizeof head);
    if (head.more == 0) return text;
  }
}

void ImagePusher::send(wire::Type type, const void *payload, std::size_t bytes, int fd) {
  wire::Header header;
  header.type = type;
  header.payload_bytes = static_cast<std::uint32_t>(bytes);
  header.request = ++request_;
  iovec parts[] = {{&header, sizeof header}, {const_cast<void *>(payload), bytes}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr *with = CMSG_FIRSTHDR(&message);
    with->cmsg_level = SOL_SOCKET;
    with->cmsg_type = SCM_RIGHTS;
    with->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(with), &fd, sizeof fd);
  }
  if (sendmsg(fd_, &message, MSG_NOSIGNAL) < 0) broken("the dataplane does not listen any more");
}

std::string ImagePusher::receive(wire::Type wanted) {
  std::string buffer(wire::message_bytes_max, '\0');
  for (;;) {
    const ssize_t got = recv(fd_, buffer.data(), buffer.size(), 0);
    if (got < static_cast<ssize_t>(sizeof(wire::Header))) broken("the dataplane does not answer");
    const auto header = load_unaligned<wire::Header>(buffer.data());
    const std::string payload = buffer.substr(sizeof header, static_cast<std::size_t>(got) - sizeof header);
    if (header.type == wire::Type::refused)
      throw std::runtime_error("the dataplane refused: " + payload.substr(sizeof(wire::Refused)));
    if (header.type == wanted) return payload; // others come unasked
  }
}

} // namespace weir::test
