#include "control/offenders/choose.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

namespace weir::offenders {
namespace {

using Filter = config::Offenders::Filter;

constexpr std::array<build::ScoreGroup, 1> all_in_one{{{1, 1}}};

bool serves(const Model *model, const config::Offenders &wanted) {
  return model != nullptr && model->element == wanted.element;
}

struct Form {
  OffenderFilter filter;
  bool learned;
};
constexpr std::array<Form, 4> forms{Form{OffenderFilter::rotating, false},
                                    Form{OffenderFilter::rotating, true}, Form{OffenderFilter::stable, false},
                                    Form{OffenderFilter::stable, true}};

std::string words_of(const Form &form) {
  if (form.filter == OffenderFilter::rotating)
    return form.learned ? "two Bloom filters that take turns, behind scores"
                        : "two Bloom filters that take turns";
  return form.learned ? "stable Bloom filters behind scores (g-SLBF)" : "a stable Bloom filter";
}

Result<Choice> plan_of(const Form &form, const config::Offenders &wanted, const Model *model) {
  const build::OffenderTargets targets{wanted.accepted, wanted.missed, wanted.gap};
  const std::span<const float> thresholds =
      form.learned ? std::span<const float>(model->thresholds) : std::span<const float>();
  const std::span<const build::ScoreGroup> groups = form.learned
                                                        ? std::span<const build::ScoreGroup>(model->groups)
                                                        : std::span<const build::ScoreGroup>(all_in_one);
  Choice choice;
  choice.plan = TRY(form.filter == OffenderFilter::stable
                        ? build::plan_stable_offenders(thresholds, groups, targets)
                        : build::plan_rotating_offenders(thresholds, groups, targets));
  choice.learned = form.learned;
  if (form.learned) choice.model_bytes = model->trees.size() + model->neighbours.size();
  return choice;
}

bool may_be(const Form &form, Filter wanted, bool has_model) {
  if (form.learned && !has_model) return false;
  switch (wanted) {
  case Filter::automatic: return true;
  case Filter::slbf: return form.filter == OffenderFilter::stable && form.learned == has_model;
  case Filter::stable: return form.filter == OffenderFilter::stable && !form.learned;
  case Filter::rotating: return form.filter == OffenderFilter::rotating;
  }
  return false;
}

} // namespace

Result<Choice> choose(const config::Offenders &wanted, const Model *model) {
  const bool has_model = serves(model, wanted);
  std::optional<Choice> best;
  Form chosen{};
  std::string others;
  std::optional<Error> why_not;
  for (const Form &form : forms) {
    if (!may_be(form, wanted.filter, has_model)) continue;
    auto choice = plan_of(form, wanted, model);
    if (!choice) {
      why_not = choice.error();
      continue;
    }
    const std::uint64_t bits = choice->bits();
    if (!best || bits < best->bits()) {
      if (best)
        others += fmt::format("; {} {:.1f}", words_of(chosen),
                              static_cast<double>(best->bits()) / static_cast<double>(wanted.gap));
      best = std::move(*choice);
      chosen = form;
    } else {
      others += fmt::format("; {} {:.1f}", words_of(form),
                            static_cast<double>(bits) / static_cast<double>(wanted.gap));
    }
  }
  if (!best) return fail(Errc::config, why_not ? why_not->message : "offenders: no filter is possible");
  best->why = fmt::format("{}: {:.1f} bits for each of {} remembered{}{}", words_of(chosen),
                          static_cast<double>(best->bits()) / static_cast<double>(wanted.gap), wanted.gap,
                          others, has_model ? "" : "; nothing has been learned yet");
  return std::move(*best);
}

Result<std::vector<std::byte>> section_of(const config::Offenders &wanted, const Choice &choice,
                                          const Model *model, std::span<const Prefix> never_deny,
                                          std::uint64_t seed) {
  build::OffendersInput in;
  in.element = wanted.element;
  in.action = wanted.action;
  in.plan = choice.plan;
  in.targets = {wanted.accepted, wanted.missed, wanted.gap};
  in.seed = seed;
  in.tells_denied = wanted.tells_denied;
  in.tells_above = wanted.tells_above;
  in.limit = wanted.limit;
  in.burst = wanted.burst;
  in.spared = never_deny;
  if (choice.learned) {
    in.model = model->number;
    in.neighbours = model->neighbours;
    in.trees = model->trees;
  }
  return build::build_offenders(in);
}

} // namespace weir::offenders
