#include "p4/export/program_fit.hpp"

#include "weir/image/family_limits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <string>
#include <utility>
#include <vector>

namespace weir::p4 {
namespace {

// What plans and builders keep to.
static_assert(limits::stack_layers == image::jhash_stack_layers_max);
static_assert(limits::stack_hashes == image::jhash_stack_hashes_max);

// All at once, so that one try shows everything that has to change.
class Objections {
public:
  template <class... Args> void add(fmt::format_string<Args...> text, Args &&...args) {
    all_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }
  [[nodiscard]] Status status(Generation generation) const {
    if (all_.empty()) return {};
    return fail(Errc::refused, fmt::format("the P4 program cannot do what generation {} asks for: {}",
                                           generation, fmt::join(all_, "; ")));
  }

private:
  std::vector<std::string> all_;
};

void check_setting(const image::ImageView &view, const Setting &setting, Objections &objections) {
  if (view.policy.match == Match::either)
    objections.add("match: either judges two addresses, choose remote, source or destination");
  if (view.policy.tunnels != Tunnels::outer)
    objections.add("policy.tunnels: the program judges the outermost header, choose outer");
  if (!view.packet_rules.empty())
    objections.add("rules: the program knows lists alone, take the {} packet rules out",
                   view.packet_rules.rules().size());
  if (!view.list_actions.empty())
    objections.add("on_match: the program drops what a list denies, take it out of the {} lists that have it",
                   view.list_actions.entries().size());
  if (setting.ports.size() > limits::ports)
    objections.add("{} input ports, only the first {} can have a side", setting.ports.size(), limits::ports);
}

template <class Line> void check_side(const image::ImageView &view, Side side, Objections &objections) {
  if (!in_use<Line>(view, side)) return;
  const image::SideView<Line> &of = view.sides<Line>()[side];
  const std::string name = fmt::format("{} IPv{}", name_of(side), static_cast<unsigned>(Line::family));
  if (const std::uint32_t keys = table::read_acquire(*of.table.stash_keys); keys != 0)
    objections.add("the {} table keeps {} keys in its stash: build the image again", name, keys);
  if (!of.chain.in_force())
    objections.add("the predictor of the {} table is no longer exact: build the image again", name);
  if (of.chain.deep_layers() > limits::deep_layers)
    objections.add(
        "the predictor of the {} table has {} deeper layers, at most {} are possible: build the image "
        "again",
        name, of.chain.deep_layers(), limits::deep_layers);
}

void check_lengths(const image::ImageView &view, Side side, Objections &objections) {
  int in_use = 0;
  for (unsigned w = 0; w < 3; ++w) in_use += std::popcount(view.lengths_v6[side].word(w));
  if (in_use > static_cast<int>(limits::lengths_v6))
    objections.add(
        "the {} side has IPv6 prefixes of {} lengths, at most {} are possible: write those of rare "
        "lengths as several longer ones",
        name_of(side), in_use, limits::lengths_v6);
}

void check_stack(const image::DenyFilterView &stack, Objections &objections) {
  if (stack.empty()) return;
  if (stack.depth() > limits::stack_layers)
    objections.add("the stack of denied hosts has {} layers, at most {} are possible: plan a shallower one",
                   stack.depth(), limits::stack_layers);
  for (unsigned i = 0; i < stack.depth(); ++i)
    if (const unsigned hashes = stack.bloom(i)->shape().hashes; hashes > limits::stack_hashes)
      objections.add(
          "layer {} of the stack of denied hosts has {} hashes, at most {} are possible: plan it with "
          "fewer bits a key",
          i + 1, hashes, limits::stack_hashes);
}

} // namespace

Status check_fit(const image::ImageView &view, const Setting &setting) {
  Objections objections;
  if (view.family != HashFamily::jhash) {
    objections.add("its hash family is {}: start weir-control with --target p4", name_of(view.family));
    return objections.status(view.generation);
  }
  check_setting(view, setting, objections);
  for (const Side side : both_sides) {
    check_side<table::LineV4>(view, side, objections);
    check_side<table::LineV6>(view, side, objections);
    check_lengths(view, side, objections);
  }
  check_stack(view.deny_filter, objections);
  return objections.status(view.generation);
}

} // namespace weir::p4
