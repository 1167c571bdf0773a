#include "dataplane/image/generations.hpp"

#include "dataplane/port/memory.hpp"
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
constexpr std::size_t retired_kept = 100;
// By a message: each costs a grace period, which is as long as a worker that shares its CPU waits for its
// turn. Who asks for something else waits for a tenth of the time at most.
constexpr unsigned reliefs_displaced_max = 64;
constexpr std::chrono::milliseconds displacing_max(5);
constexpr int displacing_pause = 9; // times as long as displacing took

std::uint64_t ns_since(Clock::time_point start) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

// What came over the socket is checked before it reaches a writer.
Status check(const image::Delta &delta, const AttachedImage &image) {
  TRY(image::check(delta));
  if (delta.op == image::DeltaOp::set && !image.lists.test(delta.list.value()))
    return fail(Errc::needs_rebuild,
                fmt::format("list number {} is not in generation {}", delta.list, image.generation));
  return {};
}

bool is_sound(const wire::HostAddress &a) {
  if (a.family == Family::ipv6) return true;
  return a.family == Family::ipv4 &&
         Address::from_wire(Address{a.family, a.address}.wire()).bytes == a.address;
}

} // namespace

Generations::Generations(ImageSlot &slot, ListSlots &lists, Background &background, unsigned workers,
                         std::filesystem::path state_dir, bool keeps_images, std::vector<int> nodes)
    : slot_(slot), lists_(lists), background_(background), workers_(workers), nodes_(std::move(nodes)),
      kept_(state_dir, keeps_images), offenders_(state_dir, workers, keeps_images) {}

Generations::~Generations() {
  while (tick()) rte_pause();
  background_.wait_idle(); // work in hand may still use attach_context()
  if (offenders_.now()) (void)offenders_.write(*offenders_.now());
}

AttachContext Generations::attach_context() {
  return {workers_, &lists_, [this] { wait_for_grace(); }, nodes_, &offenders_, rules_};
}

void Generations::wait_for_grace() {
  const GraceToken token = slot_.start_grace();
  for (unsigned round = 0; !slot_.quiesced(token); ++round) {
    rte_pause();
    if (round % 64 == 63) sched_yield();
  }
}

Status Generations::load_follower(const AttachedImage &image) {
  return follower_ != nullptr ? follower_->load(image.view) : Status();
}

Status Generations::reload_follower(const AttachedImage &live) {
  Status loaded = load_follower(live);
  if (loaded && follower_ != nullptr) follower_->in_force();
  return loaded;
}

Status Generations::attach_last() {
  const auto accept = [this](const std::filesystem::path &file) -> Status {
    auto attached = attach_file(file, attach_context());
    if (!attached) return std::unexpected(attached.error());
    if (Status loaded = load_follower(**attached); !loaded)
      return fail(loaded.error().code, file.string() + ": " + loaded.error().message);
    publish(std::move(*attached), [](const Swap &) {});
    return {};
  };
  return kept_.restore(accept, [this] { return slot_.live_generation(); });
}

void Generations::set_staged(std::unique_ptr<AttachedImage> image, KeptImages::Handle saving) {
  discard_staged();
  staged_ = std::move(image);
  kept_.stage(std::move(saving));
}

void Generations::discard_staged() {
  kept_.discard();
  if (!staged_) return;
  background_.submit([old = std::move(staged_)]() mutable {
    old.reset();
    return Background::Completion();
  });
}

Result<AttachedImage *> Generations::target_of(const wire::Deltas &about) {
  AttachedImage *target = nullptr;
  if (about.target == wire::Target::staged) {
    target = staged_.get();
    if (target == nullptr) return fail(Errc::refused, "deltas for a staged image, but none is staged");
  } else if (about.target == wire::Target::live) {
    target = live();
    if (target == nullptr)
      return fail(Errc::needs_rebuild, "deltas for the live image, but none is attached");
  } else {
    return fail(Errc::parse, "deltas for an unknown target");
  }
  if (about.store_id != target->store_id)
    return fail(Errc::refused, fmt::format("deltas for generation {} from another rule store than its own: "
                                           "one weir-control alone may serve a dataplane",
                                           target->generation));
  return target;
}

