#include "control/engine/relief.hpp"

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

// With a class map it names a list like others.
bool is_of_judge(const wire::Sample &sample) {
  constexpr std::uint16_t judged = wire::sample_by_stack | wire::sample_again | wire::sample_judged;
  return sample.list == compact_list || (sample.flags & judged) != 0;
}

// Which run of the dataplane answers.
std::pair<std::uint32_t, std::uint32_t> run_of(const push::Channel &channel) {
  const wire::Hello &hello = channel.hello();
  return {hello.process, hello.began};
}

} // namespace

struct Relief::CheckedSamples {
  std::shared_ptr<const RuleSet> live, staged; // that were asked
  std::vector<CheckedAddress> addresses;
  std::size_t seen = 0;
};

// By any prefix, of the rules in force or of those about to be.
bool Relief::is_denied(const Address &address) const {
  return std::ranges::any_of(std::array{around_.live.get(), around_.staged.get()}, [&](const RuleSet *rules) {
    return rules != nullptr &&
           (rules->denies(address) || denies_dynamically(*rules, around_.dynamic, address));
  });
}

void Relief::take(std::span<const wire::Sample> samples) {
  const auto now = push::Clock::now();
  for (const wire::Sample &sample : samples) {
    if (around_.live == nullptr) break;
    const Address address = address_in(sample);
    if ((sample.flags & wire::sample_by_default) != 0) around_.watch.negative(address);
    if (sample.kind != wire::SampleKind::denied || !is_of_judge(sample)) continue;
    const double weight = std::max<double>(sample.one_in, 1);
    if (!waiting_.add(
            {.address = address, .flags = sample.flags, .weight = weight, .list = ListId(sample.list)}))
      left_out_.add(address, now);
  }
  check();
}

void Relief::check() {
  if (checking_ || waiting_.empty()) return;
  checking_ = true;
  auto batch = std::make_shared<CheckedSamples>(CheckedSamples{
      .live = around_.live, .staged = around_.staged, .addresses = waiting_.take(push::Clock::now())});
  if (batch->addresses.empty()) {
    around_.loop.after(check_wait, [this] {
      checking_ = false;
      check();
    });
    return;
  }
  checker_.run(
      [batch]() -> Status {
        for (CheckedAddress &one : batch->addresses)
          one.denied = (batch->live && batch->live->denies(one.address)) ||
                       (batch->staged && batch->staged->denies(one.address));
        return {};
      },
      [this, batch](const Status &done) {
        if (done) return take_checked(batch);
        checking_ = false; // out of memory: what was sampled is sampled again
      });
}

void Relief::take_checked(const std::shared_ptr<CheckedSamples> &batch) {
  const auto until = push::Clock::now() + slice;
  const bool same_rules = batch->live == around_.live && batch->staged == around_.staged;
  std::vector<Address> wrong;
  for (; batch->seen < batch->addresses.size() && push::Clock::now() < until; ++batch->seen) {
    CheckedAddress &one = batch->addresses[batch->seen];
    const auto dynamically = [&](const auto &rules) {
      return rules && denies_dynamically(*rules, around_.dynamic, one.address);
    };
    if (!one.denied)
      one.denied =
          same_rules ? dynamically(around_.live) || dynamically(around_.staged) : is_denied(one.address);
    if (take_verdict(one)) wrong.push_back(one.address);
  }
  if (!wrong.empty()) relieve(wrong);
  if (batch->seen < batch->addresses.size()) {
    around_.loop.post([this, batch] { take_checked(batch); });
    return;
  }
  checking_ = false;
  check();
}

// True: it is to be let through.
bool Relief::take_verdict(const CheckedAddress &one) {
  bool again = false;
  for (const SampleToCheck &sample : one.samples) {
    // Those that a worker met twice are for this alone, and those of the stream of denials tell how often it
    // errs; the others tell of the traffic, too.
    if ((sample.flags & wire::sample_again) != 0)
      again = true;
    else if ((sample.flags & wire::sample_by_stack) != 0) {
      around_.watch.denied(!one.denied, sample.weight);
      if (!one.denied) count_in_error(sample);
    } else if (!one.denied)
      around_.watch.negative(one.address);
    if (!one.denied) again |= wrong_once_.again(one.address);
  }
  return again && !one.denied;
}

