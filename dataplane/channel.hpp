// The dataplane's end of the control socket: SOCK_SEQPACKET, messages of weir/wire/messages.hpp.
//
// Runs on the service thread and never blocks: the socket is polled, images are verified in the
// background, acknowledgements wait for grace periods in Generations. Several peers may be
// connected; an image is staged for the peer that sent it and dies with the connection.
#pragma once

#include "dataplane/image/background.hpp"
#include "dataplane/image/generations.hpp"
#include "weir/base/owned_fd.hpp"
#include "weir/base/result.hpp"
#include "weir/wire/messages.hpp"

#include <cstdint>
#include <ctime>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct pollfd;

namespace weir::dataplane {

class Channel {
public:
  // Answers a query's JSON text with JSON text; the service thread calls it.
  using Answerer = std::function<Result<std::string>(std::string_view)>;

  Channel(Generations &generations, Background &background, Answerer answer);
  ~Channel(); // removes the socket
  Channel(const Channel &) = delete;
  Channel &operator=(const Channel &) = delete;

  // Takes the place of a socket left behind by a process that is gone; refuses one that answers.
  [[nodiscard]] Status listen(const std::filesystem::path &socket);

  void add_to(std::vector<pollfd> &polled) const;
  void handle(std::span<const pollfd> polled); // those that add_to() added, and others

  [[nodiscard]] bool has_peers() const noexcept { return !peers_.empty(); }
  // False when no peer took them.
  bool send_samples(std::span<const wire::Sample> samples);

  // Called with the generation once every worker has seen it.
  std::function<void(Generation)> on_live;

private:
  using PeerId = std::uint64_t;
  struct Peer {
    int fd = -1;
    std::deque<std::vector<std::byte>> unsent;
  };
  struct Request {
    PeerId peer = 0;
    std::uint32_t id = 0;
  };

  void accept_peers();
  void receive(PeerId id);
  [[nodiscard]] bool receive_one(PeerId id); // false: nothing more for now
  void drop_peer(PeerId id);
  void dispatch(PeerId id, std::span<const std::byte> message, OwnedFd fd);

  void stage(Request request, std::span<const std::byte> payload, OwnedFd fd);
  void staged(Request request, Result<std::unique_ptr<AttachedImage>> image, KeptImages::Handle saving,
              std::uint64_t verify_us);
  void deltas(Request request, std::span<const std::byte> payload);
  void learn(Request request, std::span<const std::byte> payload);
  void relieve(Request request, std::span<const std::byte> payload);
  void mark(Request request, Bytes payload);
  void commit(Request request, std::span<const std::byte> payload);
  void discard(Request request);
  void query(Request request, std::span<const std::byte> payload);

  void hello(PeerId id);
  void refuse(Request request, const Error &error);
  void send(Request request, wire::Type type, std::span<const std::byte> fixed,
            std::span<const std::byte> rest = {});
  bool flush(Peer &peer); // false: the peer is gone
  void send_what_is_left();

  Generations &generations_;
  Background &background_;
  Answerer answer_;
  std::filesystem::path socket_;
  int listener_ = -1;
  const std::uint32_t began_ = static_cast<std::uint32_t>(std::time(nullptr));
  PeerId last_peer_ = 0;
  std::map<PeerId, Peer> peers_;
  PeerId stager_ = 0;         // whose image is staged
  std::uint64_t staging_ = 0; // counts STAGE requests; an older one's result is thrown away
};

} // namespace weir::dataplane
