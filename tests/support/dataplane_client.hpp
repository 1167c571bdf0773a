// The control plane's end of the dataplane's socket, as small as tests need it: one request, one
// answer, and every way to send something wrong.
#pragma once

#include "weir/base/bits.hpp"
#include "weir/wire/messages.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace weir::test {

// A memfd with these bytes; the caller closes it. -1 on failure.
[[nodiscard]] int make_memfd(Bytes bytes, int seals);
[[nodiscard]] int usual_seals(); // SHRINK and GROW

struct WireMessage {
  wire::Header header;
  std::vector<std::byte> payload;

  [[nodiscard]] bool is(wire::Type type) const { return header.type == type; }
  template <class T> [[nodiscard]] T as() const {
    return payload.size() >= sizeof(T) ? load_unaligned<T>(payload.data()) : T{};
  }
  [[nodiscard]] std::string text_after(std::size_t bytes) const;
  [[nodiscard]] std::string refusal() const { return text_after(sizeof(wire::Refused)); }
};

class DataplaneClient {
public:
  explicit DataplaneClient(const std::filesystem::path &socket); // takes the hello; see connected()
  ~DataplaneClient();
  DataplaneClient(const DataplaneClient &) = delete;
  DataplaneClient &operator=(const DataplaneClient &) = delete;

  [[nodiscard]] bool connected() const noexcept { return fd_ >= 0; }
  // Of the image staged last, else of the live one at connect; deltas name it.
  image::StoreId store_id{};

  [[nodiscard]] const wire::Hello &hello() const noexcept { return hello_; }

  // Sends and waits (ten seconds at most, unless told) for the answer to this request; a dead peer gives an
  // empty message of type 0.
  WireMessage ask(wire::Type type, Bytes payload, int fd = -1, int patience_ms = 10'000);
  void send_raw(Bytes message);
  bool try_send_raw(Bytes message); // false when it would wait
  void send_empty(int fd);          // a message of no bytes that brings a descriptor
  WireMessage receive(int patience_ms = 10'000);

  // An image with the claims of its own header. Waits for a minute: on a busy machine the classifier of some dozen packet
  // rules that cross one another takes longer than ten seconds.
  WireMessage stage(Bytes image) { return stage(image, usual_seals()); }
  WireMessage stage(Bytes image, int seals);
  WireMessage commit(std::uint64_t generation, std::uint64_t sequence);
  WireMessage deltas(wire::Target target, std::uint64_t first_sequence,
                     const std::vector<image::Delta> &list);
  std::string query(const std::string &json); // joined answers; empty when refused

private:
  int fd_ = -1;
  std::uint32_t last_request_ = 0;
  wire::Hello hello_;
};

[[nodiscard]] image::Delta make_delta(image::DeltaOp op, const std::string &prefix, ListId list,
                                      Side side = Side::deny);

} // namespace weir::test
