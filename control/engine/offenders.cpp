#include "control/engine/offenders.hpp"

#include "control/offenders/train.hpp"
#include "weir/image/offenders.hpp"
#include "weir/key/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sys/random.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

namespace weir::control {
namespace {

using Json = nlohmann::json;

constexpr const char *seed_note = "offenders_seed", *model_note = "offenders_model",
                     *file_note = "offenders_model_file";
constexpr std::size_t first_samples = 2000; // of either side: enough for a first model
constexpr std::uint64_t retry_s = 600;      // after a training that was refused
constexpr std::size_t banned_max = 100'000; // that are remembered as banned

} // namespace

Offenders::Offenders(Around around) : around_(std::move(around)), samples_(1) {}

Status Offenders::resume() {
  const std::string kept = around_.store.note(seed_note);
  if (std::from_chars(kept.data(), kept.data() + kept.size(), seed_).ec != std::errc() || seed_ == 0) {
    if (getrandom(&seed_, sizeof seed_, 0) != sizeof seed_)
      return fail(Errc::io, "no random bytes for the memory of offenders");
    TRY(around_.store.set_note(seed_note, std::to_string(seed_)));
  }
  samples_ = offenders::TrainingSet(seed_);
  taken_up_ = around_.store.note(file_note);
  const std::string text = around_.store.note(model_note);
  if (text.empty()) return {};
  auto model = offenders::decode(text);
  if (model)
    model_ = std::make_shared<const offenders::Model>(std::move(*model));
  else
    around_.say(model.error().message + "; it is trained anew");
  return {};
}

const config::Offenders *Offenders::wanted() const {
  return around_.live && around_.live->config.offenders ? &*around_.live->config.offenders : nullptr;
}

void Offenders::take_up(const offenders::ModelFile &file) {
  if (file.digest == taken_up_) return;
  model_ = file.model;
  taken_up_ = file.digest;
  Status kept = around_.store.set_note(model_note, offenders::encode(*model_));
  if (kept) kept = around_.store.set_note(file_note, taken_up_);
  if (!kept)
    around_.say("offenders: the model is not kept, and a restart takes another: " + kept.error().message);
}

void Offenders::take(const wire::Sample &sample) {
  const config::Offenders *const of = wanted();
  if (of == nullptr) return;
  if (of->element != element_) {
    element_ = of->element; // the traits of the others are missing, or are not to be seen
    samples_.clear();
  }
  samples_.keep(of->train_samples);
  samples_.take(sample);
  if ((sample.flags & wire::sample_offender_met) != 0 && of->action == OffenderAction::ban)
    ban({sample.family, sample.address});
}

void Offenders::look() {
  const config::Offenders *const of = wanted();
  if (of == nullptr || !of->train_every || training_) return;
  const std::uint64_t now = around_.now_s();
  const bool fresh = model_ == nullptr || model_->element != of->element;
  const bool enough = std::min(samples_.told().size(), samples_.others().size()) >=
                      std::min<std::size_t>(first_samples, of->train_samples);
  const bool due = fresh || now >= model_->trained_at + static_cast<std::uint64_t>(of->train_every->count());
  const bool needs_none = of->filter == config::Offenders::Filter::stable;
  if (!due || !enough || needs_none || now < tried_at_ + retry_s * (tried_at_ != 0 ? 1 : 0)) return;
  train([](const Result<std::shared_ptr<const offenders::Model>> &) {});
}

void Offenders::train(Trained done) {
  const config::Offenders *const of = wanted();
  if (of == nullptr)
    return done(fail(Errc::refused,
                     "no offenders are remembered: write the key offenders into the configuration, and "
                     "apply it"));
  if (training_) return done(fail(Errc::refused, "a training is under way: wait for it to end"));
  offenders::TrainingTask task{.element = of->element,
                               .groups = of->groups,
                               .told = samples_.told(),
                               .others = samples_.others(),
                               .neighbours = neighbours_,
                               .seed = seed_,
                               .number = model_ ? model_->number + 1 : 1,
                               .now_s = around_.now_s()};
  if (of->element != element_) task.told.clear(), task.others.clear();
  if (task.neighbours.empty()) task.neighbours.resize(image::offender_neighbours);
  training_ = true;
  tried_at_ = task.now_s;
  around_.background.run([task = std::move(task)] { return offenders::train(task); },
                         [this, done = std::move(done)](Result<offenders::Model> model) {
                           training_ = false;
                           trained(std::move(model), done);
                         });
}

void Offenders::trained(Result<offenders::Model> model, const Trained &done) {
  if (!model) {
    why_not_ = model.error().message;
    around_.say("offenders: " + why_not_);
    return done(std::unexpected(model.error()));
  }
  // Kept first: what the dataplane has must be the same after a restart.
  if (const Status kept = around_.store.set_note(model_note, offenders::encode(*model)); !kept) {
    why_not_ = kept.error().message;
    return done(std::unexpected(kept.error()));
  }
  why_not_.clear();
  samples_.age();
  model_ = std::make_shared<const offenders::Model>(std::move(*model));
  around_.build_image(fmt::format("offenders: model {} learned, AUC {:.2f}", model_->number, model_->auc));
  done(model_);
}

void Offenders::mark(std::span<const Address> addresses, bool forget,
                     std::function<void(Result<wire::Marked>)> done) {
  if (wanted() == nullptr)
    return done(fail(Errc::refused,
                     "no offenders are remembered: write the key offenders into the configuration, and "
                     "apply it"));
  for (const Address &address : addresses)
    for (const Prefix &never : around_.live->config.guard.never_deny)
      if (!forget && never.covers(address))
        return done(fail(Errc::refused, fmt::format("{} is not marked: guard.never_deny has {}",
                                                    to_string(address), to_string(never))));
  const wire::Mark about{forget ? 1u : 0u, static_cast<std::uint32_t>(addresses.size())};
  std::vector<std::byte> payload = push::pack(about);
  for (const Address &address : addresses) {
    const auto bytes = push::pack(wire::HostAddress{address.family, {}, address.bytes});
    payload.insert(payload.end(), bytes.begin(), bytes.end());
  }
  around_.pusher.channel().request(
      wire::Type::mark, std::move(payload), [done = std::move(done)](const Result<push::Message> &answer) {
        if (!answer) return done(std::unexpected(answer.error()));
        if (!answer->holds<wire::Marked>(wire::Type::marked))
          return done(fail(Errc::parse, "the dataplane answered something else"));
        done(answer->as<wire::Marked>());
      });
}

// Each once while it is banned, and so many a minute: what the memory errs about must not fill a list.
void Offenders::ban(const Address &address) {
  const config::Offenders &of = *wanted();
  const std::uint64_t now = around_.now_s();
  if (now / 60 != minute_) {
    minute_ = now / 60;
    bans_this_minute_ = 0;
    std::erase_if(banned_until_, [now](const auto &one) { return one.second <= now; });
  }
  if (banned_until_.contains(address)) return;
  if (bans_this_minute_ >= of.bans_a_minute || banned_until_.size() >= banned_max) {
    ++bans_left_out_;
    return;
  }
  ++bans_this_minute_;
  ++bans_;
  const auto ttl = static_cast<std::uint64_t>(of.ban_ttl.count());
  banned_until_[address] = ttl == 0 ? ~std::uint64_t{0} : now + ttl;
  around_.add(of.ban_list, {.prefix = {address, static_cast<std::uint8_t>(address_bits(address.family))},
                            .ttl_s = ttl,
                            .comment = "offender"});
}

Json Offenders::about() const {
  Json json{{"samples", {{"told", samples_.told().size()}, {"others", samples_.others().size()}}},
            {"bans", {{"added", bans_}, {"left_out", bans_left_out_}}},
            {"training", training_},
            {"why_not", why_not_}};
  if (!model_) return json;
  std::vector<std::pair<double, std::string_view>> looks_at;
  for (std::size_t i = 0; i < model_->gains.size(); ++i)
    if (model_->gains[i] > 0) looks_at.emplace_back(model_->gains[i], image::offender_feature_names[i]);
  std::ranges::sort(looks_at, std::greater());
  Json features = Json::array();
  for (const auto &[share, name] : looks_at) features.push_back({{"feature", name}, {"share", share}});
  json["model"] = {{"number", model_->number},
                   {"trained_at", model_->trained_at},
                   {"element", name_of(model_->element)},
                   {"told", model_->told},
                   {"others", model_->others},
                   {"auc", model_->auc},
                   {"bytes", model_->trees.size() + model_->neighbours.size()},
                   {"looks_at", std::move(features)}};
  return json;
}

} // namespace weir::control
