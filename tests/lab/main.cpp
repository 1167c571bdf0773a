// weir-lab: what filters let through, and what they take, beside one another.
#include "tests/lab/lab.hpp"
#include "tests/lab/stacking.hpp"

#include <fmt/core.h>

namespace {

template <class Report> int show(const weir::Result<Report> &report) {
  if (!report) {
    fmt::print(stderr, "weir-lab: {}\n", report.error().message);
    return report.error().code == weir::Errc::usage ? 2 : 1;
  }
  fmt::print("{}\n", weir::lab::json_of(*report));
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  const weir::lab::CommandLine line = weir::lab::read_command_line(argc, argv);
  if (line.exit_code) return *line.exit_code;
  using enum weir::lab::CommandLine::Experiment;
  switch (line.experiment) {
  case seesaw: return show(weir::lab::run_seesaw(line.task));
  case stacked: return show(weir::lab::run_stacked(line.stacked));
  case building: return show(weir::lab::run_building(line.building));
  case dictionary: return show(weir::lab::run_dictionary(line.dictionary));
  case membership: return show(weir::lab::run_membership(line.membership));
  case lsm: return show(weir::lab::run_lsm(line.lsm));
  case performance: return show(weir::lab::run_performance(line.performance));
  case predictor: return show(weir::lab::run_predictor(line.predictor));
  case learned_rival: return show(weir::lab::run_rival(line.rival));
  case slbf: return show(weir::lab::run_slbf(line.slbf));
  case classifiers: return show(weir::lab::run_classifiers(line.classifiers));
  case learned: return show(weir::lab::run_learned(line.learned));
  case huffman: return show(weir::lab::run_huffman(line.huffman));
  case slbf_model:
    fmt::print("{}\n", weir::lab::json_of(weir::lab::run_stable_model(line.slbf_model)));
    return 0;
  case stacking: fmt::print("{}\n", weir::lab::stacking_json(line.stacking_parts)); return 0;
  }
  return 2;
}
