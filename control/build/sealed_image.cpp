#include "control/build/sealed_image.hpp"

#include "control/base/progress.hpp"
#include "control/build/class_map.hpp"
#include "control/build/deny_filter.hpp"
#include "control/build/list_actions.hpp"
#include "control/build/packet_rules.hpp"
#include "control/offenders/neighbours.hpp"
#include "weir/build/prefix_ranges.hpp"

#include <sys/random.h>

#include <algorithm>
#include <optional>

namespace weir::build {

namespace {

Result<std::uint64_t> secret_seed() {
  std::uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
    return fail(Errc::io, "no random bytes for the seed of an image");
  return seed;
}

// Of the deny side, both families together.
std::optional<plan::Trained> trained_of(const BuildReport &report) {
  const TableReport *tables[] = {&report.deny_v4, &report.deny_v6};
  plan::Trained all{.exact = true};
  double bits = 0, keys = 0;
  for (const TableReport *t : tables) {
    if (t->chain.layers == 0) continue;
    all.ms += t->chain.train_ms;
    all.layers = std::max(all.layers, t->chain.layers);
    all.exact &= t->chain.exact();
    bits += t->chain.bits_per_key * static_cast<double>(t->keys);
    keys += static_cast<double>(t->keys);
  }
  if (all.layers == 0) return std::nullopt;
  if (keys > 0) all.bits_per_key = bits / keys;
  return all;
}

std::optional<plan::AllowFilterBuilt> allow_filter_built_of(const BuildReport &report) {
  if (!report.allow_filter || !report.allow_filter->wear) return std::nullopt;
  return plan::AllowFilterBuilt{.guarded_rate = report.guard_accepts,
                                .modulator_share = report.allow_filter->wear->modulator,
                                .stuck_share = report.allow_filter->wear->stuck};
}

} // namespace

Result<SealedImage> build_sealed(const rules::Effective &rules, const config::Config &config,
                                 const ImageRequest &request) {
  if (request.progress != nullptr)
    request.progress->begin(control::Progress::Phase::planning, rules.entries());
  BuildInput input = rules::build_input(rules, config.policy);
  input.identity = request.identity;
  input.family = family_of(request.target);
  input.seed = TRY(secret_seed());
  resolve_prefixes(input);
  const PacketRuleSections packet_rules = TRY(packet_rule_sections(config, request.flows, input.seed));
  input.packet_rules = packet_rules.rules;
  input.flows = packet_rules.flows;
  input.rules_digest = digest_with(input.rules_digest, packet_rules);
  const std::vector<std::byte> list_actions = list_action_section(config, rules.lists);
  input.list_actions = list_actions;
  input.rules_digest = digest_with(input.rules_digest, list_actions);

  const auto memory = TRY(memory_free());
  const plan::Calibration calibration = plan::calibration_for(input, memory, request.state);
  const plan::HomeChoice home = plan::choose_home(input, config, request.workload.hit_ratio, calibration);
  input.deny.hosts_v4 = home.home;
  if (home.home == HostHome::ranges || home.home == HostHome::points) {
    input.ranges.reset(); // not two maps at once
    resolve_prefixes(input);
  }
  auto plan = plan::make_plan(input, config,
                              {.before_bytes = request.running_bytes,
                               .image_copies = nodes_of_cores(config.eal.lcores).size(),
                               .memory = memory,
                               .workload = request.workload,
                               .calibration = calibration,
                               .build_ns_per_key = request.build_ns_per_key,
                               .hot = request.hot,
                               .home = home,
                               .negatives = request.negatives,
                               .lists = request.lists,
                               .offender_model = request.offender_model});
  if (!plan) return std::unexpected(plan.error());
  plan::apply_to(input, *plan);
  if (request.progress != nullptr) {
    request.progress->begin(control::Progress::Phase::building, rules.entries());
    request.progress->expect(std::chrono::milliseconds(static_cast<std::int64_t>(plan->build_ms)));
  }
  SparedSide spared;
  std::vector<std::byte> stack, class_map;
  if (plan->deny_filter.stacks()) {
    if (!plan->deny_filter.spared.empty()) {
      spared = without_spared(input.deny, plan->deny_filter.spared);
      input.deny.v4 = spared.v4, input.deny.v6 = spared.v6;
      resolve_prefixes(input);
    }
    auto made = TRY(make_deny_filter(input, plan->deny_filter));
    stack = std::move(made.bytes);
    plan->deny_filter.built = std::move(made.built);
    input.deny_filter = {.role = made.role, .section = stack, .known = plan->deny_filter.known};
    if (made.role == image::DenyFilterRole::judge) {
      input.deny_filter.overlay_lines_least = plan::judged_overlay_lines_least;
      auto map = make_class_map(input);
      if (map)
        input.deny_filter.class_map = class_map = std::move(*map);
      else // the rules are enforced all the same
        plan->deny_filter.why += "; lists of what it denies have no names: " + map.error().message;
      plan->deny_filter.class_map_bytes = class_map.size();
    }
  }

  std::vector<std::byte> remembered;
  if (plan->offenders)
    input.offenders = remembered =
        TRY(offenders::section_of(*config.offenders, *plan->offenders, request.offender_model.get(),
                                  config.guard.never_deny, request.offender_seed));

  std::optional<image::MemoryFile> file;
  auto report = TRY(build_growing(input, [&](std::uint64_t bytes) -> Result<MutableBytes> {
    file.reset();
    const image::Pages wanted = image::choose_pages(bytes, image::free_pages());
    // The rules are in memory by now, so the image itself is all that is still to be found.
    if (const Status fits = plan::check_memory(bytes, 0, memory); !fits && wanted != image::Pages::gigantic)
      return std::unexpected(fits.error());
    auto made = TRY(image::MemoryFile::make(bytes, wanted, nodes_of_cores(config.eal.lcores).front()));
    return file.emplace(std::move(made)).bytes();
  }));
  image::ImageIdentity identity = request.identity;
  identity.bytes = report.image_bytes;
  plan->trained = trained_of(report);
  plan->allow_filter_built = allow_filter_built_of(report);
  plan->image_bytes = identity.bytes;
  plan->allow_filter.guarded.clear(); // in the image now, and of no use to those who keep the plan
  plan->deny_filter.known.clear();
  const image::Pages pages = file->pages();
  auto fd = TRY(std::move(*file).seal());
  return SealedImage{.fd = std::move(fd),
                     .identity = identity,
                     .pages = pages,
                     .digest = input.rules_digest,
                     .report = report,
                     .plan = std::move(*plan),
                     .neighbours = config.offenders ? offenders::neighbours_of(input.deny.v4, input.deny.v6)
                                                    : std::vector<std::byte>()};
}

} // namespace weir::build
