#include "dataplane/image/image_slot.hpp"

#include <cstdlib>
#include <new>

namespace weir::dataplane {

void ImageSlot::Free::operator()(void *p) const noexcept { std::free(p); }

ImageSlot::ImageSlot(unsigned workers) {
  const std::size_t bytes = round_up(rte_rcu_qsbr_get_memsize(workers), cache_line_bytes);
  qsbr_.reset(static_cast<rte_rcu_qsbr *>(std::aligned_alloc(cache_line_bytes, bytes)));
  if (!qsbr_ || rte_rcu_qsbr_init(qsbr_.get(), workers) != 0) throw std::bad_alloc();
}

// Workers have left by now.
ImageSlot::~ImageSlot() { delete current_.load(std::memory_order_acquire); }

void ImageSlot::join(unsigned worker) noexcept {
  rte_rcu_qsbr_thread_register(qsbr_.get(), worker);
  online(worker);
}

void ImageSlot::leave(unsigned worker) noexcept {
  offline(worker);
  rte_rcu_qsbr_thread_unregister(qsbr_.get(), worker);
}

// The token is read first: should it move meanwhile, the worker is asked once more, never once less.
std::uint64_t ImageSlot::report(unsigned worker) noexcept {
  const std::uint64_t token = __atomic_load_n(&qsbr_->token, __ATOMIC_ACQUIRE);
  rte_rcu_qsbr_quiescent(qsbr_.get(), worker);
  return token;
}

ImageSlot::Published ImageSlot::publish(std::unique_ptr<AttachedImage> next) noexcept {
  const Generation generation = next ? next->generation : 0;
  AttachedImage *previous = current_.exchange(next.release(), std::memory_order_acq_rel);
  const GraceToken token = start_grace();
  live_generation_.store(generation, std::memory_order_release);
  return {std::unique_ptr<AttachedImage>(previous), token};
}

} // namespace weir::dataplane
