// What the dataplane's samples say, and which sources a judge (compact mode) denied in error.
//
// What a judge denied is held against the rules. Whoever sends packets decides how many samples come, and
// others wait for the loop: a batch at a time is looked up on a thread of its own, in the files of the rules,
// which never change; what no file denies is then held against the entries of `list add`, which belong to the
// loop, a few at a time. Files that came into force in between are asked again.
//
// A source that no rule denies is told to the dataplane, which lets it through from then on, and it is known
// to the next image. A place for it is taken at second sight: spoofed sources come once.
#include "control/engine/engine.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace weir::control {

namespace {

constexpr auto relieve_again = std::chrono::seconds(1);
constexpr auto check_wait = std::chrono::milliseconds(5); // when the second has had its share
constexpr auto slice = std::chrono::milliseconds(1);      // of the loop
constexpr std::size_t relieved_kept = 65'536;

Address address_in(const wire::Sample &sample) {
  Address address;
  address.family = sample.family == Family::ipv6 ? Family::ipv6 : Family::ipv4;
  address.bytes = sample.address;
  return address;
}

} // namespace

struct Engine::CheckedSamples {
  std::shared_ptr<const RuleSet> live, staged; // that were asked
  std::vector<CheckedAddress> addresses;
  std::size_t seen = 0;
};

// By any prefix, of the rules in force or of those about to be.
bool Engine::is_denied(const Address &address) const {
  return std::ranges::any_of(std::array{live_.get(), staged_.get()}, [&](const RuleSet *rules) {
    return rules != nullptr && (rules->denies(address) || denies_dynamically(*rules, dynamic_, address));
  });
}

void Engine::take_samples(std::span<const wire::Sample> samples) {
  const auto now = push::Clock::now();
  for (const wire::Sample &sample : samples) {
    if (live_ == nullptr) break;
    const Address address = address_in(sample);
    if ((sample.flags & wire::sample_by_default) != 0) deny_watch_.negative(address);
    if (sample.kind != wire::SampleKind::denied || sample.list != image::compact_list) continue;
    const double weight = std::max<double>(sample.one_in, 1);
    if (!samples_to_check_.add({.address = address, .flags = sample.flags, .weight = weight}))
      held_back_.add(address, now);
  }
  check_samples();
  traffic_.take(samples);
}

void Engine::check_samples() {
  if (checking_samples_ || samples_to_check_.empty()) return;
  checking_samples_ = true;
  auto batch = std::make_shared<CheckedSamples>(CheckedSamples{
      .live = live_, .staged = staged_, .addresses = samples_to_check_.take(push::Clock::now())});
  if (batch->addresses.empty()) {
    loop_.after(check_wait, [this] {
      checking_samples_ = false;
      check_samples();
    });
    return;
  }
  sample_checker_.run(
      [batch]() -> Status {
        for (CheckedAddress &one : batch->addresses)
          one.denied = (batch->live && batch->live->denies(one.address)) ||
                       (batch->staged && batch->staged->denies(one.address));
        return {};
      },
      [this, batch](const Status &done) {
        if (done) return take_checked(batch);
        checking_samples_ = false; // out of memory: what was sampled is sampled again
      });
}

void Engine::take_checked(const std::shared_ptr<CheckedSamples> &batch) {
  const auto until = push::Clock::now() + slice;
  const bool same_rules = batch->live == live_ && batch->staged == staged_;
  std::vector<Address> wrong;
  for (; batch->seen < batch->addresses.size() && push::Clock::now() < until; ++batch->seen) {
    CheckedAddress &one = batch->addresses[batch->seen];
    const auto dynamically = [&](const auto &rules) {
      return rules && denies_dynamically(*rules, dynamic_, one.address);
    };
    if (!one.denied)
      one.denied = same_rules ? dynamically(live_) || dynamically(staged_) : is_denied(one.address);
    if (take_verdict(one)) wrong.push_back(one.address);
  }
  if (!wrong.empty()) relieve(wrong);
  if (batch->seen < batch->addresses.size()) {
    loop_.post([this, batch] { take_checked(batch); });
    return;
  }
  checking_samples_ = false;
  check_samples();
}

// True: it is to be let through.
bool Engine::take_verdict(const CheckedAddress &one) {
  bool again = false;
  for (const SampleToCheck &sample : one.samples) {
    // Those that a worker met twice are for this alone, and those of the stream of denials tell how often it
    // errs; the others tell of the traffic, too.
    if ((sample.flags & wire::sample_again) != 0)
      again = true;
    else if ((sample.flags & wire::sample_by_stack) != 0)
      deny_watch_.denied(!one.denied, sample.weight);
    else if (!one.denied)
      deny_watch_.negative(one.address);
    if (!one.denied) again |= wrong_once_.again(one.address);
  }
  return again && !one.denied;
}

Engine::HeldBack Engine::held_back() {
  const auto now = push::Clock::now();
  HeldBack held{.samples = held_back_.total(now),
                .reliefs = no_place_.total(now),
                .networks = (held_back_.total(now) > 0 ? held_back_ : no_place_).top(3, now),
                .image = {}};
  if (image_waits_.until > now) {
    held.image = image_waits_.why;
    held.image_wait_s =
        static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(image_waits_.until - now).count());
  }
  return held;
}

// At once, and again should it still be denied a while later: another dataplane, another image.
void Engine::relieve(const std::vector<Address> &addresses) {
  if (pusher_.state() != push::Pusher::State::live) return;
  const auto now = push::Clock::now();
  if (relieved_at_.size() > relieved_kept) relieved_at_.clear();
  std::vector<wire::RelievedAddress> told;
  for (const Address &address : addresses) {
    deny_watch_.wrong(address);
    const auto [at, fresh] = relieved_at_.try_emplace(address, now);
    if (!fresh && now - at->second < relieve_again) continue;
    at->second = now;
    if (told.size() < wire::relieve_max) told.push_back({.family = address.family, .address = address.bytes});
  }
  if (told.empty()) return;
  // A refusal is of no interest: another generation has come, and with it another filter.
  tell_to_let_through(
      told, [this](std::optional<std::uint64_t> let_through) { relieved_ += let_through.value_or(0); });
}

} // namespace weir::control
