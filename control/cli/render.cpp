#include "control/cli/render.hpp"

#include <nlohmann/json.hpp>

namespace weir::cli {

std::string render(const Options &options, const Json &answer, std::int64_t now, Size size) {
  switch (options.verb) {
  case Verb::replay: return render_replay(answer);
  case Verb::status: return render_status(answer, now, size);
  case Verb::health: return render_health(answer);
  case Verb::list_show: return render_list_show(answer, now);
  case Verb::list_add:
  case Verb::list_del:
  case Verb::list_replace:
  case Verb::list_export: return render_list_change(options, answer, now);
  case Verb::check: return render_check(answer);
  case Verb::registers: return render_registers(answer);
  case Verb::plan: return options.apply_plan ? render_apply(answer, now) : render_plan(answer);
  case Verb::diff: return render_diff(answer);
  case Verb::apply:
  case Verb::rollback: return render_apply(answer, now);
  case Verb::confirm: return render_confirm(answer);
  case Verb::generations: return render_generations(answer, now);
  case Verb::log: return render_log(answer);
  case Verb::explain: return render_explain(answer, now);
  case Verb::stats: return render_stats(answer);
  case Verb::drops: return render_drops(answer);
  case Verb::offenders: return render_offenders(answer, now);
  case Verb::offender_mark:
  case Verb::offender_unmark:
  case Verb::offender_train:
  case Verb::offender_model: return render_offender_change(options, answer, now);
  case Verb::doctor: return render_doctor(answer);
  case Verb::top:
  case Verb::completion: break; // have no answer
  }
  return {};
}

} // namespace weir::cli
