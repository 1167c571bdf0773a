#include "dataplane/channel.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace weir::dataplane {
namespace {

constexpr std::size_t peers_max = 16;
constexpr int messages_per_turn = 16; // of one peer, before others get theirs
constexpr std::size_t unsent_max = 4096;
constexpr auto last_answers_wait = std::chrono::seconds(1);

template <class T> Bytes bytes_of(const T &value) { return std::as_bytes(std::span(&value, 1)); }

template <class T> std::optional<T> read_as(Bytes payload) {
  if (payload.size() < sizeof(T)) return std::nullopt;
  return load_unaligned<T>(payload.data());
}

// A payload of one About and as many Items as it says; nothing, when the size is wrong.
template <class About, class Item>
std::optional<std::pair<About, std::vector<Item>>> read_list(Bytes payload, std::size_t most) {
  const auto about = read_as<About>(payload);
  if (!about || about->count > most || payload.size() != sizeof *about + about->count * sizeof(Item))
    return std::nullopt;
  std::vector<Item> items(about->count);
  if (!items.empty()) std::memcpy(items.data(), payload.data() + sizeof *about, items.size() * sizeof(Item));
  return std::pair(*about, std::move(items));
}

Error malformed(const char *what) {
  return {Errc::parse, fmt::format("the {} message has a wrong size", what)};
}

OwnedFd take_fd(msghdr &message) {
  OwnedFd found;
  for (cmsghdr *c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      OwnedFd fd(load_unaligned<int>(CMSG_DATA(c) + i * sizeof(int)));
      if (found.get() < 0) found = std::move(fd);
    }
  }
  return found;
}

bool somebody_answers(const sockaddr_un &address) {
  const int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  // One that hangs does not accept: then its line is full at some time, and connect() would wait for ever.
  const bool answered =
      connect(probe, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0 || errno == EAGAIN;
  close(probe);
  return answered;
}

// weir-control may run as a user of its own: the one to whom the run folder belongs. Root gives the socket away; another
// user shares it with the folder's group, where that is its own and may write there: then weir-control is in it too.
Status give_to_owner_of_folder(const std::filesystem::path &socket) {
  struct stat folder{};
  if (stat(socket.parent_path().c_str(), &folder) != 0 || folder.st_uid == geteuid()) return {};
  if (geteuid() != 0) {
    if (folder.st_uid == 0 || folder.st_gid != getegid() || (folder.st_mode & S_IWGRP) == 0) return {};
    if (chmod(socket.c_str(), 0660) == 0) return {};
    return fail(Errc::io, fmt::format("{}: cannot be shared with group {} of its folder: {}", socket.string(),
                                      folder.st_gid, std::strerror(errno)));
  }
  if (lchown(socket.c_str(), folder.st_uid, static_cast<gid_t>(-1)) == 0) return {};
  return fail(Errc::io, fmt::format("{}: cannot be given to the owner of its folder, user {}: {}",
                                    socket.string(), folder.st_uid, std::strerror(errno)));
}

} // namespace

Channel::Channel(Generations &generations, Background &background, Answerer answer)
    : generations_(generations), background_(background), answer_(std::move(answer)) {}

Channel::~Channel() {
  while (generations_.tick()) sched_yield(); // acknowledgements that wait for a grace period
  send_what_is_left();
  while (!peers_.empty()) drop_peer(peers_.begin()->first);
  if (listener_ < 0) return;
  close(listener_);
  std::error_code ignored;
  std::filesystem::remove(socket_, ignored);
}

Status Channel::listen(const std::filesystem::path &path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof address.sun_path)
    return fail(Errc::config,
                fmt::format("{}: a socket's path may have {} characters; choose another paths.run",
                            path.string(), sizeof address.sun_path - 1));
  std::memcpy(address.sun_path, path.c_str(), path.native().size());
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  if (somebody_answers(address))
    return fail(Errc::refused, path.string() + ": another dataplane listens there already");
  std::filesystem::remove(path, failed);

  listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const mode_t before = umask(0177);
  const bool bound = bind(listener_, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0;
  umask(before);
  if (bound) TRY(give_to_owner_of_folder(path));
  if (!bound || ::listen(listener_, peers_max) != 0)
    return fail(Errc::io, fmt::format("{}: {}", path.string(), std::strerror(errno)));
  socket_ = path;
  return {};
}

