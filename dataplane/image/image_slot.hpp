// The place where workers find the generation in force: one atomic pointer and one QSBR variable.
//
//   service thread                          worker
//   publish(new)  -> pointer, token         current() at the start of each burst; the burst keeps it
//   quiesced(token)? not yet ...            report_wanted()? then finish all bursts, report()
//   quiesced(token)! -> unmap the old       offline() before anything that blocks, online() after
//
// A worker reports only with an empty pipeline, so after a grace period nobody holds the old view.
// The service thread never waits here: it starts a grace period and asks later.
#pragma once

#include "dataplane/image/attached_image.hpp"

#include <rte_rcu_qsbr.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace weir::dataplane {

// Stands for "every worker passed a quiescent state since this was made".
struct GraceToken {
  std::uint64_t value = 0;
};

class ImageSlot {
public:
  explicit ImageSlot(unsigned workers);
  ~ImageSlot();
  ImageSlot(const ImageSlot &) = delete;
  ImageSlot &operator=(const ImageSlot &) = delete;

  // ---- worker side; `last_token` is the worker's own memory of what it reported
  void join(unsigned worker) noexcept;  // registers, goes online
  void leave(unsigned worker) noexcept; // goes offline, unregisters
  void online(unsigned worker) noexcept { rte_rcu_qsbr_thread_online(qsbr_.get(), worker); }
  void offline(unsigned worker) noexcept { rte_rcu_qsbr_thread_offline(qsbr_.get(), worker); }
  [[nodiscard]] AttachedImage *current() const noexcept { return current_.load(std::memory_order_acquire); }
  [[nodiscard]] bool report_wanted(std::uint64_t last_token) const noexcept {
    return __atomic_load_n(&qsbr_->token, __ATOMIC_ACQUIRE) != last_token;
  }
  // Only with nothing in flight. Gives the token to remember.
  [[nodiscard]] std::uint64_t report(unsigned worker) noexcept;

  // ---- service side (one thread)
  // Puts `next` in force and hands back what was: keep it until the token has passed.
  struct Published {
    std::unique_ptr<AttachedImage> previous;
    GraceToken token;
  };
  [[nodiscard]] Published publish(std::unique_ptr<AttachedImage> next) noexcept;
  [[nodiscard]] GraceToken start_grace() noexcept { return {rte_rcu_qsbr_start(qsbr_.get())}; }
  [[nodiscard]] bool quiesced(GraceToken token) noexcept {
    return rte_rcu_qsbr_check(qsbr_.get(), token.value, false) == 1;
  }
  [[nodiscard]] AttachedImage *live() noexcept { return current_.load(std::memory_order_relaxed); }

  // ---- anybody: 0 while nothing is attached; never falls behind what current() gives
  [[nodiscard]] Generation live_generation() const noexcept {
    return live_generation_.load(std::memory_order_acquire);
  }

private:
  struct Free {
    void operator()(void *p) const noexcept;
  };
  std::unique_ptr<rte_rcu_qsbr, Free> qsbr_;
  alignas(cache_line_bytes) std::atomic<AttachedImage *> current_{nullptr};
  std::atomic<Generation> live_generation_;
};

} // namespace weir::dataplane
