// Answers of weir-control as text for people. A field that is absent shows as "-", so that weirctl
// and weir-control of neighbouring versions understand each other.
#pragma once

#include "control/cli/frame.hpp"
#include "control/cli/options.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>

namespace weir::cli {

using Json = nlohmann::json;

// The text of a successful answer; `now` is the wall clock in seconds, `size` that of the terminal it is for.
[[nodiscard]] std::string render(const Options &options, const Json &answer, std::int64_t now,
                                 Size size = {});

// The parts of it, one for each shape of answer.
// On a terminal lines are broken between words, and of many warnings those that do not fit are counted.
[[nodiscard]] std::string render_status(const Json &answer, std::int64_t now, Size size = {});
[[nodiscard]] std::string render_health(const Json &answer);
[[nodiscard]] std::string render_list_show(const Json &answer, std::int64_t now);
[[nodiscard]] std::string render_list_change(const Options &options, const Json &answer, std::int64_t now);
[[nodiscard]] std::string render_plan(const Json &answer);
[[nodiscard]] std::string render_diff(const Json &answer);
[[nodiscard]] std::string render_apply(const Json &answer, std::int64_t now);
[[nodiscard]] std::string render_confirm(const Json &answer);
[[nodiscard]] std::string render_log(const Json &answer);
[[nodiscard]] std::string render_generations(const Json &answer, std::int64_t now);
[[nodiscard]] std::string render_explain(const Json &answer, std::int64_t now);
[[nodiscard]] std::string render_stats(const Json &answer);
[[nodiscard]] std::string render_drops(const Json &answer);
[[nodiscard]] std::string render_offenders(const Json &answer, std::int64_t now);
[[nodiscard]] std::string offenders_line(const Json &report);
[[nodiscard]] std::string render_offender_change(const Options &options, const Json &answer,
                                                 std::int64_t now);

// What weirctl found out by itself: run_replay(), check_configuration(), examine().
[[nodiscard]] std::string render_replay(const Json &report);
[[nodiscard]] std::string render_check(const Json &answer);
[[nodiscard]] std::string render_registers(const Json &answer);
[[nodiscard]] std::string render_doctor(const Json &answer);

} // namespace weir::cli