void Channel::add_to(std::vector<pollfd> &polled) const {
  if (listener_ >= 0 && peers_.size() < peers_max) polled.push_back({listener_, POLLIN, 0});
  for (const auto &[id, peer] : peers_) {
    // A peer that does not take its answers gets no new ones.
    const short wanted = peer.unsent.empty() ? POLLIN : POLLOUT;
    polled.push_back({peer.fd, wanted, 0});
  }
}

void Channel::handle(std::span<const pollfd> polled) {
  for (const pollfd &p : polled) {
    if (p.revents == 0) continue;
    if (p.fd == listener_) {
      accept_peers();
      continue;
    }
    for (auto &[id, peer] : peers_) {
      if (peer.fd != p.fd) continue;
      const PeerId found = id;
      if ((p.revents & POLLOUT) != 0 && !flush(peer))
        drop_peer(found);
      else if ((p.revents & (POLLIN | POLLHUP | POLLERR)) != 0)
        receive(found);
      break;
    }
  }
}

void Channel::accept_peers() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    // Whoever knocks stays at the door while no descriptor is left: no reason to spin.
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return;
  }
  const int room = 4 * static_cast<int>(wire::message_bytes_max);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  peers_[++last_peer_].fd = fd;
  hello(last_peer_);
}

void Channel::drop_peer(PeerId id) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  close(found->second.fd);
  peers_.erase(found);
  if (stager_ != id) return;
  stager_ = 0;
  ++staging_; // what is still being verified for it is thrown away
  generations_.discard_staged();
}

void Channel::receive(PeerId id) {
  for (int i = 0; i < messages_per_turn; ++i)
    if (!receive_one(id)) return;
}

