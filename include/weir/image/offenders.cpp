#include "weir/image/offenders.hpp"

#include "weir/filter/rotating_bloom.hpp"
#include "weir/filter/stable_bloom.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace weir::image {
namespace {

std::unexpected<Error> bad_offenders(const std::string &why) { return fail(Errc::bad_image, why); }

Status check_header(const OffendersHeader &h) {
  if (h.magic != offenders_magic)
    return bad_offenders("it does not begin as a description of offenders does");
  if (h.element >= offender_elements.size() || h.action >= offender_actions.size() || h.tells_denied > 1 ||
      (h.filter != static_cast<std::uint8_t>(OffenderFilter::rotating) &&
       h.filter != static_cast<std::uint8_t>(OffenderFilter::stable)))
    return bad_offenders("an element, action or filter that this program does not know");
  if (h.groups < 1 || h.groups > offender_groups_max)
    return bad_offenders(std::to_string(h.groups) + " groups, 1 to " + std::to_string(offender_groups_max) +
                         " are possible");
  if (h.gap == 0) return bad_offenders("it remembers nothing: a gap of 0");
  if (h.filter == static_cast<std::uint8_t>(OffenderFilter::rotating) && h.turn == 0)
    return bad_offenders("filters that never take their turn");
  if (h.action == static_cast<std::uint8_t>(OffenderAction::rate_limit) && (h.limit == 0 || h.burst == 0))
    return bad_offenders("a rate limit of nothing");
  if (h.neighbours != 0 && h.neighbours != offender_neighbours)
    return bad_offenders("a table of neighbours of another size");
  if ((h.neighbours != 0) != (h.trees_bytes != 0)) return bad_offenders("neighbours and trees go together");
  if (h.trees_bytes == 0 && h.groups != 1) return bad_offenders("groups of scores, and no trees that score");
  if (h.reserved != decltype(h.reserved){}) return bad_offenders("reserved bytes are not zero");
  for (const std::uint64_t parts :
       {h.wanted_accepted, h.wanted_missed, h.predicted_accepted, h.predicted_missed})
    if (parts > stack_rate_max) return bad_offenders("a rate lies above 1");
  return {};
}

Status check_group(const OffenderGroup &g, OffenderFilter filter, bool last, float before) {
  if (g.reserved != decltype(g.reserved){}) return bad_offenders("reserved bytes are not zero");
  if (last ? g.below != INFINITY : !std::isfinite(g.below))
    return bad_offenders("thresholds are not finite, or the last is");
  if (!(before < g.below)) return bad_offenders("thresholds do not rise");
  if (g.told > stack_rate_max || g.other > stack_rate_max) return bad_offenders("a share lies above 1");
  if (g.answer > OffenderAnswer::reject)
    return bad_offenders("a group of a kind that this program does not know");
  if (g.answer != OffenderAnswer::filter) return {};
  if (g.words > offender_bytes_max / 8) return bad_offenders("a group of more memory than there may be");
  const char *why = filter == OffenderFilter::stable
                        ? filter::StableBloomShape{g.words, g.max, g.hashes, g.decrements}.objection()
                        : filter::RotatingBloomShape{g.words, g.hashes, 0}.objection();
  return why != nullptr ? bad_offenders(why) : Status();
}

struct Places {
  std::uint64_t groups, spared_v4, spared_v6, neighbours, trees, end;
};
Places places_of(const OffendersHeader &h) noexcept {
  Places p{};
  p.groups = sizeof h;
  p.spared_v4 = round_up(p.groups + h.groups * sizeof(OffenderGroup), cache_line_bytes);
  p.spared_v6 = p.spared_v4 + std::uint64_t{h.spared_v4} * sizeof(SparedV4);
  p.neighbours = round_up(p.spared_v6 + std::uint64_t{h.spared_v6} * sizeof(SparedV6), cache_line_bytes);
  p.trees = p.neighbours + h.neighbours;
  p.end = p.trees + h.trees_bytes;
  return p;
}

// Of all that says which key is where in which cells.
std::uint64_t digest_of(const OffendersHeader &h, Bytes groups, Bytes model) noexcept {
  OffendersHeader shape{};
  shape.element = h.element;
  shape.filter = h.filter;
  shape.groups = h.groups;
  shape.gap = h.gap;
  shape.turn = h.turn;
  shape.seed = h.seed;
  std::uint64_t digest = XXH3_64bits(&shape, sizeof shape);
  digest = XXH3_64bits_withSeed(groups.data(), groups.size(), digest);
  return XXH3_64bits_withSeed(model.data(), model.size(), digest);
}

} // namespace

Result<OffendersView> OffendersView::attach(Bytes section) {
  if (section.size() < sizeof(OffendersHeader)) return bad_offenders("too short");
  const auto &h = *reinterpret_cast<const OffendersHeader *>(section.data());
  TRY(check_header(h));
  const std::uint64_t most = section.size();
  if (h.trees_bytes > most || h.spared_v4 > most || h.spared_v6 > most)
    return bad_offenders("size does not match its parts");
  const Places at = places_of(h);
  if (at.end != section.size()) return bad_offenders("size does not match its parts");

  OffendersView view;
  view.header_ = &h;
  view.element_ = static_cast<OffenderElement>(h.element);
  view.action_ = static_cast<OffenderAction>(h.action);
  view.filter_ = static_cast<OffenderFilter>(h.filter);
  view.seed_ = h.seed;
  view.bytes_ = section.size();
  view.groups_ = {reinterpret_cast<const OffenderGroup *>(section.data() + at.groups), h.groups};
  float before = -INFINITY;
  for (const OffenderGroup &group : view.groups_) {
    TRY(check_group(group, view.filter_, &group == &view.groups_.back(), before));
    before = group.below;
  }
  if (view.cell_bits() / 8 > offender_bytes_max) return bad_offenders("more memory than there may be");
  view.spared_v4_ = {reinterpret_cast<const SparedV4 *>(section.data() + at.spared_v4), h.spared_v4};
  view.spared_v6_ = {reinterpret_cast<const SparedV6 *>(section.data() + at.spared_v6), h.spared_v6};
  if (!ranges_ascend(view.spared_v4_) || !ranges_ascend(view.spared_v6_))
    return bad_offenders("its ranges are out of order");
  if (h.neighbours != 0)
    view.neighbours_ = reinterpret_cast<const std::uint8_t *>(section.data() + at.neighbours);
  if (h.trees_bytes != 0) {
    view.trees_ = TRY(learn::TreesView::attach(section.subspan(at.trees)));
    if (view.trees_.features() != offender_features(view.element_))
      return bad_offenders("its trees see " + std::to_string(view.trees_.features()) +
                           " features, an element has " + std::to_string(offender_features(view.element_)));
  }
  view.digest_ = digest_of(h, section.subspan(at.groups, h.groups * sizeof(OffenderGroup)),
                           section.subspan(at.neighbours));
  return view;
}

std::uint64_t OffendersView::cell_bits() const noexcept {
  std::uint64_t words = 0;
  for (const OffenderGroup &group : groups_)
    if (group.answer == OffenderAnswer::filter)
      words += std::uint64_t{group.words} * (filter_ == OffenderFilter::rotating ? 2 : 1);
  return words * 64;
}

} // namespace weir::image
