#include "control/plan/deny_form.hpp"

#include <algorithm>
#include <cmath>

namespace weir::plan {
namespace {

// A layer that the kernels of a burst do not ask is asked key by key through its own view: its hash, its slots and a call.
constexpr double view_work_factor = 2.5;

// Lines that a layer with this rate reads of a key that it accepts, or rejects.
double lines_of(DenyForm form, double rate, bool accepts) {
  switch (form) {
  case DenyForm::split_block: return 1;
  case DenyForm::bloom: // a layer of known sources alone may have the rate 0
    return accepts ? std::max(1.0, std::round(-std::log2(std::max(rate, 1e-9)))) : 2;
  case DenyForm::fuse: return 3;
  case DenyForm::cuckoo:
  case DenyForm::quotient: return 2;
  case DenyForm::chained_and:
  case DenyForm::chained_and_shared: break;
  }
  return 4;
}

} // namespace

double judge_ns(DenyForm form, const StackPlan &stack, Family family, double hit_ratio,
                const Calibration &calibration) {
  const double h = std::clamp(hit_ratio, 0.0, 1.0);
  const double work = calibration.work_of(family, {}).at(h);
  double layer_work = calibration.layer_ns(family, h);
  if (form != DenyForm::split_block) layer_work *= view_work_factor;
  const double line = calibration.touch_ns(Path::block, static_cast<std::uint64_t>(stack.bits / 8));
  std::vector<double> rates = stack.rates();
  if (form == DenyForm::chained_and_shared) rates.resize(1); // the second stage is in the same lines
  const auto cost = [&](auto accepts) { // accepts(i): the share of the keys reaching layer i that it accepts
    double reaching = 1, ns = 0;
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const double yes = accepts(i);
      ns += reaching * (layer_work + line * (yes * lines_of(form, rates[i], true) +
                                             (1 - yes) * lines_of(form, rates[i], false)));
      reaching *= yes;
    }
    return ns;
  };
  const bool chained = !facts_of(form).layers;
  const double positive = cost([&](std::size_t i) { return chained || i % 2 == 0 ? 1.0 : rates[i]; });
  const double known = cost([&](std::size_t i) { return i % 2 == 0 ? rates[i] : 1.0; });
  const double unknown = cost([&](std::size_t i) { return rates[i]; });
  return work + h * positive + (1 - h) * (stack.psi * known + (1 - stack.psi) * unknown);
}

} // namespace weir::plan