bool Channel::receive_one(PeerId id) {
  const auto found = peers_.find(id);
  if (found == peers_.end() || !found->second.unsent.empty()) return false;
  static thread_local std::array<std::byte, wire::message_bytes_max + 1> buffer;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(4 * sizeof(int))> ancillary{};
  iovec part{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = ancillary.data();
  message.msg_controllen = ancillary.size();
  const ssize_t got = recvmsg(found->second.fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  OwnedFd fd = got < 0 ? OwnedFd() : take_fd(message); // a message without a byte may bring some, too
  if (got <= 0) {
    drop_peer(id);
    return false;
  }
  dispatch(id, std::span(buffer).first(static_cast<std::size_t>(got)), std::move(fd));
  return true;
}

void Channel::dispatch(PeerId id, Bytes message, OwnedFd fd) {
  const auto header = read_as<wire::Header>(message);
  Request request{id, header ? header->request : 0};
  if (header && header->type == wire::Type::stage && header->magic == wire::magic &&
      header->version == wire::version && header->payload_bytes == message.size() - sizeof *header)
    return stage(request, message.subspan(sizeof *header), std::move(fd));

  if (!header || header->magic != wire::magic) {
    refuse(request, {Errc::parse, "this is not a weir message"});
    return drop_peer(id);
  }
  if (header->version != wire::version) {
    refuse(request, {Errc::refused, fmt::format("the dataplane speaks version {}, the peer {}: install the "
                                                "same release of both",
                                                wire::version, header->version)});
    return drop_peer(id);
  }
  const Bytes payload = message.subspan(sizeof *header);
  if (header->payload_bytes != payload.size())
    return refuse(request, {Errc::parse, fmt::format("a message announces {} bytes and has {}",
                                                     header->payload_bytes, payload.size())});
  switch (header->type) {
  case wire::Type::deltas: return deltas(request, payload);
  case wire::Type::learn: return learn(request, payload);
  case wire::Type::relieve: return relieve(request, payload);
  case wire::Type::mark: return mark(request, payload);
  case wire::Type::commit: return commit(request, payload);
  case wire::Type::discard: return discard(request);
  case wire::Type::query: return query(request, payload);
  default:
    return refuse(request, {Errc::parse, fmt::format("message type {} is not for the dataplane",
                                                     static_cast<unsigned>(header->type))});
  }
}

void Channel::hello(PeerId id) {
  wire::Hello hello;
  if (const AttachedImage *live = generations_.live(); live != nullptr) {
    hello.live.store_id = live->store_id;
    hello.live.generation = live->generation;
    hello.live.sequence = live->sequence;
  }
  hello.process = static_cast<std::uint32_t>(getpid());
  hello.began = began_;
  send({id, 0}, wire::Type::hello, bytes_of(hello));
}

void Channel::stage(Request request, Bytes payload, OwnedFd fd) {
  using Clock = std::chrono::steady_clock;
  const auto file = std::make_shared<const OwnedFd>(std::move(fd)); // shared: what is submitted is copied
  const auto about = read_as<wire::Stage>(payload);
  if (!about || payload.size() != sizeof *about) return refuse(request, malformed("stage"));
  if (file->get() < 0)
    return refuse(request,
                  {Errc::parse, "a stage message came without a file descriptor, or this process has "
                                "none left for it: raise its limit (ulimit -n)"});

  generations_.discard_staged();
  stager_ = request.peer;
  background_.submit([this, request, claim = *about, file, turn = ++staging_,
                      context = generations_.attach_context()]() -> Background::Completion {
    const Clock::time_point start = Clock::now();
    auto image = attach_memfd(file->get(), claim, context);
    const auto verify_us = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
    KeptImages::Handle saving = image ? generations_.kept().prepare(**image) : nullptr;
    return [this, request, turn, verify_us, result = std::move(image), saved = std::move(saving)]() mutable {
      if (turn != staging_)
        return refuse(request,
                      {Errc::refused, "another stage or a discard came before this image was ready"});
      staged(request, std::move(result), std::move(saved), static_cast<std::uint64_t>(verify_us.count()));
    };
  });
}

void Channel::staged(Request request, Result<std::unique_ptr<AttachedImage>> image, KeptImages::Handle saving,
                     std::uint64_t verify_us) {
  if (!image) return refuse(request, image.error());
  const wire::Staged answer{(*image)->generation, verify_us};
  generations_.set_staged(std::move(*image), std::move(saving));
  send(request, wire::Type::staged, bytes_of(answer));
}

void Channel::deltas(Request request, Bytes payload) {
  const auto asked = read_list<wire::Deltas, image::Delta>(payload, wire::deltas_max);
  if (!asked) return refuse(request, malformed("deltas"));
  const auto &[about, list] = *asked;
  if (about.target == wire::Target::staged && stager_ != request.peer)
    return refuse(request, {Errc::refused, "deltas for a staged image, but nothing is staged by this peer"});
  const auto done = generations_.apply(about, list);
  if (!done) return refuse(request, done.error());
  const wire::Applied answer{.sequence = done->sequence,
                             .target = about.target,
                             .in_overlay = done->in_overlay,
                             .filter_saturated = done->filter_saturated ? 1u : 0u,
                             .stack_saturated = std::uint16_t{done->stack_saturated},
                             .map_saturated = std::uint16_t{done->map_saturated}};
  if (about.target == wire::Target::staged) return send(request, wire::Type::applied, bytes_of(answer));
  generations_.after(done->token,
                     [this, request, answer] { send(request, wire::Type::applied, bytes_of(answer)); });
}

void Channel::learn(Request request, Bytes payload) {
  const auto asked = read_list<wire::Learn, wire::HostAddress>(payload, wire::learn_max);
  if (!asked) return refuse(request, malformed("learn"));
  const auto done = generations_.learn(asked->first, asked->second);
  if (!done) return refuse(request, done.error());
  generations_.after(done->token, [this, request, answer = done->answer] {
    send(request, wire::Type::learned, bytes_of(answer));
  });
}

void Channel::relieve(Request request, Bytes payload) {
  const auto asked = read_list<wire::Relieve, wire::RelievedAddress>(payload, wire::relieve_max);
  if (!asked) return refuse(request, malformed("relieve"));
  const auto done = generations_.relieve(asked->first, asked->second);
  if (!done) return refuse(request, done.error());
  generations_.after(done->token, [this, request, answer = done->relieved] {
    send(request, wire::Type::relieved, bytes_of(answer));
  });
}

void Channel::mark(Request request, Bytes payload) {
  const auto asked = read_list<wire::Mark, wire::HostAddress>(payload, wire::mark_max);
  if (!asked) return refuse(request, malformed("mark"));
  const auto done = generations_.mark(asked->first, asked->second);
  if (!done) return refuse(request, done.error());
  send(request, wire::Type::marked, bytes_of(*done));
}

void Channel::commit(Request request, Bytes payload) {
  const auto about = read_as<wire::Commit>(payload);
  if (!about || payload.size() != sizeof *about) return refuse(request, malformed("commit"));
  if (stager_ != request.peer) return refuse(request, {Errc::refused, "nothing is staged by this peer"});
  const auto good = generations_.commit(*about, [this, request](const Swap &swap) {
    if (on_live) on_live(swap.generation);
    const wire::Committed answer{swap.generation, swap.swap_ns};
    send(request, wire::Type::committed, bytes_of(answer));
    for (const auto &[id, peer] : peers_)
      if (id != request.peer) hello(id);
  });
  if (!good) return refuse(request, good.error());
  stager_ = 0;
}

void Channel::discard(Request request) {
  if (stager_ == request.peer) {
    ++staging_;
    generations_.discard_staged();
  }
  const wire::Staged nothing;
  send(request, wire::Type::staged, bytes_of(nothing));
}

void Channel::query(Request request, Bytes payload) {
  const auto text = answer_({reinterpret_cast<const char *>(payload.data()), payload.size()});
  if (!text) return refuse(request, text.error());
  Bytes rest = std::as_bytes(std::span(*text));
  constexpr std::size_t piece_max = wire::payload_bytes_max - sizeof(wire::Answer);
  do {
    const Bytes piece = rest.first(std::min(rest.size(), piece_max));
    rest = rest.subspan(piece.size());
    const wire::Answer answer{rest.empty() ? 0u : 1u, 0};
    send(request, wire::Type::answer, bytes_of(answer), piece);
  } while (!rest.empty());
}

bool Channel::send_samples(std::span<const wire::Sample> samples) {
  bool taken = false;
  for (auto &[id, peer] : peers_) {
    if (!peer.unsent.empty()) continue; // samples never queue up
    send({id, 0}, wire::Type::samples, std::as_bytes(samples));
    taken = true;
  }
  return taken;
}

void Channel::refuse(Request request, const Error &error) {
  const wire::Refused refused{static_cast<std::uint32_t>(error.code), 0};
  const std::string_view text = std::string_view(error.message).substr(0, 4096);
  send(request, wire::Type::refused, bytes_of(refused), std::as_bytes(std::span(text)));
}

void Channel::send(Request request, wire::Type type, Bytes fixed, Bytes rest) {
  const auto found = peers_.find(request.peer);
  if (found == peers_.end()) return; // it left before its answer came
  wire::Header header;
  header.type = type;
  header.payload_bytes = static_cast<std::uint32_t>(fixed.size() + rest.size());
  header.request = request.id;
  std::vector<std::byte> message;
  message.reserve(sizeof header + header.payload_bytes);
  for (const Bytes part : {bytes_of(header), fixed, rest})
    message.insert(message.end(), part.begin(), part.end());
  if (found->second.unsent.size() < unsent_max) found->second.unsent.push_back(std::move(message));
  // A peer that is gone is noticed by the next poll, not here: callers may still hold it.
  [[maybe_unused]] const bool there = flush(found->second);
}

// Peers that take their answers get them before the end; those that do not hold it up for a second. Requests
// that are left unread are thrown away first: with them the kernel would report a reset instead of the
// answers.
void Channel::send_what_is_left() {
  for (const auto &[id, peer] : peers_) {
    shutdown(peer.fd, SHUT_RD);
    std::byte ignored{};
    while (recv(peer.fd, &ignored, 1, MSG_DONTWAIT) > 0) {
    }
  }
  const auto end = std::chrono::steady_clock::now() + last_answers_wait;
  for (;;) {
    std::vector<pollfd> waiting;
    for (auto &[id, peer] : peers_)
      if (flush(peer) && !peer.unsent.empty()) waiting.push_back({peer.fd, POLLOUT, 0});
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    if (waiting.empty() || left <= 0) return;
    poll(waiting.data(), waiting.size(), static_cast<int>(left));
  }
}

bool Channel::flush(Peer &peer) {
  while (!peer.unsent.empty()) {
    const auto &message = peer.unsent.front();
    if (::send(peer.fd, message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ENOMEM) return true;
      peer.unsent.clear();
      shutdown(peer.fd, SHUT_RDWR); // an answer is lost: the other side must not wait for it
      return false;
    }
    peer.unsent.pop_front();
  }
  return true;
}

} // namespace weir::dataplane