// Whether what was said about this store's generation may be done to the live image.
Status Generations::is_live(const image::StoreId &store, Generation generation, const char *what) {
  const AttachedImage *image = live();
  if (image == nullptr || image->generation != generation)
    return fail(Errc::refused, fmt::format("addresses to be {} in generation {}, but {} is live", what,
                                           generation, image == nullptr ? 0 : image->generation));
  if (image->store_id != store)
    return fail(Errc::refused,
                fmt::format("addresses to be {} in generation {} of another rule store", what, generation));
  return {};
}

Result<Generations::DeltasDone> Generations::apply(const wire::Deltas &about,
                                                   std::span<const image::Delta> deltas) {
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

  if (*image.in_force && slot_.quiesced(last_change_)) image.grace_passed();
  const image::ImageWriter::BatchDone batch = image.apply_batch(deltas.first(checked));
  const std::uint64_t reached = image.sequence + batch.applied;
  DeltasDone done{.sequence = reached,
                  .in_overlay = batch.in_overlay,
                  .filter_saturated = batch.filter_saturated,
                  .stack_saturated = batch.stack_saturated,
                  .map_saturated = batch.map_saturated,
                  .token = slot_.start_grace()};
  if (*image.in_force)
    last_change_ = done.token;
  else
    image.grace_passed();
  // What the follower judges by has not changed, so nothing was applied: the same deltas may come again.
  if (*image.in_force && batch.applied != 0)
    if (const Status loaded = reload_follower(image); !loaded)
      return fail(Errc::needs_rebuild, loaded.error().message);
  image.sequence = reached;
  if (batch.needs_rebuild)
    return fail(Errc::needs_rebuild,
                fmt::format("generation {} has no room for delta {}; everything before it is applied",
                            image.generation, image.sequence + 1));
  if (!good) return std::unexpected(good.error());
  return done;
}

Result<Generations::Learned> Generations::learn(const wire::Learn &about,
                                                std::span<const wire::HostAddress> addresses) {
  TRY(is_live(about.store_id, about.generation, "guarded"));
  AttachedImage *image = live();
  if (!std::ranges::all_of(addresses, is_sound))
    return fail(Errc::parse, "an address to be guarded has an unknown family or spare bytes");
  Learned done{.answer = {.generation = image->generation}, .token = {}};
  for (const wire::HostAddress &a : addresses) {
    const filter::Learned one = image->learn(Address{a.family, a.address});
    done.answer.sealed += one.sealed;
    done.answer.waiting += one.waiting;
    done.answer.refused += one.refused;
  }
  TRY(reload_follower(*image));
  done.token = slot_.start_grace();
  return done;
}

Result<Generations::RelieveDone> Generations::relieve(const wire::Relieve &about,
                                                      std::span<const wire::RelievedAddress> addresses) {
  TRY(is_live(about.store_id, about.generation, "relieved"));
  AttachedImage *image = live();
  if (!image->view.deny_filter.judges())
    return fail(Errc::refused,
                fmt::format("generation {} has no filter that judges alone", image->generation));
  if (!std::ranges::all_of(addresses, is_sound))
    return fail(Errc::parse, "an address to be relieved has an unknown family or spare bytes");
  RelieveDone done{.relieved = {.generation = image->generation}, .token = {}};
  const auto begin = std::chrono::steady_clock::now();
  unsigned may_displace = begin < displace_again_ ? 0 : reliefs_displaced_max;
  unsigned may_displace_staged = may_displace;
  for (const wire::RelievedAddress &a : addresses) {
    if (std::chrono::steady_clock::now() > begin + displacing_max) may_displace = may_displace_staged = 0;
    const Address address{a.family, a.address};
    const image::Change change = image->relieve(address, may_displace);
    done.relieved.relieved += change == image::Change::overlay;
    if (change == image::Change::overlay) forget(address); // it was told for nothing
    done.relieved.unchanged += change == image::Change::unchanged;
    done.relieved.no_room += change == image::Change::needs_rebuild;
    if (staged_)
      (void)staged_->relieve(address,
                             may_displace_staged); // no room there: denied until it is found again
  }
  if (const auto end = std::chrono::steady_clock::now(); begin >= displace_again_)
    displace_again_ = end + displacing_pause * (end - begin);
  TRY(reload_follower(*image));
  done.token = slot_.start_grace();
  return done;
}

