// The dataplane's side of the channel without packets: one thread that takes images through the
// trust border, applies deltas with the real writer and answers as include/weir/wire/messages.hpp
// says. What it runs survives its connections, as it does in the real one. Tests may make it refuse,
// hang up or forget.
#pragma once

#include "weir/base/result.hpp"
#include "weir/image/allow_filter_writer.hpp"
#include "weir/image/writer.hpp"
#include "weir/key/text.hpp"
#include "weir/wire/messages.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace weir::test {

class FakeDataplane {
public:
  struct Seen { // what a hook is told about a message
    wire::Type type{};
    wire::Target target{}; // of deltas
    std::uint64_t first_sequence = 0;
  };
  enum class Act : std::uint8_t { answer, hang_up };
  struct Reaction {
    Act act = Act::answer;
    std::optional<Error> refuse;
  };
  using Hook = std::function<Reaction(const Seen &)>; // on the fake's thread

  explicit FakeDataplane(std::filesystem::path socket);
  ~FakeDataplane();
  FakeDataplane(const FakeDataplane &) = delete;
  FakeDataplane &operator=(const FakeDataplane &) = delete;

  void set_hook(Hook hook);
  void hang_up(); // closes the connection, keeps listening
  void forget();  // loses its image, as after a restart without state
  void restart(); // another process with the same pid, as in a container, and the image that it had kept
  void pretend(image::StoreId store, std::uint64_t generation,
               std::uint64_t sequence = 0); // relabels what it runs

  [[nodiscard]] std::uint64_t generation() const;
  [[nodiscard]] std::uint64_t sequence() const;
  [[nodiscard]] std::uint64_t stages() const; // images accepted so far
  [[nodiscard]] std::uint64_t deltas() const; // taken for the live image, so far
  // The name of the list that the live image gives for an address; empty: none.
  [[nodiscard]] std::string list_of(Side side, std::string_view address) const;
  [[nodiscard]] std::string denies(std::string_view address) const { return list_of(Side::deny, address); }

  // Of the filter in front of the live image's allow tables; none: it has none.
  [[nodiscard]] std::optional<image::DynamicFilterLoad> allow_filter() const;

  // What the filter did under the live generation: questions about addresses of which no list has any, and
  // how many it accepted. A new image begins anew.
  void filter_did(std::uint64_t asked, std::uint64_t wrong);
  [[nodiscard]] std::vector<Address> guarded() const; // addresses that guard messages have named, in order

  void judged(std::uint64_t packets, std::uint64_t denied); // as its counters say, so far

  // What the stacked filter of denied hosts did under the live generation. A new image begins anew.
  struct StackDid {
    std::uint64_t asked = 0, accepted = 0, false_accepted = 0, denied = 0;
  };
  void stack_did(const StackDid &did);
  void send(std::vector<wire::Sample> samples); // soon, when a connection is there
  // Of the live image's section of offenders.
  struct Remembers {
    std::uint64_t shape = 0, model = 0; // 0: there is no such section
  };
  [[nodiscard]] Remembers remembers() const;
  [[nodiscard]] std::vector<std::pair<Address, bool>> marked() const; // true: forgotten, in order
  [[nodiscard]] std::vector<Address> relieved() const; // addresses that relieve messages have named, in order

private:
  struct Attached;

  void run();
  void serve(int connection);
  bool take(int connection, std::span<const std::byte> message, int fd);
  Result<std::vector<std::byte>> answer(const wire::Header &header, std::span<const std::byte> payload,
                                        int fd, wire::Type &type);
  Result<std::vector<std::byte>> stage(const wire::Stage &claim, int fd);
  Result<std::vector<std::byte>> apply(const wire::Deltas &about, std::span<const std::byte> rest);
  Result<std::vector<std::byte>> commit(const wire::Commit &wanted);
  [[nodiscard]] wire::Hello hello() const;

  std::filesystem::path socket_;
  int listening_ = -1, bell_ = -1;
  mutable std::mutex mutex_;
  bool stopping_ = false, hanging_up_ = false;
  std::uint32_t began_ = 1;
  Hook hook_;
  std::unique_ptr<Attached> live_, staged_;
  std::uint64_t stages_ = 0, deltas_ = 0;
  std::uint64_t filter_asked_ = 0, filter_wrong_ = 0;
  std::vector<Address> guarded_, relieved_;
  std::vector<std::pair<Address, bool>> marked_;
  StackDid stack_did_;
  std::uint64_t judged_ = 0, judged_denied_ = 0;
  std::vector<wire::Sample> unsent_;
  std::thread thread_;
};

} // namespace weir::test
