// Keeps the dataplane at the store's content, over one Channel.
//
//   absent ----hello fits----------------> live: the log's tail is streamed, then every new record
//      \-------hello does not fit--------> stale: the owner is asked for an image
//   live or stale, with an image staged:    the records since its base go to the staged image too;
//                                           once it has all of them the live stream pauses, COMMIT,
//                                           and the stream goes on to what is now live
//   any ------hello of another's commit---> stale: who waits is told so, and the owner is not asked, since
//                                           two that answer each other's images would never end; what
//                                           its own user asks for next takes the dataplane back
//
// Nothing here holds rules. The log says which prefix changed at a sequence; what it means now,
// under the live or the staged rules, is asked at the moment of sending. Two cursors, one for each
// image, run over the log, so that an image that joins late is only one that has more to catch up.
//
// That an acknowledged entry is never missing follows from one rule: COMMIT(n) is sent when the
// staged image has applied n, and the live one is sent nothing after n before COMMIT is answered.
#pragma once

#include "control/push/channel.hpp"

#include <map>
#include <optional>

namespace weir::push {

// What the owner of rules and log answers.
struct LogSource {
  std::function<std::uint64_t()> first_sequence; // oldest kept; last + 1 when there is none
  std::function<std::uint64_t()> last_sequence;
  std::function<image::Delta(std::uint64_t sequence, wire::Target target)> delta;
};

struct StagedImage {
  int fd = -1; // taken over
  image::ImageIdentity identity;
};

struct Swapped {
  Generation generation{};
  std::uint64_t sequence = 0;
  std::uint64_t swap_ns = 0;
  std::uint64_t verify_us = 0;
};

class Pusher {
public:
  enum class State : std::uint8_t { absent, stale, live };

  struct Events {
    // The dataplane does not run what it should and an image is wanted. `why` is for people.
    std::function<void(const std::string &why)> needs_image;
    std::function<void()> connected; // before needs_image; hello() is known
    std::function<void(const std::string &why)> lost;
    std::function<void(std::span<const wire::Sample>)> samples;
    // Another weir-control has put its own generation in force; `why` is for people.
    std::function<void(const std::string &why)> displaced;
    std::function<void()> filling; // changes to the live image went to an overlay, or strain its filter
  };

  Pusher(EventLoop &loop, std::filesystem::path socket, LogSource log, Events events);

  void start() { channel_.start(); }
  // What should run; asked again at every hello. Generation 0: nothing yet.
  void expect(image::StoreId store, Generation generation);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool swapping() const { return stage_.has_value(); }
  // Why the dataplane runs the generation of another weir-control; empty: it does not.
  [[nodiscard]] const std::string &displaced() const { return displaced_; }
  [[nodiscard]] Generation dataplane_generation() const { return dataplane_generation_; } // 0: none
  [[nodiscard]] std::uint64_t applied_sequence() const { return live_.applied; }
  [[nodiscard]] Channel &channel() { return channel_; }

  // Brings an image live. One at a time. Errors: unreachable, bad_image, bad_sequence (build again
  // from now), needs_rebuild (the same). Whatever ran goes on after an error.
  void swap(StagedImage image, std::function<void(Result<Swapped>)> done);

  void pump(); // the log has grown
  // Calls back once the live image has `sequence` in force, or cannot be asked any more.
  void when_applied(std::uint64_t sequence, std::function<void(Status)> done);
  void fail_waiters(const Error &error); // those of when_applied(), now
  // No image can be brought live for now: whoever waits is told so, and whoever comes, until one is.
  void give_up(const Error &why);

private:
  struct Cursor {
    std::uint64_t sent = 0, applied = 0;
    unsigned open = 0; // messages on their way
  };
  struct Stage {
    StagedImage image;
    std::function<void(Result<Swapped>)> done;
    Cursor cursor;
    bool attached = false;   // the dataplane has verified it
    bool closing = false;    // it has been sent everything, both streams stand still
    bool committing = false; // it has applied everything, COMMIT is open
    std::uint64_t verify_us = 0;
  };
  static constexpr unsigned open_messages_max = 4;

  void on_hello(const wire::Hello &hello);
  void on_lost(const std::string &why);
  void send_from(Cursor &cursor, wire::Target target);
  void send_deltas(Cursor &cursor, std::uint64_t count, wire::Target target);
  void on_applied(wire::Target target, std::uint64_t last, const Result<Message> &answer,
                  std::uint64_t epoch);
  void on_staged(const Result<Message> &answer);
  void on_committed(const Result<Message> &answer, std::uint64_t sequence);
  void try_commit();
  void fail_stage(const Error &error);
  void go_stale(const std::string &why);
  void wake_waiters();
  void be_displaced(const wire::Hello &hello);

  EventLoop &loop_;
  Channel channel_;
  LogSource log_;
  Events events_;
  image::StoreId store_{};
  Generation generation_, dataplane_generation_;
  State state_ = State::absent;
  std::string displaced_;
  std::optional<Error> given_up_;
  Cursor live_;
  std::optional<Stage> stage_;
  std::uint64_t live_epoch_ = 0, stage_epoch_ = 0; // answers to what came before are of no interest
  std::multimap<std::uint64_t, std::function<void(Status)>> waiters_;
};

} // namespace weir::push