void Generations::forget(const Address &address) {
  const std::shared_ptr<OffenderMemory> &memory = offenders_.now();
  if (memory == nullptr || live() == nullptr) return;
  const image::OffendersView &view = live()->view.offenders;
  if (memory->marks().of(address) == Mark::none)
    (void)memory->marks().set(address, memory->forgetting(view, address), memory->told(),
                              2 * view.header().gap);
}

Result<wire::Marked> Generations::mark(const wire::Mark &about,
                                       std::span<const wire::HostAddress> addresses) {
  if (!offenders_.now())
    return fail(Errc::refused, "no offenders are remembered: write the key offenders into the configuration, "
                               "and apply it");
  if (!std::ranges::all_of(addresses, is_sound))
    return fail(Errc::parse, "an address to be marked has an unknown family or spare bytes");
  const image::OffendersView &view = live()->view.offenders;
  OffenderMemory &memory = *offenders_.now();
  wire::Marked done;
  for (const wire::HostAddress &a : addresses) {
    const Address address{a.family, a.address};
    const Mark mark = about.forget == 0 ? Mark::marked : memory.forgetting(view, address);
    const bool set = memory.marks().set(address, mark, memory.told(), 2 * view.header().gap);
    ++(set ? done.done : done.no_room);
  }
  done.in_memory = static_cast<std::uint32_t>(memory.marks().size(Mark::marked));
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
  TRY(load_follower(*staged_));
  kept_.commit();
  publish(std::move(staged_), std::move(done));
  return {};
}

void Generations::publish(std::unique_ptr<AttachedImage> image, std::function<void(const Swap &)> done) {
  const Generation generation = image->generation;
  *image->in_force = true;
  offenders_.in_force(image->offenders);
  const Clock::time_point start = Clock::now();
  ImageSlot::Published published = [&] {
    const auto held = lock();
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
    const auto held = lock();
    const auto known =
        std::ranges::find(retired_packets_, image->generation, &std::pair<Generation, std::uint64_t>::first);
    std::uint64_t before = 0; // a generation may come into force again
    if (known != retired_packets_.end()) {
      before = known->second;
      retired_packets_.erase(known);
    }
    retired_packets_.emplace_back(image->generation, before + image->packets());
    if (retired_packets_.size() > retired_kept) {
      earlier_packets_ += retired_packets_.front().second;
      retired_packets_.pop_front();
    }
  }
  background_.submit([old = std::move(image)]() mutable {
    old.reset();
    return Background::Completion();
  });
}

void Generations::record(const Swap &swap) {
  const auto held = lock();
  ++swap_count_;
  swap_times_.observe(static_cast<double>(swap.swap_ns) / 1e9);
  swaps_.push_back(swap);
  if (swaps_.size() > swaps_kept) swaps_.pop_front();
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
      image != nullptr && image->waits_for_grace() && slot_.quiesced(last_change_))
    image->grace_passed();
  return !waiting_.empty();
}

std::map<Generation, std::uint64_t> Generations::packets_by_generation() const {
  const auto held = lock();
  std::map<Generation, std::uint64_t> packets{retired_packets_.begin(), retired_packets_.end()};
  if (const AttachedImage *now = slot_.current(); now != nullptr && now->packets() > 0)
    packets[now->generation] += now->packets();
  return packets;
}

std::uint64_t Generations::earlier_packets() const {
  const auto held = lock();
  return earlier_packets_;
}

std::vector<Swap> Generations::swaps() const {
  const auto held = lock();
  return {swaps_.begin(), swaps_.end()};
}

Generations::SwapTimes Generations::swap_times() const {
  const auto held = lock();
  return swap_times_;
}

std::uint64_t Generations::swap_count() const {
  const auto held = lock();
  return swap_count_;
}

} // namespace weir::dataplane
