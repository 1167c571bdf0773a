#include "control/rules/comment.hpp"

#include "weir/config/values.hpp"

#include <algorithm>

namespace weir::rules {
namespace {

std::string cleaned(std::string_view comment, std::size_t bytes_max) {
  std::string out;
  while (!comment.empty()) {
    const std::size_t length = config::utf8_length(comment);
    const bool control = config::control_length(comment) != 0;
    const std::string_view kept = length == 0 ? "?" : control ? " " : comment.substr(0, length);
    if (out.size() + kept.size() > bytes_max) break;
    out += kept;
    comment.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

} // namespace

std::string clean_comment(std::string_view comment) { return cleaned(comment, std::string::npos); }

std::string short_comment(std::string_view comment) { return cleaned(comment, comment_bytes_max); }

} // namespace weir::rules
