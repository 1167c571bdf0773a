#include "dataplane/generations.hpp"

#include "dataplane/memory.hpp"
#include "weir/image/reader.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <rte_pause.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

namespace weir::dataplane {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t swaps_kept = 1000;
constexpr std::size_t retired_kept = 100'000;

std::uint64_t ns_since(Clock::time_point start) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

// What came over the socket is checked before it reaches a writer.
Status check(const wire::Delta &delta, const AttachedImage &image) {
  const bool known = (delta.op == wire::DeltaOp::set || delta.op == wire::DeltaOp::unset) &&
                     (delta.side == image::Side::deny || delta.side == image::Side::allow) &&
                     (delta.family == Family::ipv4 || delta.family == Family::ipv6);
  if (!known) return fail(Errc::parse, "a delta has an unknown operation, side or family");
  if (delta.length > address_bits(delta.family))
    return fail(Errc::parse, fmt::format("a delta has prefix length {}", delta.length));
  const Address address{delta.family, delta.address};
  const bool spare_bytes_zero =
      delta.family == Family::ipv6 || Address::from_wire(address.wire()).bytes == address.bytes;
  if (!spare_bytes_zero || masked(address, delta.length) != address)
    return fail(Errc::parse, "a delta has address bits beyond its prefix length");
  if (delta.op == wire::DeltaOp::set &&
      (delta.list >= image::lists_max || image.slot_of_list[delta.list] == 0))
    return fail(Errc::needs_rebuild,
                fmt::format("list number {} is not in generation {}", delta.list, image.generation));
  return {};
}

bool is_sound(const wire::GuardedAddress &a) {
  if (a.family == Family::ipv6) return true;
  return a.family == Family::ipv4 &&
         Address::from_wire(Address{a.family, a.address}.wire()).bytes == a.address;
}

void flush_to_disk(const std::filesystem::path &path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

} // namespace

Generations::Generations(ImageSlot &slot, ListSlots &lists, Background &background, unsigned workers,
                         std::filesystem::path state_dir)
    : slot_(slot), lists_(lists), background_(background), workers_(workers),
      state_dir_(std::move(state_dir)) {}

Generations::~Generations() {
  while (tick()) rte_pause();
  background_.wait_idle(); // work in hand may still use attach_context()
}

AttachContext Generations::attach_context() {
  return {workers_, &lists_, [this] { wait_for_grace(); }, node_of_workers()};
}

void Generations::wait_for_grace() {
  const GraceToken token = slot_.start_grace();
  for (unsigned round = 0; !slot_.quiesced(token); ++round) {
    rte_pause();
    if (round % 64 == 63) sched_yield();
  }
}

Status Generations::lead(const AttachedImage &image) {
  return follower_ != nullptr ? follower_->load(image.view) : Status();
}

Status Generations::lead_changed(const AttachedImage &live) {
  Status led = lead(live);
  if (led && follower_ != nullptr) follower_->in_force();
  return led;
}

Status Generations::attach_last() {
  std::error_code ignored;
  if (!std::filesystem::exists(last_image_file(), ignored))
    return fail(Errc::not_found, "no image is kept in " + state_dir_.string());
  auto attached = attach_file(last_image_file(), attach_context());
  if (!attached) return std::unexpected(attached.error());
  if (Status led = lead(**attached); !led) return led;
  publish(std::move(*attached), [](const Swap &) {});
  return {};
}

void Generations::set_staged(std::unique_ptr<AttachedImage> image) {
  discard_staged();
  staged_ = std::move(image);
}

void Generations::discard_staged() {
  if (!staged_) return;
  background_.submit([old = std::move(staged_)]() mutable {
    old.reset();
    return Background::Completion();
  });
}

Result<AttachedImage *> Generations::target_of(const wire::Deltas &about) {
  if (about.target == wire::Target::staged) {
    if (!staged_) return fail(Errc::refused, "deltas for a staged image, but none is staged");
    return staged_.get();
  }
  if (about.target != wire::Target::live) return fail(Errc::parse, "deltas for an unknown target");
  if (live() == nullptr) return fail(Errc::needs_rebuild, "deltas for the live image, but none is attached");
  return live();
}

Result<Generations::DeltasDone> Generations::apply(const wire::Deltas &about,
                                                   std::span<const wire::Delta> deltas) {
  auto target = target_of(about);
  if (!target) return std::unexpected(target.error());
  AttachedImage &image = **target;
  if (about.first_sequence > image.sequence + 1)
    return fail(Errc::bad_sequence,
                fmt::format("delta {} came, but the {} image has reached {} only", about.first_sequence,
                            *image.in_force ? "live" : "staged", image.sequence.load()));
  const std::uint64_t known = image.sequence + 1 - about.first_sequence; // sent before, and applied
  if (known >= deltas.size())
    deltas = {};
  else
    deltas = deltas.subspan(known);
  // What is good before the first bad one goes in all the same.
  Status good;
  std::size_t checked = 0;
  while (checked < deltas.size() && (good = check(deltas[checked], image))) ++checked;

  if (*image.in_force && slot_.quiesced(last_change_)) image.writer->grace_passed();
  const image::ImageWriter::BatchDone batch = image.writer->apply_batch(deltas.first(checked));
  image.sequence += batch.applied;
  DeltasDone done{.sequence = image.sequence,
                  .in_overlay = batch.in_overlay,
                  .filter_strained = batch.filter_strained,
                  .stack_strained = batch.stack_strained,
                  .token = slot_.start_grace()};
  if (*image.in_force)
    last_change_ = done.token;
  else
    image.writer->grace_passed();
  if (*image.in_force && batch.applied != 0)
    if (const Status led = lead_changed(image); !led) return fail(Errc::needs_rebuild, led.error().message);
  if (batch.needs_rebuild)
    return fail(Errc::needs_rebuild,
                fmt::format("generation {} has no room for delta {}; everything before it is applied",
                            image.generation, image.sequence + 1));
  if (!good) return std::unexpected(good.error());
  return done;
}

Result<Generations::GuardDone> Generations::guard(const wire::Guard &about,
                                                  std::span<const wire::GuardedAddress> addresses) {
  AttachedImage *image = live();
  if (image == nullptr || image->generation != about.generation)
    return fail(Errc::refused, fmt::format("addresses to be guarded in generation {}, but {} is live",
                                           about.generation, image == nullptr ? 0 : image->generation));
  if (!std::ranges::all_of(addresses, is_sound))
    return fail(Errc::parse, "an address to be guarded has an unknown family or spare bytes");
  GuardDone done{.guarded = {.generation = image->generation}, .token = {}};
  for (const wire::GuardedAddress &a : addresses) {
    const filter::SeesawGuarded one = image->writer->guard(Address{a.family, a.address});
    done.guarded.sealed += one.sealed;
    done.guarded.waiting += one.waiting;
    done.guarded.refused += one.refused;
  }
  if (const Status led = lead_changed(*image); !led) return std::unexpected(led.error());
  done.token = slot_.start_grace();
  return done;
}

Result<Generations::RelieveDone> Generations::relieve(const wire::Relieve &about,
                                                      std::span<const wire::RelievedAddress> addresses) {
  AttachedImage *image = live();
  if (image == nullptr || image->generation != about.generation)
    return fail(Errc::refused, fmt::format("addresses to be relieved in generation {}, but {} is live",
                                           about.generation, image == nullptr ? 0 : image->generation));
  if (!image->view.stack.judges())
    return fail(Errc::refused,
                fmt::format("generation {} has no filter that judges alone", image->generation));
  if (!std::ranges::all_of(addresses, is_sound))
    return fail(Errc::parse, "an address to be relieved has an unknown family or spare bytes");
  RelieveDone done{.relieved = {.generation = image->generation}, .token = {}};
  for (const wire::RelievedAddress &a : addresses) {
    const Address address{a.family, a.address};
    const image::Change change = image->writer->relieve(address);
    done.relieved.relieved += change == image::Change::overlay;
    done.relieved.unchanged += change == image::Change::unchanged;
    done.relieved.no_room += change == image::Change::needs_rebuild;
    if (staged_) (void)staged_->writer->relieve(address); // no room there: denied until it is found again
  }
  if (const Status led = lead_changed(*image); !led) return std::unexpected(led.error());
  done.token = slot_.start_grace();
  return done;
}

Status Generations::commit(const wire::Commit &commit, std::function<void(const Swap &)> done) {
  if (!staged_) return fail(Errc::refused, "nothing is staged");
  if (staged_->generation != commit.generation)
    return fail(Errc::refused,
                fmt::format("generation {} is staged, not {}", staged_->generation, commit.generation));
  if (staged_->sequence < commit.sequence)
    return fail(Errc::bad_sequence, fmt::format("the staged image has reached delta {}, not {}",
                                                staged_->sequence.load(), commit.sequence));
  const AttachedImage *now = live();
  if (now != nullptr && now->store_id == staged_->store_id && now->sequence > staged_->sequence)
    return fail(Errc::bad_sequence,
                fmt::format("the live image has reached delta {}, the staged one only {}: acknowledged "
                            "entries would be lost",
                            now->sequence.load(), staged_->sequence.load()));
  if (Status led = lead(*staged_); !led) return led;
  keep_as_last(); // first: once COMMITTED is out, a restart must find it
  publish(std::move(staged_), std::move(done));
  return {};
}

void Generations::publish(std::unique_ptr<AttachedImage> image, std::function<void(const Swap &)> done) {
  const std::uint64_t generation = image->generation;
  *image->in_force = true;
  const Clock::time_point start = Clock::now();
  ImageSlot::Published published = [&] {
    const auto guard = lock();
    return slot_.publish(std::move(image));
  }();
  if (follower_ != nullptr) follower_->in_force();
  // A std::function must be copyable; the image rides in a shared cell.
  auto old = std::make_shared<std::unique_ptr<AttachedImage>>(std::move(published.previous));
  after(published.token, [this, generation, start, old, done = std::move(done)] {
    const Swap swap{generation, ns_since(start)};
    record(swap);
    retire(std::move(*old));
    done(swap);
  });
  // Usually microseconds: worth a look before going back to the socket, for the figure's sake.
  for (unsigned round = 0; round < 1000 && !slot_.quiesced(published.token); ++round) rte_pause();
  tick();
}

void Generations::retire(std::unique_ptr<AttachedImage> image) {
  if (!image) return;
  {
    const auto guard = lock();
    retired_packets_[image->generation] += image->packets();
    while (retired_packets_.size() > retired_kept) retired_packets_.erase(retired_packets_.begin());
  }
  background_.submit([old = std::move(image)]() mutable {
    old.reset();
    return Background::Completion();
  });
}

void Generations::record(const Swap &swap) {
  const auto guard = lock();
  ++swap_count_;
  swaps_.push_back(swap);
  if (swaps_.size() > swaps_kept) swaps_.pop_front();
}

// The pristine copy was written when the image was staged. A process killed after this finds it; a
// machine that loses power finds it once the background flush is through.
void Generations::keep_as_last() {
  std::error_code failed;
  std::filesystem::rename(staged_image_file(), last_image_file(), failed);
  if (failed) return;
  background_.submit([file = last_image_file(), folder = state_dir_] {
    flush_to_disk(file, O_RDONLY);
    flush_to_disk(folder, O_RDONLY | O_DIRECTORY);
    return Background::Completion();
  });
}

void Generations::after(GraceToken token, std::function<void()> then) {
  waiting_.push_back({token, std::move(then)});
}

bool Generations::tick() {
  while (!waiting_.empty() && slot_.quiesced(waiting_.front().token)) {
    const auto then = std::move(waiting_.front().then);
    waiting_.pop_front();
    then();
  }
  if (AttachedImage *image = live();
      image != nullptr && image->writer->waits_for_grace() && slot_.quiesced(last_change_))
    image->writer->grace_passed();
  return !waiting_.empty();
}

std::map<std::uint64_t, std::uint64_t> Generations::packets_by_generation() const {
  const auto guard = lock();
  auto packets = retired_packets_;
  if (const AttachedImage *now = slot_.current(); now != nullptr && now->packets() > 0)
    packets[now->generation] += now->packets();
  return packets;
}

std::vector<Swap> Generations::swaps() const {
  const auto guard = lock();
  return {swaps_.begin(), swaps_.end()};
}

std::uint64_t Generations::swap_count() const {
  const auto guard = lock();
  return swap_count_;
}

} // namespace weir::dataplane