// A dataplane that has started again counts from nothing.
void Relief::count_in_error(const SampleToCheck &sample) {
  if (const auto run = run_of(around_.pusher.channel()); run != in_error_of_) {
    in_error_.clear();
    in_error_of_ = run;
  }
  in_error_[sample.list] += sample.weight;
}

std::map<ListId, double> Relief::denied_in_error() const {
  return run_of(around_.pusher.channel()) == in_error_of_ ? in_error_ : std::map<ListId, double>{};
}

// At once, and again should it still be denied a while later: another dataplane, another image.
void Relief::relieve(const std::vector<Address> &addresses) {
  if (around_.pusher.state() != push::Pusher::State::live) return;
  const auto now = push::Clock::now();
  if (relieved_at_.size() > relieved_kept) relieved_at_.clear();
  std::vector<wire::RelievedAddress> told;
  for (const Address &address : addresses) {
    around_.watch.wrong(address);
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

void Relief::ask_known_again() {
  const plan::DenyPromise &forecast = around_.watch.forecast();
  const bool judges_with_layers = forecast.stacks && forecast.compact && forecast.rates.size() > 1;
  if (asking_known_ || !judges_with_layers || around_.pusher.state() != push::Pusher::State::live) return;
  const std::pair now{around_.record.id, around_.store.sequence()};
  if (now == known_asked_at_) return;
  asking_known_ = true;
  around_.pusher.when_applied(now.second, [this, now](const Status &applied) {
    if (!applied) {
      asking_known_ = false;
      return;
    }
    ask_known_from(std::make_shared<const KnownSources>(KnownSources{now, around_.watch.known()}), 0);
  });
}

// One message after the other: the loop has others to serve.
void Relief::ask_known_from(std::shared_ptr<const KnownSources> known, std::size_t from) {
  std::vector<wire::RelievedAddress> told;
  for (; from < known->sources.size() && told.size() < wire::relieve_max; ++from)
    if (const Address &address = known->sources[from]; !is_denied(address))
      told.push_back({.family = address.family, .address = address.bytes});
  if (told.empty()) known_asked_at_ = known->at;
  if (told.empty() || around_.pusher.state() != push::Pusher::State::live) {
    asking_known_ = false; // and once more, from the beginning, if it was not the end
    return;
  }
  tell_to_let_through(told, [this, known = std::move(known), from](std::optional<std::uint64_t> let_through) {
    if (let_through)
      ask_known_from(known, from);
    else
      asking_known_ = false; // another generation has come, and is asked in its turn, or this one again
  });
}

// How many the filter had denied until now; nothing: it is not in force any more.
void Relief::tell_to_let_through(std::span<const wire::RelievedAddress> told,
                                 std::function<void(std::optional<std::uint64_t>)> done) {
  const wire::Relieve head{.store_id = around_.store.id(),
                           .generation = around_.record.id,
                           .count = static_cast<std::uint32_t>(told.size())};
  std::vector<std::byte> payload = push::pack(head);
  const auto bytes = std::as_bytes(told);
  payload.insert(payload.end(), bytes.begin(), bytes.end());
  around_.pusher.channel().request(
      wire::Type::relieve, std::move(payload),
      [this, done = std::move(done),
       told = std::vector(told.begin(), told.end())](const Result<push::Message> &answer) {
        if (!answer || !answer->holds<wire::Relieved>(wire::Type::relieved)) return done(std::nullopt);
        const auto relieved = answer->as<wire::Relieved>();
        note_no_place(told, relieved.no_room);
        done(relieved.relieved);
      });
}

// They are found again when they go on sending. Which of those told they were is not known: the last ones.
void Relief::note_no_place(std::span<const wire::RelievedAddress> told, std::uint64_t count) {
  const auto now = push::Clock::now();
  for (const wire::RelievedAddress &one : told.last(std::min<std::uint64_t>(count, told.size())))
    no_place_.add({one.family, one.address}, now);
}

} // namespace weir::control
