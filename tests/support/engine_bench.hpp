// An Engine with its loop, store and configuration in a temporary folder, run by hand, for tests
// against a FakeDataplane. restart() is a control process that was killed and started again.
#pragma once

#include "control/engine/engine.hpp"
#include "tests/support/process.hpp"
#include "weir/key/text.hpp"
#include "weir/wire/sockets.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace weir::test {

class EngineBench {
public:
  explicit EngineBench(std::string yaml, store::Options store = {}, build::Target target = build::Target::cpp)
      : store_options_(store), target_(target) {
    configure(std::move(yaml));
    restart();
  }

  void configure(std::string yaml) { write_text(folder_ / "weir.yaml", yaml); }
  void write_list(const std::string &name, const std::string &text) { write_text(folder_ / name, text); }
  [[nodiscard]] std::filesystem::path path(const std::string &name) const { return folder_ / name; }
  [[nodiscard]] std::filesystem::path socket() const { return folder_ / wire::dataplane_socket_name; }

  std::function<void(control::EngineOptions &)> adjust; // before the next restart()

  void stop() { engine_.reset(); }
  void restart() {
    const Status started = try_restart();
    ASSERT_TRUE(started) << started.error().message;
  }
  [[nodiscard]] Status try_restart() {
    engine_.reset();
    loop_ = std::make_unique<push::EventLoop>();
    auto store = TRY(store::Store::open(folder_ / "store", store_options_));
    control::EngineOptions options;
    options.config_file = folder_ / "weir.yaml";
    options.run = folder_.path();
    options.state = folder_.path();
    options.store = store_options_;
    options.target = target_;
    options.retry_wait = std::chrono::milliseconds(5);
    options.filter_look_wait = std::chrono::milliseconds(20);
    if (adjust) adjust(options);
    engine_ = std::make_unique<control::Engine>(*loop_, std::move(store), options);
    return engine_->start();
  }

  [[nodiscard]] control::Engine &engine() { return *engine_; }
  [[nodiscard]] push::EventLoop &loop() { return *loop_; }

  template <class Done>
  [[nodiscard]] bool run_until(Done done, std::chrono::seconds most = std::chrono::seconds(20)) {
    const auto end = push::Clock::now() + most;
    while (!done())
      if (push::Clock::now() > end)
        return false;
      else
        loop_->turn(std::chrono::milliseconds(2));
    return true;
  }
  [[nodiscard]] bool run_until_live() {
    return run_until([this] {
      return engine_->pusher().state() == push::Pusher::State::live && engine_->doing().empty();
    });
  }

  Result<control::EntriesDone> add(const std::string &list, const std::string &prefix,
                                   std::optional<std::uint64_t> ttl_s = {}, const std::string &comment = {}) {
    std::optional<Result<control::EntriesDone>> result;
    engine_->add(list, {{parse_prefix(prefix).value(), ttl_s, comment}},
                 [&](Result<control::EntriesDone> done) { result = std::move(done); });
    return wait_for(result);
  }
  Result<control::EntriesDone> remove(const std::string &list, const std::string &prefix) {
    std::optional<Result<control::EntriesDone>> result;
    engine_->remove(list, {parse_prefix(prefix).value()},
                    [&](Result<control::EntriesDone> done) { result = std::move(done); });
    return wait_for(result);
  }
  Result<control::ChangeDone> apply(std::uint64_t confirm_s = 0, bool force = false) {
    std::optional<Result<control::ChangeDone>> result;
    engine_->apply({}, confirm_s, force, [&](Result<control::ChangeDone> done) { result = std::move(done); });
    return wait_for(result);
  }
  Result<control::ChangeDone> replace(const std::string &list, const std::string &file, bool force = false) {
    std::optional<Result<control::ChangeDone>> result;
    engine_->replace(list, folder_ / file, force,
                     [&](Result<control::ChangeDone> done) { result = std::move(done); });
    return wait_for(result);
  }
  Result<control::ChangeDone> rollback(Generation generation = {}) {
    std::optional<Result<control::ChangeDone>> result;
    engine_->rollback(generation, [&](Result<control::ChangeDone> done) { result = std::move(done); });
    return wait_for(result);
  }

private:
  template <class T> Result<T> wait_for(std::optional<Result<T>> &result) {
    if (!run_until([&] { return result.has_value(); })) std::abort(); // the callback refers to this frame
    return std::move(*result);
  }

  TempDir folder_;
  store::Options store_options_;
  build::Target target_;
  std::unique_ptr<push::EventLoop> loop_;
  std::unique_ptr<control::Engine> engine_;
};

} // namespace weir::test
